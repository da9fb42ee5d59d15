// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of reading the flight recorder's branches from dumps, from the memory of the running
 * kernel, and from reserved memory that survives a reboot. SOURCE is bts or lbr. MODULE is the file
 * of bts_crash for `dump`, otherwise that of bts_remains.
 *
 *   remains MODULE dump SOURCE|ring|given|0
 *				crash, and let the emulator write dumps. ring: the source is bts,
 *				and a ring has older records of CPU 0. given: the recorder has
 *				given the LBRs up to perf. 0: the recorder is off, and a
 *				task is traced
 *   remains VMLINUX live SCRIPT	read the running kernel by drgn
 *   remains MODULE panic|init|shutdown SOURCE
 *				end the kernel; the next boot reads its branches
 *   remains MODULE triple bts	the same, by a triple fault
 *   remains watchdog bts	the same, by a watchdog
 *   remains reset lbr		reset the machine; the next boot must find no branches
 *   remains others lbr		the same, while BTS traces a task
 *   remains reboot SOURCE	the same, after an orderly reboot
 *   remains MODULE head|body|records|data|module|end|moved scribble
 *				write to reserved memory
 *   remains MODULE erased SOURCE	what erases the branches in reserved memory
 *   remains MODULE small erased	the same, if the memory is too small
 */
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/watchdog.h>

#include "../guest/recorder.h"
#include "../guest/dump.h"
#include "../guest/lbrs.h"
#include "../guest/tracee.h"

#define LAST_BOOT	"last_boot"
#define WATCHDOG	"/dev/watchdog"

/* An unused byte of the CMOS memory counts the boots. It is 0 at first, and survives a reset. */
#define PORTS		"/dev/port"
#define CMOS_PORT	0x70
#define CMOS_BYTE	0x60
#define REBOOTS		5

/*
 * Trace a task on CPU 0. At each switch to and from the task, the kernel moves the records of the
 * CPU to the ring of the recorder. So does a thaw, after which a mark for missing records is due.
 */
static void fill_ring(void)
{
	struct tracee t;

	pin_to(0);
	t = tracee_new();
	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(4096), 0) < 0)
		give_up("PTRACE_BTS_CONFIG");
	tracee_do(&t, known_work, 1000);
	tracee_end(&t);
	must_set("freeze", "1");
	must_set("freeze", "0");
}

static void calls(unsigned long unused)
{
	for (;;)
		syscall(SYS_getppid, unused);
}

/* Trace a task that calls the kernel, and the kernel with it. */
static void trace_task(void)
{
	struct tracee t = tracee_new();

	if (bts_config(t.pid, TRACE | KERNEL | ALLOC, RECORDS(4096), 0) < 0)
		give_up("PTRACE_BTS_CONFIG");
	tracee_begin(&t, calls, 0);
	ptrace(PTRACE_CONT, t.pid, 0, 0);
	usleep(100000);
}

/* Start to record, for `dump`. */
static void record(const char *source)
{
	if (!strcmp(source, "given")) {
		must_set("enable", "lbr");
		/* The event exists until this program ends. */
		ok(open_lbr(0, -1, NEVER, false) >= 0 && is("enable", "lbr (given up to perf)"),
		   "perf has the LBRs");
	} else if (!strcmp(source, "ring")) {
		must_set("enable", "bts");
		usleep(20000);
		fill_ring();
	} else {
		must_set("enable", source);
		usleep(20000);
		/* The branches of the traced task are not the recorder's. */
		if (!strcmp(source, "0")) {
			pin_to(1);
			trace_task();
			pin_to(0);
		}
	}
}

/* Crash, and let the emulator write dumps to the directory of the case, on the host. */
static int write_dumps(const char *source)
{
	char answer[256] = "";

	must_set("crash_nr", "32");
	record(source);
	ok(crash_once("task", 0) && is("freeze", strcmp(source, "0") ? "1" : "0"), "crashed");
	ok(!hmp("dump-guest-memory dump.physical", answer, sizeof(answer)) && !answer[0],
	   "dump: %s", answer);
	ok(!hmp("dump-guest-memory -p dump.virtual", answer, sizeof(answer)) && !answer[0],
	   "dump with virtual addresses: %s", answer);
	return finish();
}

struct found {
	int headlines;
	int lines;
	int newer;		/* lines of CPU 0 before a mark for missing branches */
	int older;		/* lines of CPU 0 after it */
	int other;		/* lines of CPU 1 */
	int unnamed;		/* addresses without a name */
};

static int unnamed_addresses(const char *line)
{
	int n = 0;

	while ((line = strstr(line, " 0x"))) {
		line += 3;
		line += strspn(line, "0123456789abcdef");
		n += strncmp(line, " [", 2) != 0;
	}
	return n;
}

static struct found count(char *text)
{
	bool marked = false;
	struct found f = { };
	char *line;
	int cpu = -1;

	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strncmp(line, "Last branches of CPU", 20)) {
			f.headlines++;
			cpu = atoi(line + 20);
		}
		marked |= !cpu && strstr(line, "some are missing");
		if (strstr(line, " <- ")) {
			f.lines++;
			f.newer += !cpu && !marked;
			f.older += !cpu && marked;
			f.other += cpu == 1;
			f.unnamed += unnamed_addresses(line);
		}
		if (f.lines <= 10)
			printf("# %s\n", line);
	}
	return f;
}

static void print_comment(const char *text)
{
	while (*text) {
		int len = strcspn(text, "\n");

		printf("# %.*s\n", len, text);
		text += len + (text[len] == '\n');
	}
}

/* Run a command. Returns its output, with its error messages, and whether it has succeeded. */
static char *output_of(char *const argv[], bool *success)
{
	size_t size = 0, room = 1 << 20;
	char *text = calloc(1, room);
	int ends[2], status;
	ssize_t n;

	if (!text || pipe(ends))
		give_up("pipe");
	if (!fork()) {
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		execv(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + size, room - size - 1)) > 0)
		size += n;
	close(ends[0]);
	if (wait(&status) < 0)
		give_up("wait");
	*success = WIFEXITED(status) && !WEXITSTATUS(status);
	if (!*success) {
		printf("# %s: status %#x\n", argv[0], status);
		print_comment(text);
	}
	return text;
}

static void read_live(char *const argv[], const char *source, int least)
{
	static const char off[] = "hw_branches.py: no branches: the recorder was off";
	struct found f;
	char *text, *end;
	bool success;
	int i;

	text = output_of(argv, &success);
	end = strchr(text, '\n');
	ok(success && !strncmp(text, off, strlen(off)) && end && !end[1],
	   "%s: no branches while the recorder is off", source);
	free(text);
	must_set("enable", source);
	for (i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	text = output_of(argv, &success);
	ok(success && strstr(text, "the recorder is not frozen"), "%s: a warning before the freeze",
	   source);
	free(text);
	must_set("freeze", "1");
	text = output_of(argv, &success);
	ok(success && !strstr(text, "not frozen"), "%s: no warning after the freeze", source);
	f = count(text);
	ok(f.headlines == cpus() && f.lines >= least, "%s: %d CPUs, %d branches", source,
	   f.headlines, f.lines);
	free(text);
	must_set("enable", "0");
}

/* With debug information, the script must print files and lines, and the ring. */
static void read_live_debug(char *const argv[])
{
	bool success, lines;
	struct found f;
	char *text;

	must_set("enable", "bts");
	usleep(20000);
	fill_ring();
	usleep(20000);
	must_set("freeze", "1");
	text = output_of(argv, &success);
	lines = strstr(text, ".c:") && strstr(text, ".S:");
	f = count(text);
	ok(success && f.headlines == cpus() && f.newer > 1000 && f.newer <= 2730 && f.older > 1000,
	   "-d: %d CPUs, %d branches of CPU 0, a mark, %d branches", f.headlines, f.newer, f.older);
	ok(lines, "-d: files and lines of C and of assembler");
	free(text);
	must_set("enable", "0");
}

static int live(char *vmlinux, char *script)
{
	char *const map[] = { "/usr/bin/python3", script, "-n", "3000", NULL };
	char *const debug[] = { "/usr/bin/python3", script, "-n", "20000", "-d", vmlinux, NULL };

	pin_to(0);
	read_live(map, "bts", 2700);
	read_live(map, "lbr", 25);
	read_live_debug(debug);
	return finish();
}

/* Start the machine's watchdog, and wait: the watchdog resets the machine after two seconds. */
static void wait_for_watchdog(void)
{
	int fd = open(WATCHDOG, O_WRONLY | O_CLOEXEC), seconds = 2;

	if (fd < 0 || ioctl(fd, WDIOC_SETTIMEOUT, &seconds))
		give_up(WATCHDOG);
	for (;;)
		syscall(SYS_getppid);
}

/* Let CPU 1 execute code of user space only. */
static void keep_other_busy(void)
{
	volatile bool *busy = shared_memory(sizeof(*busy));

	if (!fork()) {
		pin_to(1);
		for (;;) {
			known_work(10000);
			*busy = true;
		}
	}
	while (!*busy)
		usleep(1000);
}

/*
 * keep_other_busy() overwrites all records of CPU 1, if the kernel does not use the filter by
 * CPL. The branches of user space must not be shown.
 */
static void judge_other(const struct found *f)
{
	bool filter = uses_cpl_filter();

	ok(filter ? f->other >= 2000 : f->other > 0 && f->other < 1000,
	   "%d branches of CPU 1, %s filter", f->other, filter ? "with" : "without");
}

/* No earlier boot has left branches: end the kernel. */
static int end(const char *module, const char *how, const char *source)
{
	char option[32];

	must_set("enable", source);
	keep_other_busy();
	usleep(20000);
	pin_to(0);
	printf("# the first boot ends here\n");
	fflush(stdout);
	if (!module)
		wait_for_watchdog();
	snprintf(option, sizeof(option), "how=%s", how);
	load_module(module, option);
	if (!strcmp(how, "shutdown"))
		reboot(RB_AUTOBOOT);
	give_up("%s: still here", how);
}

static bool shows(const char *text, const char *what)
{
	bool there = strstr(text, what);

	if (!there)
		printf("# there is no %s\n", what);
	return there;
}

/* Check @text, the branches that the previous boot has left. */
static int judge(char *text, const char *how, const char *source)
{
	bool lbr = !strcmp(source, "lbr");
	/* AMD's processors have 16 LBRs, the others here 32. */
	int least = !lbr ? 2700 : !strcmp(lbr_format(), "amd") ? 10 : 20;
	bool kernel = true, there = true;
	char *again, from[48];
	struct found f;

	if (strcmp(how, "triple") && strcmp(how, "watchdog"))
		kernel = shows(text, "panic+0x0/");
	if (strcmp(how, "watchdog"))
		there = shows(text, " [bts_remains]") &&
			(strcmp(how, "init") || shows(text, " [bts_remains .init.text]"));
	else
		there = shows(text, "getppid+0x0/");
	snprintf(from, sizeof(from), ", source %s%s, ", source,
		 !lbr && is_unreliable() ? " (unreliable)" : "");
	ok(shows(text, from), "%s: from %s", how, source);
	ok(kernel, "%s: names of the kernel", how);
	ok(there, "%s: the code that ran last", how);
	f = count(text);
	ok(f.headlines >= 1 && f.lines >= least, "%s: %d CPUs, %d branches", how, f.headlines,
	   f.lines);
	/*
	 * Names must be shown, although the kernel may be at another address than before, and the
	 * module is not loaded.
	 */
	ok(!f.unnamed, "%s: %d addresses without a name", how, f.unnamed);
	if (!lbr && !strcmp(how, "panic"))
		judge_other(&f);
	free(text);
	again = get(LAST_BOOT);
	ok(!again[0], "wiped when read");
	return finish();
}

static int rebooted(const char *module, const char *how, const char *source)
{
	char *text = get(LAST_BOOT);

	return text[0] ? judge(text, how, source) : end(module, how, source);
}

/* Returns the number of boots before this one, and counts this one. */
static int boots_before(void)
{
	unsigned char byte = CMOS_BYTE, boots;
	int fd = open(PORTS, O_RDWR | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, &byte, 1, CMOS_PORT) != 1 ||
	    pread(fd, &boots, 1, CMOS_PORT + 1) != 1)
		give_up(PORTS);
	byte = boots + 1;
	if (pwrite(fd, &byte, 1, CMOS_PORT + 1) != 1)
		give_up(PORTS);
	close(fd);
	return boots;
}

static void reboot_at_once(void)
{
	fflush(stdout);
	try_text("/proc/sysrq-trigger", "b");
	give_up("no reboot");
}

static int occurs(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/*
 * Each branch of CPU 0 has two addresses of this kernel's data. The file must not show where that
 * is. If the head says that the image was larger, it was another kernel: its addresses are shown.
 * If the head says that the image was at another address, these addresses are not in that image,
 * and are shown as they were written.
 */
static void judge_data(const char *text, const char *how)
{
	int lines = occurs(text, " <- "), hidden = occurs(text, "_stext+0x");

	if (!strcmp(how, "end"))
		ok(occurs(text, " at 0x") && !hidden, "end: another kernel, %d lines", lines);
	else if (!strcmp(how, "moved"))
		ok(occurs(text, " 0xffffffff") >= 2 * 2700 && !hidden,
		   "moved: %d lines, %d offsets", lines, hidden);
	else
		ok(hidden >= 2 * 2700 && !occurs(text, "[wrong]"), "%s: %d lines, %d offsets", how,
		   lines, hidden);
}

/*
 * REBOOTS times, write random bytes to the recorder's reserved memory, and reboot. Each boot reads
 * that memory, and the last one checks what it read. With another @how, write addresses of data,
 * and reboot once.
 */
static int scribbled(const char *module, const char *how)
{
	bool random = !strcmp(how, "head") || !strcmp(how, "body");
	bool data = !random && strcmp(how, "records");
	char option[32], *text = get(LAST_BOOT);
	int boots = boots_before();
	struct found f;

	if (boots && data)
		judge_data(text, how);
	f = count(text);
	printf("# %d boots before, %d headlines, %d lines\n", boots, f.headlines, f.lines);
	if (!boots && f.headlines)
		give_up("there are branches of no boot");
	if (boots == (data ? 1 : REBOOTS)) {
		/*
		 * The kernel shows branches of BTS only if the head of the reserved memory and a
		 * Debug Store area are valid. The random bytes leave both valid in "records".
		 */
		ok(!f.headlines == random, "%s: %d headlines", how, f.headlines);
		ok(f.lines >= 500 * f.headlines, "%s: %d branches", how, f.lines);
		if (!strcmp(how, "data") || !strcmp(how, "module"))
			ok(!f.unnamed, "%d addresses show where the kernel is", f.unnamed);
		return finish();
	}
	/* Make a valid Debug Store area, but do not record over the random bytes. */
	if (!random) {
		must_set("enable", "bts");
		must_set("freeze", "1");
	}
	snprintf(option, sizeof(option), "how=%s", how);
	load_module(module, option);
	reboot_at_once();
	return 1;
}

/*
 * Only a freeze copies LBRs to the reserved memory, and a boot reads no LBRs but those. An orderly
 * reboot discards branches of each source. A boot does not read BTS if the recorder did not use it.
 * So the next boot must find none.
 */
static int forgotten(const char *how, const char *source)
{
	char *text = get(LAST_BOOT);

	if (boots_before()) {
		ok(!text[0], "%s, %s: nothing is left", how, source);
		return finish();
	}
	must_set("enable", source);
	usleep(20000);
	fflush(stdout);
	if (!strcmp(how, "others"))
		trace_task();
	if (strcmp(how, "reboot"))
		reboot_at_once();
	reboot(RB_AUTOBOOT);
	return 1;
}

/* Returns whether the module finds the part @how of the reserved memory erased. */
static bool erased(const char *module, const char *how)
{
	int fd = open(module, O_RDONLY | O_CLOEXEC);
	char option[32];

	snprintf(option, sizeof(option), "how=%s", how);
	if (fd < 0 || !syscall(SYS_finit_module, fd, option, 0) ||
	    (errno != ENODATA && errno != EBUSY))
		give_up("%s: %s", module, how);
	close(fd);
	return errno == ENODATA;
}

/*
 * A thaw erases the LBRs, also those of a CPU that is offline. This boot reports no results, as the
 * next one does.
 */
static void thaw_erases(const char *module)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";

	must_set("freeze", "1");
	usleep(20000);
	if (erased(module, "lbrs"))
		give_up("frozen: the LBRs are not in the memory");
	must_set("freeze", "0");
	if (!erased(module, "lbrs"))
		give_up("thawed: the LBRs are still in the memory");
	must_set("freeze", "1");
	usleep(20000);
	if (try_text(online, "0"))
		give_up("%s", online);
	must_set("freeze", "0");
	if (!erased(module, "lbrs"))
		give_up("thawed: the LBRs of a CPU that is offline are still in the memory");
	if (try_text(online, "1"))
		give_up("%s", online);
}

/*
 * The host checks what the module prints at the reset. The next boot must have erased the part of
 * the memory that no CPU uses.
 */
static int erasing(const char *module, const char *source)
{
	bool small = !strcmp(source, "small");
	int boots = boots_before();

	if (boots) {
		ok(erased(module, "free"), "%s: erased by the boot", source);
		return finish();
	}
	if (small) {
		load_module(module, "how=rest");
		reboot_at_once();
	}
	must_set("enable", source);
	usleep(20000);
	if (!strcmp(source, "lbr"))
		thaw_erases(module);
	must_set("freeze", "1");
	usleep(20000);
	load_module(module, "how=last");
	fflush(stdout);
	reboot(RB_AUTOBOOT);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[2], "live"))
		return live(argv[1], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "watchdog"))
		return rebooted(NULL, argv[1], argv[2]);
	if (argc == 3)
		return forgotten(argv[1], argv[2]);
	if (argc != 4) {
		fprintf(stderr, "usage: %s [MODULE] COMMAND ARG\n", argv[0]);
		return 2;
	}
	/* The other commands come after the name of the module. */
	if (!strcmp(argv[2], "dump")) {
		load_module(argv[1], "");
		return write_dumps(argv[3]);
	}
	if (!strcmp(argv[2], "erased"))
		return erasing(argv[1], argv[3]);
	if (!strcmp(argv[3], "erased"))
		return erasing(argv[1], argv[2]);
	if (!strcmp(argv[3], "scribble"))
		return scribbled(argv[1], argv[2]);
	return rebooted(argv[1], argv[2], argv[3]);
}
