// SPDX-License-Identifier: GPL-2.0
/*
 * Tracees end, and one thread reaps them, while their tracer, another thread, ends or detaches
 * from them. Each trace must be freed exactly once. RLIMIT_MEMLOCK is just enough for the traces
 * of a round: if a trace is not freed, the next round fails.
 *
 *   ends [TRACEES]		number of tracees for each of the two tests
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest/traced.h"
#include "../guest/nobody.h"

#define NR	8	/* tracees in a round; the trace of each takes one page */
#define STACK	16384

static char stacks[NR][STACK] __attribute__((aligned(16)));
static pid_t tracees[NR];
static sem_t begun, reaped;
static unsigned int round_nr;

/*
 * The tracee shares its tracer's memory, also the thread-local part, such as errno. So call
 * no function of libc but syscall(), and do not use errno.
 */
static int tracee(void *nr)
{
	syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
	syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
	known_work(1 + (round_nr * 131 + (unsigned long)nr * 977) % 5000);
	return 0;
}

static void start_tracee(unsigned long nr)
{
	int status;
	pid_t pid = clone(tracee, stacks[nr] + STACK, CLONE_VM | SIGCHLD, (void *)nr);

	if (pid < 0 || waitpid(pid, &status, __WALL) != pid || !stopped_by(status, SIGSTOP))
		give_up("round %u: no tracee", round_nr);
	errno = -bts_config(pid, TRACE | ALLOC, RECORDS(100), 0);
	if (errno)
		give_up("round %u: PTRACE_BTS_CONFIG of trace %lu", round_nr, nr);
	tracees[nr] = pid;
}

static void start_tracees(void)
{
	unsigned long i;

	for (i = 0; i < NR; i++)
		start_tracee(i);
}

/* Thread that is the tracer in one round: start tracees, continue them, and exit. */
static void *tracer_that_ends(void *unused)
{
	unsigned int i;

	start_tracees();
	for (i = 0; i < NR; i++) {
		if (ptrace(PTRACE_CONT, tracees[i], 0, 0))
			give_up("PTRACE_CONT");
	}
	sem_post(&begun);
	known_work(1 + round_nr * 353 % 20000);
	return unused;
}

/* Thread that is the tracer in all rounds. end_when_detached() kills and reaps the tracees. */
static void *tracer_that_detaches(void *rounds)
{
	unsigned int nr = *(unsigned int *)rounds, i, done;

	for (done = 0; done < nr; done++) {
		start_tracees();
		sem_post(&begun);
		for (i = 0; i < NR; i++) {
			int signal = (i + done) % 3 ? 0 : SIGKILL;

			if (ptrace(PTRACE_DETACH, tracees[i], 0, signal) && errno != ESRCH)
				give_up("PTRACE_DETACH");
		}
		sem_wait(&reaped);
	}
	return NULL;
}

static void reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, __WALL) != pid || WIFSTOPPED(status))
		give_up("round %u: cannot reap %d", round_nr, pid);
}

static int end_with_tracers(void *rounds)
{
	unsigned int nr = *(unsigned int *)rounds, i;
	pthread_t tracer;

	for (round_nr = 0; round_nr < nr; round_nr++) {
		if (pthread_create(&tracer, NULL, tracer_that_ends, NULL))
			give_up("no thread");
		sem_wait(&begun);
		for (i = 0; i < NR; i++)
			reap(tracees[round_nr & 1 ? i : NR - 1 - i]);
		pthread_join(tracer, NULL);
	}
	return 0;
}

static int end_when_detached(void *rounds)
{
	unsigned int nr = *(unsigned int *)rounds, i;
	pthread_t tracer;

	if (pthread_create(&tracer, NULL, tracer_that_detaches, rounds))
		give_up("no thread");
	for (round_nr = 0; round_nr < nr; round_nr++) {
		sem_wait(&begun);
		known_work(1 + round_nr * 353 % 3000);
		for (i = 0; i < NR; i++) {
			pid_t pid = tracees[round_nr & 1 ? i : NR - 1 - i];

			kill(pid, SIGKILL);
			reap(pid);
		}
		sem_post(&reaped);
	}
	pthread_join(tracer, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int rounds = (argc > 1 ? atoi(argv[1]) : 1000) / NR;
	long long records;

	nobody_pages = NR;
	let_nobody_trace();
	sem_init(&begun, 0, 0);
	sem_init(&reaped, 0, 0);
	ok(!as_nobody(end_with_tracers, &rounds), "%u tracees end with their tracer",
	   rounds * NR);
	ok(!as_nobody(end_when_detached, &rounds),
	   "%u tracees are let go, killed and reaped at once", rounds * NR);
	ok(all_given_back(), "given back");
	if (bts_hardware()) {
		records = bts_counter("records");
		usleep(100000);
		ok(records > 0 && bts_counter("records") == records, "hardware is off");
	}
	return finish();
}
