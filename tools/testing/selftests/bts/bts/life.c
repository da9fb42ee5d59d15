// SPDX-License-Identifier: GPL-2.0
/*
 * A traced task migrates, is preempted, forks, fails to fork, calls execve(), exits, or is killed.
 * Unless it is killed, its trace must have all of its known branches, and none of other tasks. But
 * after execve(), the trace must only have at least 1000 records.
 *
 *   life MODULE
 *   life exec NUMBER	run by test_exec(): only run the known program; NUMBER is ignored
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/sched.h>

#include "../guest/guest.h"
#include "common.h"

#define BLOCKS	300
#define SEED	99
#define RING	400000

static unsigned int passes = 20;
static const char *self;

static void run_program(void *unused)
{
	(void)unused;
	known_run(SEED, passes);
}

static bool has_program(const struct records *got, int times)
{
	struct recs want = { };
	bool good;

	while (times--)
		known_want(SEED, passes, &want);
	good = known_same(got, &want);
	recs_free(&want);
	return good;
}

/*
 * End the trace, read its records into @got, and check that they have @times runs of the program,
 * no address of the kernel, and that none was lost.
 */
static bool end_trace(int fd, int times, struct records *got)
{
	struct lab_status status = lab_status(fd);
	ssize_t at;

	memset(got, 0, sizeof(*got));
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, got);
	close(fd);
	if (status.lost || status.overwritten || status.gaps) {
		printf("# lost %llu, overwritten %llu, gaps %u\n",
		       (unsigned long long)status.lost,
		       (unsigned long long)status.overwritten, status.gaps);
		return false;
	}
	at = find_leak(got);
	if (at >= 0) {
		print_around(got, at);
		return false;
	}
	return has_program(got, times);
}

static int trace_of(pid_t pid, u32 flags)
{
	int fd = lab_open(LAB_TASK, pid, flags, RING);

	lab_must(fd, LAB_START, NULL);
	return fd;
}

static bool trace_child(void (*run)(void *), void *arg, int times)
{
	struct records got;
	pid_t pid = start_traced(run, arg);
	int fd = trace_of(pid, LAB_USER), status = let_run(pid);
	bool good;

	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		printf("# the child ended with %#x\n", status);
		end_child(pid);
		return false;
	}
	good = end_trace(fd, times, &got);
	records_free(&got);
	return good;
}

static void migrate(void *unused)
{
	int i;

	for (i = 0; i < 20; i++) {
		pin_to(i % nr_cpus());
		run_program(unused);
	}
}

static void test_migration(void)
{
	cpu_set_t set;
	struct records got;
	pid_t pid;
	int fd, i, status = 0;
	bool good;

	ok(trace_child(migrate, NULL, 20), "moves itself from CPU to CPU");

	pid = start_traced(migrate, NULL);
	fd = trace_of(pid, LAB_USER);
	ptrace_cont(pid);
	for (i = 0; waitpid(pid, &status, WNOHANG) != pid; i++) {
		CPU_ZERO(&set);
		CPU_SET(i % nr_cpus(), &set);
		sched_setaffinity(pid, sizeof(set), &set);
	}
	good = end_trace(fd, 20, &got);
	ok(good && WIFEXITED(status), "is moved from CPU to CPU");
	records_free(&got);
}

static void spin(void)
{
	for (;;)
		;
}

/* Two traced tasks and one that is not traced run on one CPU. */
static void test_preemption(void)
{
	struct records got[2];
	pid_t pid[2], spinner;
	bool good = true;
	int fd[2], i, status;

	pin_to(0);
	passes = 200;
	spinner = fork();
	if (!spinner) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		spin();
	}
	for (i = 0; i < 2; i++) {
		pid[i] = start_traced(run_program, NULL);
		fd[i] = trace_of(pid[i], LAB_USER);
	}
	for (i = 0; i < 2; i++)
		ptrace_cont(pid[i]);
	for (i = 0; i < 2; i++)
		good &= waitpid(pid[i], &status, 0) == pid[i] && WIFEXITED(status);
	kill(spinner, SIGKILL);
	waitpid(spinner, NULL, 0);
	for (i = 0; i < 2; i++) {
		good &= end_trace(fd[i], 1, &got[i]);
		records_free(&got[i]);
	}
	ok(good, "two on one CPU, and a third that spins");
	passes = 20;
}

static void expect_child(pid_t pid)
{
	int status = -1;

	if (pid < 0 || waitpid(pid, &status, __WALL) != pid || status)
		_exit(9);
}

static void forks(void *unused)
{
	pid_t pid = fork();

	run_program(unused);
	if (!pid)
		_exit(0);
	expect_child(pid);
}

static void vforks(void *unused)
{
	pid_t pid = vfork();

	if (!pid) {
		run_program(unused);
		_exit(0);
	}
	expect_child(pid);
	run_program(unused);
}

static void *thread(void *unused)
{
	run_program(unused);
	return NULL;
}

static void threads(void *unused)
{
	pthread_t t;

	if (pthread_create(&t, NULL, thread, NULL))
		_exit(9);
	run_program(unused);
	if (pthread_join(t, NULL))
		_exit(9);
}

/* clone3() fails late, after copy_thread(): args.pidfd is a bad address. */
static void fails_late(void *unused)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = 8,
		.exit_signal = SIGCHLD,
	};
	int i;

	for (i = 0; i < 50; i++) {
		if (syscall(SYS_clone3, &args, sizeof(args)) != -1 || errno != EFAULT)
			_exit(9);
	}
	run_program(unused);
}

/* fork() fails early, before copy_thread(), due to RLIMIT_NPROC. */
static void fails_early(void *unused)
{
	struct rlimit none = { 0, 0 };
	int i;

	if (setrlimit(RLIMIT_NPROC, &none) || setuid(65534))
		_exit(9);
	for (i = 0; i < 50; i++) {
		if (fork() != -1 || errno != EAGAIN)
			_exit(9);
	}
	run_program(unused);
}

static void test_forks(void)
{
	ok(trace_child(forks, NULL, 1), "forks: the child's is not in it");
	ok(trace_child(vforks, NULL, 1), "vforks: likewise");
	ok(trace_child(threads, NULL, 1), "starts a thread: likewise");
	ok(trace_child(fails_late, NULL, 1), "fails to fork, late");
	ok(trace_child(fails_early, NULL, 1), "fails to fork, early");
}

static void executes(void *fd)
{
	char number[16];

	(void)fd;
	run_program(NULL);
	snprintf(number, sizeof(number), "%d", passes);
	execl("/proc/self/exe", self, "exec", number, NULL);
	_exit(9);
}

static void *executes_thread(void *fd)
{
	lab_must((long)fd, LAB_START, NULL);
	executes(NULL);
	return NULL;
}

/* A thread that is not the leader calls execve(), and so takes over the leader's pid. */
static void thread_executes(void *fd)
{
	pthread_t t;

	if (pthread_create(&t, NULL, executes_thread, fd))
		_exit(9);
	for (;;)
		pause();
}

static void check_exec(int fd, int status, const char *how)
{
	struct records got = { }, before = { };
	size_t i;

	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	for (i = 0; i < got.nr && got.rec[i].type != Q_EXEC; i++)
		;
	before = (struct records){ .rec = got.rec, .nr = i };
	ok(WIFEXITED(status) && !WEXITSTATUS(status) && count_of(&got, Q_EXEC) == 1 &&
	   has_program(&before, 1) && find_leak(&got) < 0 && got.nr > i + 1000,
	   "%s runs another program: %zu records, a mark, %zu records", how, i, got.nr - i);
	records_free(&got);
	close(fd);
}

static void test_exec(void)
{
	pid_t pid = start_traced(executes, NULL);
	int fd = trace_of(pid, LAB_USER), status = let_run(pid);

	/* after PTRACE_TRACEME, the task stops once after execve() */
	if (WIFSTOPPED(status))
		status = let_run(pid);
	check_exec(fd, status, "a task");

	fd = lab_open(LAB_SELF, 0, LAB_USER, RING);
	pid = fork();
	if (!pid)
		thread_executes((void *)(long)fd);
	waitpid(pid, &status, 0);
	check_exec(fd, status, "a thread");
}

static void test_end(void)
{
	struct records got = { };
	int fd, err;
	pid_t pid;

	/* The task must still run when it is killed. */
	passes = 1u << 30;
	pid = start_traced(run_program, NULL);
	fd = trace_of(pid, LAB_USER);
	ptrace_cont(pid);
	usleep(2000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	err = lab_do(fd, LAB_CLEAR, NULL);
	ok(!err, "killed, and its trace is cleared: %s", strerror(-err));
	lab_must(fd, LAB_DESTROY, NULL);
	ok(lab_do(fd, LAB_DESTROY, NULL) == -ENXIO, "destroyed only once");
	ok(lab_do(fd, LAB_START, NULL) == -ESRCH, "a task that has ended cannot be traced");
	lab_read(fd, &got);
	close(fd);
	passes = 20;
}

/* Create, read and end traces of a task that keeps running. */
static void test_running(void)
{
	struct lab_status status = { };
	struct lab_get get = { };
	int i, bad = 0, seen = 0;
	pid_t pid;

	passes = 1u << 30;
	pid = start_traced(run_program, NULL);
	ptrace_cont(pid);
	for (i = 0; i < 300; i++) {
		int fd = lab_open(LAB_TASK, pid, LAB_USER, 100);

		bad += lab_do(fd, LAB_START, NULL) != 0;
		usleep(i % 10 * 300);
		bad += lab_do(fd, LAB_STATUS, &status) != 0;
		seen += status.held > 0;
		bad += status.held && lab_do(fd, LAB_GET, &get) != 0;
		bad += lab_do(fd, LAB_CLEAR, NULL) != 0;
		bad += lab_do(fd, LAB_DESTROY, NULL) != 0;
		close(fd);
	}
	ok(!bad && seen > 100, "traces of a running task: %d of 300 held something, %d failed",
	   seen, bad);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	passes = 20;
}

static void test_misuse(void)
{
	int fd;

	fd = lab_open(LAB_CPU, 4096, LAB_USER, 10);
	ok(lab_do(fd, LAB_START, NULL) == -ENXIO, "a CPU that cannot be");
	close(fd);
	fd = lab_open(LAB_CPU, 0, LAB_USER, 10);
	ok(lab_do(fd, LAB_FLUSH, (void *)4096) == -ENXIO, "nor be flushed");
	close(fd);
}

/*
 * Check the records Q_DEPARTS and Q_ARRIVES: they must alternate, their pid must be @pid, their
 * clocks must not go back, and their CPUs must exist.
 */
static bool sound_marks(const struct records *got, pid_t pid)
{
	u64 clock = 0;
	bool here = true;
	size_t i;

	for (i = 0; i < got->nr; i++) {
		const struct lab_record *rec = &got->rec[i];

		if (rec->type != Q_ARRIVES && rec->type != Q_DEPARTS)
			continue;
		if (rec->pid != pid || here != (rec->type == Q_DEPARTS) ||
		    rec->clock < clock || rec->cpu >= (u32)nr_cpus()) {
			printf("# pid %d, expected %d\n", rec->pid, pid);
			print_around(got, i);
			return false;
		}
		here = rec->type == Q_ARRIVES;
		clock = rec->clock;
	}
	return count_of(got, Q_ARRIVES) && count_of(got, Q_DEPARTS);
}

static bool trace_naps(void)
{
	int fd = lab_open(LAB_SELF, 0, LAB_USER | LAB_SCHED, RING), i;
	struct records got = { };
	bool good;

	/* Stay on one CPU, as the clocks of CPUs may differ. */
	pin_to(0);
	lab_must(fd, LAB_START, NULL);
	for (i = 0; i < 10; i++) {
		run_program(NULL);
		usleep(5000);
	}
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	good = has_program(&got, 10) && sound_marks(&got, getpid()) &&
	       count_of(&got, Q_DEPARTS) >= 5;
	records_free(&got);
	close(fd);
	return good;
}

static void test_marks(void)
{
	int status;
	pid_t pid;

	ok(trace_naps(), "marks of arrival and departure");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWPID))
			give_up("no pid namespace");
		pid = fork();
		if (!pid)
			_exit(getpid() != 1 || !trace_naps());
		waitpid(pid, &status, 0);
		_exit(status != 0);
	}
	waitpid(pid, &status, 0);
	ok(!status, "marks in a pid namespace");
}

int main(int argc, char **argv)
{
	self = argv[0];
	known_program(3, BLOCKS);
	if (argc > 2 && !strcmp(argv[1], "exec")) {
		run_program(NULL);
		return 0;
	}
	load_lab(argv[1]);
	test_migration();
	test_preemption();
	test_forks();
	test_exec();
	test_end();
	test_running();
	test_misuse();
	test_marks();
	ok(!bts_counter("faults") && !bts_counter("full"), "the machine lost none");
	return finish();
}
