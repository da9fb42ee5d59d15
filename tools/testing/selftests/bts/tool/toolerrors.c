// SPDX-License-Identifier: GPL-2.0
/*
 * Check btstrace's errors: most are one line, and the exit status depends on the kind of error.
 * Also check some warnings.
 *
 *   toolerrors BTSTRACE RECORD here|no-source|no-step|old-kernel|old-kernel-no-source [less=N]
 *
 * no-source: the processor has no Branch Trace Store; no-step: nor can the kernel trace by single
 * steps; old-kernel: the kernel has no PTRACE_BTS requests; old-kernel-no-source: this and
 * no-source; here: none of these.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "run.h"

#define NOBODY	65534

static void refused(const char *line, uid_t uid, long memlock, int status, const char *says)
{
	struct run r;

	unlink("/tmp/survived");
	r = run_as(line, uid, memlock);
	if (!ok(exited(&r, status) && strstr(r.err, says) && count(r.err, "\n") == 1 &&
		!strncmp(r.err, "btstrace: ", 10), "%d: %s", status, says))
		explain(&r);
	ok(access("/tmp/survived", F_OK), "%d: the command did not run", status);
	run_free(&r);
}

static bool holds(const char *path, const char *what)
{
	char *text = read_file(path);
	bool same = text && !strcmp(text, what);

	free(text);
	return same;
}

static void check_usage(void)
{
	refused("$b", 0, -1, 125, "give a command");
	refused("$b --raw --json /bt/walk exit 0", 0, -1, 125, "choose one");
	refused("$b -n 0 /bt/walk exit 0", 0, -1, 125, "from 1 to");
	refused("$b -e nonsense /bt/walk exit 0", 0, -1, 125, "kinds are");
	refused("$b -e call --calls /bt/walk exit 0", 0, -1, 125, "this mode shows functions");
	refused("$b -p 0 ", 0, -1, 125, "the number of a process");
	refused("$b -p 1 -r /tmp/x", 0, -1, 125, "give one of");
	refused("$b -s 7 /bt/walk exit 0", 0, -1, 125, "from 24 to");
	refused("$b -p 999999", 0, -1, 117, "there is no process 999999");
	refused("$b -p 1", NOBODY, -1, 115, "be root");
	refused("$b /nowhere/command", 0, -1, 127, "no such command");
	refused("$b /proc/version", 0, -1, 126, "cannot be executed");
	refused("$b -o /nowhere/file /bt/walk killer", 0, -1, 118, "/nowhere/file");
	refused("$b -w /nowhere/file /bt/walk killer", 0, -1, 118, "/nowhere/file");
	refused("$b -r /nowhere/file", 0, -1, 118, "/nowhere/file");
	refused("$b -r /proc/version", 0, -1, 118, "no recorded trace");
	refused("$b -r /bt/walk", 0, -1, 118, "not written by btstrace");
	write_file("/tmp/trace", "not to be lost");
	refused("$b -r /tmp/trace -o /tmp/trace", 0, -1, 125, "for the recorded trace");
	refused("$b -w /tmp/trace -o /tmp/../tmp/trace /bt/walk killer", 0, -1, 125,
		"for the recorded trace");
	/* If the command cannot start, no output file may be created or changed. */
	refused("$b -w /tmp/trace -o /tmp/other /nowhere/command", 0, -1, 127, "no such command");
	ok(holds("/tmp/trace", "not to be lost"), "-w: the file is as it was");
	ok(access("/tmp/other", F_OK), "-o: nor is there one that was not");
	refused("$b -c /nowhere/command", 0, -1, 127, "no such command");
	refused("$b --calls /nowhere/command", 0, -1, 127, "no such command");
	write_file("/tmp/empty", "btstrace 1\n");
	refused("$b -r /tmp/empty", 0, -1, 118, "the trace of no thread");
	refused("$b -f -r /tmp/empty", 0, -1, 125, "-f: with -r");
	refused("$b -k -r /tmp/empty", 0, -1, 125, "-k: with -r");
	refused("$b -s 1M -r /tmp/empty", 0, -1, 125, "-s: with -r");
	refused("$b --depth 0 --calls /bt/walk exit 0", 0, -1, 125, "from 1 to 1000");
	refused("$b --root main --raw /bt/walk exit 0", 0, -1, 125, "only --calls");
	refused("$b --by-thread -c /bt/walk exit 0", 0, -1, 125, "only --calls");
	refused("$b --memory 1M -c /bt/walk exit 0", 0, -1, 125, "from 16M");
	refused("$b -p 2", 0, -1, 115, "not even by root");
	refused("$b -p 1K", 0, -1, 125, "the number of a process");
	refused("$b -n 1K /bt/walk exit 0", 0, -1, 125, "from 1 to");
	refused("$b -n 4294967297 /bt/walk exit 0", 0, -1, 125, "from 1 to");
	refused("$b -s 99999999999999999999K /bt/walk exit 0", 0, -1, 125, "from 24 to");
	refused("$b -s 18014398509481985K /bt/walk exit 0", 0, -1, 125, "from 24 to");
	refused("$b -e func=a,,b /bt/walk exit 0", 0, -1, 125, "a list of patterns");
	/* -p takes the list of numbers that pidof prints; options may come behind it. */
	refused("$b -p 999999 999998 --raw --json", 0, -1, 125, "choose one");
	refused("$b -p 999999 /bt/walk exit 0", 0, -1, 125, "give one of");
	write_file("/tmp/script", "#!/nowhere/interpreter\n");
	chmod("/tmp/script", 0755);
	refused("$b /tmp/script", 0, -1, 126, "interpreter or loader is missing");
	refused("$b -r /dev/null", 0, -1, 118, "not a pipe or a device");
}

/* btstrace must stop tracing when the output cannot be written. */
static void check_full_disk(void)
{
	static const char *const lines[] = {
		"$b --full -o /dev/full /bt/walk loop 300000",
		"$b -c -s 24K -o " OUT " -w /dev/full /bt/walk loop 300000",
	};
	const char *total;
	struct run r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		r = run(lines[i]);
		total = last_line(r.err, " branches, ");
		if (!ok(exited(&r, 118) && strstr(r.err, "No space left"), "118: No space left"))
			explain(&r);
		ok(*total && atol(total + strlen("btstrace: ")) < 600000, "and ended early");
		run_free(&r);
	}
}

static int perf_bts(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS, .sample_period = 1,
		.exclude_kernel = 1, .exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void check_machine(void)
{
	int fd;

	refused("$b -s 1M /bt/walk killer", NOBODY, 65536, 113, "ulimit -l 1152");
	refused("$b -k /bt/walk killer", NOBODY, -1, 112, "leave out -k");
	write_file("/proc/sys/kernel/ptrace_bts", "1");
	refused("$b /bt/walk killer", NOBODY, -1, 114, "CAP_PERFMON");
	write_file("/proc/sys/kernel/ptrace_bts", "2");
	refused("$b /bt/walk killer", 0, -1, 114, "switched off");
	write_file("/proc/sys/kernel/ptrace_bts", "0");
	fd = perf_bts();
	/* btstrace prints this name, of the task that has the event, without control characters. */
	prctl(PR_SET_NAME, "tool\033[\xc2\x9bxyz");
	if (ok(fd >= 0, "perf takes the hardware"))
		refused("$b /bt/walk killer", 0, -1, 111, "(tool?[?xyz)");
	close(fd);
}

/*
 * With the standard files closed, btstrace must not open its output under one of their numbers:
 * messages would go into the output.
 */
static void check_closed(void)
{
	struct run r = run_closed("$b --full -o " OUT " /bt/walk inherited");

	if (!ok(exited(&r, 0) && strstr(r.out, "+++ exited with 0 +++\n") &&
		!strstr(r.out, "btstrace:"), "nothing but the trace in the output"))
		explain(&r);
	run_free(&r);
	r = run_closed("$b /bt/walk killer");
	ok(exited(&r, 118), "118: nowhere to write to");
	run_free(&r);
}

/*
 * Truncate the recorded trace while btstrace shows it. The output is a FIFO: when the FIFO is full,
 * btstrace waits.
 */
static void check_cut(void)
{
	char buf[4096];
	struct run r;
	pid_t pid;
	int fd;

	snprintf(buf, sizeof(buf), "$b -c -s 24K -o " OUT " -w /tmp/trace /bt/walk loop %ld",
		 less(100000));
	r = run(buf);
	run_free(&r);
	unlink("/tmp/fifo");
	mkfifo("/tmp/fifo", 0600);
	pid = run_begin("$b -r /tmp/trace --raw -o /tmp/fifo", 0, -1);
	fd = open("/tmp/fifo", O_RDONLY);
	if (read(fd, buf, 1) != 1 || truncate("/tmp/trace", 4096))
		give_up("no output");
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	r = run_end(pid);
	if (!ok(exited(&r, 118) && count(r.err, "\n") == 1 &&
		strstr(r.err, "btstrace: the recorded trace was cut short meanwhile\n"),
		"118: cut short meanwhile"))
		explain(&r);
	run_free(&r);
}

/* Simulate the sysctl of Yama, which the kernel of the configuration base does not have. */
static void check_yama(void)
{
	if (mount("none", "/proc/sys/kernel", "tmpfs", 0, NULL) ||
	    mkdir("/proc/sys/kernel/yama", 0755))
		give_up("no tmpfs on /proc/sys/kernel");
	write_file("/proc/sys/kernel/yama/ptrace_scope", "1\n");
	refused("$b -p 1", NOBODY, -1, 115, "sysctl kernel.yama.ptrace_scope=0");
	write_file("/proc/sys/kernel/yama/ptrace_scope", "0\n");
	refused("$b -p 1", NOBODY, -1, 115, "belongs to another user");
	umount("/proc/sys/kernel");
}

/*
 * With a low memory limit, btstrace uses a smaller trace. It must tell so if fewer branches fit
 * than -n asks for.
 */
static void check_little_memory(void)
{
	struct run r = run_as("$b --calls -o " OUT " /bt/walk loop 20000", NOBODY, 65536);

	if (!ok(exited(&r, 0) && strstr(r.err, ", 0 lost, 0 gaps"), "a trace of 64 KiB at most"))
		explain(&r);
	run_free(&r);
	r = run_as("$b -n 20000 -o " OUT " /bt/walk loop 20000", NOBODY, 65536);
	if (!ok(exited(&r, 0) && strstr(r.err, "room for 2500 branches only, not 20000") &&
		count(r.out, " -> ") == 2500, "fewer of the last than wanted: it is told"))
		explain(&r);
	run_free(&r);
	r = run_as("$b -n 2000 -o " OUT " /bt/walk loop 20000", NOBODY, 65536);
	ok(exited(&r, 0) && !*r.err && count(r.out, " -> ") == 2000, "as many as wanted: nothing");
	run_free(&r);
}

/*
 * Without the hardware, btstrace has user mode traced by single steps. It must tell so in one line,
 * unless -q is given.
 */
static void check_stepped(void)
{
	static const char told[] = "btstrace: no Branch Trace Store here: ";
	struct run r = run("$b -o " OUT " /bt/walk loop 1000");

	if (!ok(exited(&r, 0) && !strncmp(r.err, told, sizeof(told) - 1) &&
		count(r.err, "\n") == 1, "user mode is stepped, and that is told"))
		explain(&r);
	run_free(&r);
	r = run("$b --full -f -o " OUT " /bt/walk forks 2");
	if (!ok(exited(&r, 0) && strstr(r.err, ", 0 lost, 0 gaps") && count(r.err, told) == 1 &&
		count(r.out, " -> ") > 1000, "once for all processes"))
		explain(&r);
	run_free(&r);
	r = run("$b -q -o " OUT " /bt/walk loop 1000");
	ok(exited(&r, 0) && !*r.err, "-q: nothing");
	run_free(&r);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 99;
	run_init(argc, argv);
	chmod("/tmp", 0777);
	if (!strcmp(argv[3], "no-source")) {
		refused("$b -k /bt/walk killer", 0, -1, 110, "run it on the host, or leave out -k");
		check_stepped();
	} else if (!strcmp(argv[3], "no-step")) {
		refused("$b /bt/walk killer", 0, -1, 110, "boot a kernel with CONFIG_X86_BTS_STEP");
	} else if (!strcmp(argv[3], "old-kernel")) {
		refused("$b /bt/walk killer", 0, -1, 116,
			"has a Debug Store, and this kernel has no PTRACE_BTS requests");
	} else if (!strcmp(argv[3], "old-kernel-no-source")) {
		refused("$b /bt/walk killer", 0, -1, 116,
			"this processor has no Branch Trace Store, and this kernel has no PTRACE_BTS requests: boot one with the patches for branch traces and CONFIG_X86_BTS_STEP");
	} else {
		check_usage();
		check_full_disk();
		check_machine();
		check_cut();
		check_closed();
		check_yama();
		check_little_memory();
	}
	return finish();
}
