// SPDX-License-Identifier: GPL-2.0
/*
 * A test of the oracle: logs and their records, written by hand. In some trials, one error is
 * planted into the records, and the oracle must find it.
 */
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

#define U	0x401000ull
#define K	0xffffffff81000000ull

static const u8 user_text[] = {
	0xeb, 0x00,			/* 00 jmp 02 */
	0x74, 0x02,			/* 02 je 06 */
	0x90, 0x90,			/* 04 nop; nop */
	0xe8, 0x06, 0x00, 0x00, 0x00,	/* 06 call 11 */
	0xcd, 0x80,			/* 0b int $0x80 */
	0xf3, 0xa4,			/* 0d rep movsb */
	0xeb, 0xfe,			/* 0f jmp 0f */
};

/* This code comes behind user_text, at U + 0x11. */
static const u8 user_leaf[] = {
	0xc3,				/* 11 ret */
	0xff, 0xe0,			/* 12 jmp *%rax */
	0x0f, 0x05,			/* 14 syscall */
	0x74, 0x00,			/* 16 je 18 */
	0x0f, 0x05,			/* 18 syscall */
};

static const u8 kernel_text[] = {
	0x0f, 0x30,			/* 00 wrmsr */
	0x48, 0xcf,			/* 02 iretq */
	0xf4,				/* 04 hlt */
	0x90,				/* 05 nop */
	0x48, 0x0f, 0x07,		/* 06 sysretq */
};

#define UT(off)	"Trace 0: 0x7f [0000000000000000/0000000000401" off "/0040c0b3/ff000201]\n"
#define KT(off)	"Trace 0: 0x7f [0000000000000000/ffffffff810000" off "/0040c0b0/ff000201]\n"
#define STOP(off) "Stopped execution of TB chain before 0x7f [0000000000401" off "]\n"
#define VEC(v, i, cpl, pc) \
	"     1: v=" v " e=0000 i=" i " cpl=" cpl " IP=0033:0 pc=" pc \
	" SP=002b:00007ffd CR2=0\nRAX=0 RBX=0 RCX=0000000000000007 RDX=0\n" \
	"RIP=0 RFL=00000246 [---Z-P-] CPL=3\n"
#define UA(off) "0000000000401" off
#define KA(off)	"ffffffff810000" off

#define ON	KT("00") "wrmsr 000001d9 00000000000002c0\n"
#define ON_ALL	KT("00") "wrmsr 000001d9 00000000000000c0\n"
#define OFF	KT("00") "wrmsr 000001d9 0000000000000000\n" KT("02")

/* Many kinds of branches, a page fault, interrupts, and instructions that are restarted. */
static const char straight[] =
	ON_ALL KT("02") UT("000") UT("002") STOP("002") UT("002") UT("006")
	VEC("0e", "0", "3", UA("006")) KT("05") KT("06") UT("006") UT("011")
	UT("00b") VEC("80", "1", "3", UA("00b")) KT("02") UT("00d") UT("00d")
	"Servicing hardware INT=0x20\n" VEC("20", "0", "3", UA("00d"))
	KT("02") UT("00d") UT("00f") UT("00f")
	"Servicing hardware INT=0x20\n" VEC("20", "0", "3", UA("00f"))
	KT("04") "Servicing hardware INT=0x20\n" VEC("20", "0", "0", KA("05"))
	OFF;

static const struct branch straight_records[] = {
	{ .from = K + 2, .to = U },
	{ .from = U, .to = U + 2 },
	{ .from = U + 2, .to = U + 6 },
	{ .from = U + 6, .to = K + 5 },
	{ .from = K + 6, .to = U + 6 },
	{ .from = U + 6, .to = U + 0x11 },
	{ .from = U + 0x11, .to = U + 0xb },
	{ .from = U + 0xb, .to = K + 2 },
	{ .from = K + 2, .to = U + 0xd },
	{ .from = U + 0xd, .to = K + 2 },
	{ .from = K + 2, .to = U + 0xd },
	{ .from = U + 0xf, .to = U + 0xf },
	{ .from = U + 0xf, .to = U + 0xf },
	{ .from = U + 0xf, .to = K + 4 },
	{ .from = K + 5, .to = K },
};

/* A log with DEBUGCTL.BTS_OFF_OS; its records under each rule, and those with --user-addresses. */
static const char crossing[] =
	ON KT("02") UT("000") UT("002") UT("004") UT("005")
	"Servicing hardware INT=0x20\n" VEC("20", "0", "3", UA("006"))
	KT("02") UT("006") UT("011") UT("014") OFF;

static const struct branch crossing_after[] = {
	{ .from = K + 2, .to = U },
	{ .from = U, .to = U + 2 },
	{ .from = K + 2, .to = U + 6 },
	{ .from = U + 6, .to = U + 0x11 },
	{ .from = U + 0x11, .to = U + 0x14 },
};

static const struct branch crossing_before[] = {
	{ .from = U, .to = U + 2 },
	{ .from = U + 6, .to = K + 2 },
	{ .from = U + 6, .to = U + 0x11 },
	{ .from = U + 0x11, .to = U + 0x14 },
	{ .from = U + 0x14, .to = K },
};

static const struct branch crossing_either[] = {
	{ .from = K + 2, .to = U },
	{ .from = U, .to = U + 2 },
	{ .from = U + 6, .to = K + 2 },
	{ .from = K + 2, .to = U + 6 },
	{ .from = U + 6, .to = U + 0x11 },
	{ .from = U + 0x11, .to = U + 0x14 },
	{ .from = U + 0x14, .to = K },
};

static const struct branch crossing_user[] = {
	{ .from = U, .to = U + 2 },
	{ .from = U + 6, .to = U + 0x11 },
	{ .from = U + 0x11, .to = U + 0x14 },
};

/* The target of a branch faults when it is fetched, a delivery faults, and a WRMSR faults. */
static const char faults[] =
	ON_ALL KT("02") UT("012") VEC("0e", "0", "3", "0000000000600000")
	VEC("08", "0", "3", "0000000000600000") KT("00")
	"wrmsr 000001d9 0000000000000000\n" VEC("0d", "0", "0", KA("00"))
	KT("06") OFF;

static const struct branch faults_records[] = {
	{ .from = K + 2, .to = U + 0x12 },
	{ .from = U + 0x12, .to = 0x600000 },
	{ .from = 0x600000, .to = K },
	{ .from = K, .to = K + 6 },
	{ .from = K + 6, .to = K },
};

/* Some records of `straight`. The first one has 0 instead of its source in user mode. */
static const struct branch hidden_records[] = {
	{ .from = 0, .to = K + 2 },
	{ .from = K + 2, .to = U + 0xd },
	{ .from = U + 0xf, .to = U + 0xf },
};

static const char off_and_on[] =
	ON_ALL KT("02") UT("000") UT("002") VEC("0e", "0", "3", UA("002")) OFF
	UT("002") VEC("0e", "0", "3", UA("002")) ON_ALL KT("02") UT("000") UT("002");

static const struct branch off_records[] = {
	{ .from = K + 2, .to = U },
	{ .from = U, .to = U + 2 },
	{ .from = U + 2, .to = K },
};

/* je to the next instruction: without registers, the log does not tell whether it was taken. */
static const char open_jcc[] = ON_ALL KT("02") UT("016") UT("018") OFF;
static const char taken_jcc[] = ON_ALL KT("02") UT("016")
	"RAX=0 RBX=0 RCX=0000000000000000 RDX=0\nRIP=0 RFL=00000246 [---Z-P-]\n"
	UT("018") OFF;
static const char untaken_jcc[] = ON_ALL KT("02") UT("016")
	"RAX=0 RBX=0 RCX=0000000000000000 RDX=0\nRIP=0 RFL=00000202 [-------]\n"
	UT("018") OFF;

static const struct branch jcc_records[] = {
	{ .from = K + 2, .to = U + 0x16 },
	{ .from = U + 0x16, .to = U + 0x18 },
	{ .from = U + 0x18, .to = K },
};

static const struct branch no_jcc_records[] = {
	{ .from = K + 2, .to = U + 0x16 },
	{ .from = U + 0x18, .to = K },
};

static const char plain_hole[] = ON_ALL KT("02") UT("004") UT("006") OFF;
static const char direct_hole[] = ON_ALL KT("02") UT("000") UT("006") OFF;
static const char no_bytes[] = ON_ALL KT("02") UT("900") UT("904") OFF;

enum plant { NOTHING, MISSING, EXTRA, WRONG_FROM, WRONG_TO, SWAPPED, PARTIAL,
	     PADDED };

struct trial {
	const char *name;
	const char *log;
	const struct branch *records;
	size_t nr;
	struct options opt;
	enum plant plant;
	size_t at;
	enum verdict want;
	/* text that the report must contain, or NULL */
	const char *say;
};

#define RECORDS(r)	.records = r, .nr = ARRAY_SIZE(r)
#define STRAIGHT	.log = straight, RECORDS(straight_records), .opt = { .layout = 64 }
#define STRAIGHT_BUT(...) .log = straight, RECORDS(straight_records), \
	.opt = { .layout = 64, __VA_ARGS__ }
#define LAYOUT64	.opt = { .layout = 64 }
#define CROSSING(r, ...) .log = crossing, RECORDS(r), .opt = { .layout = 64, __VA_ARGS__ }

static const struct trial trials[] = {
	{ "equal", STRAIGHT, .want = V_EQUAL, .say = "15 records equal" },
	{ "equal, 12-byte records", .log = straight, RECORDS(straight_records),
	  .opt = { .layout = 32 }, .want = V_EQUAL, .say = "15 records equal" },
	{ "padding is passed over", STRAIGHT, .plant = PADDED, .at = 4,
	  .want = V_EQUAL, .say = "1 passed over" },
	{ "first record missing", STRAIGHT, .plant = MISSING, .at = 0,
	  .want = V_DIFFERENT, .say = "at record 0: 1 missing" },
	{ "record missing", STRAIGHT, .plant = MISSING, .at = 6,
	  .want = V_DIFFERENT, .say = "at record 6: 1 missing" },
	{ "last record missing", STRAIGHT, .plant = MISSING, .at = 14,
	  .want = V_DIFFERENT, .say = "at record 14: 1 missing" },
	{ "record extra", STRAIGHT, .plant = EXTRA, .at = 6,
	  .want = V_DIFFERENT, .say = "1 extra" },
	{ "last record extra", STRAIGHT, .plant = EXTRA, .at = 14,
	  .want = V_DIFFERENT, .say = "at record 15: 1 extra" },
	{ "wrong from", STRAIGHT, .plant = WRONG_FROM, .at = 7,
	  .want = V_DIFFERENT, .say = "at record 7: wrong" },
	{ "wrong to", STRAIGHT, .plant = WRONG_TO, .at = 14,
	  .want = V_DIFFERENT, .say = "at record 14: wrong" },
	{ "records swapped", STRAIGHT, .plant = SWAPPED, .at = 5,
	  .want = V_DIFFERENT, .say = "at record 5" },
	{ "partial record", STRAIGHT, .plant = PARTIAL,
	  .want = V_DIFFERENT, .say = "8 bytes behind" },
	{ "rule after", CROSSING(crossing_after), .want = V_EQUAL },
	{ "rule before", CROSSING(crossing_before, .rule = RULE_BEFORE),
	  .want = V_EQUAL },
	{ "rule either", CROSSING(crossing_either, .rule = RULE_EITHER),
	  .want = V_EQUAL },
	{ "rule after is not before", CROSSING(crossing_before),
	  .want = V_DIFFERENT },
	{ "rule before is not either", CROSSING(crossing_either, .rule = RULE_BEFORE),
	  .want = V_DIFFERENT },
	{ "user addresses only", CROSSING(crossing_user, .user_addresses = true),
	  .want = V_EQUAL },
	{ "the last", .log = straight, .records = straight_records + 6, .nr = 5,
	  .opt = { .layout = 64, .last = true, .newer = 4 }, .want = V_EQUAL,
	  .say = "5 records equal" },
	{ "the last, but one more is newer", .log = straight,
	  .records = straight_records + 6, .nr = 5,
	  .opt = { .layout = 64, .last = true, .newer = 3 }, .want = V_DIFFERENT,
	  .say = "at record 0" },
	{ "the last, record missing", .log = straight,
	  .records = straight_records + 4, .nr = 8, .plant = MISSING, .at = 3,
	  .opt = { .layout = 64, .last = true, .newer = 3 }, .want = V_DIFFERENT },
	{ "the last, more than there are", STRAIGHT_BUT(.last = true, .newer = 1),
	  .want = V_BAD_LOG, .say = "fewer branches" },
	{ "the last, from user mode", .log = straight, RECORDS(hidden_records),
	  .opt = { .layout = 64, .last = true, .newer = 3 }, .want = V_EQUAL },
	{ "until it is off", .log = off_and_on, RECORDS(off_records),
	  .opt = { .layout = 64, .until_off = true }, .want = V_EQUAL },
	{ "not until it is off", .log = off_and_on, RECORDS(off_records),
	  LAYOUT64, .want = V_DIFFERENT },
	{ "no need met", CROSSING(crossing_after, .need = "far"),
	  .want = V_DIFFERENT, .say = "0 far in the window" },
	{ "faults", .log = faults, RECORDS(faults_records), LAYOUT64,
	  .want = V_EQUAL },
	{ "branch to the next, taken unseen", .log = open_jcc,
	  RECORDS(jcc_records), LAYOUT64, .want = V_EQUAL,
	  .say = "1 of 1 open" },
	{ "branch to the next, untaken unseen", .log = open_jcc,
	  RECORDS(no_jcc_records), LAYOUT64, .want = V_EQUAL,
	  .say = "0 of 1 open" },
	{ "branch to the next, taken", .log = taken_jcc, RECORDS(jcc_records),
	  LAYOUT64, .want = V_EQUAL, .say = "0 of 0 open" },
	{ "branch to the next, taken but not recorded", .log = taken_jcc,
	  RECORDS(no_jcc_records), LAYOUT64, .want = V_DIFFERENT },
	{ "branch to the next, untaken but recorded", .log = untaken_jcc,
	  RECORDS(jcc_records), LAYOUT64, .want = V_DIFFERENT },
	{ "hole behind a plain instruction", .log = plain_hole, LAYOUT64,
	  .want = V_BAD_LOG, .say = "control went elsewhere" },
	{ "hole behind a direct branch", .log = direct_hole, LAYOUT64,
	  .want = V_BAD_LOG, .say = "cannot branch there" },
	{ "unknown bytes", .log = no_bytes, LAYOUT64,
	  .want = V_BAD_LOG, .say = "no known bytes" },
};

static size_t put(u8 *buf, size_t pos, u64 val, int layout)
{
	size_t width = layout == 32 ? 4 : 8;

	memcpy(buf + pos, &val, width);
	return pos + width;
}

static size_t put_record(u8 *buf, size_t pos, u64 from, u64 to, u64 flags,
			 int layout)
{
	pos = put(buf, pos, from, layout);
	pos = put(buf, pos, to, layout);
	return put(buf, pos, flags, layout);
}

static size_t write_records(const struct trial *t, u8 *buf)
{
	size_t pos = 0, i, j;
	u64 from, to;

	for (i = 0; i < t->nr; i++) {
		bool here = t->plant != NOTHING && i == t->at;

		if (here && t->plant == MISSING)
			continue;
		j = i;
		if (t->plant == SWAPPED && (i == t->at || i == t->at + 1))
			j = t->at + t->at + 1 - i;
		from = t->records[j].from + (here && t->plant == WRONG_FROM);
		to = t->records[j].to ^ (here && t->plant == WRONG_TO);
		if (here && t->plant == PADDED)
			pos = put_record(buf, pos, 0, 0, 0, t->opt.layout);
		pos = put_record(buf, pos, from, to, 0, t->opt.layout);
		if (here && t->plant == EXTRA)
			pos = put_record(buf, pos, U + 0x12, U + 0x14, 0,
					 t->opt.layout);
	}
	if (t->plant == PARTIAL)
		pos = put(buf, pos, U, 64);
	return pos;
}

static bool run_trial(const struct trial *t, struct decoder *d, char **report)
{
	u8 buf[64 * 24];
	struct blob records = { .data = buf };
	struct execlog log;
	enum verdict v;
	size_t size;
	FILE *out;

	records.size = write_records(t, buf);
	out = open_memstream(report, &size);
	if (!out)
		die("out of memory");
	execlog_init(&log, t->log, strlen(t->log));
	v = compare(&log, d, &records, &t->opt, out);
	fclose(out);
	return v == t->want && (!t->say || strstr(*report, t->say));
}

int selftest(void)
{
	struct image *img = image_new();
	struct decoder *d;
	int failed = 0;
	char *report;
	size_t i;

	image_add(img, U, user_text, sizeof(user_text));
	image_add(img, U + sizeof(user_text), user_leaf, sizeof(user_leaf));
	image_add(img, K, kernel_text, sizeof(kernel_text));
	d = decoder_new(img);
	printf("TAP version 13\n1..%zu\n", ARRAY_SIZE(trials));
	for (i = 0; i < ARRAY_SIZE(trials); i++) {
		bool good = run_trial(&trials[i], d, &report);

		printf("%s %zu %s\n", good ? "ok" : "not ok", i + 1,
		       trials[i].name);
		if (!good) {
			printf("# %s\n", report);
			failed++;
		}
		free(report);
	}
	decoder_free(d);
	image_free(img);
	return failed ? 1 : 0;
}
