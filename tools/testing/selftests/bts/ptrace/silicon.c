// SPDX-License-Identifier: GPL-2.0
/*
 * Traces on hardware that loses or damages records, and traces beside NMIs of other sources. A
 * trace must have a mark (X86_BTS_LOST) wherever the kernel can tell that the hardware did not
 * record a wanted branch.
 *
 *   silicon late	the PMI comes when the hardware's buffer has long been full
 *   silicon cleared [nmi|before]
 *			each #DB clears DEBUGCTL.TR, and so stops the recording; nmi: an NMI comes
 *			after every second branch of the tracee, after the #DB of a step and before
 *			the first instruction of its handler; before: the processor's filter drops
 *			the returns from the kernel
 *   silicon watched	the same filter, and #DBs by a watchpoint, which do not stop the tracee; the
 *			PMI of a trace comes just after some of them
 *   silicon leftover	perf's last event with LBRs leaves FREEZE_LBRS_ON_PMI set, with which each
 *			PMI clears DEBUGCTL.TR: nothing is lost
 *   silicon firmware	the firmware leaves both freezes of DEBUGCTL set on each CPU
 *   silicon sampled	perf samples all CPUs while the kernel is recorded: nothing is lost
 *   silicon together	the same with two counters of perf and the NMI watchdog
 *   silicon masked [kept]
 *			PMIs of the trace find LVTPC masked by a PMI of a counter; kept:
 *			they come when LVTPC is unmasked
 *   silicon damaged [no-filter]
 *			the hardware damages or loses records, and the kernel cannot tell which:
 *			each X86_BTS_BRANCH must have X86_BTS_F_UNRELIABLE; no-filter: and the
 *			kernel must not use the filter by CPL
 *   silicon stray [lbr]
 *			the kernel reports an NMI of no known source while it is traced; lbr: the
 *			recorder is on, with this source
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../guest/lbrs.h"
#include "../guest/recorder.h"
#include "../guest/tracee.h"
#include "../guest/walk.h"
#include "../guest/system.h"

#define BRANCHES	100000
#define ROOM		200000
#define ROWS		10
#define DEBUGCTL_TR_BIT	0x40
#define DEBUGCTL_RECORDS	0xc0	/* TR, BTS */
#define DEBUGCTL_FILTERED	0x2c0	/* TR, BTS, BTS_OFF_OS */
#define DEBUGCTL_FREEZE_LBRS	0x800

#define READ_ALL	3	/* command of klogctl() */

static const char usage[] =
	"silicon late|cleared|watched|leftover|firmware|sampled|together|masked|damaged|stray";

static unsigned int times_in_log(const char *text)
{
	static char log[1 << 18];
	const char *at = log;
	unsigned int n = 0;
	int len = klogctl(READ_ALL, log, sizeof(log) - 1);

	if (len < 0)
		give_up("the kernel's log");
	log[len] = 0;
	while ((at = strstr(at, text))) {
		at += strlen(text);
		n++;
	}
	return n;
}

static size_t known_branches(const struct trace *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->nr; i++)
		n += t->rec[i].type == X86_BTS_BRANCH &&
		     t->rec[i].branch.from == (uintptr_t)known_site &&
		     t->rec[i].branch.to == (uintptr_t)known_loop;
	return n;
}

static void check_late(void)
{
	struct ptrace_bts_status status;
	struct tracee t = tracee_new();
	struct trace got = { };
	size_t marks, known;

	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(ROOM), 0))
		give_up("no trace");
	tracee_do(&t, known_work, BRANCHES);
	status = bts_status(t.pid);
	trace_drain(t.pid, &got, ROOM);
	marks = trace_count(&got, X86_BTS_LOST);
	known = known_branches(&got);
	ok(known && known < BRANCHES - 1, "%zu of %d branches are there", known, BRANCHES - 1);
	ok(marks && status.gaps == marks, "%zu marks, %u gaps", marks, status.gaps);
	ok(trace_leak(&got) < 0, "no address of the kernel");
	trace_free(&got);
	tracee_end(&t);
}

static bool in_user_mode(const struct x86_bts_record *rec)
{
	return rec->type == X86_BTS_BRANCH && rec->branch.from < USER_END &&
	       rec->branch.to < USER_END;
}

static size_t user_branches(const struct trace *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->nr; i++)
		n += in_user_mode(&t->rec[i]);
	return n;
}

/* Returns how often a branch of user mode comes directly after another one. */
static size_t user_branches_in_row(const struct trace *t)
{
	size_t i, n = 0;

	for (i = 1; i < t->nr; i++)
		n += in_user_mode(&t->rec[i - 1]) && in_user_mode(&t->rec[i]);
	return n;
}

/* Returns the number of returns from the kernel in @t, plus that of counted lost records. */
static size_t returns(const struct trace *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->nr; i++) {
		n += t->rec[i].type == X86_BTS_LEAVE;
		if (t->rec[i].type == X86_BTS_LOST)
			n += t->rec[i].lost.count;
	}
	return n;
}

/* Have perf interrupt @pid, or all tasks of @cpu, after every @period branches in user mode. */
static int sample_branches(pid_t pid, int cpu, unsigned int period)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.type		= PERF_TYPE_HARDWARE,
		.config		= PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.sample_period	= period,
		.exclude_kernel	= 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		give_up("perf_event_open");
	return fd;
}

static void check_cleared_by(const char *name, int request, uint32_t flags, const char *how)
{
	bool with_nmis = !strcmp(how, "nmi"), before_rule = !strcmp(how, "before");
	struct trace got = { };
	struct stops stops;
	int counter = -1;
	long before;
	size_t marks;
	pid_t pid;

	pin_to(0);
	pid = start_walk();
	pin_to(1);
	if (bts_config(pid, flags | ALLOC, RECORDS(10 * ROOM), 0))
		give_up("no trace");
	/* A counter of the task would start anew at each stop. */
	if (with_nmis)
		counter = sample_branches(-1, 0, 2);
	before = nmis();
	step_through(pid, request, &stops);
	close(counter);
	if (with_nmis)
		ok(nmis() - before >= nr_branches() / 2, "%s: %ld NMIs", name, nmis() - before);
	trace_drain(pid, &got, ROOM);
	marks = trace_count(&got, X86_BTS_LOST);
	ok(user_branches(&got) == nr_branches(), "%s: all %u branches of user mode", name,
	   nr_branches());
	ok(!user_branches_in_row(&got), "%s: a return or a mark after each branch", name);
	if (flags & (ENTRY | KERNEL))
		ok(marks >= stops.n, "%s: %u stops, %zu marks", name, stops.n, marks);
	else if (!before_rule)
		ok(returns(&got) >= stops.n && !marks, "%s: %u stops, %zu returns, %zu marks", name,
		   stops.n, returns(&got), marks);
	finish_walk(pid);
	trace_free(&got);
}

static void check_cleared(const char *how)
{
	static const struct {
		const char *name;
		int request;
		uint32_t flags;
	} ways[] = {
		{ "step", PTRACE_SINGLESTEP, TRACE },
		{ "step, ENTRY", PTRACE_SINGLESTEP, TRACE | ENTRY },
		{ "step, KERNEL", PTRACE_SINGLESTEP, TRACE | KERNEL },
		{ "block-step", PTRACE_SINGLEBLOCK, TRACE },
		{ "block-step, ENTRY", PTRACE_SINGLEBLOCK, TRACE | ENTRY },
		{ "block-step, KERNEL", PTRACE_SINGLEBLOCK, TRACE | KERNEL },
	};
	size_t i;

	if (!strcmp(how, "nmi"))
		allow_many_samples();
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		check_cleared_by(ways[i].name, ways[i].request, ways[i].flags, how);
}

static unsigned long watched_stack[512];
extern const char watched_call[];

/*
 * Branch @n times in a row, ten times. The last branch of each row is a call, which writes the last
 * word of watched_stack.
 */
static __attribute__((noinline)) void watched_rows(unsigned long n)
{
	unsigned long sp, left, rows = ROWS;

	__asm__ volatile("mov	%%rsp, %0\n"
			 "1:	mov	%4, %%rsp\n\t"
			 "sub	$1, %2\n\t"
			 "jc	3f\n\t"
			 "mov	%3, %1\n"
			 "2:	sub	$1, %1\n\t"
			 "jnz	2b\n"
			 "watched_call:\n\t"
			 "call	1b\n"
			 "3:	mov	%0, %%rsp\n"
			 : "=&r" (sp), "=&r" (left), "+r" (rows)
			 : "r" (n), "r" (watched_stack + 512)
			 : "memory", "cc");
}

static int watch(pid_t pid, void *at)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.type		= PERF_TYPE_BREAKPOINT,
		.bp_type	= HW_BREAKPOINT_W,
		.bp_addr	= (uintptr_t)at,
		.bp_len		= HW_BREAKPOINT_LEN_8,
		.exclude_kernel	= 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		give_up("perf_event_open");
	return fd;
}

/* For each call, the place of the return from its #DB must be marked. */
static void check_row(const struct tracee *t, unsigned int n)
{
	struct trace got = { };
	size_t i, calls = 0, bare = 0;

	if (bts_config(t->pid, TRACE | ALLOC, RECORDS(ROWS * n + 1000), 0))
		give_up("no trace");
	tracee_do(t, watched_rows, n);
	trace_drain(t->pid, &got, ROOM);
	for (i = 0; i + 1 < got.nr; i++) {
		if (!in_user_mode(&got.rec[i]) || got.rec[i].branch.from != (uintptr_t)watched_call)
			continue;
		calls++;
		bare += got.rec[i + 1].type == X86_BTS_BRANCH;
	}
	ok(calls == ROWS && !bare, "%u branches a row: %zu calls, %zu without a mark", n, calls,
	   bare);
	trace_free(&got);
}

/* Returns for how many records the buffer has room when the kernel asks for a PMI. */
static unsigned int pmi_reserve(void)
{
	bool more = times_in_log("KernelAddressSanitizer init") || !access("/proc/lockdep", F_OK);

	return more ? 680 : 340;
}

static void check_watched(void)
{
	const unsigned int most = 2730, reserve = pmi_reserve(), near = 3;
	long long pmis = bts_counter("pmis");
	uint64_t hits = 0;
	bool counted;
	struct tracee t;
	unsigned int n;
	int fd;

	/* With CAP_PERFMON, the kernel would not use the filter any more after four marks. */
	drop_perfmon();
	pin_to(0);
	t = tracee_new();
	pin_to(1);
	fd = watch(t.pid, watched_stack + 511);
	/* The #DB empties the buffer. So with one of these numbers, each PMI comes at a call. */
	for (n = most - reserve - near; n <= most - reserve + near; n++)
		check_row(&t, n);
	pmis = bts_counter("pmis") - pmis;
	ok(pmis >= near * ROWS && pmis <= 2 * near * ROWS, "%lld PMIs", pmis);
	counted = read(fd, &hits, sizeof(hits)) == sizeof(hits);
	ok(counted && hits == (2 * near + 1) * ROWS, "%llu #DBs", (unsigned long long)hits);
	tracee_end(&t);
}

static void many_calls(unsigned long n)
{
	while (n--)
		syscall(SYS_getppid);
}

/*
 * Record the kernel while perf samples. Counters and the Debug Store share LVTPC, the register of
 * the APIC for PMIs. A PMI of a counter masks LVTPC until perf's handler unmasks it.
 */
static void check_beside_counters(void)
{
	struct ptrace_bts_status status;
	struct trace got = { };
	struct tracee t;
	long samples;
	uint64_t ns;

	pin_to(0);
	t = tracee_new();
	pin_to(1);
	samples = interrupts_of_cpu("PMI", 0);
	if (bts_config(t.pid, TRACE | KERNEL | ALLOC, RECORDS(20 * ROOM), 0))
		give_up("no trace");
	tracee_do(&t, many_calls, BRANCHES / 5);
	samples = interrupts_of_cpu("PMI", 0) - samples;
	status = bts_status(t.pid);
	ok(status.held > BRANCHES && !status.overwritten, "%llu records",
	   (unsigned long long)status.held);
	/* In the emulator, cycles and instructions count nanoseconds. */
	ns = executed_ns(t.pid);
	ok(enough_samples(samples, ns, 1000000), "%ld samples in %llu ns", samples,
	   (unsigned long long)ns);
	trace_drain(t.pid, &got, ROOM);
	ok(!status.gaps && !status.lost && !trace_count(&got, X86_BTS_LOST), "%u gaps",
	   status.gaps);
	trace_free(&got);
	tracee_end(&t);
}

static void check_sampled(void)
{
	sample_all(PERF_COUNT_HW_CPU_CYCLES, 1000000);
	check_beside_counters();
}

static bool watchdog_is_on(void)
{
	int fd = open("/proc/sys/kernel/nmi_watchdog", O_RDONLY | O_CLOEXEC);
	char on = '0';

	if (fd < 0 || read(fd, &on, 1) != 1)
		give_up("nmi_watchdog");
	close(fd);
	return on == '1';
}

/* The NMI watchdog uses a third counter, which counts cycles. */
static void check_together(void)
{
	long before = interrupts("PMI");
	int tries = 1000;

	while (interrupts("PMI") == before && tries--)
		known_work(1000000);
	ok(watchdog_is_on() && interrupts("PMI") > before, "the watchdog is on and counts");
	sample_all(PERF_COUNT_HW_INSTRUCTIONS, 1000000);
	sample_all(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 300007);
	check_beside_counters();
	ok(!times_in_log("NMI received") && !times_in_log("hard LOCKUP"),
	   "each NMI was somebody's");
}

struct damage {
	size_t known;		/* branches of known_work() */
	size_t unmarked;	/* branches without X86_BTS_F_UNRELIABLE */
	size_t leaks;		/* drains with an address of the kernel */
	size_t stops;		/* stops at a full ring */
};

static void add_damage(const struct trace *got, struct damage *d)
{
	size_t i;

	d->known += known_branches(got);
	d->leaks += trace_leak(got) >= 0;
	for (i = 0; i < got->nr; i++)
		d->unmarked += got->rec[i].type == X86_BTS_BRANCH &&
			       !(got->rec[i].flags & X86_BTS_F_UNRELIABLE);
}

static long long damaged_records(void)
{
	return bts_counter_or_0("garbled") + bts_counter_or_0("dropped");
}

static struct damage run_damaged(const struct tracee *t, unsigned int room)
{
	struct damage d = { };
	bool full;

	if (bts_config(t->pid, TRACE | ALLOC | STOP_FULL | SIGNAL, RECORDS(room), 0))
		give_up("no trace");
	tracee_begin(t, known_work, BRANCHES);
	do {
		struct trace got = { };

		full = stopped_by(tracee_continue(t->pid, 0), SIGTRAP | PTRACE_EVENT_BTS << 8);
		d.stops += full;
		trace_drain(t->pid, &got, room);
		add_damage(&got, &d);
		trace_free(&got);
	} while (full);
	return d;
}

/*
 * Record the kernel while perf samples. Each NMI empties the buffer of the CPU. So with some of the
 * periods, the buffer requests its PMI during the first branches of an NMI for the counter, whose
 * PMI has masked LVTPC. The kernel may have recorded some tens of branches before it stops that.
 */
static void check_masked(bool kept)
{
	const unsigned int first = 1900, last = 2600, samples = 8;
	long long masked = bts_counter("masked"), waited = bts_counter_or_0("kept");
	struct tracee t = tracee_new();
	size_t known = 0, marks = 0, want = 0;
	unsigned int period;

	allow_many_samples();
	if (bts_config(t.pid, TRACE | KERNEL | ALLOC, RECORDS(ROOM), 0))
		give_up("no trace");
	for (period = first; period < last; period += 16) {
		int fd = sample_branches(t.pid, -1, period);
		struct trace got = { };

		tracee_do(&t, known_work, samples * period + 1);
		close(fd);
		trace_drain(t.pid, &got, ROOM);
		want += samples * period;
		known += known_branches(&got);
		marks += trace_count(&got, X86_BTS_LOST);
		trace_free(&got);
	}
	masked = bts_counter("masked") - masked;
	waited = bts_counter_or_0("kept") - waited;
	ok(masked > 0, "%lld PMIs have found LVTPC masked", masked);
	ok(waited == (kept ? masked : 0), "%lld PMIs were kept meanwhile", waited);
	ok(known == want && !marks && !bts_status(t.pid).gaps, "%zu of %zu branches, %zu marks",
	   known, want, marks);
	ok(!times_in_log("NMI received"), "each NMI was somebody's");
	tracee_end(&t);
}

static void work_forever(unsigned long unused)
{
	for (;;)
		known_work(1000 + unused);
}

/*
 * Wait until CPU 0 records the tracee, and return the value of DEBUGCTL. TR is clear while CPU 0
 * runs another task.
 */
static uint64_t debugctl_with_tr(void)
{
	uint64_t msr;

	while (!((msr = read_msr(0, MSR_DEBUGCTL)) & DEBUGCTL_TR_BIT))
		usleep(10000);
	return msr;
}

/*
 * At most as many branches of known_work() may be missing as the emulator has damaged or dropped
 * records. Each X86_BTS_BRANCH must have X86_BTS_F_UNRELIABLE.
 */
static void check_damaged_on(int cpu)
{
	const unsigned int room = 1000;
	long long before = damaged_records(), damaged;
	struct tracee t;
	struct damage d;

	pin_to(cpu);
	t = tracee_new();
	d = run_damaged(&t, room);
	damaged = damaged_records() - before;
	ok(damaged > 50 && d.known < BRANCHES - 1 && d.known + damaged >= BRANCHES - 1,
	   "CPU %d: %zu of %d branches, %lld records damaged", cpu, d.known, BRANCHES - 1,
	   damaged);
	ok(!d.unmarked, "%zu records are not marked", d.unmarked);
	ok(!d.leaks, "%zu drains with an address of the kernel", d.leaks);
	ok(d.stops >= d.known / (room + 320), "%zu stops", d.stops);
	tracee_end(&t);
}

/* Damaged records must not make the kernel stop using the filter. */
static void wait_for_damage(void)
{
	long long damaged = damaged_records();

	sleep(1);
	damaged = damaged_records() - damaged;
	ok(damaged > 50, "%lld records damaged meanwhile", damaged);
}

static void check_filter(bool used)
{
	struct tracee t;
	uint64_t msr;

	pin_to(0);
	t = tracee_new();
	/* Without SIGNAL, the tracee does not stop when the ring is full. */
	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(1000), 0))
		give_up("no trace");
	tracee_begin(&t, work_forever, 0);
	ptrace(PTRACE_CONT, t.pid, 0, 0);
	pin_to(1);
	if (used)
		wait_for_damage();
	msr = debugctl_with_tr();
	ok((msr & DEBUGCTL_FILTERED) == (used ? DEBUGCTL_FILTERED : DEBUGCTL_RECORDS),
	   "the filter is %sused: DEBUGCTL is %#llx", used ? "" : "not ", (unsigned long long)msr);
	kill(t.pid, SIGKILL);
}

/*
 * Send NMIs without a cause, while the PMIs of a trace are NMIs, too. The kernel must report at
 * least @enough of them. It may take some for late PMIs. It may miss others: while a CPU handles an
 * NMI, further ones merge into one pending NMI, also a PMI and an NMI without a cause. The
 * emulator's monitor sends NMIs by LINT1, which only the boot CPU receives. The kernel prints at
 * most ten messages in 5 s. In the emulator, it has reported 8 or 9 of 9: allow three less.
 */
static void check_stray(void)
{
	const unsigned int sent = 9, enough = 5;
	struct tracee t;
	unsigned int told, i;

	pin_to(0);
	t = tracee_new();
	pin_to(1);
	if (bts_config(t.pid, TRACE | KERNEL | ALLOC, RECORDS(20 * ROOM), 0))
		give_up("no trace");
	tracee_begin(&t, many_calls, 1000000000);
	ptrace(PTRACE_CONT, t.pid, 0, 0);
	debugctl_with_tr();
	ok(!times_in_log("NMI received"), "each NMI before was somebody's");
	for (i = 0; i < sent; i++) {
		if (hmp("nmi", NULL, 0))
			give_up("the monitor's nmi");
		usleep(100000);
	}
	for (i = 0; i < 100 && times_in_log("NMI received") < enough; i++)
		usleep(100000);
	told = times_in_log("NMI received for unknown reason");
	ok(told >= enough, "of %u NMIs that are nobody's, %u are told", sent, told);
	kill(t.pid, SIGKILL);
}

static bool lbrs_record(void)
{
	return lbr_of_kernel(0) && lbr_of_kernel(1);
}

static void check_leftover(void)
{
	const unsigned int period = 499;
	struct trace got = { };
	size_t marks, known;
	uint64_t msr;
	struct tracee t;
	int lbr;
	long pmis;

	pin_to(0);
	t = tracee_new();
	allow_many_samples();
	lbr = open_lbr(0, -1, 100, false);
	if (lbr < 0)
		give_up("no event with LBRs: %d", lbr);
	known_work(BRANCHES);
	close(lbr);
	msr = read_msr(0, MSR_DEBUGCTL);
	ok(msr & DEBUGCTL_FREEZE_LBRS, "DEBUGCTL is %#llx", (unsigned long long)msr);
	sample_branches(t.pid, -1, period);
	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(ROOM), 0))
		give_up("no trace");
	pmis = interrupts("PMI");
	tracee_do(&t, known_work, BRANCHES);
	pmis = interrupts("PMI") - pmis;
	ok(pmis >= BRANCHES / period, "%ld PMIs", pmis);
	trace_drain(t.pid, &got, ROOM);
	marks = trace_count(&got, X86_BTS_LOST);
	known = known_branches(&got);
	ok(known == BRANCHES - 1 && !marks, "%zu of %d branches are there, %zu marks", known,
	   BRANCHES - 1, marks);
	trace_free(&got);
	tracee_end(&t);
}

/* The firmware, and so each INIT of a CPU, leaves bits set in DEBUGCTL. The kernel clears them. */
static void check_firmware(void)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";
	const uint64_t freezes = 1 << 11 | 1 << 12;
	int cpu;

	if (try_text(online, "0") || try_text(online, "1"))
		give_up("%s", online);
	for (cpu = 0; cpu < 2; cpu++) {
		uint64_t msr = read_msr(cpu, MSR_DEBUGCTL);

		ok(!(msr & freezes), "CPU %d: DEBUGCTL is %#llx", cpu, (unsigned long long)msr);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "late")) {
		check_late();
	} else if (argc >= 2 && !strcmp(argv[1], "cleared")) {
		check_cleared(argc > 2 ? argv[2] : "");
	} else if (argc == 2 && !strcmp(argv[1], "watched")) {
		check_watched();
	} else if (argc == 2 && !strcmp(argv[1], "leftover")) {
		check_leftover();
	} else if (argc == 2 && !strcmp(argv[1], "firmware")) {
		check_firmware();
	} else if (argc == 2 && !strcmp(argv[1], "sampled")) {
		check_sampled();
	} else if (argc == 2 && !strcmp(argv[1], "together")) {
		check_together();
	} else if (argc >= 2 && !strcmp(argv[1], "masked")) {
		check_masked(argc > 2 && !strcmp(argv[2], "kept"));
	} else if (argc >= 2 && !strcmp(argv[1], "damaged")) {
		check_damaged_on(0);
		check_damaged_on(1);
		check_filter(argc == 2 || strcmp(argv[2], "no-filter"));
	} else if (argc == 2 && !strcmp(argv[1], "stray")) {
		check_stray();
	} else if (argc == 3 && !strcmp(argv[1], "stray")) {
		ok(is("enable", argv[2]) && lbrs_record(), "the recorder records");
		check_stray();
		ok(is("enable", argv[2]) && lbrs_record(), "the recorder still records");
	} else {
		give_up("%s", usage);
	}
	return finish();
}
