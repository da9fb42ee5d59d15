#define XLAT_VERBOSE 1
#include "ptrace_bts-event.c"
