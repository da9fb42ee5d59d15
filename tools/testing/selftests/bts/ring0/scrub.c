// SPDX-License-Identifier: GPL-2.0
/*
 * Check that no kernel address is left in the first and the last records of the hardware's buffers
 * after the flight recorder was switched off, or a CPU was removed from the recorder's cpumask,
 * while a trace of user mode keeps the buffers mapped. With page-table isolation, user mode's page
 * tables map them as well.
 *
 *   scrub BTS_LAB_MODULE
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "../guest/labs/bts/lab.h"
#include "../guest/recorder.h"

#define LAB_DEVICE	"/dev/bts_lab"
#define KERNEL_TEXT	0xffffffff80000000ull
#define BUFFER		65520
/* The size of each of the two samples of a buffer */
#define SAMPLE		480
/* The number of addresses in both samples of a full buffer: 2 in each record of 24 bytes */
#define ADDRESSES	(2 * SAMPLE / 24 * 2)

/* Trace a stopped task, so that the buffers stay mapped. Closing the returned fd ends the trace. */
static int keep_mapped(void)
{
	struct lab_config config = {
		.target = LAB_TASK,
		.flags = LAB_USER,
		.nr = 16,
		.room = 16,
	};
	int fd = open(LAB_DEVICE, O_RDWR | O_CLOEXEC), tries = 1000;

	config.id = fork();
	if (!config.id) {
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(config.id, NULL, WUNTRACED);
	if (fd < 0 || ioctl(fd, LAB_CONFIG, &config))
		give_up(LAB_DEVICE);
	/* EBUSY: BTS has another user. Wait until that user ends. */
	while (ioctl(fd, LAB_START, NULL)) {
		if (errno != EBUSY || !tries--)
			give_up("cannot trace a task");
		usleep(1000);
	}
	return fd;
}

/* Count kernel addresses in the memory at @start. The monitor prints "address: 0xvalue 0xvalue". */
static size_t count_addresses(uint64_t start, size_t size)
{
	static char text[1 << 13];
	size_t found = 0;
	char cmd[64], *at;

	snprintf(cmd, sizeof(cmd), "x/%zugx 0x%llx", size / 8, (unsigned long long)start);
	if (hmp(cmd, text, sizeof(text)))
		give_up("the monitor's x");
	for (at = text; (at = strstr(at, " 0x")); at++)
		found += strtoull(at, NULL, 16) >= KERNEL_TEXT;
	return found;
}

static uint64_t buffer_of(int cpu)
{
	return peek(read_msr(cpu, MSR_DS_AREA));
}

/* Count the kernel addresses in the first and the last records of the buffer. */
static size_t left_at(uint64_t buffer)
{
	return count_addresses(buffer, SAMPLE) + count_addresses(buffer + BUFFER - SAMPLE, SAMPLE);
}

static size_t left_on(int cpu)
{
	return left_at(buffer_of(cpu));
}

static void must_write(const char *path, const char *text)
{
	errno = -try_text(path, text);
	if (errno)
		give_up("%s", path);
}

static void call_often(void)
{
	int i;

	for (i = 0; i < 1000; i++)
		getppid();
}

/*
 * Make system calls on @cpu until more than half of the sampled addresses are of the kernel. After
 * that, this program executes on the other CPU: if the kernel does not use the filter by CPL,
 * branches of left_on() and must_set() on @cpu would be recorded.
 */
static void fill(int cpu)
{
	int tries = 100;

	do {
		if (!tries--)
			give_up("the buffer of CPU %d does not fill", cpu);
		pin_to(cpu);
		call_often();
		pin_to(!cpu);
	} while (left_on(cpu) <= ADDRESSES / 2);
}

int main(int argc, char **argv)
{
	const char *online = "/sys/devices/system/cpu/cpu1/online";
	uint64_t buffer;
	int lab;

	(void)argc;
	load_module(argv[1], "");
	pin_to(0);
	must_set("enable", "1");
	lab = keep_mapped();
	fill(1);
	fill(0);
	must_set("cpumask", "1");
	ok(left_on(0) > ADDRESSES / 2, "a CPU less: the other's buffer is not wiped");
	ok(!left_on(1), "its own is");
	must_set("cpumask", "3");
	fill(1);
	fill(0);
	must_set("enable", "0");
	ok(!left_on(0) && !left_on(1), "off: both are wiped");
	must_set("enable", "1");
	fill(1);
	fill(0);
	must_set("freeze", "1");
	ok(left_on(0) > ADDRESSES / 2, "frozen: full");
	must_set("enable", "0");
	ok(!left_on(0) && !left_on(1), "off while frozen: both are wiped");
	must_set("cpumask", "3");
	must_set("enable", "1");
	fill(1);
	must_set("freeze", "1");
	must_set("cpumask", "1");
	must_set("freeze", "0");
	ok(!left_on(1), "a CPU less while frozen: its buffer is wiped at the thaw");
	must_set("cpumask", "3");
	fill(1);
	buffer = buffer_of(1);
	must_set("freeze", "1");
	must_write(online, "0");
	must_set("enable", "0");
	ok(!left_at(buffer), "off while a CPU is gone, frozen: its buffer is wiped");
	must_write(online, "1");
	close(lab);
	return finish();
}
