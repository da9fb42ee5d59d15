/*
 * Check decoding of PTRACE_BTS_* requests on a kernel and a machine that
 * have branch traces.
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
# include "ptrace_bts.h"

# include <errno.h>
# include <inttypes.h>
# include <signal.h>
# include <stdio.h>
# include <stdlib.h>
# include <string.h>
# include <sys/wait.h>
# include <unistd.h>

# include "xlat.h"
# define XLAT_MACROS_ONLY
#  include "xlat/ptrace_cmds.h"
# undef XLAT_MACROS_ONLY
# include "xlat/ptrace_bts_flags.h"
# include "xlat/ptrace_bts_sources.h"
# include "xlat/ptrace_bts_clocks.h"
# include "xlat/ptrace_bts_states.h"
# include "xlat/ptrace_bts_read_flags.h"
# include "xlat/x86_bts_types.h"
# include "xlat/x86_bts_flags.h"

enum {
	ROOM = 64,
	/* DEFAULT_STRLEN of strace: it prints no more array elements */
	SHOWN = 32,
};

static pid_t pid;
static long rc;
static const char *errstr;
static struct_x86_bts_record *recs;
static unsigned int seen;

static long
do_ptrace(const kernel_ulong_t request, const void *const addr,
	  const unsigned long data)
{
	rc = syscall(__NR_ptrace, request, pid, (uintptr_t) addr, data);
	errstr = sprintrc(rc);
	return rc;
}

static void
handler(int sig)
{
}

static volatile unsigned int count;

static void
tracee(void)
{
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		perror_msg_and_fail("PTRACE_TRACEME");
	signal(SIGUSR1, handler);
	raise(SIGSTOP);
	raise(SIGUSR1);
	for (count = 0; count < 2 * ROOM; ++count)
		;
	usleep(1000);
	_exit(0);
}

static void
print_record(const struct_x86_bts_record *const rec)
{
	printf("{type=");
	printxval(x86_bts_types, rec->type, "X86_BTS_???");
	printf(", flags=");
	printflags(x86_bts_flags, rec->flags, "X86_BTS_F_???");

	switch (rec->type) {
	case X86_BTS_SIGNAL:
		printf(", info=%s",
		       rec->info == SIGUSR1 ? "SIGUSR1" : "another signal");
		break;
	default:
		if (rec->info)
			printf(", info=%#x", rec->info);
	}

	switch (rec->type) {
	case X86_BTS_BRANCH:
	case X86_BTS_ENTER:
	case X86_BTS_LEAVE:
	case X86_BTS_SIGNAL:
	case X86_BTS_SIGRETURN:
		printf(", branch={from=%#" PRIx64 ", to=%#" PRIx64 "}",
		       rec->branch.from, rec->branch.to);
		break;
	case X86_BTS_TASK_ARRIVES:
	case X86_BTS_TASK_DEPARTS:
	case X86_BTS_EXEC:
		printf(", event={clock=%" PRIu64 ", pid=%d, cpu=%u}",
		       rec->event.clock, rec->event.pid, rec->event.cpu);
		break;
	case X86_BTS_LOST:
		printf(", lost={clock=%" PRIu64 ", count=%" PRIu64 "}",
		       rec->lost.clock, rec->lost.count);
		break;
	}
	printf("}");
}

static void
print_records(void)
{
	if (rc < 0) {
		printf("%p", recs);
		return;
	}

	printf("[");
	for (long i = 0; i < MIN(rc, SHOWN); ++i) {
		if (i)
			printf(", ");
		print_record(recs + i);
	}
	printf("%s]", rc > SHOWN ? ", ..." : "");
	for (long i = 0; i < rc; ++i)
		seen |= 1U << recs[i].type;
}

static void
check_config(void)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_ptrace_bts_config, config);

	*config = (struct_ptrace_bts_config) {
		.size = ROOM * sizeof(*recs),
		.flags = PTRACE_BTS_F_ALLOC | PTRACE_BTS_F_TRACE |
			 PTRACE_BTS_F_SCHED | PTRACE_BTS_F_STOP_FULL |
			 PTRACE_BTS_F_SIGNAL,
	};
	if (do_ptrace(PTRACE_BTS_CONFIG, config, sizeof(*config))) {
		const int saved_errno = errno;
		kill(pid, SIGKILL);
		errno = saved_errno;
		perror_msg_and_skip("PTRACE_BTS_CONFIG");
	}
	printf("ptrace(PTRACE_BTS_CONFIG, %d, {size=1536, flags="
	       "PTRACE_BTS_F_TRACE|PTRACE_BTS_F_SCHED|PTRACE_BTS_F_SIGNAL"
	       "|PTRACE_BTS_F_ALLOC|PTRACE_BTS_F_STOP_FULL, signal=0"
	       ", bts_size=0, source=PTRACE_BTS_SOURCE_ANY"
	       ", clock=PTRACE_BTS_CLOCK_SCHED}, 24) = %s\n", pid, errstr);

	config->source = 0xbadc0ded;
	do_ptrace(PTRACE_BTS_CONFIG, config, sizeof(*config));
	printf("ptrace(PTRACE_BTS_CONFIG, %d, {size=1536, flags="
	       "PTRACE_BTS_F_TRACE|PTRACE_BTS_F_SCHED|PTRACE_BTS_F_SIGNAL"
	       "|PTRACE_BTS_F_ALLOC|PTRACE_BTS_F_STOP_FULL, signal=0"
	       ", bts_size=0, source=0xbadc0ded /* PTRACE_BTS_SOURCE_??? */"
	       ", clock=PTRACE_BTS_CLOCK_SCHED}, 24) = %s\n", pid, errstr);
}

static void
check_status(void)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_ptrace_bts_status, status);

	do_ptrace(PTRACE_BTS_STATUS, status, sizeof(*status));
	if (rc < (long) sizeof(*status))
		error_msg_and_fail("PTRACE_BTS_STATUS: %s", errstr);
	printf("ptrace(PTRACE_BTS_STATUS, %d, {size=%u, flags=", pid,
	       status->size);
	printflags(ptrace_bts_flags, status->flags, "PTRACE_BTS_F_???");
	printf(", signal=0, bts_size=%u, held=%" PRIu64 ", lost=%" PRIu64
	       ", overwritten=%" PRIu64 ", gaps=%u, source=", status->bts_size,
	       status->held, status->lost, status->overwritten, status->gaps);
	printxval(ptrace_bts_sources, status->source, "PTRACE_BTS_SOURCE_???");
	printf(", clock=");
	printxval(ptrace_bts_clocks, status->clock, "PTRACE_BTS_CLOCK_???");
	printf(", not_inherited=%u, next=%" PRIu64 ", record_flags=",
	       status->not_inherited, status->next);
	printflags(x86_bts_flags, status->record_flags, "X86_BTS_F_???");
	printf(", state=");
	printflags(ptrace_bts_states, status->state, "PTRACE_BTS_S_???");
	printf("}, 72) = %s\n", errstr);

	do_ptrace(PTRACE_BTS_SIZE, NULL, 0);
	if (rc != (long) status->held)
		error_msg_and_fail("PTRACE_BTS_SIZE: %s", errstr);
	printf("ptrace(PTRACE_BTS_SIZE, %d) = %s\n", pid, errstr);
}

static void
check_get(const unsigned long index)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_x86_bts_record, rec);

	do_ptrace(PTRACE_BTS_GET, rec, index);
	printf("ptrace(PTRACE_BTS_GET, %d, ", pid);
	if (rc)
		printf("%p", rec);
	else
		print_record(rec);
	printf(", %lu) = %s\n", index, errstr);
}

static void
check_read(const uint64_t first, const unsigned int nr,
	   const unsigned int flags)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_ptrace_bts_read, rd);

	*rd = (struct_ptrace_bts_read) {
		.first = first,
		.records = (uintptr_t) recs,
		.count = nr,
		.flags = flags,
	};
	do_ptrace(PTRACE_BTS_READ, rd, sizeof(*rd));
	printf("ptrace(PTRACE_BTS_READ, %d, {first=%" PRIu64 ", records=%p"
	       ", count=%u, flags=", pid, first, recs, nr);
	printflags(ptrace_bts_read_flags, flags, "PTRACE_BTS_READ_???");
	printf("}");
	if (rc >= 0) {
		printf(" => {first=%" PRIu64 ", records=", rd->first);
		print_records();
		printf("}");
	}
	printf(", 24) = %s\n", errstr);
}

static void
check_drain(const unsigned long size)
{
	do_ptrace(PTRACE_BTS_DRAIN, recs, size);
	printf("ptrace(PTRACE_BTS_DRAIN, %d, ", pid);
	print_records();
	printf(", %lu) = %s\n", size, errstr);
}

static void
check_event(void)
{
	check_status();
	check_get(0);
	check_get(1);
	check_get(-1UL);
	check_read(0, 8, 0);
	check_read(2, 2, PTRACE_BTS_READ_CONSUME);
	/* The first records were removed, so the kernel changes rd->first. */
	check_read(0, 40, 0);
	check_read(-1ULL, 1, 0);
	check_drain(0);
	check_drain(2 * ROOM * sizeof(*recs));
	check_drain(sizeof(*recs));
	do_ptrace(PTRACE_BTS_CLEAR, NULL, 0);
	printf("ptrace(PTRACE_BTS_CLEAR, %d) = %s\n", pid, errstr);
}

/*
 * Wait until the tracee exits or stops.  It stops if its trace is full, and for
 * its signals.
 */
static int
check_wait(void)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(int, status);
	const long ret = syscall(__NR_wait4, pid, status, 0, NULL);

	if (ret != pid)
		perror_msg_and_fail("wait4");
	printf("wait4(%d, [{", pid);
	if (WIFEXITED(*status))
		printf("WIFEXITED(s) && WEXITSTATUS(s) == %d}",
		       WEXITSTATUS(*status));
	else
		printf("WIFSTOPPED(s) && WSTOPSIG(s) == %s}%s",
		       WSTOPSIG(*status) == SIGSTOP ? "SIGSTOP" :
		       WSTOPSIG(*status) == SIGUSR1 ? "SIGUSR1" : "SIGTRAP",
		       *status >> 16 == PTRACE_EVENT_BTS ?
		       "|PTRACE_EVENT_BTS<<16" : "");
	printf("], 0, NULL) = %ld\n", ret);

	return *status;
}

static void
check_cont(const bool usr1)
{
	do_ptrace(PTRACE_CONT, NULL, usr1 ? SIGUSR1 : 0);
	printf("ptrace(PTRACE_CONT, %d, NULL, %s) = %s\n",
	       pid, usr1 ? "SIGUSR1" : "0", errstr);
}

int
main(void)
{
	static const unsigned int wanted =
		1U << X86_BTS_BRANCH | 1U << X86_BTS_LEAVE |
		1U << X86_BTS_TASK_ARRIVES | 1U << X86_BTS_TASK_DEPARTS |
		1U << X86_BTS_SIGNAL | 1U << X86_BTS_SIGRETURN;
	unsigned int events = 0;
	int status;

	recs = tail_alloc(2 * ROOM * sizeof(*recs));
	pid = fork();
	if (pid < 0)
		perror_msg_and_fail("fork");
	if (!pid)
		tracee();

	status = check_wait();
	check_config();
	for (;;) {
		check_cont(WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1);
		status = check_wait();
		if (!WIFSTOPPED(status))
			break;
		if (status >> 16 != PTRACE_EVENT_BTS)
			check_read(0, 2 * ROOM, PTRACE_BTS_READ_CONSUME);
		else if (!events++)
			check_event();
		else
			check_drain(2 * ROOM * sizeof(*recs));
	}
	if (!events || (seen & wanted) != wanted)
		error_msg_and_fail("%u events, types %#x instead of %#x",
				   events, seen, wanted);

	puts("+++ exited with 0 +++");
	return 0;
}

#else

SKIP_MAIN_UNDEFINED("(__x86_64__ || __i386__) && __NR_wait4")

#endif
