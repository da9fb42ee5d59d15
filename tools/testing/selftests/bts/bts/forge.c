// SPDX-License-Identifier: GPL-2.0
/*
 * A task enters the kernel in many ways, and jumps to addresses that fault, such as those of the
 * kernel. A trace of user mode must show no kernel address, also while other traces record the
 * kernel on the same CPU.
 *
 *   forge MODULE [ROUNDS]
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "../guest/workload.h"
#include "../guest/guest.h"
#include "common.h"

#define VSYSCALL_TIME	0xffffffffff600400ull
#define RING		200000

static const u64 targets[] = {
	0xffffffff81000000ull,	/* the start of the kernel's text, without KASLR */
	0xffffffff81000001ull,
	0xffff888000000000ull,
	0xfffffffffffffff0ull,
	0xffffffffff600001ull,	/* next to an entry of the vsyscall page */
	0x0000800000000000ull,	/* not canonical, with 4 levels of page tables */
	0x00007ffffffff000ull,	/* the last page below 1 << 47, which is not mapped here */
	0x00007fffffffffffull,
	0x8000000000000000ull,
	0x10ull,
};

static sigjmp_buf back;
static void (*old_handler)(int sig, siginfo_t *info, void *context);
static bool forging;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if (forging)
		siglongjmp(back, 1);
	old_handler(sig, info, context);
}

static void jump(u64 target)
{
	asm volatile("jmp *%0" : : "r" (target) : "memory");
}

static void call(u64 target)
{
	asm volatile("call *%0" : : "r" (target) : "memory");
}

/*
 * Call each target, and jump to it. If the target is canonical, the hardware stores it in two
 * records: as the target of the branch, and as the source of the fault.
 */
static void forge(void)
{
	static size_t i;	/* keeps its value across siglongjmp() */

	forging = true;
	for (i = 0; i < 2 * ARRAY_SIZE(targets); i++) {
		if (!sigsetjmp(back, 1))
			(i & 1 ? jump : call)(targets[i / 2]);
	}
	forging = false;
}

/* The call causes a fault, and the kernel emulates it. */
static long vsyscall_time(void)
{
	long (*time)(long *) = (void *)VSYSCALL_TIME;

	return time(NULL);
}

static void take_over_faults(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL };
	struct sigaction sa, mine = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};
	size_t i;

	workload_prepare();
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &sa);
		old_handler = sa.sa_sigaction;
		sigaction(signals[i], &mine, NULL);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 10, cpus, cpu, i;
	size_t nr = 0, leaves = 0, kernel = 0;
	struct records got = { };
	int own, user, both[16];
	bool good = true;
	ssize_t at = -1;

	load_lab(argv[1]);
	take_over_faults();
	cpus = nr_cpus();
	for (cpu = 0; cpu < cpus && cpu < 16; cpu++) {
		both[cpu] = lab_open(LAB_CPU, cpu, LAB_USER | LAB_KERNEL, 20000);
		lab_must(both[cpu], LAB_START, NULL);
	}
	own = lab_open(LAB_SELF, 0, LAB_USER | LAB_ENTRY, RING);
	user = lab_open(LAB_CPU, 0, LAB_USER | LAB_SCHED, RING);
	lab_must(user, LAB_START, NULL);
	for (i = 0; i < rounds && at < 0; i++) {
		lab_must(own, LAB_START, NULL);
		forge();
		good &= vsyscall_time() > 0;
		good &= workload_faults(WORKLOAD_FORK | WORKLOAD_TIMER);
		good &= workload_kernel();
		lab_must(own, LAB_END, NULL);
		got.nr = 0;
		lab_read(own, &got);
		at = find_leak(&got);
		nr += got.nr;
		leaves += count_of(&got, Q_LEAVE);
		if (at >= 0)
			break;
		/* The trace of CPU 0 has all tasks in user mode, but must not show the kernel. */
		got.nr = 0;
		lab_read(user, &got);
		at = find_leak(&got);
		nr += got.nr;
	}
	if (at >= 0)
		print_around(&got, at);
	ok(at < 0 && nr > 1000, "no address of the kernel in %zu records", nr);
	ok(leaves >= 2 * ARRAY_SIZE(targets) * rounds, "%zu ways back", leaves);
	ok(good, "the workload has done its work");
	for (cpu = 0; cpu < cpus && cpu < 16; cpu++) {
		got.nr = 0;
		/* One of these traces records the read, and never gets empty: read each once. */
		lab_take(both[cpu], &got, 20000);
		kernel += got.nr;
	}
	ok(kernel > 1000, "the kernel was traced meanwhile");
	ok(!bts_counter("faults"), "no fault of the Debug Store");
	return finish();
}
