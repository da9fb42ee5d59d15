// SPDX-License-Identifier: GPL-2.0
/*
 * walk WHAT [N]: a program that many tests of btstrace trace. It has known branches, ends
 * in several ways, and does things that are hard for a tracer.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE	__attribute__((noinline, noclone))

static volatile long result;
static jmp_buf back;

NOINLINE static long leaf(long n)
{
	asm volatile("" : "+r" (n));
	return n + 1;
}

NOINLINE static long fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Three branches a round: the call, the return and, except in the last round, the jump back. */
NOINLINE static void steps(long n)
{
	while (n--)
		result = leaf(n);
}

NOINLINE static void deep(long n)
{
	if (n)
		deep(n - 1);
	else if (result)
		longjmp(back, 1);
	result = leaf(n);
}

static void handler(int sig)
{
	result = leaf(sig);
}

static int calls(long n)
{
	result = fib(n);
	return 0;
}

static int loop(long n)
{
	steps(n);
	return 0;
}

/* Calls, signals, longjmp() and system calls, @n times */
static int mixed(long n)
{
	signal(SIGUSR1, handler);
	while (n--) {
		result = fib(5);
		raise(SIGUSR1);
		if (!setjmp(back))
			deep(4);
		getppid();
		memset((void *)&result, 0, sizeof(result));
	}
	return 0;
}

NOINLINE static void jump(void (*where)(void))
{
	where();
	result = 0;
}

static int crash(long n)
{
	result = fib(3);
	jump((void (*)(void))n);
	return 0;
}

/* Fault at an instruction that is no branch, some instructions after the last branch. */
static int fault(long n)
{
	*(volatile long *)(result + n) = 1;
	return 0;
}

static int leave(long n)
{
	return n;
}

static int die(long sig)
{
	raise(sig);
	return 0;
}

static int stop(long n)
{
	raise(SIGSTOP);
	return n;
}

static void *thread(void *arg)
{
	result = fib((long)arg);
	return NULL;
}

static int threads(long n)
{
	pthread_t id[64];
	long i;

	for (i = 0; i < n; i++)
		if (pthread_create(&id[i], NULL, thread, (void *)5L))
			return 1;
	for (i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	return 0;
}

static int forks(long n)
{
	int status, bad = 0;

	while (n--) {
		if (!fork())
			_exit(fib(5) == 5 ? 0 : 1);
		if (wait(&status) < 0 || status)
			bad = 1;
	}
	return bad;
}

/* Execute the 32-bit and the 64-bit program in turn, @n times. */
static int execs(long n)
{
	char left[24], *argv[] = { "walk", "execs", left, NULL };

	result = fib(4);
	if (!n)
		return 7;
	snprintf(left, sizeof(left), "%ld", n - 1);
	execv(sizeof(long) == 8 ? "/bt/walk_32" : "/bt/walk", argv);
	return 1;
}

static void *exec_thread(void *arg)
{
	execs((long)arg);
	return NULL;
}

/* A thread that is not the first calls execve(), and so gets the ID of the first one. */
static int exec_by_thread(long n)
{
	pthread_t id;

	pthread_create(&id, NULL, exec_thread, (void *)n);
	pause();
	return 1;
}

/* The thread of exec_spins() executes a program that runs until the test tells it to end. */
static void *spin_thread(void *arg)
{
	execl("/bt/walk", "walk", "spins", "1", NULL);
	return arg;
}

static int exec_spins(long n)
{
	pthread_t id;

	pthread_create(&id, NULL, spin_thread, NULL);
	pause();
	return n;
}

/* Returns bit I for each sig[I] that is ignored or blocked, and 0x80 if files were inherited. */
static int inherited(long n)
{
	static const int sig[] = { SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGTTIN, SIGUSR1 };
	struct sigaction act;
	sigset_t set;
	size_t i;

	sigprocmask(SIG_BLOCK, NULL, &set);
	for (i = 0; i < sizeof(sig) / sizeof(sig[0]); i++) {
		sigaction(sig[i], NULL, &act);
		if (act.sa_handler == SIG_IGN || sigismember(&set, sig[i]))
			n |= 1 << i;
	}
	/* Look for inherited files. If standard files were closed, their numbers must be free. */
	for (i = fcntl(0, F_GETFD) < 0 ? 0 : 3; i < 64; i++)
		if (fcntl(i, F_GETFD) >= 0)
			n |= 0x80;
	return n;
}

/* A file that is shared with the test: each thread counts, until the test sets @end. */
struct spin {
	volatile long count[8];
	volatile char end;
};

static struct spin *spin_file(void)
{
	int fd = open("/tmp/spin", O_RDWR | O_CREAT, 0600);
	struct spin *spin;

	if (ftruncate(fd, sizeof(*spin)))
		exit(1);
	spin = mmap(NULL, sizeof(*spin), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return spin == MAP_FAILED ? NULL : spin;
}

static struct spin *spin;

static void *spinner(void *arg)
{
	long n = (long)arg;

	while (!spin->end) {
		spin->count[n]++;
		result = leaf(n);
	}
	return NULL;
}

static int spins(long n)
{
	pthread_t id[8];
	long i;

	spin = spin_file();
	for (i = 1; i < n; i++)
		pthread_create(&id[i], NULL, spinner, (void *)i);
	spinner(0);
	for (i = 1; i < n; i++)
		pthread_join(id[i], NULL);
	return 42;
}

/* Block all signals. A tracer that reads when this program gets a signal would lose records. */
static int masked(long n)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	steps(n);
	return 0;
}

/* Kill the tracer, and go on. */
static int killer(long n)
{
	int fd;

	kill(getppid(), SIGKILL);
	steps(n);
	fd = open("/tmp/survived", O_WRONLY | O_CREAT, 0600);
	close(fd);
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

NOINLINE static void end_at_once(void)
{
	if (!vfork())
		_exit(0);
}

/* Threads and processes that begin and end quickly; some kill themselves */
static int cloner(long n)
{
	pthread_t id;
	long i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < 20; j++)
			if (!pthread_create(&id, NULL, nothing, NULL))
				pthread_detach(id);
		for (j = 0; j < 5; j++) {
			if (!fork()) {
				pthread_create(&id, NULL, nothing, NULL);
				_exit(0);
			}
			end_at_once();
		}
		if (!fork())
			raise(SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

/* Change the target of a jump each time before executing it. */
static int modify(long n)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long i;

	if (code == MAP_FAILED)
		return 1;
	memset(code, 0xc3, 4096);
	code[0] = 0xeb;
	for (i = 0; i < n; i++) {
		code[1] = 2 + i % 100;
		asm volatile("" : : : "memory");
		((void (*)(void))code)();
	}
	munmap(code, 4096);
	return 0;
}

static int gone(long n)
{
	char self[256] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || unlink(self))
		return 1;
	result = fib(n);
	return 0;
}

static int hidden(long n)
{
	prctl(PR_SET_DUMPABLE, 0);
	result = fib(n);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(long n);
} list[] = {
	{ "calls", calls }, { "loop", loop }, { "mixed", mixed }, { "crash", crash },
	{ "fault", fault }, { "exit", leave }, { "die", die }, { "stop", stop },
	{ "threads", threads },
	{ "forks", forks }, { "execs", execs }, { "exec-by-thread", exec_by_thread },
	{ "exec-spins", exec_spins }, { "inherited", inherited }, { "spins", spins },
	{ "masked", masked }, { "killer", killer }, { "cloner", cloner },
	{ "modify", modify }, { "gone", gone }, { "hidden", hidden },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(list) / sizeof(list[0]); i++)
		if (!strcmp(argv[1], list[i].name))
			return list[i].run(argc > 2 ? strtol(argv[2], NULL, 0) : 0);
	fprintf(stderr, "usage: walk WHAT [N]\n");
	return 99;
}
