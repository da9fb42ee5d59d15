// SPDX-License-Identifier: GPL-2.0
/*
 * Traces of tasks that fork, create threads, call execve(), fill their ring in a system call, or
 * exit; a task that is killed while its tracer reads its trace; and what a trace leaves behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "../guest/system.h"
#include "tracing.h"

#define ROOM		20000
#define OPTIONS		(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
			 PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)

static struct x86_bts_record records[ROOM];

static void run_fork(unsigned long unused)
{
	(void)unused;
	if (!fork())
		chain();
}

static void run_vfork(unsigned long unused)
{
	(void)unused;
	if (!vfork()) {
		known_work(100);
		_exit(0);
	}
}

static int in_thread(void *unused)
{
	(void)unused;
	chain();
}

static void run_clone(unsigned long flags)
{
	static char stack[65536] __attribute__((aligned(16)));

	clone(in_thread, stack + sizeof(stack), flags, NULL);
}

/* The child of run_fork_alone() stores its pid here. */
static volatile pid_t *forked;

static void run_fork_alone(unsigned long unused)
{
	(void)unused;
	if (!fork()) {
		*forked = getpid();
		for (;;)
			pause();
	}
	while (!*forked)
		sched_yield();
}

/*
 * With a 64-bit kernel, these are a 64-bit and a 32-bit program. With a 32-bit kernel, only the
 * first exists, and has 32 bits. With -h they print their usage and exit.
 */
static const char *const programs[] = { "/bt/lifetimes", "/bt/lifetimes_32" };

static void run_exec(unsigned long nr)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execl(programs[nr], programs[nr], "-h", NULL);
}

FIXTURE(life)
{
	struct tracee tracee;
	pid_t pid;
};

FIXTURE_SETUP(life)
{
	forked = shared_memory(sizeof(*forked));
	self->tracee = tracee_new();
	self->pid = self->tracee.pid;
	ASSERT_EQ(0, ptrace(PTRACE_SETOPTIONS, self->pid, NULL, OPTIONS));
}

/* Kill the tracee, and reap all children: a leader can be reaped only after its threads. */
FIXTURE_TEARDOWN(life)
{
	int status;
	pid_t pid;

	kill(self->pid, SIGKILL);
	/* The tracee may have stopped by PTRACE_EVENT_EXIT. */
	ptrace(PTRACE_CONT, self->pid, NULL, NULL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, pid, NULL, NULL);
	}
}

static int event(int nr)
{
	return SIGTRAP | nr << 8;
}

/*
 * Let the tracee execute @what up to the event PTRACE_EVENT_* @nr. Returns the new child, which
 * has stopped by SIGSTOP.
 */
static pid_t new_child(const struct tracee *t, void (*what)(unsigned long), unsigned long arg,
		       int nr)
{
	unsigned long msg;
	int status;

	tracee_begin(t, what, arg);
	go_on(t->pid, event(nr));
	if (ptrace(PTRACE_GETEVENTMSG, t->pid, NULL, &msg))
		give_up("PTRACE_GETEVENTMSG");
	if (waitpid(msg, &status, __WALL) != (pid_t)msg || !stopped_by(status, SIGSTOP))
		give_up("child %lu, status %#x", msg, status);
	return msg;
}

static const struct way {
	const char *name;
	void (*run)(unsigned long arg);
	unsigned long arg;
	int event;
} ways[] = {
	{ "fork", run_fork, 0, PTRACE_EVENT_FORK, },
	{ "clone", run_clone, SIGCHLD, PTRACE_EVENT_FORK, },
	{ "clone of the memory", run_clone, CLONE_VM | SIGCHLD, PTRACE_EVENT_FORK, },
	{ "thread", run_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, PTRACE_EVENT_CLONE, },
};

/* Without INHERIT, a child has no trace, and does not change its parent's. */
TEST_F(life, child_without_a_trace)
{
	struct ptrace_bts_status before;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		pid_t child;

		must_trace(self->pid, TRACE, ROOM, 0);
		child = new_child(&self->tracee, ways[i].run, ways[i].arg, ways[i].event);
		before = bts_status(self->pid);
		EXPECT_LT(0, before.held);
		EXPECT_EQ(0, before.not_inherited);
		EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_SIZE, child, NULL, 0));
		EXPECT_EQ(-ENXIO, bts_config(child, TRACE, 0, 0)) TH_LOG("%s", ways[i].name);
		go_on(child, SIGTRAP);
		run_chain(child, 10);
		EXPECT_EQ(before.held, bts_status(self->pid).held) TH_LOG("%s", ways[i].name);
		must_trace(child, TRACE, ROOM, 0);
		run_chain(child, 10);
		EXPECT_TRUE(is_chain(records, must_drain(child, records, ROOM), 10, true));
		EXPECT_EQ(before.held, bts_status(self->pid).held) TH_LOG("%s", ways[i].name);
		go_on(self->pid, SIGSTOP);
		EXPECT_LT(before.held, bts_status(self->pid).held);
		if (ways[i].event != PTRACE_EVENT_CLONE)
			end_chain(child);
	}
}

#ifdef __x86_64__
#define USER_IP	offsetof(struct user_regs_struct, rip)
#else
#define USER_IP	offsetof(struct user_regs_struct, eip)
#endif

static uint64_t next_instruction(pid_t pid)
{
	return (unsigned long)ptrace(PTRACE_PEEKUSER, pid, USER_IP, NULL);
}

/* With INHERIT, a child has a trace with its parent's settings before its first instruction. */
TEST_F(life, child_that_inherits)
{
	struct ptrace_bts_status status;
	unsigned int i;
	uint64_t first;
	size_t nr;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		pid_t child;

		must_trace(self->pid, TRACE | INHERIT | SIGNAL, ROOM, SIGURG);
		child = new_child(&self->tracee, ways[i].run, ways[i].arg, ways[i].event);
		EXPECT_EQ(0, bts_status(self->pid).not_inherited);
		status = bts_status(child);
		EXPECT_EQ(RECORDS(ROOM), status.size);
		EXPECT_EQ(TRACE | INHERIT | SIGNAL, status.flags);
		EXPECT_EQ(SIGURG, status.signal);
		EXPECT_EQ(0, status.held);
		first = next_instruction(child);
		go_on(child, SIGTRAP);
		nr = must_drain(child, records, ROOM);
		ASSERT_LT(0, nr) TH_LOG("%s", ways[i].name);
		/* The first record is the return from the system call. */
		EXPECT_EQ(X86_BTS_LEAVE, records[0].type) TH_LOG("%s", ways[i].name);
		EXPECT_EQ(first, records[0].branch.to) TH_LOG("%s", ways[i].name);
		run_chain(child, 3);
		EXPECT_TRUE(is_chain(records, must_drain(child, records, ROOM), 3, true));
		/* The child's trace goes on when the parent's ends. */
		EXPECT_EQ(0, bts_end(self->pid));
		run_chain(child, 3);
		EXPECT_TRUE(is_chain(records, must_drain(child, records, ROOM), 3, true));
		go_on(self->pid, SIGSTOP);
		if (ways[i].event != PTRACE_EVENT_CLONE)
			end_chain(child);
	}
}

/* A child that nobody traces when it starts has no trace. Here, not_inherited stays 0. */
TEST_F(life, child_that_is_not_traced)
{
	pid_t child;

	must_trace(self->pid, TRACE | INHERIT, ROOM, 0);
	ASSERT_EQ(0, ptrace(PTRACE_SETOPTIONS, self->pid, NULL, PTRACE_O_EXITKILL));
	tracee_do(&self->tracee, run_fork_alone, 0);
	EXPECT_EQ(0, bts_status(self->pid).not_inherited);
	child = *forked;
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, child, NULL, NULL));
	ASSERT_EQ(0, ptrace(PTRACE_INTERRUPT, child, NULL, NULL));
	wait_stop(child, event(PTRACE_EVENT_STOP));
	EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_SIZE, child, NULL, 0));
	end_chain(child);
}

TEST_F(life, vfork_that_inherits)
{
	pid_t child;

	must_trace(self->pid, TRACE | INHERIT, ROOM, 0);
	child = new_child(&self->tracee, run_vfork, 0, PTRACE_EVENT_VFORK);
	go_on(child, event(PTRACE_EVENT_EXIT));
	EXPECT_EQ(99, known_count(records, must_drain(child, records, ROOM)));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, child, NULL, NULL));
	ASSERT_EQ(child, waitpid(child, NULL, __WALL));
	go_on(self->pid, SIGSTOP);
	EXPECT_EQ(0, known_count(records, must_drain(self->pid, records, ROOM)));
}

static size_t find(const struct x86_bts_record *rec, size_t nr, uint64_t type)
{
	size_t i;

	for (i = 0; i < nr && rec[i].type != type; i++)
		;
	return i;
}

/* The trace goes on across execve(), with a record X86_BTS_EXEC where the new program begins. */
static void trace_exec(struct __test_metadata *_metadata, struct tracee *t, unsigned int nr)
{
	size_t held, at, i;

	must_trace(t->pid, TRACE | SCHED, ROOM, 0);
	tracee_do(t, known_work, 100);
	tracee_begin(t, run_exec, nr);
	go_on(t->pid, event(PTRACE_EVENT_EXEC));
	held = must_drain(t->pid, records, ROOM);
	at = find(records, held, X86_BTS_EXEC);
	ASSERT_GT(held, at);
	EXPECT_EQ(t->pid, records[at].event.pid);
	/* The old program has taken branches, the new one has not started yet. */
	EXPECT_GT(at, find(records, at, X86_BTS_BRANCH));
	EXPECT_EQ(held - at - 1, find(records + at + 1, held - at - 1, X86_BTS_BRANCH));

	go_on(t->pid, event(PTRACE_EVENT_EXIT));
	held = must_drain(t->pid, records, ROOM);
	EXPECT_EQ(held, find(records, held, X86_BTS_EXEC));
	at = find(records, held, X86_BTS_LEAVE);
	EXPECT_GT(find(records, held, X86_BTS_BRANCH), at);
	EXPECT_LT(at + 100, held);
	for (i = 0; i < held; i++) {
		if (records[i].type == X86_BTS_BRANCH && nr == 1)
			EXPECT_EQ(0, (records[i].branch.from | records[i].branch.to) >> 32);
	}
}

TEST_F(life, exec_64)
{
	trace_exec(_metadata, &self->tracee, 0);
}

TEST_F(life, exec_32)
{
	if (access(programs[1], X_OK))
		SKIP(return, "%s is not here: the kernel has 32 bits", programs[1]);
	trace_exec(_metadata, &self->tracee, 1);
}

/*
 * Continue @pid, and drain the trace whenever it is full. Returns the status of the first stop
 * that has another reason.
 */
static int stop_but_full(pid_t pid)
{
	int status;

	while (stopped_by(status = tracee_continue(pid, 0), event(PTRACE_EVENT_BTS)))
		must_drain(pid, records, ROOM);
	return status;
}

/*
 * The ring is full at the end of execve(): the tracee must stop by PTRACE_EVENT_BTS before the new
 * program's first instruction.
 */
TEST_F(life, full_in_exec)
{
	struct ptrace_bts_status status;

	must_trace(self->pid, TRACE | STOP_FULL | SIGNAL, 1, 0);
	tracee_begin(&self->tracee, run_exec, 0);
	ASSERT_TRUE(stopped_by(stop_but_full(self->pid), event(PTRACE_EVENT_EXEC)));
	status = bts_status(self->pid);
	EXPECT_LE(1, status.held);
	go_on(self->pid, event(PTRACE_EVENT_BTS));
	EXPECT_EQ(status.held, must_drain(self->pid, records, ROOM));
	ASSERT_TRUE(stopped_by(stop_but_full(self->pid), event(PTRACE_EVENT_EXIT)));
	EXPECT_EQ(0, bts_status(self->pid).lost);
}

/* Make the kernel loop over 1024 lengths in writev(), which fails as the last one is invalid. */
static void run_lengths(unsigned long times)
{
	static struct iovec all[1024];
	/* Limit the time: a kernel with debugging options may be too slow for all rounds. */
	time_t end = time(NULL) + 10;

	all[ARRAY_SIZE(all) - 1].iov_len = -1ul;
	while (times-- && time(NULL) < end) {
		if (writev(STDOUT_FILENO, all, ARRAY_SIZE(all)) >= 0)
			_exit(1);
		known_work(1000);
	}
}

/* With ENTRY, the Debug Store also records the kernel, here a long loop. No record may be lost. */
TEST_F(life, full_after_a_loop_of_the_kernel)
{
	must_trace(self->pid, TRACE | ENTRY | STOP_FULL | SIGNAL, 100, 0);
	tracee_begin(&self->tracee, run_lengths, 50);
	ASSERT_TRUE(stopped_by(stop_but_full(self->pid), SIGSTOP));
	EXPECT_EQ(0, bts_status(self->pid).lost);
}

static void run_sleep(unsigned long times)
{
	const struct timespec moment = { .tv_nsec = 100000 };

	while (times--)
		nanosleep(&moment, NULL);
}

/*
 * The ring fills up in a system call: the tracee must stop by PTRACE_EVENT_BTS after the stop at
 * the exit from the system call. After PTRACE_DETACH, the tracee must not get a SIGTRAP.
 */
TEST_F(life, full_in_a_system_call)
{
	unsigned int full = 0, calls = 0;
	int status;

	must_trace(self->pid, TRACE | SCHED | STOP_FULL | SIGNAL, 4, 0);
	tracee_begin(&self->tracee, run_sleep, 20);
	while (full < 20) {
		ASSERT_EQ(0, ptrace(PTRACE_SYSCALL, self->pid, NULL, NULL));
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, __WALL));
		if (stopped_by(status, SIGTRAP)) {
			calls++;
			continue;
		}
		ASSERT_TRUE(stopped_by(status, event(PTRACE_EVENT_BTS)))
			TH_LOG("status %#x", status);
		EXPECT_EQ(0, calls % 2);
		must_drain(self->pid, records, ROOM);
		full++;
	}
	ASSERT_EQ(0, ptrace(PTRACE_DETACH, self->pid, NULL, NULL));
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, __WALL | WUNTRACED));
	EXPECT_TRUE(stopped_by(status, SIGSTOP)) TH_LOG("status %#x", status);
}

static void *exec_thread(void *unused)
{
	(void)unused;
	known_work(50);
	run_exec(0);
	return NULL;
}

static void run_exec_thread(unsigned long unused)
{
	static pthread_t thread;

	(void)unused;
	pthread_create(&thread, NULL, exec_thread, NULL);
	for (;;)
		pause();
}

/*
 * A thread that is not the leader calls execve(), and so gets the pid of the leader. The
 * thread must keep its trace.
 */
TEST_F(life, exec_by_a_thread)
{
	size_t nr, at;
	pid_t thread;
	int status;

	must_trace(self->pid, TRACE, 1000, 0);
	thread = new_child(&self->tracee, run_exec_thread, 0, PTRACE_EVENT_CLONE);
	must_trace(thread, TRACE, ROOM, 0);
	ASSERT_EQ(0, ptrace(PTRACE_CONT, self->pid, NULL, NULL));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, thread, NULL, NULL));
	/* Two stops have the leader's pid: of the leader at its exit, of the thread in execve(). */
	wait_stop(self->pid, event(PTRACE_EVENT_EXIT));
	EXPECT_EQ(1000 * 24, bts_status(self->pid).size);
	ASSERT_EQ(0, ptrace(PTRACE_CONT, self->pid, NULL, NULL));
	ASSERT_EQ(self->pid, waitpid(-1, &status, __WALL));
	ASSERT_TRUE(stopped_by(status, event(PTRACE_EVENT_EXEC))) TH_LOG("status %#x", status);
	EXPECT_EQ(-ESRCH, bts(PTRACE_BTS_SIZE, thread, NULL, 0));
	EXPECT_EQ(RECORDS(ROOM), bts_status(self->pid).size);
	nr = must_drain(self->pid, records, ROOM);
	at = find(records, nr, X86_BTS_EXEC);
	EXPECT_GT(nr, at);
	EXPECT_EQ(49, known_count(records, at));
}

static void run_exit(unsigned long status)
{
	known_work(100);
	_exit(status);
}

/* At the stop by PTRACE_EVENT_EXIT, the tracer can read all records. */
TEST_F(life, exit)
{
	siginfo_t info;

	must_trace(self->pid, TRACE, ROOM, 0);
	tracee_begin(&self->tracee, run_exit, 3);
	go_on(self->pid, event(PTRACE_EVENT_EXIT));
	EXPECT_EQ(99, known_count(records, must_drain(self->pid, records, ROOM)));
	/* The tracer can even configure a new trace at this stop. */
	EXPECT_EQ(0, bts_config(self->pid, TRACE | ALLOC, 240, 0));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, self->pid, NULL, NULL));
	ASSERT_EQ(0, waitid(P_PID, self->pid, &info, WEXITED | WNOWAIT));
	EXPECT_EQ(3, info.si_status);
	EXPECT_EQ(-ESRCH, bts(PTRACE_BTS_SIZE, self->pid, NULL, 0));
}

struct stuck {
	int uffd;
	char *page;
	pid_t victim;
};

/* Kill the tracee, and then resolve the page fault that blocks PTRACE_BTS_DRAIN. */
static void *kill_and_resolve(void *arg)
{
	struct stuck *stuck = arg;
	struct uffd_msg msg;
	struct uffdio_zeropage zero = { .range = { .len = 4096 } };

	if (read(stuck->uffd, &msg, sizeof(msg)) != sizeof(msg))
		give_up("userfaultfd");
	kill(stuck->victim, SIGKILL);
	usleep(100000);
	zero.range.start = (uintptr_t)stuck->page;
	if (ioctl(stuck->uffd, UFFDIO_ZEROPAGE, &zero))
		give_up("UFFDIO_ZEROPAGE");
	return NULL;
}

static void open_fault(struct stuck *stuck)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { .len = 4096 }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	stuck->uffd = syscall(__NR_userfaultfd, O_CLOEXEC);
	stuck->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)stuck->page;
	if (stuck->uffd < 0 || ioctl(stuck->uffd, UFFDIO_API, &api) ||
	    ioctl(stuck->uffd, UFFDIO_REGISTER, &reg))
		give_up("userfaultfd");
}

/* A tracee that is killed does not run while a request reads its trace: the request succeeds. */
TEST_F(life, killed_while_it_is_drained)
{
	struct stuck stuck = { .victim = self->pid };
	int status, got, held;
	pthread_t thread;

	must_trace(self->pid, TRACE, ROOM, 0);
	tracee_do(&self->tracee, known_work, 500);
	open_fault(&stuck);
	held = bts_status(self->pid).held;
	ASSERT_EQ(0, pthread_create(&thread, NULL, kill_and_resolve, &stuck));
	got = bts(PTRACE_BTS_DRAIN, self->pid, stuck.page, 4096);
	EXPECT_EQ(held < 4096 / 24 ? held : 4096 / 24, got);
	/* Poll: pthread_join() of 32-bit programs needs a system call that some kernels lack. */
	while (pthread_tryjoin_np(thread, NULL))
		usleep(1000);
	ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	/* The tracee may stop by PTRACE_EVENT_EXIT before it ends. */
	if (WIFSTOPPED(status)) {
		ptrace(PTRACE_CONT, self->pid, NULL, NULL);
		ASSERT_EQ(self->pid, waitpid(self->pid, &status, 0));
	}
	EXPECT_TRUE(WIFSIGNALED(status)) TH_LOG("status %#x", status);
	close(stuck.uffd);
}

#define DEBUGCTL_BTS	0x7c0	/* all bits from TR to BTS_OFF_USR */

enum end { CONFIG, DETACH, KILL, NR_ENDS };

static void end_trace(const struct tracee *t, enum end how)
{
	switch (how) {
	case CONFIG:
		if (bts_end(t->pid))
			give_up("CONFIG");
		break;
	case DETACH:
		if (ptrace(PTRACE_DETACH, t->pid, NULL, NULL))
			give_up("PTRACE_DETACH");
		break;
	default:
		end_chain(t->pid);
	}
}

/* After PTRACE_DETACH, a worker of the kernel ends the trace, so this may take some time. */
static bool bts_is_cleared(int cpu)
{
	int tries = 1000;

	while (read_debugctl(cpu) & DEBUGCTL_BTS && --tries)
		usleep(1000);

	return tries;
}

/* After each trace, DEBUGCTL has no bit of BTS. Some seconds after the last, DS_AREA is 0. */
TEST_F(life, nothing_is_left)
{
	enum end how;
	int cpu;

	if (!bts_hardware())
		SKIP(return, "there is no hardware to be left alone");
	for (how = CONFIG; how < NR_ENDS; how++) {
		struct tracee t = tracee_new();

		must_trace(t.pid, TRACE, ROOM, 0);
		EXPECT_NE(0, read_msr(0, MSR_DS_AREA));
		tracee_do(&t, known_work, 100);
		end_trace(&t, how);
		for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
			EXPECT_TRUE(bts_is_cleared(cpu));
		if (how != KILL)
			end_chain(t.pid);
	}
	EXPECT_TRUE(ds_area_is_cleared(0));
}

TEST_HARNESS_MAIN
