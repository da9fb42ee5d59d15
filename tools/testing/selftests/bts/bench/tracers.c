// SPDX-License-Identifier: GPL-2.0
/*
 * Run more tracers than CPUs at the same time. Each tracer traces its own known branches, while
 * CPU 1 goes offline and online.
 *
 *   tracers period1|aux [WINDOWS]
 *
 * Each tracer makes at least WINDOWS traces, 10 by default.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "../guest/traced.h"
#include "../guest/guest.h"

#define TRACERS		8
#define CPU1_CYCLES	10
#define BLOCKS		300
#define PASSES		24

static enum source_kind kind;

/* shared: how often CPU 1 went offline and online, or -1 if that failed */
static volatile int *cycles;

static bool trace_window(struct program *p, u64 seed)
{
	struct recs want = { }, got = { };
	struct source s;
	bool good;
	int ret;

	program_replay(p, seed, PASSES, &want);
	ret = source_open(&s, kind, 2 * want.nr);
	if (ret) {
		printf("# perf_event_open: %s\n", strerror(-ret));
		return false;
	}
	program_run(p, s.fd, seed, PASSES);
	good = source_collect(&s, &got) && same_records(&got, &want);
	source_close(&s);
	recs_free(&want);
	recs_free(&got);
	return good;
}

static bool trace(u64 number, int windows)
{
	struct program *p = program_new(number, BLOCKS);
	bool good = p;
	int i;

	for (i = 0; good && (i < windows || (unsigned int)*cycles < CPU1_CYCLES); i++)
		good = trace_window(p, number << 32 | i);
	if (!good)
		printf("# tracer %llu, window %d\n", (unsigned long long)number, i - 1);
	fflush(stdout);
	return good;
}

static bool set_cpu1(bool online)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, online ? "1" : "0", 1) == 1;
	close(fd);
	return good;
}

static void move_cpu1(void)
{
	while (*cycles < CPU1_CYCLES) {
		if (!set_cpu1(false) || !set_cpu1(true)) {
			*cycles = -1;
			return;
		}
		++*cycles;
	}
}

static bool ended_well(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid && !status;
}

int main(int argc, char **argv)
{
	int i, windows = argc > 2 ? atoi(argv[2]) : 10;
	pid_t tracers[TRACERS], mover;

	kind = argc > 1 && !strcmp(argv[1], "aux") ? SOURCE_AUX : SOURCE_PERIOD1;
	plan(TRACERS + 2);
	cycles = mmap(NULL, sizeof(*cycles), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mover = fork();
	if (!mover) {
		move_cpu1();
		_exit(0);
	}
	for (i = 0; i < TRACERS; i++) {
		tracers[i] = fork();
		if (!tracers[i])
			_exit(!trace(i + 1, windows));
	}
	for (i = 0; i < TRACERS; i++)
		ok(ended_well(tracers[i]), "tracer %d", i + 1);
	ok(ended_well(mover) && *cycles == CPU1_CYCLES, "CPU 1 goes and comes");
	printf("# machine: %lld records, %lld PMIs, %lld masked, %lld faults\n",
	       bts_counter("records"), bts_counter("pmis"),
	       bts_counter("masked"), bts_counter("faults"));
	ok(!bts_counter("full") && !bts_counter("faults") && !bts_counter("wraps"),
	   "counters of the machine");
	return finish();
}
