// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of sessions, recorded traces and outputs, with made-up traces. Each output has to be the
 * same for a trace itself and for a recording of it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "chunk.h"
#include "kernel.h"
#include "output.h"
#include "perfetto.h"
#include "proc.h"
#include "replay.h"
#include "tap.h"

/* A small program, with a label at each branch but the system call, and at each target */
asm(".pushsection .text\n"
	".type walk_main, @function\n"
	"walk_main:\n"
	"walk_call: call walk_leaf\n"
	"walk_back: test %eax, %eax\n"
	"walk_jcc: jz walk_skip\n"
	"nop\n"
	"walk_skip: mov $39, %eax\n"
	"syscall\n"
	"walk_after: jmp walk_tail\n"
	".size walk_main, . - walk_main\n"
	".type walk_leaf, @function\n"
	"walk_leaf: nop\n"
	"walk_ret: ret\n"
	".size walk_leaf, . - walk_leaf\n"
	".type walk_tail, @function\n"
	"walk_tail: nop\n"
	"walk_end: ret\n"
	".size walk_tail, . - walk_tail\n"
	".popsection\n");

extern const char walk_call[], walk_leaf[], walk_ret[], walk_back[], walk_jcc[], walk_skip[],
	walk_after[], walk_tail[], walk_end[], walk_main[];

#define AT(label)	((u64)(uintptr_t)(label))
#define PID		77

static struct bt_buffer maps;

static void branch(struct bt_session *s, u64 what, u64 from, u64 to)
{
	struct x86_bts_record rec = { .type = what, .branch = { from, to } };

	bt_session_records(s, PID, &rec, 1);
}

static void event(struct bt_session *s, u64 what, u64 clock)
{
	struct x86_bts_record rec = { .type = what, .event = { clock, PID, 1 } };

	bt_session_records(s, PID, &rec, 1);
}

static void lose(struct bt_session *s, u64 count)
{
	struct x86_bts_record rec = { .type = X86_BTS_LOST, .lost = { 5000, count } };

	bt_session_records(s, PID, &rec, 1);
}

/*
 * Pass the made-up trace to a session. If a process has the ID PID, it did not execute this trace:
 * make sure that the session does not read memory of that process. @live is always true.
 */
static void tell(struct bt_session *s, bool live)
{
	bt_session_thread(s, PID, PID, true, "wa\"lk;er");
	if (live)
		bt_session_attach(s, PID, false);
	bt_session_maps(s, PID, maps.bytes, maps.len);
	event(s, X86_BTS_TASK_ARRIVES, 1000000);
	branch(s, X86_BTS_LEAVE, 0, AT(walk_main));
	branch(s, X86_BTS_BRANCH, AT(walk_call), AT(walk_leaf));
	branch(s, X86_BTS_BRANCH, AT(walk_ret), AT(walk_back));
	branch(s, X86_BTS_BRANCH, AT(walk_jcc), AT(walk_skip));
	branch(s, X86_BTS_ENTER, AT(walk_after) - 2, 0);
	branch(s, X86_BTS_LEAVE, 0, AT(walk_after));
	branch(s, X86_BTS_BRANCH, AT(walk_after), AT(walk_tail));
	event(s, X86_BTS_TASK_DEPARTS, 1008000);
	bt_session_note(s, PID, "--- SIGUSR1 ---");
	lose(s, 3);
	lose(s, 0);
	branch(s, 0x1234, 5, 6);
	branch(s, X86_BTS_BRANCH, AT(walk_end), 0x10);
	event(s, X86_BTS_EXEC, 1009000);
	bt_session_exec(s, PID, PID, true, "next");
	branch(s, X86_BTS_LEAVE, 0, AT(walk_main));
	bt_session_exit(s, PID, "+++ exited with 0 +++");
}

static char *output_of(const struct bt_output *out, const u8 *file, size_t len, u32 last,
		       size_t *used)
{
	struct bt_session s = { .out = out, .last = last, .times = true };

	text_open(&s.text, -1);
	bt_session_begin(&s);
	if (file)
		bt_file_replay(&s, file, len);
	else
		tell(&s, true);
	bt_session_end(&s);
	*used = s.text.used;
	text_char(&s.text, '\0');
	bt_modules_free();
	return s.text.buf;
}

static u8 *record(size_t *len)
{
	struct bt_session s = { .out = &bt_out_raw };
	int fd = memfd_create("trace", 0);
	struct stat st;
	u8 *bytes;

	text_open(&s.text, -1);
	s.record = bt_writer_open(dup(fd));
	bt_session_begin(&s);
	tell(&s, true);
	bt_session_end(&s);
	if (bt_writer_close(s.record) || fstat(fd, &st))
		exit(2);
	free(s.text.buf);
	bt_modules_free();
	*len = st.st_size;
	bytes = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return bytes;
}

static const char *replay_of(const u8 *bytes, size_t len)
{
	struct bt_session s = { .out = &bt_out_raw };
	const char *wrong;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	wrong = bt_file_replay(&s, bytes, len);
	bt_session_end(&s);
	free(s.text.buf);
	bt_modules_free();
	return wrong;
}

static size_t chunks_of(const u8 *file, size_t len)
{
	size_t at = strlen(BT_FILE_MAGIC), n = 0;
	struct bt_chunk chunk;

	for (; at < len; at += sizeof(chunk) + chunk.len, n++)
		memcpy(&chunk, file + at, sizeof(chunk));
	return n;
}

/*
 * Truncate a file after BT_FILE_MAGIC, and after each byte that follows. Replay it from a buffer of
 * its exact size: ASan detects a read beyond the buffer.
 */
static void test_cut(const u8 *file, size_t len)
{
	size_t i, whole = 0, cut = 0, none = 0;
	const char *wrong;
	u8 *part;

	for (i = strlen(BT_FILE_MAGIC); i < len; i++) {
		part = malloc(i);
		memcpy(part, file, i);
		wrong = replay_of(part, i);
		whole += !wrong;
		cut += wrong && !strcmp(wrong, "it is cut short");
		none += wrong && !strcmp(wrong, "it holds the trace of no thread");
		free(part);
	}
	ok(whole + none == chunks_of(file, len) && none == 2 &&
	   whole + none + cut == len - strlen(BT_FILE_MAGIC),
	   "a file cut short anywhere: between two of its parts %zu times", whole);
}

/* Replay files with a chunk that is too short for its contents, or longer than the file. */
static void test_damaged(void)
{
	struct bt_chunk chunk = { .tid = 1 };
	u8 bytes[64], *part;
	const char *wrong;
	size_t used, n = 0;
	u64 len;

	for (chunk.type = 0; chunk.type <= BT_CHUNK_ENDED_AT + 1; chunk.type++) {
		for (len = 0; len < 8; len++) {
			chunk.len = len;
			used = strlen(BT_FILE_MAGIC);
			memcpy(bytes, BT_FILE_MAGIC, used);
			memcpy(bytes + used, &chunk, sizeof(chunk));
			used += sizeof(chunk) + len;
			part = calloc(1, used);
			memcpy(part, bytes, used - len);
			wrong = replay_of(part, used);
			n += wrong && !strcmp(wrong, "it is damaged");
			free(part);
		}
	}
	ok(n == 32, "parts that are too short: %zu", n);
	chunk = (struct bt_chunk){ .type = BT_CHUNK_MAPS, .len = UINT64_MAX };
	memcpy(bytes + strlen(BT_FILE_MAGIC), &chunk, sizeof(chunk));
	wrong = replay_of(bytes, sizeof(bytes));
	ok(wrong && !strcmp(wrong, "it is cut short"), "a part that is too long for any file");
}

static void test_roundtrip(void)
{
	static const struct bt_output *const all[] = {
		&bt_out_plain, &bt_out_raw, &bt_out_json, &bt_out_calls, &bt_out_folded,
		&bt_out_perfetto, &bt_out_drcov, &bt_out_summary, &bt_out_crash, &bt_out_flow,
		&bt_out_lcov, &bt_out_insn, &bt_out_profile, &bt_out_lines, &bt_out_loops,
	};
	size_t i, len, a_len, b_len;
	u8 *file = record(&len);
	char *a, *b;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		a = output_of(all[i], NULL, 0, 0, &a_len);
		b = output_of(all[i], file, len, 0, &b_len);
		ok(a_len && a_len == b_len && !memcmp(a, b, a_len),
		   "%s: the same from a file, %zu bytes", all[i]->name, a_len);
		free(a);
		free(b);
		ok(bt_output_find(all[i]->name) == all[i], "%s: found by its name", all[i]->name);
	}
	test_cut(file, len);
	munmap(file, len);
	ok(!bt_output_find("nonsense"), "no such format");
}

static const char plain_want[] =
	"--- on CPU 1 at 0.001000000 ---\n"
	"interrupt [kernel] -> walk_main+0x0 (unit_output)\n"
	"call      walk_main+0x0 (unit_output) -> walk_leaf+0x0 (unit_output)\n"
	"ret       walk_leaf+0x1 (unit_output) -> walk_main+0x5 (unit_output)\n"
	"jcc       walk_main+0x7 (unit_output) -> walk_main+0xa (unit_output)\n"
	"syscall   walk_main+0xf (unit_output) -> [kernel]\n"
	"syscall   [kernel] -> walk_main+0x11 (unit_output)\n"
	"jmp       walk_main+0x11 (unit_output) -> walk_tail+0x0 (unit_output)\n"
	"--- off CPU 1 at 0.001008000 ---\n"
	"--- SIGUSR1 ---\n"
	"--- 3 records lost ---\n"
	"--- records lost, not counted ---\n"
	"ret       walk_tail+0x1 (unit_output) -> [unknown]+0x10\n"
	"--- another program ---\n"
	"interrupt [kernel] -> [unknown]+0x";

static const char folded_want[] =
	"wa\"lk:er;walk_main 5\n"
	"wa\"lk:er;walk_main;walk_tail 1\n"
	"wa\"lk:er;walk_main;walk_leaf 1\n";

static void expect(const char *what, const struct bt_output *out, u32 last, const char *want)
{
	size_t used;
	char *got = output_of(out, NULL, 0, last, &used), *text;

	if (out == &bt_out_perfetto) {
		text = perfetto_text(got, used);
		free(got);
		got = text;
	}
	if (!ok(strstr(got, want), "%s", what))
		printf("# got:\n%s\n# want:\n%s\n", got, want);
	free(got);
}

static void test_words(void)
{
	expect("plain", &bt_out_plain, 0, plain_want);
	expect("plain: its end", &bt_out_plain, 0, "+++ exited with 0 +++\n");
	expect("the last are of the last program", &bt_out_plain, 2, "interrupt [kernel] -> [unkn");
	expect("raw: what nobody knows", &bt_out_raw, 0, "77 0x1234 0x5 0x6\n");
	expect("raw: lost", &bt_out_raw, 0, "77 lost 5000 3\n");
	expect("raw: arrives", &bt_out_raw, 0, "77 arrives 1000000 77 1\n");
	expect("folded", &bt_out_folded, 0, folded_want);
	expect("summary", &bt_out_summary, 0, "9 total, 3 lost, 1 gap, 1 thread\n");
	expect("calls", &bt_out_calls, 0, "1 calls, 1 returns, ");
	expect("perfetto: its first call", &bt_out_perfetto, 0,
	       "B 77 77 1001.142 walk_main\n");
	expect("perfetto: spread over the time", &bt_out_perfetto, 0,
	       "B 77 77 1002.285 walk_leaf\n");
	expect("perfetto: lost, counted", &bt_out_perfetto, 0, " 3 records lost\n");
	expect("perfetto: lost, not counted", &bt_out_perfetto, 0, " records lost, not counted\n");
	expect("perfetto: its process", &bt_out_perfetto, 0, "process 77 0 wa\"lk;er\n");
	expect("drcov", &bt_out_drcov, 0, "BB Table: 5 bbs\n");
}

static size_t count(const char *s, const char *what)
{
	size_t n = 0;

	for (; (s = strstr(s, what)); s++)
		n++;
	return n;
}

static void test_shapes(void)
{
	size_t used, i, wrong = 0;
	char *got = output_of(&bt_out_perfetto, NULL, 0, 0, &used), *text;

	text = perfetto_text(got, used);
	ok(count(text, "\nB ") == count(text, "\nE "), "perfetto: all that begins ends");
	ok(!strstr(text, "broken\n"), "perfetto: well-formed");
	free(text);
	free(got);
	got = output_of(&bt_out_json, NULL, 0, 0, &used);
	for (i = 0; got[i]; i += strcspn(got + i, "\n") + 1)
		wrong += strncmp(got + i, "{\"type\":\"", 9) != 0;
	ok(!wrong && count(got, "\n") == 16, "json: %zu lines", count(got, "\n"));
	free(got);
}

/*
 * No block is counted if the next branch is before the last target, or in another module:
 * records must be missing between the two branches.
 */
static void test_drcov_gaps(void)
{
	static const struct {
		u64 to, from;
		int blocks;
	} steps[] = {
		{ AT(walk_main), AT(walk_call), 1 },
		{ AT(walk_call), AT(strtoull), 0 },
		{ AT(strtoull), AT(walk_call), 0 },
		{ AT(walk_tail), AT(walk_ret), 0 },
		{ 0x10, AT(walk_ret), 0 },
		{ AT(walk_leaf), AT(walk_ret), 1 },
	};
	char want[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		struct bt_session s = { .out = &bt_out_drcov };

		text_open(&s.text, -1);
		bt_session_begin(&s);
		bt_session_thread(&s, PID, PID, true, "x");
		bt_session_maps(&s, PID, maps.bytes, maps.len);
		branch(&s, X86_BTS_LEAVE, 0, steps[i].to);
		branch(&s, X86_BTS_BRANCH, steps[i].from, 0x10);
		bt_session_end(&s);
		text_char(&s.text, '\0');
		sprintf(want, "BB Table: %d bbs\n", steps[i].blocks);
		ok(strstr(s.text.buf, want), "drcov: step %zu: %d blocks", i, steps[i].blocks);
		free(s.text.buf);
		bt_modules_free();
	}
}

/*
 * Check the lines of perfetto_text(): on each track time does not go back, and each call
 * that begins ends.
 */
static bool tracks_in_order(const char *text, int nr, int *slices)
{
	double ts, last[4] = {};
	int pid, tid, depth[4] = {};
	const char *line;
	char phase;

	*slices = 0;
	for (line = text; *line; line = strchr(line, '\n') + 1) {
		/* Skip the names of processes and threads. */
		if (line[1] != ' ')
			continue;
		if (sscanf(line, "%c %d %d %lf", &phase, &pid, &tid, &ts) != 4 ||
		    tid < PID || tid >= PID + nr)
			return false;
		tid -= PID;
		depth[tid] += (phase == 'B') - (phase == 'E');
		*slices += phase == 'B';
		if (ts < last[tid] || depth[tid] < 0)
			return false;
		last[tid] = ts;
	}
	for (tid = 0; tid < nr; tid++)
		if (depth[tid])
			return false;
	return true;
}

static void go(struct bt_session *s, pid_t tid, u64 clock, u64 what)
{
	struct x86_bts_record rec[] = {
		{ .type = X86_BTS_TASK_ARRIVES, .event = { clock, tid, 1 } },
		{ .type = X86_BTS_LEAVE, .branch = { 0, AT(walk_main) } },
		{ .type = X86_BTS_BRANCH, .branch = { AT(walk_call), AT(walk_leaf) } },
		{ .type = what, .event = { clock + 500, tid, 1 } },
	};

	bt_session_records(s, tid, rec, ARRAY_SIZE(rec));
}

/*
 * There are two threads. The second calls execve(), and gets the ID of the first. The clocks
 * of CPUs differ, so that a time may be earlier than the one before.
 */
static void test_tracks(void)
{
	struct bt_session s = { .out = &bt_out_perfetto };
	bool in_order;
	int slices;
	char *text;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	bt_session_thread(&s, PID, PID, true, "x");
	bt_session_thread(&s, PID + 1, PID, true, "y");
	bt_session_maps(&s, PID, maps.bytes, maps.len);
	go(&s, PID, 10000, X86_BTS_TASK_DEPARTS);
	go(&s, PID, 9000, X86_BTS_TASK_DEPARTS);
	go(&s, PID, 20000, X86_BTS_TASK_DEPARTS);
	go(&s, PID + 1, 12000, X86_BTS_TASK_DEPARTS);
	go(&s, PID + 1, 21000, X86_BTS_EXEC);
	bt_session_exec(&s, PID, PID + 1, true, "z");
	bt_session_maps(&s, PID, maps.bytes, maps.len);
	go(&s, PID, 22000, X86_BTS_TASK_DEPARTS);
	bt_session_end(&s);
	text = perfetto_text(s.text.buf, s.text.used);
	in_order = tracks_in_order(text, 2, &slices);
	free(text);
	ok(in_order && slices > 8,
	   "perfetto: %d slices in the order of time, each on one track", slices);
	free(s.text.buf);
	bt_modules_free();
}

/* A signal arrives before walk_leaf returns. The handler of the signal is walk_tail. */
static void tell_signal(struct bt_session *s)
{
	struct x86_bts_record rec = {
		.type = X86_BTS_SIGNAL, .info = 10, .branch = { AT(walk_ret), AT(walk_tail) },
	};
	struct x86_bts_record flagged = {
		.type = X86_BTS_BRANCH, .flags = X86_BTS_F_MISPREDICTED | X86_BTS_F_UNRELIABLE,
		.branch = { AT(walk_call), AT(walk_leaf) },
	};

	text_open(&s->text, -1);
	bt_session_begin(s);
	bt_session_thread(s, PID, PID, true, "x");
	bt_session_maps(s, PID, maps.bytes, maps.len);
	bt_session_records(s, PID, &flagged, 1);
	bt_session_records(s, PID, &rec, 1);
	branch(s, X86_BTS_LEAVE, 0, AT(walk_tail));
	branch(s, X86_BTS_SIGRETURN, 0, AT(walk_ret));
	branch(s, X86_BTS_LEAVE, 0, AT(walk_ret));
	bt_session_end(s);
	text_char(&s->text, '\0');
}

static void test_signal(void)
{
	static const struct {
		const struct bt_output *out;
		const char *want;
	} formats[] = {
		{ &bt_out_plain, "signal    walk_leaf+0x1 (unit_output) -> walk_tail+0x0 (unit_" },
		{ &bt_out_plain, "sigreturn [kernel] -> walk_leaf+0x1 (unit_output)\n" },
		{ &bt_out_raw, " 10\n77 leave " },
		{ &bt_out_raw, " mispredicted unreliable\n77 signal " },
		{ &bt_out_json, "{\"type\":\"signal\",\"pid\":77,\"tid\":77,\"signal\":10," },
		{ &bt_out_json, "{\"type\":\"sigreturn\",\"pid\":77,\"tid\":77,\"to\":{" },
		{ &bt_out_json, ",\"mispredicted\":true,\"unreliable\":true}" },
		{ &bt_out_drcov, "BB Table: 1 bbs\n" },
		{ &bt_out_summary, " 3 total, " },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		struct bt_session s = { .out = formats[i].out };

		tell_signal(&s);
		if (!ok(strstr(s.text.buf, formats[i].want), "%s: %s", formats[i].out->name,
			formats[i].want))
			printf("# got:\n%s\n", s.text.buf);
		free(s.text.buf);
		bt_modules_free();
	}
}

/* The kernel returns from a system call and, before the thread goes on, from an interrupt. */
static void test_again(void)
{
	struct bt_session s = { .out = &bt_out_plain };
	const char *got;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	bt_session_thread(&s, PID, PID, true, "x");
	bt_session_maps(&s, PID, maps.bytes, maps.len);
	branch(&s, X86_BTS_LEAVE, 0, AT(walk_after));
	branch(&s, X86_BTS_LEAVE, 0, AT(walk_after));
	branch(&s, X86_BTS_BRANCH, AT(walk_after), AT(walk_tail));
	branch(&s, X86_BTS_LEAVE, 0, AT(walk_after));
	bt_session_end(&s);
	text_char(&s.text, '\0');
	got = s.text.buf;
	ok(count(got, "syscall   [kernel]") == 2 && count(got, "interrupt [kernel]") == 1,
	   "interrupted behind a system call");
	free(s.text.buf);
	bt_modules_free();
}

static void test_last(void)
{
	struct bt_session s = { .out = &bt_out_raw, .last = 5 };
	char want[64], *got;
	size_t used;
	u64 i;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	bt_session_thread(&s, PID, PID, true, "x");
	for (i = 0; i < 20000; i++)
		branch(&s, X86_BTS_BRANCH, i, i + 1);
	bt_session_end(&s);
	text_char(&s.text, '\0');
	snprintf(want, sizeof(want), "77 branch 0x4e1b 0x4e1c\n");
	ok(!strncmp(s.text.buf, want, strlen(want)) && count(s.text.buf, "\n") == 5,
	   "the last 5 of 20000");
	free(s.text.buf);
	got = output_of(&bt_out_plain, NULL, 0, 2, &used);
	ok(count(got, " -> ") == 1 && count(got, "--- ") == 0, "nothing from before exec");
	free(got);
}

/* If none of the last branches passes the filter, a message says so. */
static void test_none(void)
{
	const char *error;
	struct bt_session s = {
		.out = &bt_out_plain, .last = 5, .filter = bt_filter_add(NULL, "func=none", &error),
	};
	u64 i;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	bt_session_thread(&s, PID, PID, true, "x");
	for (i = 0; i < 2000; i++)
		branch(&s, X86_BTS_BRANCH, i, i + 1);
	bt_session_end(&s);
	text_char(&s.text, '\0');
	if (!ok(!strncmp(s.text.buf, "--- none of the last 2000 branches ", 35) &&
		count(s.text.buf, "\n") == 1, "a filter that nothing passes"))
		printf("# got: %s\n", s.text.buf);
	free(s.text.buf);
	bt_filter_free(s.filter);
	bt_modules_free();
}

/* Two threads run in turn. The output is sorted by time, or by thread. */
static void test_flow(bool by_thread)
{
	struct bt_session s = { .out = &bt_out_flow, .by_thread = by_thread };
	static const char *const orders[] = { "77 78 77 78 ", "77 77 78 78 " };
	char order[64] = "", *line;
	int last = 0, pid;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	bt_session_thread(&s, PID, PID, true, "x");
	bt_session_thread(&s, PID + 1, PID, true, "y");
	bt_session_maps(&s, PID, maps.bytes, maps.len);
	/* All records of one thread come before those of the other. */
	go(&s, PID, 10000, X86_BTS_TASK_DEPARTS);
	go(&s, PID, 30000, X86_BTS_TASK_DEPARTS);
	go(&s, PID + 1, 20000, X86_BTS_TASK_DEPARTS);
	go(&s, PID + 1, 40000, X86_BTS_TASK_DEPARTS);
	bt_session_end(&s);
	text_char(&s.text, '\0');
	for (line = s.text.buf; (line = strstr(line, "[pid ")); line++) {
		pid = atoi(line + 5);
		if (strstr(line, "walk_main") && strstr(line, "walk_main") < strchr(line, '\n'))
			last = sprintf(order + strlen(order), "%d ", pid);
	}
	if (!ok(last && !strcmp(order, orders[by_thread]), "flow%s: threads in the order %s",
		by_thread ? " by thread" : "", order))
		printf("# got:\n%s\n", s.text.buf);
	free(s.text.buf);
	bt_modules_free();
}

/*
 * A note comes after the line of the function that the thread was in. The line about missing
 * records is the same as with --plain.
 */
static void test_flow_notes(void)
{
	struct bt_session s = { .out = &bt_out_flow };
	static const char want[] =
		"[pid 77]             walk_main (unit_output) {\n"
		"[pid 77]               walk_leaf {\n"
		"[pid 77] --- records lost, not counted ---\n"
		"[pid 77] --- 3 records lost ---\n"
		"[pid 77] --- SIGSEGV ---\n";
	static const char ended[] =
		"[pid 78]               walk_leaf {\n"
		"[pid 78] --- SIGSEGV ---\n"
		"[pid 78] +++ killed by SIGSEGV +++\n";
	int i;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	for (i = 0; i < 2; i++)
		bt_session_thread(&s, PID + i, PID, true, "x");
	bt_session_maps(&s, PID, maps.bytes, maps.len);
	for (i = 0; i < 2; i++) {
		struct x86_bts_record rec[] = {
			{ .type = X86_BTS_LEAVE, .branch = { 0, AT(walk_main) } },
			{ .type = X86_BTS_BRANCH, .branch = { AT(walk_call), AT(walk_leaf) } },
		};

		bt_session_records(&s, PID + i, rec, ARRAY_SIZE(rec));
		if (!i) {
			lose(&s, 0);
			lose(&s, 3);
		}
		bt_session_note(&s, PID + i, "--- SIGSEGV ---");
		bt_session_exit(&s, PID + i, "+++ killed by SIGSEGV +++");
	}
	bt_session_end(&s);
	text_char(&s.text, '\0');
	if (!ok(strstr(s.text.buf, want) && strstr(s.text.buf, ended),
		"flow: notes after the function that did not return"))
		printf("# got:\n%s\n", s.text.buf);
	free(s.text.buf);
	bt_modules_free();
}

/* If neither of two threads has crashed, the crash view shows only their calls. */
static void test_no_crash(void)
{
	struct bt_session s = { .out = &bt_out_crash };
	int i;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	for (i = 0; i < 2; i++) {
		bt_session_thread(&s, PID + i, PID, true, "x");
		bt_session_maps(&s, PID + i, maps.bytes, maps.len);
		go(&s, PID + i, 10000, X86_BTS_TASK_DEPARTS);
	}
	bt_session_end(&s);
	text_char(&s.text, '\0');
	ok(count(s.text.buf, ": calls that have not returned") == 2 &&
	   !count(s.text.buf, "The way there"), "crash: two threads, and none has crashed");
	free(s.text.buf);
	bt_modules_free();
}

/* The crash view of a recorded trace does not advise to look further back: -s is no help there. */
static void test_hint(bool replayed)
{
	struct bt_session s = { .out = &bt_out_crash, .replayed = replayed };

	text_open(&s.text, -1);
	bt_session_begin(&s);
	bt_session_thread(&s, PID, PID, true, "x");
	bt_session_maps(&s, PID, maps.bytes, maps.len);
	branch(&s, X86_BTS_BRANCH, AT(strtoull), AT(strtoull));
	bt_session_end(&s);
	text_char(&s.text, '\0');
	if (!ok(strstr(s.text.buf, "  None of the last 1 branches is the program's own.") &&
		!strstr(s.text.buf, ". Look further back: -s 16M\n") == replayed,
		"crash: none is its own, %s", replayed ? "recorded" : "live"))
		printf("# got:\n%s\n", s.text.buf);
	free(s.text.buf);
	bt_modules_free();
}

/*
 * The session is told of threads that it does not know, and of an execve() while other
 * threads exist.
 */
static void test_unknown_threads(void)
{
	struct bt_session s = { .out = &bt_out_calls };
	struct x86_bts_record rec = { .type = X86_BTS_BRANCH, .branch = { 1, 2 } };
	int i;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	bt_session_records(&s, 5, &rec, 1);
	bt_session_exit(&s, 5, "gone");
	bt_session_exec(&s, 5, 6, true, "x");
	bt_session_maps(&s, 5, "x", 1);
	for (i = 1; i <= 3000; i++)
		bt_session_thread(&s, i, 1, true, "thread");
	for (i = 1; i <= 3000; i++)
		bt_session_records(&s, i, &rec, 1);
	bt_session_exec(&s, 1, 9, true, "next");
	bt_session_records(&s, 1, &rec, 1);
	bt_session_records(&s, 9, &rec, 1);
	ok(!bt_session_find(&s, 9) && bt_session_find(&s, 1), "a thread takes over the first's ID");
	for (i = 2; i <= 3000; i++)
		bt_session_exit(&s, i, NULL);
	bt_session_end(&s);
	ok(s.counts.branches == 3001, "%llu branches", (unsigned long long)s.counts.branches);
	free(s.text.buf);
	bt_modules_free();
}

/*
 * There are 100000 processes at the same time, each with another name and another address of
 * a library. The time must not be quadratic in their number.
 */
static void test_many_threads(void)
{
	struct bt_session s = { .out = &bt_out_calls };
	clock_t begin = clock();
	char text[128], comm[32];
	int i, n = 100000;
	double seconds;

	text_open(&s.text, -1);
	bt_session_begin(&s);
	for (i = 1; i <= n; i++) {
		struct x86_bts_record rec = {
			.type = X86_BTS_BRANCH,
			.branch = { i * 0x10000ull + 5, i * 0x10000ull + 9 },
		};

		snprintf(comm, sizeof(comm), "thread%d", i);
		bt_session_thread(&s, i, i, true, comm);
		snprintf(text, sizeof(text), "%llx-%llx r-xp 0 8:1 5 /nowhere/library\n",
			 i * 0x10000ull, i * 0x10000ull + 0x1000);
		bt_session_maps(&s, i, text, strlen(text));
		bt_session_records(&s, i, &rec, 1);
	}
	bt_session_end(&s);
	seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	ok(s.counts.branches == (u64)n && seconds < 20, "%d threads: %.1f s", n, seconds);
	free(s.text.buf);
	bt_modules_free();
}

int main(void)
{
	bt_proc_read(&maps, getpid(), "maps");
	test_roundtrip();
	test_damaged();
	test_words();
	test_shapes();
	test_drcov_gaps();
	test_tracks();
	test_signal();
	test_again();
	test_last();
	test_none();
	test_no_crash();
	test_hint(false);
	test_hint(true);
	test_flow(false);
	test_flow(true);
	test_flow_notes();
	test_unknown_threads();
	free(maps.bytes);
	test_many_threads();
	return finish();
}
