// SPDX-License-Identifier: GPL-2.0
/*
 * bts_freeze_all() freezes all CPUs: recording stops, and the hardware's buffers keep their
 * records. bts_unfreeze_all() thaws the CPUs: recording goes on. A mark (Q_LOST) must show where
 * branches are missing. Also tested: the flight recorder, a circular buffer without PMIs.
 *
 *   freeze MODULE
 *   freeze thaw FD	run by test_exec(): thaw, by the open file FD of the laboratory
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "../guest/system.h"
#include "common.h"

#define BLOCKS	200
#define RING	200000

/*
 * How often run_seed() executes the known program. The records of one run_seed() must fit into the
 * hardware's buffer. If the kernel does not use the filter by CPL, its own must fit as well.
 */
static unsigned int passes;

static void run_seed(u64 seed)
{
	known_run(seed, passes);
}

static bool has_runs(const struct records *got, const u64 *seeds, size_t nr)
{
	struct recs want = { };
	bool good;
	size_t i;

	for (i = 0; i < nr; i++)
		known_want(seeds[i], passes, &want);
	good = known_same(got, &want);
	recs_free(&want);
	return good;
}

static int start(int target, int id, u32 flags, u32 nr)
{
	int fd = lab_open(target, id, flags, nr);

	lab_must(fd, LAB_START, NULL);
	return fd;
}

static void test_self(void)
{
	static const u64 kept[] = { 1, 3 };
	int fd = start(LAB_SELF, 0, LAB_USER, RING);
	struct records got = { };
	struct lab_status status;

	run_seed(1);
	lab_must(fd, LAB_FREEZE, NULL);
	run_seed(2);
	ok(!(lab_debugctl() & (DEBUGCTL_TR | DEBUGCTL_BTS)), "freeze: the hardware is off");
	/* This returns the records of the ring, and none of the frozen buffer. */
	lab_read(fd, &got);
	ok(!count_of(&got, Q_LOST), "freeze: %zu records can be read", got.nr);
	lab_must(fd, LAB_UNFREEZE, NULL);
	run_seed(3);
	status = lab_status(fd);
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(has_runs(&got, kept, 2) && count_of(&got, Q_LOST) == 1 && status.gaps == 1,
	   "freeze: what was before, a mark, what came after");
	records_free(&got);
	close(fd);
}

static void run_six(void *unused)
{
	(void)unused;
	run_seed(6);
}

static void test_switch(void)
{
	struct records mine = { }, others = { }, cpus = { };
	pid_t pid = start_traced(run_six, NULL);
	int other = start(LAB_TASK, pid, LAB_USER, RING);
	int cpu = start(LAB_CPU, 0, LAB_USER, RING);
	int own = start(LAB_SELF, 0, LAB_USER, RING);

	run_seed(5);
	lab_must(own, LAB_FREEZE, NULL);
	let_run(pid);
	lab_must(own, LAB_UNFREEZE, NULL);
	run_seed(7);
	lab_must(own, LAB_END, NULL);
	lab_must(other, LAB_END, NULL);
	lab_must(cpu, LAB_END, NULL);
	lab_read(own, &mine);
	lab_read(other, &others);
	lab_read(cpu, &cpus);
	/*
	 * A task that is switched out while its CPU is frozen gets none of the records in the
	 * frozen buffer, only a mark. The CPU's trace gets them.
	 */
	ok(has_runs(&mine, (u64[]){ 7 }, 1) && count_of(&mine, Q_LOST) == 1,
	   "frozen and switched out: a mark");
	ok(has_runs(&others, NULL, 0), "frozen and switched in: nothing of the other's");
	ok(has_runs(&cpus, (u64[]){ 5, 7 }, 2) && count_of(&cpus, Q_LOST) == 1,
	   "frozen and switched: the CPU's trace has it");
	records_free(&mine);
	records_free(&others);
	records_free(&cpus);
	close(own);
	close(other);
	close(cpu);
}

static void run_and_freeze(void *lab)
{
	pin_to(nr_cpus() - 1);
	run_seed(21);
	lab_must(*(int *)lab, LAB_FREEZE, NULL);
}

/*
 * A trace of a CPU that leaves out the idle task must get the frozen records, even if the idle task
 * runs when the CPU is thawed.
 */
static void test_idle(void)
{
	int fd = start(LAB_CPU, nr_cpus() - 1, LAB_USER, RING);
	pid_t pid = start_traced(run_and_freeze, &fd);
	struct records got = { };

	let_run(pid);
	usleep(20000);
	lab_must(fd, LAB_UNFREEZE, NULL);
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(has_runs(&got, (u64[]){ 21 }, 1) && count_of(&got, Q_LOST) == 1,
	   "frozen in a task, thawed in the idle task: what was before, and a mark");
	records_free(&got);
	close(fd);
}

/* Run in the tracee: freeze, and execute this program so that it thaws. */
static void run_another(void *lab)
{
	char fd[16];

	snprintf(fd, sizeof(fd), "%d", *(int *)lab);
	fcntl(*(int *)lab, F_SETFD, 0);
	/* Touch all pages before the trace starts, as page faults take branches, too. */
	run_seed(20);
	raise(SIGSTOP);
	run_seed(20);
	lab_must(*(int *)lab, LAB_FREEZE, NULL);
	execl("/proc/self/exe", "freeze", "thaw", fd, NULL);
	_exit(127);
}

static void test_exec(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER, 16), trace, status;
	pid_t pid = start_traced(run_another, &fd);
	struct records got = { };

	if (!WIFSTOPPED(let_run(pid)))
		give_up("the tracee has ended");
	trace = start(LAB_TASK, pid, LAB_USER, RING);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	waitpid(pid, &status, 0);
	lab_read(trace, &got);
	ok(!status && count_of(&got, Q_EXEC) == 1, "frozen and another program: a mark, %#x",
	   status);
	ok(has_runs(&got, NULL, 0), "and nothing of the old one behind it");
	records_free(&got);
	close(trace);
	close(fd);
}

/*
 * Leave SCHED_FIFO, which this task inherits: otherwise, interrupt threads could not run on
 * PREEMPT_RT, and one of them sends the results to the host.
 */
static void run_forever(void *unused)
{
	struct sched_param other = { };

	(void)unused;
	if (sched_setscheduler(0, SCHED_OTHER, &other))
		give_up("SCHED_OTHER");
	pin_to(nr_cpus() - 1);
	for (;;)
		run_seed(8);
}

/* A CPU that runs another task must freeze and thaw, too. */
static void test_all(void)
{
	pid_t pid = start_traced(run_forever, NULL);
	int fd = start(LAB_TASK, pid, LAB_USER, RING), status;
	long long before, after;

	ptrace_cont(pid);
	usleep(50000);
	lab_must(fd, LAB_FREEZE, NULL);
	usleep(10000);
	before = bts_counter("records");
	usleep(50000);
	after = bts_counter("records");
	ok(before > 0 && before == after, "freeze of all CPUs: no record any more");
	lab_must(fd, LAB_UNFREEZE, NULL);
	usleep(50000);
	ok(bts_counter("records") > after, "all CPUs record again");
	kill(pid, SIGSTOP);
	waitpid(pid, &status, 0);
	ok(lab_status(fd).gaps == 1, "with a mark of it");
	end_child(pid);
	lab_must(fd, LAB_DESTROY, NULL);
	close(fd);
}

/*
 * If another freeze comes between bts_freezes() and bts_unfreeze_all(), all CPUs stay frozen. This
 * traces the CPU, not the task: bts_unfreeze_all() may sleep, and a frozen task that is switched
 * out loses records.
 */
static void test_overtaken(void)
{
	int fd = start(LAB_CPU, 0, LAB_USER, RING);
	struct records got = { };

	run_seed(10);
	lab_must(fd, LAB_FREEZE, NULL);
	lab_must(fd, LAB_UNFREEZE, (void *)LAB_OVERTAKEN);
	run_seed(11);
	lab_must(fd, LAB_UNFREEZE, NULL);
	run_seed(12);
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(has_runs(&got, (u64[]){ 10, 12 }, 2) && count_of(&got, Q_LOST) == 1,
	   "a freeze that overtakes a thaw stays");
	records_free(&got);
	close(fd);
}

/* A context that is created while the CPU is frozen must not get older records. */
static void test_created(void)
{
	int first = start(LAB_CPU, 0, LAB_USER, RING), second;
	struct records got = { }, later = { };

	run_seed(14);
	lab_must(first, LAB_FREEZE, NULL);
	second = start(LAB_CPU, 0, LAB_USER, RING);
	lab_must(first, LAB_UNFREEZE, NULL);
	run_seed(15);
	lab_must(first, LAB_END, NULL);
	lab_must(second, LAB_END, NULL);
	lab_read(first, &got);
	lab_read(second, &later);
	ok(has_runs(&got, (u64[]){ 14, 15 }, 2),
	   "thawed: an older trace has the runs before and after");
	ok(has_runs(&later, (u64[]){ 15 }, 1) && !count_of(&later, Q_LOST),
	   "frozen and thawed: a trace made meanwhile has the run after");
	records_free(&got);
	records_free(&later);
	close(first);
	close(second);
}

static bool records_on(int cpu)
{
	bool on;

	pin_to(cpu);
	on = lab_debugctl() & DEBUGCTL_BTS;
	pin_to(0);
	return on;
}

static void set_online(const char *online)
{
	errno = -try_text("/sys/devices/system/cpu/cpu1/online", online);
	if (errno)
		give_up("CPU 1 online: %s", online);
}

/* A CPU that comes online must be frozen if the other CPUs are, and record otherwise. */
static void test_comes(void)
{
	int fd = start(LAB_CPU, 1, LAB_KERNEL, RING);

	set_online("0");
	lab_must(fd, LAB_FREEZE, NULL);
	set_online("1");
	ok(!records_on(1), "a CPU that comes while all are frozen is");
	lab_must(fd, LAB_UNFREEZE, (void *)LAB_LATE);
	ok(records_on(1), "and records when they do");
	set_online("0");
	set_online("1");
	ok(records_on(1), "a thaw that comes late changes nothing");
	lab_must(fd, LAB_DESTROY, NULL);
	close(fd);
}

/* Freeze and thaw so often that NMIs may arrive late or merge. Finally, the CPU must record. */
static void test_flurry(void)
{
	int fd = start(LAB_SELF, 0, LAB_USER, RING), i;
	struct records got = { };

	for (i = 0; i < 200; i++) {
		lab_must(fd, LAB_FREEZE, NULL);
		if (i % 2)
			lab_must(fd, LAB_UNFREEZE, NULL);
	}
	lab_must(fd, LAB_CLEAR, NULL);
	run_seed(13);
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(has_runs(&got, (u64[]){ 13 }, 1), "after %d freezes it records again", i);
	records_free(&got);
	close(fd);
}

/* The last trace ends while the CPU is frozen. A new trace must record. */
static void test_forgotten(bool switched)
{
	pid_t pid = switched ? start_traced(run_six, NULL) : 0;
	int fd = start(LAB_SELF, 0, LAB_USER, RING);
	struct records got = { };

	lab_must(fd, LAB_FREEZE, NULL);
	/* When this task is switched out, it loses the records in the frozen buffer. */
	if (switched)
		let_run(pid);
	lab_must(fd, LAB_DESTROY, NULL);
	lab_must(fd, LAB_START, NULL);
	run_seed(9);
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(has_runs(&got, (u64[]){ 9 }, 1) && !count_of(&got, Q_LOST),
	   "a task that was frozen%s when the last trace ended records again",
	   switched ? " and switched" : "");
	records_free(&got);
	close(fd);
}

static bool is_circular(void)
{
	u64 val = lab_debugctl();

	return val & DEBUGCTL_BTS && !(val & DEBUGCTL_BTINT);
}

/* Each record must be a Q_LOST or a branch to the kernel, and find_break() must return -1. */
static bool sound_flight(const struct records *got)
{
	struct records part = { };
	ssize_t at = -1;
	size_t i;

	for (i = 0; i < got->nr && at < 0; i++) {
		const struct lab_record *rec = &got->rec[i];

		if (rec->type == Q_LOST)
			continue;
		if (rec->type != Q_BRANCH || rec->to < USER_END)
			at = i;
	}
	/* User mode is not recorded: let find_break() start anew at each entry. */
	part.rec = malloc(got->nr * sizeof(*part.rec));
	for (i = 0; i < got->nr && at < 0; i++) {
		part.rec[i] = got->rec[i];
		if (part.rec[i].from < USER_END)
			part.rec[i].type = Q_LOST;
	}
	part.nr = got->nr;
	if (at < 0)
		at = find_break(&part);
	if (at >= 0)
		print_around(got, at);
	free(part.rec);
	return at < 0;
}

static void test_flight(void)
{
	int flight = start(LAB_CPU, 0, LAB_KERNEL | LAB_FLIGHT, RING), own, i;
	struct records got = { }, mine = { };
	u64 all[20];
	long long pmis = bts_counter("pmis");

	ok(is_circular(), "the flight recorder runs circular");
	for (i = 0; i < 100; i++)
		usleep(100);
	ok(bts_counter("pmis") == pmis, "no PMI for it");
	lab_must(flight, LAB_FLUSH, (void *)0);
	lab_take(flight, &got, lab_status(flight).held);
	ok(got.nr > 2000 && got.nr < 2 * 2740 && sound_flight(&got),
	   "the last %zu branches of the kernel", got.nr);

	own = start(LAB_SELF, 0, LAB_USER, RING);
	ok(!is_circular(), "a task that is traced ends that");
	ok(!lab_do(flight, LAB_LOOK, NULL), "a look at it beside a late PMI misses nothing");
	for (i = 0; i < 20; i++) {
		all[i] = i;
		run_seed(i);
		usleep(1000);
	}
	lab_must(own, LAB_END, NULL);
	ok(is_circular(), "and gives it back");
	lab_read(own, &mine);
	ok(has_runs(&mine, all, 20) && find_leak(&mine) < 0,
	   "the task's trace is complete");
	/*
	 * End the trace before reading: reading makes records, with debugging options more
	 * than fit into the ring.
	 */
	lab_must(flight, LAB_END, NULL);
	ok(!(lab_debugctl() & DEBUGCTL_BTS), "off again");
	got.nr = 0;
	lab_read(flight, &got);
	ok(got.nr > 2000 && sound_flight(&got), "the flight recorder's is in order, %zu, %zu marks",
	   got.nr, count_of(&got, Q_LOST));
	ok(!lab_status(flight).lost, "with nothing lost");
	records_free(&got);
	records_free(&mine);
	close(flight);
	close(own);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "thaw")) {
		lab_must(atoi(argv[2]), LAB_UNFREEZE, NULL);
		return 0;
	}
	load_lab(argv[1]);
	pin_to(0);
	/*
	 * If this task were preempted while its CPU is frozen, more records would be lost than
	 * the tests expect.
	 */
	run_first();
	known_program(17, BLOCKS);
	passes = uses_cpl_filter() ? 5 : 1;
	test_self();
	test_switch();
	test_exec();
	if (nr_cpus() > 1)
		test_idle();
	test_all();
	test_overtaken();
	test_created();
	if (nr_cpus() > 1)
		test_comes();
	test_flurry();
	test_forgotten(false);
	test_forgotten(true);
	test_flight();
	ok(!bts_counter("faults") && !bts_counter("full"), "the machine lost none");
	return finish();
}
