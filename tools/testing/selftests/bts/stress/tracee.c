// SPDX-License-Identifier: GPL-2.0
/* A tracee of the fuzzer: it stops itself, executes an order, and stops again. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "stress.h"

/* The programs for DO_EXEC: the fuzzer, 64-bit and 32-bit, and a copy that only root can read. */
static const char *const programs[NR_EXECS] = {
	[EXEC_64]	= "/bt/fuzz",
	[EXEC_32]	= "/bt/fuzz_32",
	[EXEC_SECRET]	= SECRET,
};

static struct tracee_shared *me;
static sigjmp_buf after_fault;

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(after_fault, 1);
}

/*
 * Ignore the signals that can be ignored, except SIGSEGV and SIGBUS. Otherwise a signal could kill
 * the tracee while it has no tracer.
 */
static void ignore_signals(void)
{
	int i;

	for (i = 1; i <= SIGRTMAX; i++)
		signal(i, SIG_IGN);
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
}

static void jump_to_fault(uint64_t kind)
{
	static const uint64_t targets[] = {
		0, 0xfff, 0x7ffffffff000ull, 0x800000000000ull, 0xffff800000000000ull,
		0xffffffff81000000ull, 0xffffffffff600800ull, 0xffffffffffffffffull,
	};
	void (*go)(void) = (void (*)(void))(uintptr_t)targets[kind % ARRAY_SIZE(targets)];

	if (!sigsetjmp(after_fault, 1))
		go();
}

/* Publish the pid in the initial PID namespace, to which /proc belongs. */
static void tell_pid(void)
{
	char buf[32] = "";

	if (readlink("/proc/self", buf, sizeof(buf) - 1) > 0)
		__atomic_store_n(&me->pid, atoi(buf), __ATOMIC_SEQ_CST);
}

static void loop(struct tracee_shared *self);

static void run_fork(uint64_t nr)
{
	struct tracee_shared *child = (struct tracee_shared *)((char *)shared + nr);

	if (!syscall(SYS_fork))
		loop(child);
}

static void run_exec(uint64_t nr)
{
	char offset[32];

	snprintf(offset, sizeof(offset), "%zu", (size_t)((char *)me - (char *)shared));
	execl(programs[nr], programs[nr], "tracee", offset, NULL);
}

static void yield(uint64_t times)
{
	const struct timespec moment = { .tv_nsec = 1000 };

	while (times--) {
		sched_yield();
		nanosleep(&moment, NULL);
	}
}

static void wait_for_release(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	while (!__atomic_load_n(&me->release, __ATOMIC_SEQ_CST))
		nanosleep(&moment, NULL);
}

static void obey(void)
{
	uint64_t i;

	switch (me->what) {
	case DO_WORK:
		known_work(me->arg);
		break;
	case DO_YIELD:
		yield(me->arg);
		break;
	case DO_SYSCALLS:
		for (i = 0; i < me->arg; i++)
			syscall(SYS_getppid);
		break;
	case DO_FAULT:
		jump_to_fault(me->arg);
		break;
	case DO_DUMPABLE:
		prctl(PR_SET_DUMPABLE, (long)me->arg);
		break;
	case DO_FORK:
		run_fork(me->arg);
		break;
	case DO_EXEC:
		run_exec(me->arg);
		break;
	case DO_EXIT:
		_exit(7);
	case DO_WAIT:
		wait_for_release();
		break;
	}
}

static void stop(void)
{
	syscall(SYS_tgkill, (long)getpid(), syscall(SYS_gettid), SIGSTOP);
}

static void loop(struct tracee_shared *self)
{
	uint32_t serial;

	me = self;
	tell_pid();
	for (;;) {
		stop();
		serial = __atomic_load_n(&me->serial, __ATOMIC_SEQ_CST);
		if (serial == me->done)
			continue;
		obey();
		__atomic_store_n(&me->done, serial, __ATOMIC_SEQ_CST);
	}
}

/* If run_exec() has executed this program, obey orders, and do not return. Otherwise return. */
void tracee_exec_main(int argc, char **argv)
{
	if (argc != 3 || strcmp(argv[1], "tracee"))
		return;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	if (shared == MAP_FAILED)
		_exit(99);
	ignore_signals();
	me = (struct tracee_shared *)((char *)shared + strtoul(argv[2], NULL, 10));
	/* The execve() was the last order, which is completed. */
	me->done = me->serial;
	loop(me);
}

/* Make the calling process a tracee of its parent, and obey orders. Does not return. */
void tracee_run(struct tracee_shared *self)
{
	ignore_signals();
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	loop(self);
}
