/*
 * Check decoding of PTRACE_BTS_* requests that fail.
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
#  include "xlat/ptrace_bts_read_flags.h"
# undef XLAT_MACROS_ONLY

static const int pid = 0x7fffffff;
static const char *errstr;

static void
do_ptrace(const kernel_ulong_t request, const void *const addr,
	  const unsigned long data)
{
	const kernel_ulong_t fill = (kernel_ulong_t) 0xdefaced00000000ULL;
	const kernel_ulong_t bad = (kernel_ulong_t) 0xbadc0dedbadc0dedULL;

	errstr = sprintrc(syscall(__NR_ptrace, request, fill | pid,
				  (uintptr_t) addr, data, bad, bad));
}

static void
check_no_args(void)
{
	do_ptrace(PTRACE_BTS_SIZE, (void *) 0x1234, 0x5678);
	printf("ptrace(" XLAT_FMT ", %d) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_SIZE), pid, errstr);

	do_ptrace(PTRACE_BTS_CLEAR, (void *) 0x1234, 0x5678);
	printf("ptrace(" XLAT_FMT ", %d) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_CLEAR), pid, errstr);
}

/* If one of these requests fails, strace prints only the result pointer. */
static void
check_outputs(void)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_ptrace_bts_status, status);
	TAIL_ALLOC_OBJECT_CONST_ARR(struct_x86_bts_record, recs, 2);

	do_ptrace(PTRACE_BTS_STATUS, NULL, sizeof(*status));
	printf("ptrace(" XLAT_FMT ", %d, NULL, 72) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_STATUS), pid, errstr);

	do_ptrace(PTRACE_BTS_STATUS, status, sizeof(*status));
	printf("ptrace(" XLAT_FMT ", %d, %p, 72) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_STATUS), pid, status, errstr);

	do_ptrace(PTRACE_BTS_GET, recs, 3);
	printf("ptrace(" XLAT_FMT ", %d, %p, 3) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_GET), pid, recs, errstr);

	do_ptrace(PTRACE_BTS_DRAIN, recs, -1UL);
	printf("ptrace(" XLAT_FMT ", %d, %p, %lu) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_DRAIN), pid, recs, -1UL, errstr);

	do_ptrace(PTRACE_BTS_DRAIN, NULL, 0);
	printf("ptrace(" XLAT_FMT ", %d, NULL, 0) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_DRAIN), pid, errstr);
}

static void
check_config_pointer(const void *const addr, const unsigned long size)
{
	do_ptrace(PTRACE_BTS_CONFIG, addr, size);
	if (addr)
		printf("ptrace(" XLAT_FMT ", %d, %p, %lu) = %s\n",
		       XLAT_ARGS(PTRACE_BTS_CONFIG), pid, addr, size, errstr);
	else
		printf("ptrace(" XLAT_FMT ", %d, NULL, %lu) = %s\n",
		       XLAT_ARGS(PTRACE_BTS_CONFIG), pid, size, errstr);
}

static void
check_config(struct_ptrace_bts_config *const config)
{
	check_config_pointer(NULL, sizeof(*config));
	check_config_pointer(config, 3);
	check_config_pointer(config + 1, sizeof(*config));

	*config = (struct_ptrace_bts_config) {
		.size = 48000,
		.flags = PTRACE_BTS_F_ALLOC | PTRACE_BTS_F_TRACE,
		.source = PTRACE_BTS_SOURCE_STEP,
	};
	do_ptrace(PTRACE_BTS_CONFIG, config, sizeof(*config));
	printf("ptrace(" XLAT_FMT ", %d, {size=48000, flags=%s, signal=0"
	       ", bts_size=0, source=" XLAT_FMT ", clock=" XLAT_FMT
	       "}, 24) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_CONFIG), pid,
	       XLAT_KNOWN(0x9, "PTRACE_BTS_F_TRACE|PTRACE_BTS_F_ALLOC"),
	       XLAT_ARGS(PTRACE_BTS_SOURCE_STEP),
	       XLAT_ARGS(PTRACE_BTS_CLOCK_SCHED), errstr);

	*config = (struct_ptrace_bts_config) {
		.size = 0xdeadbeef,
		.flags = 0x1ff,
		.signal = SIGUSR1,
		.bts_size = 24,
		.source = PTRACE_BTS_SOURCE_DS,
		.clock = PTRACE_BTS_CLOCK_MONOTONIC,
	};
	do_ptrace(PTRACE_BTS_CONFIG, config, sizeof(*config));
	printf("ptrace(" XLAT_FMT ", %d, {size=3735928559, flags=%s"
	       ", signal=" XLAT_FMT_U ", bts_size=24, source=" XLAT_FMT
	       ", clock=" XLAT_FMT "}, 24) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_CONFIG), pid,
	       XLAT_KNOWN(0x1ff, "PTRACE_BTS_F_TRACE|PTRACE_BTS_F_SCHED"
				 "|PTRACE_BTS_F_SIGNAL|PTRACE_BTS_F_ALLOC"
				 "|PTRACE_BTS_F_KERNEL|PTRACE_BTS_F_STOP_FULL"
				 "|PTRACE_BTS_F_INHERIT|PTRACE_BTS_F_ENTRY"
				 "|PTRACE_BTS_F_END"),
	       XLAT_ARGS(SIGUSR1), XLAT_ARGS(PTRACE_BTS_SOURCE_DS),
	       XLAT_ARGS(PTRACE_BTS_CLOCK_MONOTONIC), errstr);

	config->flags = 0xfffffe00;
	config->source = 3;
	config->clock = 0xbadc0ded;
	do_ptrace(PTRACE_BTS_CONFIG, config, sizeof(*config));
	printf("ptrace(" XLAT_FMT ", %d, {size=3735928559, flags=%s"
	       ", signal=" XLAT_FMT_U ", bts_size=24, source=%s"
	       ", clock=%s}, 24) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_CONFIG), pid,
	       XLAT_UNKNOWN(0xfffffe00, "PTRACE_BTS_F_???"),
	       XLAT_ARGS(SIGUSR1), XLAT_UNKNOWN(0x3, "PTRACE_BTS_SOURCE_???"),
	       XLAT_UNKNOWN(0xbadc0ded, "PTRACE_BTS_CLOCK_???"), errstr);
}

/* sizes that leave out some fields, or a part of a field */
static void
check_short_config(struct_ptrace_bts_config *const config)
{
	config->size = 0xdeadbeef;
	config->flags = PTRACE_BTS_F_END;
	do_ptrace(PTRACE_BTS_CONFIG, config, 8);
	printf("ptrace(" XLAT_FMT ", %d, {size=3735928559, flags=" XLAT_FMT
	       "}, 8) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_CONFIG), pid, XLAT_ARGS(PTRACE_BTS_F_END),
	       errstr);
	do_ptrace(PTRACE_BTS_CONFIG, config, 6);
	printf("ptrace(" XLAT_FMT ", %d, {size=3735928559"
	       ", flags=\"\\x00\\x01\"}, 6) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_CONFIG), pid, errstr);
}

/* a size greater than that of the structure that strace knows */
static void
check_long_config(void)
{
	const unsigned int longer = sizeof(struct_ptrace_bts_config) + 8;
	char *const buf = tail_alloc(longer);

	memset(buf, 0, longer);
	do_ptrace(PTRACE_BTS_CONFIG, buf, longer);
	printf("ptrace(" XLAT_FMT ", %d, {size=0, flags=0, signal=0, bts_size=0"
	       ", source=" XLAT_FMT ", clock=" XLAT_FMT "}, 32) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_CONFIG), pid,
	       XLAT_ARGS(PTRACE_BTS_SOURCE_ANY),
	       XLAT_ARGS(PTRACE_BTS_CLOCK_SCHED), errstr);
	buf[longer - 1] = 0x7f;
	do_ptrace(PTRACE_BTS_CONFIG, buf, longer);
	printf("ptrace(" XLAT_FMT ", %d, {size=0, flags=0, signal=0, bts_size=0"
	       ", source=" XLAT_FMT ", clock=" XLAT_FMT ", /* bytes 24..31 */"
	       " \"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x7f\"}, 32) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_CONFIG), pid,
	       XLAT_ARGS(PTRACE_BTS_SOURCE_ANY),
	       XLAT_ARGS(PTRACE_BTS_CLOCK_SCHED), errstr);
}

static void
check_read(void)
{
	const unsigned int longer = sizeof(struct_ptrace_bts_read) + 8;
	char *const buf = tail_alloc(longer);
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_ptrace_bts_read, rd);

	do_ptrace(PTRACE_BTS_READ, NULL, sizeof(*rd));
	printf("ptrace(" XLAT_FMT ", %d, NULL, 24) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_READ), pid, errstr);
	do_ptrace(PTRACE_BTS_READ, rd, sizeof(*rd) - 1);
	printf("ptrace(" XLAT_FMT ", %d, %p, 23) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_READ), pid, rd, errstr);

	*rd = (struct_ptrace_bts_read) {
		.first = 0xdeadbeeffacefeedULL,
		.count = 7,
	};
	do_ptrace(PTRACE_BTS_READ, rd, sizeof(*rd));
	printf("ptrace(" XLAT_FMT ", %d, {first=%" PRIu64 ""
	       ", records=NULL, count=7, flags=0}, 24) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_READ), pid, rd->first, errstr);

	rd->records = (uintptr_t) rd;
	rd->flags = PTRACE_BTS_READ_CONSUME;
	do_ptrace(PTRACE_BTS_READ, rd, sizeof(*rd));
	printf("ptrace(" XLAT_FMT ", %d, {first=%" PRIu64 ""
	       ", records=%p, count=7, flags=" XLAT_FMT "}, 24) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_READ), pid, rd->first, rd,
	       XLAT_ARGS(PTRACE_BTS_READ_CONSUME), errstr);

	rd->flags = 0x8000001e;
	memset(buf, 0, longer);
	memcpy(buf, rd, sizeof(*rd));
	buf[sizeof(*rd)] = 1;
	do_ptrace(PTRACE_BTS_READ, buf, longer);
	printf("ptrace(" XLAT_FMT ", %d, {first=%" PRIu64 ""
	       ", records=%p, count=7, flags=%s, /* bytes 24..31 */"
	       " \"\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"}, 32) = %s\n",
	       XLAT_ARGS(PTRACE_BTS_READ), pid, rd->first, rd,
	       XLAT_UNKNOWN(0x8000001e, "PTRACE_BTS_READ_???"), errstr);
}

int
main(void)
{
	TAIL_ALLOC_OBJECT_CONST_PTR(struct_ptrace_bts_config, config);

	check_no_args();
	check_outputs();
	check_config(config);
	check_short_config(config);
	check_long_config();
	check_read();

	puts("+++ exited with 0 +++");
	return 0;
}

#else

SKIP_MAIN_UNDEFINED("__x86_64__ || __i386__")

#endif
