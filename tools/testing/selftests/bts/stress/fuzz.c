// SPDX-License-Identifier: GPL-2.0
/*
 * A fuzzer for the PTRACE_BTS_* requests. It compares their results with a model of what each
 * request must return, and of the memory that is charged to each user.
 *
 *   fuzz [-s SEED] [-t SECONDS] [-r REQUESTS] [-n TRACERS] [-o NUMBER] [-x NOISE]
 *        [-i LIFE] [MODULE]
 *
 * With -r, it ends after REQUESTS requests, and fails if SECONDS pass before. Without -r, it ends
 * after SECONDS.
 * Each step of each tracer has its own random numbers, so the same seed makes nearly the same
 * requests. They differ where they depend, for example, on the records held, or on tasks that are
 * killed.
 *
 *   -n	number of tracers
 *   -o	run only the tracer with this number
 *   -x	other activity, by letters: s (sysctls), p (perf), r (recorder), h (CPU hotplug),
 *	k (kills), m (loads and unloads of MODULE), l (r and p use last branch records, too)
 *   -i	initial number of the life of each tracer. After a kill, a tracer starts again with the
 *	next number, and so with other random numbers
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "memory.h"
#include "noise.h"
#include "tracer.h"

struct shared *shared;
int my_number = -1;

static struct {
	uint64_t seed;
	unsigned int seconds;
	uint64_t requests;	/* 0: as many as the time allows */
	int tracers;
	int only;
	unsigned int noise;
	uint32_t life;
	const char *module;
} options = { .seed = 1, .seconds = 60, .tracers = 1, .only = -1, };

void violation(const char *fmt, ...)
{
	char head[100] = "";
	va_list ap;

	/* Report only the first violation: others may be its consequences. */
	if (__atomic_add_fetch(&shared->violations, 1, __ATOMIC_SEQ_CST) > 1)
		return;
	if (my_number >= 0)
		snprintf(head, sizeof(head), "seed %llu tracer %d.%u step %llu: ",
			 (unsigned long long)shared->seed, my_number,
			 shared->tracers[my_number].incarnation,
			 (unsigned long long)shared->tracers[my_number].step);
	va_start(ap, fmt);
	say_violation(head, fmt, ap);
	va_end(ap);
	__atomic_store_n(&shared->stop, 1, __ATOMIC_SEQ_CST);
}

__attribute__((noreturn))
static void usage(const char *option, const char *value)
{
	fprintf(stderr, "fuzz: %s %s: usage: fuzz [-s SEED] [-t SECONDS] [-r REQUESTS]\n", option,
		value);
	fprintf(stderr, "  [-n 1..%d] [-o 0..%d] [-x sprhkml] [-i LIFE] [MODULE]\n", NR_TRACERS,
		NR_TRACERS - 1);
	exit(2);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

static const char noise_letters[NR_KINDS + 1] = "sprhkml";

static unsigned int noise_kinds(const char *letters)
{
	unsigned int kinds = 0;

	for (; *letters; letters++) {
		if (!strchr(noise_letters, *letters))
			usage("-x", letters);
		kinds |= 1u << (strchr(noise_letters, *letters) - noise_letters);
	}
	return kinds;
}

static uint64_t number(const char *option, const char *text, uint64_t most)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (!*text || *end || n > most)
		usage(option, text);
	return n;
}

static void read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:t:r:n:o:x:i:")) > 0) {
		switch (c) {
		case 's':
			options.seed = number("-s", optarg, -1ull);
			break;
		case 't':
			options.seconds = number("-t", optarg, 1000000);
			break;
		case 'r':
			options.requests = number("-r", optarg, -1ull);
			break;
		case 'n':
			options.tracers = number("-n", optarg, NR_TRACERS);
			break;
		case 'o':
			options.only = number("-o", optarg, NR_TRACERS - 1);
			break;
		case 'x':
			options.noise = noise_kinds(optarg);
			break;
		case 'i':
			options.life = number("-i", optarg, UINT_MAX);
			break;
		default:
			exit(2);
		}
	}
	options.module = argv[optind];
	if (!options.tracers)
		usage("-n", "0");
	if (options.noise & NOISE_MODULE && !options.module)
		usage("-x m", "without a module");
	if (options.noise & NOISE_LBR && !(options.noise & NOISE_RECORDER))
		usage("-x l", "without r");
}

static void share(void)
{
	int fd = syscall(SYS_memfd_create, "stress", 0), i;

	if (fd < 0 || dup2(fd, SHARED_FD) < 0 || ftruncate(SHARED_FD, sizeof(*shared)))
		give_up("memfd");
	close(fd);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	if (shared == MAP_FAILED)
		give_up("no memory");
	shared->seed = options.seed;
	shared->globals.sysctl = 0;
	shared->globals.paranoid = 2;
	for (i = 0; i < NR_TRACERS; i++)
		shared->tracers[i].incarnation = options.life;
}

/* Copy this program to a file that users other than root can execute, but not read. */
static void make_secret(void)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(SECRET, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0111);
	char buf[65536];
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, n) != n)
			give_up(SECRET);
	}
	if (in < 0 || out < 0 || n)
		give_up(SECRET);
	close(in);
	close(out);
}

static bool wanted(int number)
{
	return options.only >= 0 ? number == options.only : number < options.tracers;
}

static void start_tracer(int number)
{
	struct tracer_shared *t = &shared->tracers[number];
	pid_t pid;

	t->uid = roles[number].uid;
	pid = syscall(SYS_clone, SIGCHLD | (roles[number].pidns ? CLONE_NEWPID : 0), NULL,
		      NULL, NULL, NULL);
	if (pid < 0)
		give_up("fork");
	if (!pid) {
		setpgid(0, 0);
		tracer_main(number);
	}
	setpgid(pid, pid);
	t->pid = pid;
}

static uint64_t requests(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < NR_TRACERS; i++)
		sum += shared->tracers[i].requests;
	return sum;
}

static struct tracer_shared *tracer_of(pid_t pid)
{
	int i;

	for (i = 0; i < NR_TRACERS; i++) {
		if (shared->tracers[i].pid == (uint32_t)pid)
			return &shared->tracers[i];
	}
	return NULL;
}

/* Reap tracers, noise processes, and tracees whose tracer has died. */
static void reap(void)
{
	struct tracer_shared *t;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (pid == (pid_t)shared->noise_pids[0] || pid == (pid_t)shared->noise_pids[1]) {
			if (!shared->stop)
				violation("a noise process ended with status %#x", status);
			continue;
		}
		t = tracer_of(pid);
		if (!t)
			continue;
		t->pid = 0;
		if (status && !t->dying)
			violation("tracer %d ended with status %#x", (int)(t - shared->tracers),
				  status);
	}
}

static bool any_tracer(void)
{
	int i;

	for (i = 0; i < NR_TRACERS; i++) {
		if (shared->tracers[i].pid)
			return true;
	}
	return false;
}

/*
 * Killing tracees and tracers
 */

static void kill_tracee(struct tracer_shared *tracer)
{
	struct tracee_shared *t = &tracer->tracees[rng(NR_TRACEES)];
	uint32_t pid = __atomic_load_n(&t->pid, __ATOMIC_SEQ_CST);

	if (!pid)
		return;
	__atomic_store_n(&t->killed, pid, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shared->version, 1, __ATOMIC_SEQ_CST);
	kill(pid, SIGKILL);
}

/* Kill and reap the process group of @leader, so that nothing stays charged for its traces. */
static void bury_family(pid_t leader)
{
	uint64_t end = now_ms() + 60000;

	while (!kill(-leader, SIGKILL)) {
		reap();
		usleep(200);
		if (now_ms() > end) {
			violation("the family of %d does not die", leader);
			return;
		}
	}
}

static void kill_tracer(int number)
{
	struct tracer_shared *t = &shared->tracers[number];
	pid_t pid = t->pid;

	__atomic_store_n(&t->dying, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&shared->version, 1, __ATOMIC_SEQ_CST);
	kill(pid, SIGKILL);
	while (t->pid) {
		reap();
		sched_yield();
	}
	bury_family(pid);
	memset(t->tracees, 0, sizeof(t->tracees));
	account_give(number);
	t->incarnation++;
	t->step = 0;
	noise_done(NOISE_KILL);
	__atomic_store_n(&t->dying, 0, __ATOMIC_SEQ_CST);
	start_tracer(number);
}

static void kill_somebody(void)
{
	int number = rng(NR_TRACERS);

	if (!shared->tracers[number].pid)
		return;
	if (chance(8))
		kill_tracer(number);
	else
		kill_tracee(&shared->tracers[number]);
}

static void supervise(void)
{
	uint64_t end = now_ms() + options.seconds * 1000ull, told = now_ms();

	rng_seed(options.seed, 2000, 0, 0);
	while (!shared->stop && now_ms() < end &&
	       (!options.requests || requests() < options.requests)) {
		usleep(options.noise & NOISE_KILL ? rng(100000) : 20000);
		reap();
		if (options.noise & NOISE_KILL)
			kill_somebody();
		/* The test runner kills a virtual machine that prints nothing for long. */
		if (now_ms() - told > 20000) {
			printf("# %llu requests\n", (unsigned long long)requests());
			told = now_ms();
		}
	}
	shared->stop = 1;
	while (any_tracer()) {
		usleep(1000);
		reap();
	}
	while (waitpid(-1, NULL, __WALL) > 0)
		;
}

/* After fewer requests than this, do not check whether noise has succeeded. */
#define LONG	5000

static void check_noise(void)
{
	unsigned int kinds = shared->noise;
	int i;

	if (requests() < LONG)
		return;
	/* With more than one tracer, root's traces may keep the hardware from perf all the time. */
	if (options.tracers > 1)
		kinds &= ~NOISE_PERF;
	for (i = 0; i < NR_KINDS; i++) {
		if (kinds & 1u << i)
			ok(shared->noise_done[i], "noise %c: %u times", noise_letters[i],
			   shared->noise_done[i]);
	}
	if (kinds & NOISE_PERF)
		ok(shared->busy, "perf had the hardware %u times", shared->busy);
}

static void check_memory(long slabs)
{
	uint32_t uids[NR_TRACERS];
	int i, j, nr = 0;

	for (i = 0; i < NR_TRACERS; i++) {
		for (j = 0; j < nr && uids[j] != roles[i].uid; j++)
			;
		if (j == nr && wanted(i))
			uids[nr++] = roles[i].uid;
	}
	memory_end(slabs, uids, nr);
}

int main(int argc, char **argv)
{
	long slabs;
	int i;

	tracee_exec_main(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_options(argc, argv);
	share();
	make_secret();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	printf("# seed %llu\n", (unsigned long long)options.seed);
	slabs = memory_begin();
	noise_start(options.noise, options.module);
	for (i = 0; i < NR_TRACERS; i++) {
		if (wanted(i))
			start_tracer(i);
	}
	supervise();
	ok(!shared->violations && requests() && requests() >= options.requests,
	   "seed %llu: %llu requests as the model has them", (unsigned long long)options.seed,
	   (unsigned long long)requests());
	check_noise();
	check_memory(slabs);
	return finish();
}
