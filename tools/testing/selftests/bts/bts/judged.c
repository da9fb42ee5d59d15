// SPDX-License-Identifier: GPL-2.0
/*
 * A child traces itself, works, and ends, while the emulator logs each instruction. The
 * oracle, a program on the host, compares the trace with that log.
 *
 *   judged MODULE user|kernel RECORDS [sampled]
 *	user: the trace is of user mode; another trace records the kernel on CPU 0
 *	kernel: the trace is of user mode and kernel
 *	sampled: meanwhile, perf samples all CPUs, every 15,625 cycles. With the clock that
 *		judged_long() sets, this is once in a millisecond
 *
 * The printed line `# oracle ...` has the arguments for the oracle.
 */
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../guest/handover.h"
#include "../guest/workload.h"
#include "../guest/guest.h"
#include "../guest/system.h"
#include "common.h"

/* A record in the hardware's format, which the oracle reads. */
struct raw {
	u64 from;
	u64 to;
	u64 flags;
};

static int by_size(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : *(const u32 *)a > *(const u32 *)b;
}

/* Work in user mode, with some 100,000 branches of real code. */
static bool sort_numbers(void)
{
	static u32 numbers[2000];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		numbers[i] = random();
	qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), by_size);
	for (i = 1; i < ARRAY_SIZE(numbers); i++) {
		if (numbers[i - 1] > numbers[i])
			return false;
	}
	return true;
}

static bool work(int fd, u64 records, bool kernel)
{
	bool good;

	lab_must(fd, LAB_START, NULL);
	good = workload_faults(WORKLOAD_FORK | WORKLOAD_TIMER);
	while (good && lab_status(fd).held < records)
		good = kernel ? workload_kernel() : sort_numbers();
	return good;
}

static bool run_logged(int fd, u64 records, bool kernel)
{
	int status = -1;
	pid_t pid;

	hmp("singlestep on", NULL, 0);
	log_on("exec,nochain,int");
	pid = fork();
	if (!pid)
		_exit(!work(fd, records, kernel));
	waitpid(pid, &status, 0);
	log_off();
	hmp("singlestep off", NULL, 0);
	return !status;
}

/* Trace the kernel on CPU 0 until this program ends. */
static void trace_cpu(void)
{
	int fd = lab_open(LAB_CPU, 0, LAB_KERNEL, 10000);

	lab_must(fd, LAB_START, NULL);
}

static struct raw *raw_records(const struct records *got, bool kernel, size_t *nr)
{
	struct raw *raw;
	size_t i;

	*nr = 0;
	raw = mmap(NULL, got->nr * sizeof(*raw), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < got->nr; i++) {
		const struct lab_record *rec = &got->rec[i];

		if (rec->type != Q_BRANCH)
			continue;
		if (!kernel && (rec->from >= USER_END || rec->to >= USER_END))
			continue;
		raw[(*nr)++] = (struct raw){ rec->from, rec->to, 0 };
	}
	return raw;
}

/* Returns for how many nanoseconds the children that have ended have executed. */
static u64 children_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ULL +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

int main(int argc, char **argv)
{
	bool kernel = argc > 2 && !strcmp(argv[2], "kernel");
	u64 records = argc > 3 ? strtoull(argv[3], NULL, 0) : 1000;
	struct records got = { };
	struct lab_status status;
	struct raw *raw;
	bool sampled;
	long samples;
	size_t nr;
	u64 ns;
	int fd;

	load_lab(argv[1]);
	sampled = argc > 4 && !strcmp(argv[4], "sampled");
	if (sampled)
		sample_all(PERF_COUNT_HW_CPU_CYCLES, 15625);
	fd = lab_open(LAB_SELF, 0, LAB_USER | (kernel ? LAB_KERNEL : 0),
		      records + records / 2 + kernel_records(200000));
	if (!kernel)
		trace_cpu();
	workload_prepare();
	ok(workload_faults(WORKLOAD_FORK | WORKLOAD_TIMER), "workload untraced");
	samples = interrupts_of_cpu("PMI", 0);
	ns = children_ns();
	ok(run_logged(fd, records, kernel), "workload traced");
	samples = interrupts_of_cpu("PMI", 0) - samples;
	ns = children_ns() - ns;
	/*
	 * A period is 1,000,000 ns. Several periods have one sample if an NMI delivers many
	 * records meanwhile. So count one sample in two periods as due.
	 */
	ok(!sampled || enough_samples(samples, ns, 2000000), "%ld samples in %llu ns", samples,
	   (unsigned long long)ns);
	status = lab_status(fd);
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(got.nr >= records && !status.lost && !status.overwritten && !status.gaps &&
	   !count_of(&got, Q_LOST), "%zu records, none lost", got.nr);
	ok(kernel || find_leak(&got) < 0, "a trace of user mode has no address of the kernel");
	raw = raw_records(&got, kernel, &nr);
	ok(hand_over("records", (u64)raw, nr * sizeof(*raw), false) && hand_over_code() &&
	   hand_over_module("bts_lab"), "records and code handed over");
	hand_over_arguments();
	return finish();
}
