#include "ptrace_bts-success.c"
