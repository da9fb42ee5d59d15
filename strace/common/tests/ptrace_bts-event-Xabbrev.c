#define XLAT_ABBREV 1
#include "ptrace_bts-event.c"
