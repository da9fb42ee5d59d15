// SPDX-License-Identifier: GPL-2.0
/*
 * Suspend the machine while BTS records. The emulator must end if the CPU stores a record without a
 * buffer.
 *
 * suspend STATE aux|period1|claim
 *
 * The second argument tells who records: aux (intel_bts) and period1 (perf's branch event with the
 * period 1) record this task, claim (a test module) all CPUs. period1 does not record the kernel.
 *
 * STATE is freeze, mem, or disk. freeze suspends only the devices. disk writes an image to swap on
 * /dev/sda, and resumes from the image at once, through the temporary page tables of resume.
 */
#include <sched.h>
#include <sys/swap.h>
#include <sys/sysinfo.h>

#include "store.h"

#define SWAP_DEVICE	"/dev/sda"
#define PM_TEST		"/sys/power/pm_test"
#define PM_TEST_DELAY	"/sys/module/suspend/parameters/pm_test_delay"
#define SWAP_MAGIC	"SWAPSPACE2"

/*
 * Make a swap area, and have hibernation store its image there. The header of a swap area has a
 * version and the number of the last page.
 */
static void swap_on(void)
{
	char page[4096] = "";
	uint32_t info[2] = { 1, 0 };
	off_t size;
	int fd;

	fd = open(SWAP_DEVICE, O_RDWR | O_CLOEXEC);
	size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	if (size <= 0)
		give_up(SWAP_DEVICE);
	info[1] = size / sizeof(page) - 1;
	memcpy(page + 1024, info, sizeof(info));
	memcpy(page + sizeof(page) - strlen(SWAP_MAGIC), SWAP_MAGIC, strlen(SWAP_MAGIC));
	if (pwrite(fd, page, sizeof(page), 0) != sizeof(page) || fsync(fd))
		give_up(SWAP_DEVICE);
	close(fd);
	if (swapon(SWAP_DEVICE, 0))
		give_up("swapon");
	/* Set the device for the image. The kernel looks for an image there, and finds none. */
	try_text("/sys/power/resume", "8:0");
	if (!write_text("/sys/power/disk", "test_resume"))
		give_up("/sys/power/disk");
}

static bool go_to_sleep(const char *state)
{
	if (!strcmp(state, "disk")) {
		swap_on();
		return write_text("/sys/power/state", state);
	}
	/* With pm_test, the kernel suspends the devices only, waits a second, and resumes. */
	if (!strcmp(state, "freeze")) {
		if (!write_text(PM_TEST_DELAY, "1") || !write_text(PM_TEST, "platform"))
			give_up(PM_TEST);
		return write_text("/sys/power/state", state);
	}
	wake_later();
	return write_text("/sys/power/state", state);
}

static uint64_t bts_bits(int cpu)
{
	return read_debugctl(cpu) & DEBUGCTL_BTS_BITS;
}

static void check_after(const uint64_t *area, int cpus)
{
	bool same = true;
	int cpu;

	for (cpu = 0; cpu < cpus; cpu++)
		same &= read_msr(cpu, MSR_DS_AREA) == area[cpu];
	ok(same, "DS_AREA is what it was, on each CPU");
}

int main(int argc, char *argv[])
{
	static const char * const how[] = { "aux", "period1", "claim" };
	static const enum kind kinds[] = { AUX, PERIOD1, NR_KINDS };
	int cpu, cpus = get_nprocs(), i, err;
	uint64_t area[64] = { }, bits;
	struct trace trace;
	long long records;

	for (i = 0; argc == 3 && i < 3 && strcmp(argv[2], how[i]); i++)
		;
	if (argc != 3 || i == 3 || cpus > 64) {
		fprintf(stderr, "usage: %s freeze|mem|disk aux|period1|claim\n", argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	pin_to(0);
	err = i == 2 ? try_text(CLAIM_KNOB, "2") : trace_open(&trace, kinds[i], 0, -1);
	if (!ok(!err, "%s: on (%s)", how[i], strerror(-err)))
		return finish();

	for (cpu = 0; cpu < cpus; cpu++)
		area[cpu] = read_msr(cpu, MSR_DS_AREA);
	bits = bts_bits(0);
	ok(bits, "BTS is on (%#llx)", (unsigned long long)bits);
	ok(go_to_sleep(argv[1]), "suspend: %s", argv[1]);
	check_after(area, cpus);
	ok(bts_bits(0) == bits, "BTS of CPU 0 is what it was (%#llx)",
	   (unsigned long long)bts_bits(0));
	records = bts_counter("records");
	for (i = 0; i < 1000; i++)
		sched_yield();
	ok(bts_counter("records") > records, "it goes on recording");
	ok(bts_counter("faults") == 0, "each record went into a buffer");
	return finish();
}
