/*
 * Check decoding of PTRACE_EVENT_BTS in a wait status.
 *
 * Copyright (c) 2026 The strace developers.
 * All rights reserved.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tests.h"
#include "scno.h"

#if (defined __x86_64__ || defined __i386__) && defined __NR_wait4

# include "ptrace.h"

# include <signal.h>
# include <stdio.h>
# include <sys/wait.h>
# include <unistd.h>

int
main(void)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(int, status);
	long rc;

	*status = W_STOPCODE(SIGTRAP) | PTRACE_EVENT_BTS << 16;
	rc = syscall(__NR_wait4, -1, status, 0, NULL);
	if (rc < 0)
		perror_msg_and_skip("wait4");
	printf("wait4(-1, [{WIFSTOPPED(s) && WSTOPSIG(s) == SIGTRAP}"
	       "|" XLAT_FMT "<<16], 0, NULL) = %ld (INJECTED)\n",
	       XLAT_ARGS(PTRACE_EVENT_BTS), rc);

	*status += 1 << 16;
	rc = syscall(__NR_wait4, -1, status, 0, NULL);
	printf("wait4(-1, [{WIFSTOPPED(s) && WSTOPSIG(s) == SIGTRAP}"
	       "|%s<<16], 0, NULL) = %ld (INJECTED)\n",
	       XLAT_UNKNOWN(0x82, "PTRACE_EVENT_???"), rc);

	puts("+++ exited with 0 +++");
	return 0;
}

#else

SKIP_MAIN_UNDEFINED("(__x86_64__ || __i386__) && __NR_wait4")

#endif
