#define XLAT_RAW 1
#include "ptrace_bts-event.c"
