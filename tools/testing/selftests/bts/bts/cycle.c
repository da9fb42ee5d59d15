// SPDX-License-Identifier: GPL-2.0
/*
 * CPU 1 goes offline and online while traces of this CPU and of tasks exist.
 *
 *   cycle MODULE [CYCLES]
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "common.h"

#define BLOCKS	100
#define RING	200000
#define CPU	1

static bool set_online(bool online)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, online ? "1" : "0", 1) == 1;

	close(fd);
	return good;
}

static void run_known(u64 seed, struct recs *want)
{
	known_run(seed, 1);
	known_want(seed, 1, want);
}

static int start(int target, int id, u32 flags)
{
	int fd = lab_open(target, id, flags, RING);

	lab_must(fd, LAB_START, NULL);
	return fd;
}

/*
 * Take CPU 1 offline and online once. @cpu, @own and @kernel are files of traces: @cpu of user mode
 * on CPU 1, @own of this task's user mode, @kernel of user mode and kernel on CPU 1. Returns false
 * on an error, if the offline CPU can be flushed, if the known program's branches in @cpu or @own
 * are not exactly those that were run, or if @own has a Q_LOST.
 */
static bool one_cycle(u64 seed, int cpu, int own, int kernel)
{
	struct records got = { };
	struct recs want = { };
	bool good = true;

	pin_to(CPU);
	run_known(seed, &want);
	pin_to(0);
	if (!set_online(false))
		return false;
	/* The trace of an offline CPU can be read, but the CPU cannot be flushed. */
	lab_read(cpu, &got);
	good &= known_same(&got, &want);
	good &= lab_do(cpu, LAB_FLUSH, (void *)CPU) == -ENXIO;
	lab_read(kernel, &got);
	got.nr = 0;
	lab_read(own, &got);
	good &= known_same(&got, &want) && !count_of(&got, Q_LOST);
	if (!set_online(true))
		return false;
	records_free(&got);
	recs_free(&want);
	return good;
}

/*
 * A trace that is created while its CPU is offline must begin when the CPU comes online. A
 * trace that is ended while its CPU is offline must not continue.
 */
static void test_created_offline(void)
{
	struct records got = { };
	struct recs want = { };
	int fd;

	pin_to(0);
	set_online(false);
	fd = start(LAB_CPU, CPU, LAB_USER);
	ok(!lab_status(fd).held, "created while the CPU is offline");
	ok(set_online(true), "the CPU comes");
	pin_to(CPU);
	run_known(1234, &want);
	pin_to(0);
	set_online(false);
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(known_same(&got, &want), "and its trace is there");
	ok(set_online(true), "and ended while it was offline");
	pin_to(CPU);
	ok(!(lab_debugctl() & DEBUGCTL_BTS), "the hardware is off");
	pin_to(0);
	close(fd);
	records_free(&got);
	recs_free(&want);
}

/* Runs in the tracee: runs the known program on CPU 1, then sleeps there, see LAB_STAY. */
static void stay(void *fd)
{
	struct recs unused = { };

	pin_to(CPU);
	run_known(7, &unused);
	lab_must((long)fd, LAB_STAY, NULL);
}

static void wait_for_ioctl(pid_t pid)
{
	char path[64], line[64] = "";
	int fd, tries;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	for (tries = 0; atoi(line) != SYS_ioctl && tries < 10000; tries++) {
		usleep(1000);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0)
			give_up("%s", path);
		close(fd);
	}
}

/* The trace of a task in stay() must have all branches of the known program, and @gaps Q_LOST. */
static void test_stays(u32 flags, unsigned int gaps)
{
	int lab = lab_open(LAB_SELF, 0, LAB_USER, 1), fd, status;
	pid_t pid = start_traced(stay, (void *)(long)lab);
	struct records got = { };
	struct recs want = { };

	fd = lab_open(LAB_TASK, pid, flags, kernel_records(RING));
	lab_must(fd, LAB_START, NULL);
	ptrace_cont(pid);
	wait_for_ioctl(pid);
	ok(set_online(false) && waitpid(pid, &status, 0) == pid && !status,
	   "flags %#x: a task cannot leave at once", flags);
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	known_want(7, 1, &want);
	ok(known_same(&got, &want) && lab_status(fd).gaps == gaps && count_of(&got, Q_LOST) == gaps,
	   "flags %#x: %u marks", flags, lab_status(fd).gaps);
	set_online(true);
	records_free(&got);
	recs_free(&want);
	close(fd);
	close(lab);
}

int main(int argc, char **argv)
{
	int cycles = argc > 2 ? atoi(argv[2]) : 20, i, bad = 0;
	int cpu, own, kernel, flight;

	load_lab(argv[1]);
	known_program(23, BLOCKS);
	test_created_offline();
	test_stays(LAB_USER, 0);
	test_stays(LAB_USER | LAB_KERNEL, 1);
	cpu = start(LAB_CPU, CPU, LAB_USER);
	own = start(LAB_SELF, 0, LAB_USER);
	kernel = start(LAB_CPU, CPU, LAB_USER | LAB_KERNEL | LAB_IDLE | LAB_SCHED);
	for (i = 0; i < cycles && bad < 3; i++) {
		if (!one_cycle(i, cpu, own, kernel)) {
			printf("# cycle %d: %s\n", i, strerror(errno));
			bad++;
		}
		if (!(i % 100))
			printf("# %d\n", i);
	}
	ok(!bad, "%d times offline and online", cycles);
	lab_must(kernel, LAB_DESTROY, NULL);
	lab_must(cpu, LAB_DESTROY, NULL);
	lab_must(own, LAB_DESTROY, NULL);

	flight = start(LAB_CPU, CPU, LAB_KERNEL | LAB_FLIGHT);
	for (i = 0; i < 3; i++)
		bad += !set_online(false) || !set_online(true);
	pin_to(CPU);
	ok(!bad && (lab_debugctl() & (DEBUGCTL_BTS | DEBUGCTL_BTINT)) == DEBUGCTL_BTS,
	   "the flight recorder comes back, too");
	lab_must(flight, LAB_DESTROY, NULL);
	ok(!bts_counter("faults"), "no fault of the Debug Store");
	return finish();
}
