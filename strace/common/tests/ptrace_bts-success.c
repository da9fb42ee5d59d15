/*
 * Check decoding of PTRACE_BTS_* requests that succeed.  strace injects their
 * results, and the test itself stores the data that they would return.
 *
 * Copyright (c) 2026 The strace developers.
 * All rights reserved.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tests.h"

#if defined __x86_64__ || defined __i386__

# include "scno.h"
# include "ptrace.h"
# include "ptrace_bts.h"

# include <inttypes.h>
# include <signal.h>
# include <stdio.h>
# include <string.h>
# include <unistd.h>

# include "xlat.h"
# define XLAT_MACROS_ONLY
#  include "xlat/ptrace_cmds.h"
#  include "xlat/ptrace_bts_flags.h"
#  include "xlat/ptrace_bts_sources.h"
#  include "xlat/ptrace_bts_clocks.h"
#  include "xlat/ptrace_bts_states.h"
#  include "xlat/x86_bts_types.h"
#  include "xlat/x86_bts_flags.h"
# undef XLAT_MACROS_ONLY

static const int pid = 0x7fffffff;
/*
 * The injected result: sizeof(struct_ptrace_bts_status); in
 * ptrace_bts-success-long a greater number; in ptrace_bts-success-short a number
 * less than sizeof(status->size)
 */
static long rval;

static void
do_ptrace(const kernel_ulong_t request, const void *const addr,
	  const unsigned long data)
{
	rval = syscall(__NR_ptrace, request, pid, (uintptr_t) addr, data);
	if (rval < 0)
		perror_msg_and_skip("ptrace");
}

# define FROM "0x123456789abcdef"
# define TO "0xfedcba9876543210"

static const struct {
	struct_x86_bts_record rec;
	const char *str;
} checks[] = {
	{ { .type = X86_BTS_INVALID },
	  "type=" XLAT_KNOWN(0, "X86_BTS_INVALID") ", flags=0" },
	{ { .type = X86_BTS_BRANCH, .flags = X86_BTS_F_MISPREDICTED },
	  "type=" XLAT_KNOWN(0x1, "X86_BTS_BRANCH")
	  ", flags=" XLAT_KNOWN(0x1, "X86_BTS_F_MISPREDICTED")
	  ", branch={from=" FROM ", to=" TO "}" },
	{ { .type = X86_BTS_TASK_ARRIVES },
	  "type=" XLAT_KNOWN(0x2, "X86_BTS_TASK_ARRIVES")
	  ", flags=0, event={clock=81985529216486895, pid=1985229328"
	  ", cpu=4275878552}" },
	{ { .type = X86_BTS_TASK_DEPARTS },
	  "type=" XLAT_KNOWN(0x3, "X86_BTS_TASK_DEPARTS")
	  ", flags=0, event={clock=81985529216486895, pid=1985229328"
	  ", cpu=4275878552}" },
	{ { .type = X86_BTS_ENTER, .flags = 0x3 },
	  "type=" XLAT_KNOWN(0x4, "X86_BTS_ENTER")
	  ", flags=" XLAT_KNOWN(0x3, "X86_BTS_F_MISPREDICTED"
				     "|X86_BTS_F_UNRELIABLE")
	  ", branch={from=" FROM ", to=" TO "}" },
	{ { .type = X86_BTS_LEAVE, .info = 0xbadc0ded },
	  "type=" XLAT_KNOWN(0x5, "X86_BTS_LEAVE")
	  ", flags=0, info=0xbadc0ded, branch={from=" FROM ", to=" TO "}" },
	{ { .type = X86_BTS_LOST, .flags = 0xfffc },
	  "type=" XLAT_KNOWN(0x6, "X86_BTS_LOST")
	  ", flags=" XLAT_UNKNOWN(0xfffc, "X86_BTS_F_???")
	  ", lost={clock=81985529216486895, count=18364758544493064720}" },
	{ { .type = X86_BTS_EXEC },
	  "type=" XLAT_KNOWN(0x7, "X86_BTS_EXEC")
	  ", flags=0, event={clock=81985529216486895, pid=1985229328"
	  ", cpu=4275878552}" },
	{ { .type = X86_BTS_SIGNAL, .info = 10 },
	  "type=" XLAT_KNOWN(0x8, "X86_BTS_SIGNAL")
	  ", flags=0, info=" XLAT_KNOWN(10, "SIGUSR1")
	  ", branch={from=" FROM ", to=" TO "}" },
	{ { .type = X86_BTS_SIGRETURN },
	  "type=" XLAT_KNOWN(0x9, "X86_BTS_SIGRETURN")
	  ", flags=0, branch={from=" FROM ", to=" TO "}" },
	{ { .type = 10 },
	  "type=" XLAT_UNKNOWN(0xa, "X86_BTS_???") ", flags=0, ..." },
};

static void
fill(struct_x86_bts_record *const rec, const unsigned int i)
{
	*rec = checks[i % ARRAY_SIZE(checks)].rec;
	rec->branch.from = 0x0123456789abcdefULL;
	rec->branch.to = 0xfedcba9876543210ULL;
}

static void
check_get(void)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_x86_bts_record, rec);

	do_ptrace(PTRACE_BTS_GET, rec + 1, 0);
	printf("ptrace(" XLAT_FMT ", %d, %p, 0) = %ld (INJECTED)\n",
	       XLAT_ARGS(PTRACE_BTS_GET), pid, rec + 1, rval);

	for (unsigned int i = 0; i < ARRAY_SIZE(checks); ++i) {
		fill(rec, i);
		do_ptrace(PTRACE_BTS_GET, rec, i);
		printf("ptrace(" XLAT_FMT ", %d, {%s}, %u)"
		       " = %ld (INJECTED)\n", XLAT_ARGS(PTRACE_BTS_GET),
		       pid, checks[i].str, i, rval);
	}
}

static void
print_records(void)
{
	/* DEFAULT_STRLEN of strace: it prints no more array elements */
	const long shown = 32;

	printf("[");
	for (long i = 0; i < MIN(rval, shown); ++i)
		printf("%s{%s}", i ? ", " : "",
		       checks[i % ARRAY_SIZE(checks)].str);
	printf("%s]", rval > shown ? ", ..." : "");
}

static void
check_drain_and_read(void)
{
	struct_x86_bts_record *const recs = tail_alloc(rval * sizeof(*recs));
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_ptrace_bts_read, rd);

	for (long i = 0; i < rval; ++i)
		fill(recs + i, i);

	do_ptrace(PTRACE_BTS_DRAIN, recs, 4096);
	printf("ptrace(" XLAT_FMT ", %d, ", XLAT_ARGS(PTRACE_BTS_DRAIN), pid);
	print_records();
	printf(", 4096) = %ld (INJECTED)\n", rval);

	*rd = (struct_ptrace_bts_read) {
		.first = 5,
		.records = (uintptr_t) recs,
		.count = 4096,
	};
	do_ptrace(PTRACE_BTS_READ, rd, sizeof(*rd));
	printf("ptrace(" XLAT_FMT ", %d, {first=5, records=%p, count=4096"
	       ", flags=0} => {first=5, records=",
	       XLAT_ARGS(PTRACE_BTS_READ), pid, recs);
	print_records();
	printf("}, 24) = %ld (INJECTED)\n", rval);

	/* the result is rval records, but only the first one is readable */
	rd->records = (uintptr_t) (recs + rval - 1);
	do_ptrace(PTRACE_BTS_READ, rd, sizeof(*rd));
	printf("ptrace(" XLAT_FMT ", %d, {first=5, records=%p, count=4096"
	       ", flags=0} => {first=5, records=[{%s}, ... /* %p */]}, 24)"
	       " = %ld (INJECTED)\n",
	       XLAT_ARGS(PTRACE_BTS_READ), pid, recs + rval - 1,
	       checks[(rval - 1) % ARRAY_SIZE(checks)].str, recs + rval, rval);
}

static void
print_status(const unsigned long size, const char *const str)
{
	printf("ptrace(" XLAT_FMT ", %d, {%s}, %lu) = %ld (INJECTED)\n",
	       XLAT_ARGS(PTRACE_BTS_STATUS), pid, str, size, rval);
}

# define STATUS_HEAD "size=96"
# define STATUS_FLAGS							\
	STATUS_HEAD ", flags=" XLAT_KNOWN(0x25, "PTRACE_BTS_F_TRACE"	\
		"|PTRACE_BTS_F_SIGNAL|PTRACE_BTS_F_STOP_FULL")
# define STATUS_NEXT							\
	STATUS_FLAGS ", signal=" XLAT_KNOWN(12, "SIGUSR2")		\
	", bts_size=24, held=3, lost=1311768467294899695"		\
	", overwritten=18364758544493064720, gaps=4275878552"		\
	", source=" XLAT_KNOWN(0x1, "PTRACE_BTS_SOURCE_DS")		\
	", clock=" XLAT_KNOWN(0x1, "PTRACE_BTS_CLOCK_MONOTONIC")	\
	", not_inherited=7, next=17"
# define STATUS_ALL							\
	STATUS_NEXT ", record_flags="					\
	XLAT_KNOWN(0x1, "X86_BTS_F_MISPREDICTED")			\
	", state=" XLAT_KNOWN(0x1, "PTRACE_BTS_S_REVOKED")

static void
check_status(void)
{
	const unsigned int longer = sizeof(struct_ptrace_bts_status) + 8;
	char *const buf = tail_alloc(longer);
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_ptrace_bts_status, status);

	*status = (struct_ptrace_bts_status) {
		.size = 96,
		.flags = PTRACE_BTS_F_TRACE | PTRACE_BTS_F_SIGNAL |
			 PTRACE_BTS_F_STOP_FULL,
		.signal = 12,
		.bts_size = 24,
		.held = 3,
		.lost = 0x1234567890abcdefULL,
		.overwritten = 0xfedcba9876543210ULL,
		.gaps = 0xfedcba98,
		.source = PTRACE_BTS_SOURCE_DS,
		.clock = PTRACE_BTS_CLOCK_MONOTONIC,
		.not_inherited = 7,
		.next = 17,
		.record_flags = X86_BTS_F_MISPREDICTED,
		.state = PTRACE_BTS_S_REVOKED,
	};
	memset(buf, -1, longer);
	memcpy(buf, status, sizeof(*status));

	do_ptrace(PTRACE_BTS_STATUS, status, 0);
	printf("ptrace(" XLAT_FMT ", %d, %p, 0) = %ld (INJECTED)\n",
	       XLAT_ARGS(PTRACE_BTS_STATUS), pid, status, rval);

	/*
	 * A kernel whose structure has rval bytes would store MIN(rval, data)
	 * bytes, where data is the last argument of do_ptrace().
	 */
	do_ptrace(PTRACE_BTS_STATUS, buf, longer);
	if (rval < (long) sizeof(status->size)) {
		print_status(longer, "size=\"\\x60\\x00\\x00\"");
		return;
	}
	print_status(longer, rval < (long) longer ? STATUS_ALL
						  : STATUS_ALL ", ...");
	do_ptrace(PTRACE_BTS_STATUS, status, sizeof(*status));
	print_status(72, STATUS_ALL);
	do_ptrace(PTRACE_BTS_STATUS, status, 64);
	print_status(64, STATUS_NEXT);
	do_ptrace(PTRACE_BTS_STATUS, status, 8);
	print_status(8, STATUS_FLAGS);
	do_ptrace(PTRACE_BTS_STATUS, status, 5);
	print_status(5, STATUS_HEAD ", flags=\"\\x25\"");
}

static void
check_config(void)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_ptrace_bts_config, config);

	*config = (struct_ptrace_bts_config) { .flags = PTRACE_BTS_F_END };
	do_ptrace(PTRACE_BTS_CONFIG, config, sizeof(*config));
	printf("ptrace(" XLAT_FMT ", %d, {size=0, flags=" XLAT_FMT ", signal=0"
	       ", bts_size=0, source=" XLAT_FMT ", clock=" XLAT_FMT
	       "}, 24) = %ld (INJECTED)\n",
	       XLAT_ARGS(PTRACE_BTS_CONFIG), pid, XLAT_ARGS(PTRACE_BTS_F_END),
	       XLAT_ARGS(PTRACE_BTS_SOURCE_ANY),
	       XLAT_ARGS(PTRACE_BTS_CLOCK_SCHED), rval);
}

int
main(void)
{
	do_ptrace(PTRACE_BTS_SIZE, NULL, 0);
	printf("ptrace(" XLAT_FMT ", %d) = %ld (INJECTED)\n",
	       XLAT_ARGS(PTRACE_BTS_SIZE), pid, rval);

	check_get();
	check_drain_and_read();
	check_status();
	check_config();

	puts("+++ exited with 0 +++");
	return 0;
}

#else

SKIP_MAIN_UNDEFINED("__x86_64__ || __i386__")

#endif
