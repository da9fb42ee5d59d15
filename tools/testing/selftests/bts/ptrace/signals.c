// SPDX-License-Identifier: GPL-2.0
/*
 * Records of signal handlers, X86_BTS_SIGNAL and X86_BTS_SIGRETURN ("marks"): they must show
 * where the program was interrupted, and where it continues. Also PTRACE_BTS_CLOCK_MONOTONIC.
 */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "harness.h"
#include "tracing.h"

#define ROOM	20000

#ifdef __x86_64__
#define REG_IP	REG_RIP
#else
#define REG_IP	REG_EIP
#endif

static struct x86_bts_record records[ROOM];

FIXTURE(marks)
{
	struct tracee tracee;
	pid_t pid;
};

FIXTURE_SETUP(marks)
{
	self->tracee = tracee_new();
	self->pid = self->tracee.pid;
}

FIXTURE_TEARDOWN(marks)
{
	tracee_end(&self->tracee);
}

/*
 * Let the tracee execute @what(@arg) with a new trace, and deliver its signals until it stops
 * itself by SIGSTOP. Returns the number of records.
 */
static size_t trace(struct __test_metadata *_metadata, const struct tracee *t, uint32_t flags,
		    void (*what)(unsigned long), unsigned long arg)
{
	int signal = 0, status;

	must_trace(t->pid, flags, ROOM, 0);
	tracee_begin(t, what, arg);
	while (!stopped_by(status = tracee_continue(t->pid, signal), SIGSTOP)) {
		ASSERT_TRUE(WIFSTOPPED(status));
		signal = WSTOPSIG(status);
	}
	return must_drain(t->pid, records, ROOM);
}

/*
 * Returns the first mark from index *@at on, or NULL. Sets *@at to the index after the mark, or to
 * @nr.
 */
static const struct x86_bts_record *next_mark(size_t nr, size_t *at)
{
	while (*at < nr) {
		const struct x86_bts_record *rec = &records[(*at)++];

		if (rec->type == X86_BTS_SIGNAL || rec->type == X86_BTS_SIGRETURN)
			return rec;
	}
	return NULL;
}

/* Returns whether the record @at is a return to user mode to address @to. */
static bool leaves_for(size_t nr, size_t at, uint64_t to)
{
	return at < nr && records[at].type == X86_BTS_LEAVE && records[at].branch.to == to;
}

/* Returns whether the instruction before @addr is SYSCALL or INT 0x80. */
static bool behind_syscall(uint64_t addr)
{
	const void *insn = (const char *)(uintptr_t)addr - 2;

	return !memcmp(insn, "\x0f\x05", 2) || !memcmp(insn, "\xcd\x80", 2);
}

static void work(int signal)
{
	(void)signal;
	known_work(5);
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags, };

	sigemptyset(&sa.sa_mask);
	sigaction(signal, &sa, NULL);
}

static void run_raise(unsigned long flags)
{
	handle(SIGUSR1, work, flags);
	raise(SIGUSR1);
}

/* A signal comes in a system call. The handler must return to the instruction after the call. */
TEST_F(marks, system_call)
{
	static const int flags[] = { 0, SA_SIGINFO, SA_ONSTACK, SA_RESTART, };
	const struct x86_bts_record *there, *back;
	unsigned int i;
	size_t nr, at;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		nr = trace(_metadata, &self->tracee, TRACE, run_raise, flags[i]);
		at = 0;
		there = next_mark(nr, &at);
		ASSERT_NE(NULL, there);
		EXPECT_EQ(X86_BTS_SIGNAL, there->type);
		EXPECT_EQ(SIGUSR1, there->info);
		EXPECT_EQ(0, there->flags);
		EXPECT_TRUE(behind_syscall(there->branch.from));
		EXPECT_EQ((uintptr_t)work, there->branch.to);
		EXPECT_TRUE(leaves_for(nr, at, there->branch.to));
		back = next_mark(nr, &at);
		ASSERT_NE(NULL, back);
		EXPECT_EQ(X86_BTS_SIGRETURN, back->type);
		EXPECT_EQ(0, back->info);
		EXPECT_TRUE(behind_syscall(back->branch.from));
		EXPECT_EQ(there->branch.from, back->branch.to);
		EXPECT_TRUE(leaves_for(nr, at, back->branch.to));
		/* The handler's known_work() is between the two marks. */
		EXPECT_EQ(4, known_count(there, back - there));
		EXPECT_EQ(NULL, next_mark(nr, &at));
	}
}

extern const char fault_site[], fault_next[];

static void step_over(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signal;
	(void)info;
	uc->uc_mcontext.gregs[REG_IP] += fault_next - fault_site;
}

__attribute__((noinline, noclone))
static void run_fault(unsigned long unused)
{
	struct sigaction sa = { .sa_sigaction = step_over, .sa_flags = SA_SIGINFO, };

	(void)unused;
	sigaction(SIGILL, &sa, NULL);
	asm volatile(".globl fault_site, fault_next\n"
		     "fault_site: ud2\n"
		     "fault_next:\n");
}

/* The handler changes the address to which it returns. */
TEST_F(marks, fault)
{
	const struct x86_bts_record *mark;
	size_t at = 0, nr;

	nr = trace(_metadata, &self->tracee, TRACE, run_fault, 0);
	mark = next_mark(nr, &at);
	ASSERT_NE(NULL, mark);
	EXPECT_EQ(SIGILL, mark->info);
	EXPECT_EQ((uintptr_t)fault_site, mark->branch.from);
	EXPECT_EQ((uintptr_t)step_over, mark->branch.to);
	mark = next_mark(nr, &at);
	ASSERT_NE(NULL, mark);
	EXPECT_EQ(X86_BTS_SIGRETURN, mark->type);
	EXPECT_EQ((uintptr_t)fault_next, mark->branch.to);
}

static volatile bool alarmed;

static void alarm_came(int signal)
{
	(void)signal;
	alarmed = true;
}

static void run_alarm(unsigned long unused)
{
	const struct itimerval soon = { .it_value.tv_usec = 2000 };

	(void)unused;
	alarmed = false;
	handle(SIGALRM, alarm_came, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!alarmed)
		known_work(200);
}

/* A timer interrupts the program at any address. */
TEST_F(marks, interrupt)
{
	const struct x86_bts_record *there, *back;
	size_t at, nr, i;

	for (i = 0; i < 10; i++) {
		nr = trace(_metadata, &self->tracee, TRACE, run_alarm, 0);
		at = 0;
		there = next_mark(nr, &at);
		ASSERT_NE(NULL, there);
		EXPECT_EQ(SIGALRM, there->info);
		EXPECT_EQ((uintptr_t)alarm_came, there->branch.to);
		back = next_mark(nr, &at);
		ASSERT_NE(NULL, back);
		EXPECT_EQ(there->branch.from, back->branch.to);
	}
}

static void nothing(int signal)
{
	(void)signal;
}

static void run_two(unsigned long unused)
{
	sigset_t both, old;

	(void)unused;
	handle(SIGUSR1, work, SA_NODEFER);
	handle(SIGUSR2, nothing, SA_NODEFER);
	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	sigprocmask(SIG_BLOCK, &both, &old);
	raise(SIGUSR1);
	raise(SIGUSR2);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* The second handler runs before the first instruction of the first handler is executed. */
TEST_F(marks, two_at_once)
{
	const struct x86_bts_record *mark[4];
	size_t at = 0, nr, i;

	nr = trace(_metadata, &self->tracee, TRACE, run_two, 0);
	for (i = 0; i < 4; i++) {
		mark[i] = next_mark(nr, &at);
		ASSERT_NE(NULL, mark[i]);
	}
	EXPECT_EQ(SIGUSR1, mark[0]->info);
	EXPECT_EQ(SIGUSR2, mark[1]->info);
	EXPECT_EQ((uintptr_t)work, mark[1]->branch.from);
	EXPECT_EQ((uintptr_t)nothing, mark[1]->branch.to);
	EXPECT_EQ(X86_BTS_SIGRETURN, mark[2]->type);
	EXPECT_EQ((uintptr_t)work, mark[2]->branch.to);
	EXPECT_EQ(X86_BTS_SIGRETURN, mark[3]->type);
	EXPECT_EQ(mark[0]->branch.from, mark[3]->branch.to);
}

/* Wait until the task @pid sleeps. Until its child writes, run_restart() sleeps only in read(). */
static void await_sleep(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'S') {
		FILE *f = fopen(path, "r");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			_exit(1);
		fclose(f);
		usleep(1000);
	}
}

static void run_restart(unsigned long unused)
{
	int fds[2], pid;
	char c;

	(void)unused;
	handle(SIGUSR1, nothing, SA_RESTART);
	if (pipe(fds))
		_exit(1);
	pid = fork();
	if (!pid) {
		await_sleep(getppid());
		kill(getppid(), SIGUSR1);
		/* Wait until the parent sleeps again, after its handler has returned. */
		usleep(10000);
		await_sleep(getppid());
		_exit(write(fds[1], "", 1) != 1);
	}
	if (read(fds[0], &c, 1) != 1)
		_exit(1);
	waitpid(pid, NULL, 0);
	close(fds[0]);
	close(fds[1]);
}

/* With SA_RESTART, the handler must return to the system call instruction itself. */
TEST_F(marks, restart)
{
	const struct x86_bts_record *there, *back;
	size_t at = 0, nr;

	nr = trace(_metadata, &self->tracee, TRACE, run_restart, 0);
	there = next_mark(nr, &at);
	ASSERT_NE(NULL, there);
	EXPECT_TRUE(behind_syscall(there->branch.from));
	back = next_mark(nr, &at);
	ASSERT_NE(NULL, back);
	EXPECT_EQ(there->branch.from - 2, back->branch.to);
}

static void run_ignored(unsigned long unused)
{
	(void)unused;
	signal(SIGUSR1, SIG_IGN);
	raise(SIGUSR1);
	raise(SIGURG);
}

/* An ignored signal leaves no mark. Without TRACE, a handler leaves no mark either. */
TEST_F(marks, none)
{
	size_t at = 0, nr;

	nr = trace(_metadata, &self->tracee, TRACE, run_ignored, 0);
	EXPECT_EQ(NULL, next_mark(nr, &at));
	at = 0;
	nr = trace(_metadata, &self->tracee, SCHED, run_raise, 0);
	EXPECT_EQ(NULL, next_mark(nr, &at));
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* With PTRACE_BTS_CLOCK_MONOTONIC, clocks in records are values of CLOCK_MONOTONIC. */
TEST_F(marks, clock)
{
	struct ptrace_bts_config config = {
		.size = RECORDS(ROOM),
		.flags = TRACE | SCHED | ALLOC,
		.clock = PTRACE_BTS_CLOCK_MONOTONIC,
	};
	uint64_t before = now(), after;
	size_t nr, i, times = 0;

	ASSERT_EQ(0, bts(PTRACE_BTS_CONFIG, self->pid, &config, sizeof(config)));
	EXPECT_EQ(PTRACE_BTS_CLOCK_MONOTONIC, bts_status(self->pid).clock);
	tracee_do(&self->tracee, known_work, 5);
	/* Changing the flags does not change the clock. */
	EXPECT_EQ(0, bts_config(self->pid, TRACE | SCHED, 0, 0));
	EXPECT_EQ(PTRACE_BTS_CLOCK_MONOTONIC, bts_status(self->pid).clock);
	tracee_do(&self->tracee, known_work, 5);
	/* Draining waits until the tracee, which may still be departing, has departed. */
	nr = must_drain(self->pid, records, ROOM);
	after = now();
	for (i = 0; i < nr; i++) {
		if (records[i].type != X86_BTS_TASK_ARRIVES &&
		    records[i].type != X86_BTS_TASK_DEPARTS)
			continue;
		EXPECT_LE(before, records[i].event.clock);
		EXPECT_GE(after, records[i].event.clock);
		before = records[i].event.clock;
		times++;
	}
	EXPECT_LE(4, times);
}

TEST_HARNESS_MAIN
