// SPDX-License-Identifier: GPL-2.0
/* A workload for traces: signals, faults, interrupts, system calls, far transfers, forks. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "workload.h"

#define PAGE	4096
#define AREA	(8 * PAGE)

void fault_int3(void);
void fault_ud2(void);
void fault_divide(void);
void fault_load(const void *unmapped);
void fault_jump(const void *unmapped);
void fault_call(void *unmapped);
void fault_ret(void *unmapped);
void trap_flag(void);
void spin_in_place(const struct itimerval *timer);
void copy_string(void *to, const void *from, size_t n);
void system_call_int80(void);
void far_transfers(void);
void compat_code(void);
void sequence(void *arg);

extern uint64_t resume_at, resume_sp;

static volatile sig_atomic_t seen[NSIG];
static char *unmapped;

/*
 * After SIGTRAP and SIGUSR1, return to the interrupted code. After other signals, return to
 * resume_at. If resume_at is 0, exit instead.
 */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	seen[sig]++;
	if (sig == SIGTRAP || sig == SIGUSR1)
		return;
	/* An unexpected fault would repeat for ever, so exit. */
	if (!resume_at) {
		dprintf(2, "signal %d, code %d, at %#llx, address %p\n", sig, info->si_code,
			uc->uc_mcontext.gregs[REG_RIP], info->si_addr);
		_exit(100 + sig);
	}
	uc->uc_mcontext.gregs[REG_RIP] = resume_at;
	uc->uc_mcontext.gregs[REG_RSP] = resume_sp;
	resume_at = 0;
}

void workload_prepare(void)
{
	static const int signals[] = {
		SIGTRAP, SIGUSR1, SIGALRM, SIGILL, SIGFPE, SIGSEGV, SIGBUS,
	};
	static char stack[16384];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	unsigned int i;

	sigaltstack(&ss, NULL);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
	unmapped = mmap(NULL, 4 * PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static bool demand_faults(void)
{
	char *p, *q;
	bool good;

	p = mmap(NULL, 2 * AREA, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	q = p + AREA;
	memset(p, 7, PAGE);
	/* The pages at @q are not mapped yet, so page faults interrupt the string instruction. */
	copy_string(q + 100, p + 100, 3 * PAGE);
	good = q[100] == 7;
	munmap(p, 2 * AREA);
	return good;
}

static bool child_works(void)
{
	int status = -1;
	pid_t pid;

	pid = fork();
	if (!pid) {
		fault_int3();
		sequence(NULL);
		_exit(seen[SIGTRAP] ? 7 : 8);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	       WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

bool workload_faults(int with)
{
	static const struct itimerval soon = { .it_value.tv_usec = 30 };
	struct timespec ts;
	bool good = true;

	memset((void *)seen, 0, sizeof(seen));
	sequence(NULL);
	kill(getpid(), SIGUSR1);
	fault_int3();
	fault_ud2();
	fault_divide();
	fault_load(unmapped);
	fault_jump(unmapped + 8);
	fault_call(unmapped + 2 * PAGE);
	fault_ret(unmapped + 2 * PAGE);
	trap_flag();
	if (with & WORKLOAD_TIMER)
		spin_in_place(&soon);
	system_call_int80();
	far_transfers();
	compat_code();
	/* The branches of clock_gettime() depend on the time, too. */
	if (with & WORKLOAD_TIMER)
		clock_gettime(CLOCK_MONOTONIC, &ts);
	good &= demand_faults();
	good &= seen[SIGUSR1] == 1 && seen[SIGILL] == 1 && seen[SIGFPE] == 1;
	good &= seen[SIGSEGV] == 4 && seen[SIGALRM] == !!(with & WORKLOAD_TIMER) &&
		seen[SIGTRAP] > 5;
	if (with & WORKLOAD_FORK)
		good &= child_works();
	return good;
}

static bool ping_pong(int rounds)
{
	int to[2], from[2], i;
	bool good = true;
	pid_t pid;
	char c = 0;

	if (pipe(to) || pipe(from))
		return false;
	pid = fork();
	if (!pid) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
			;
		_exit(0);
	}
	for (i = 0; i < rounds && good; i++)
		good = write(to[1], &c, 1) == 1 && read(from[0], &c, 1) == 1;
	close(to[0]);
	close(to[1]);
	close(from[0]);
	close(from[1]);
	return waitpid(pid, NULL, 0) == pid && good;
}

static bool read_files(void)
{
	static const char * const files[] = { "/proc/self/maps", "/proc/stat" };
	char buf[4096];
	unsigned int i;
	int fd;

	for (i = 0; i < 2; i++) {
		fd = open(files[i], O_RDONLY);
		if (fd < 0)
			return false;
		while (read(fd, buf, sizeof(buf)) > 0)
			;
		close(fd);
	}
	return true;
}

bool workload_kernel(void)
{
	/* long enough for the CPU to halt */
	struct timespec ts = { .tv_nsec = 2000000 };

	nanosleep(&ts, NULL);
	return ping_pong(20) && read_files() && demand_faults();
}
