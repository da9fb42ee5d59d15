// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the test guest. It mounts file systems and runs the program that follows "--" on the
 * kernel command line. The standard output of that program and its exit status go to the second
 * serial port. Without such a program, PID 1 runs a shell on the console. At the end, the guest
 * powers off.
 */
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>

#include "guest.h"

#define RESULT_PORT	"/dev/ttyS1"
#define WORK_DIR	"/bt"

static const struct {
	const char *type;
	const char *dir;
	const char *options;
	bool optional;
} mounts[] = {
	{ .type = "devtmpfs",	.dir = "/dev", },
	{ .type = "proc",	.dir = "/proc", },
	{ .type = "sysfs",	.dir = "/sys", },
	{ .type = "tmpfs",	.dir = "/dev/shm", .options = "mode=1777", },
	{ .type = "devpts",	.dir = "/dev/pts", .optional = true, },
	{ .type = "tracefs",	.dir = "/sys/kernel/tracing", .optional = true, },
	{ .type = "debugfs",	.dir = "/sys/kernel/debug", .optional = true, },
	{ .type = "cgroup2",	.dir = "/sys/fs/cgroup", .optional = true, },
};

static char *const environment[] = {
	"PATH=" WORK_DIR ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
	"HOME=/tmp",
	"TMPDIR=/tmp",
	"TERM=dumb",
	"LC_ALL=C",
	"PYTHONDONTWRITEBYTECODE=1",
	NULL,
};

/* counts.c */
void save_counts(void);

static int result = -1;

__attribute__((format(printf, 1, 2)))
static void report(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vdprintf(result, fmt, ap);
	va_end(ap);
}

static void power_off(void)
{
	if (result >= 0)
		tcdrain(result);
	sync();
	reboot(RB_POWER_OFF);
	/* If the power-off failed, restart: this also ends the emulator (-no-reboot). */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void mount_all(void)
{
	size_t i;

	/*
	 * Do not mount a tmpfs on /tmp. If vmtest.sh has its cache below /tmp, the initramfs has
	 * files there, and the tmpfs would hide them.
	 */
	mkdir("/tmp", 0755);
	chmod("/tmp", 01777);

	for (i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].dir, 0755);
		if (mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0,
			  mounts[i].options) && !mounts[i].optional)
			printf("init: cannot mount %s on %s: %s\n", mounts[i].type,
			       mounts[i].dir, strerror(errno));
	}
}

/*
 * The kernel prints a message about an NMI handler that takes long. On a busy host, any handler may
 * take long. If BTS records the kernel, the message adds records in the NMI, so raise the limit.
 */
static void hush_nmis(void)
{
	static const char never[] = "1000000000000";
	int fd = open("/sys/kernel/debug/x86/nmi_longest_ns", O_WRONLY);

	if (fd >= 0 && write(fd, never, strlen(never)) < 0)
		printf("init: cannot write nmi_longest_ns: %s\n", strerror(errno));
	close(fd);
}

/* Run a program. If @interactive, the console becomes its controlling terminal. */
static void run(char *const argv[], bool interactive)
{
	struct rlimit core = { .rlim_cur = 0, .rlim_max = RLIM_INFINITY };

	setsid();
	if (interactive) {
		int fd = open("/dev/ttyS0", O_RDWR);

		dup2(fd, 0);
		dup2(fd, 1);
		dup2(fd, 2);
	} else {
		dup2(result, 1);
	}
	setrlimit(RLIMIT_CORE, &core);
	execvpe(argv[0], argv, environment);
	report("# init: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int wait_for(pid_t child)
{
	int status;
	pid_t pid;

	for (;;) {
		pid = wait(&status);
		if (pid == child)
			return status;
		if (pid < 0 && errno == ECHILD)
			return -1;
	}
}

/* Kill the processes that the program has left running, and report how many there were. */
static void end_leftovers(void)
{
	int n = 0;

	if (kill(-1, SIGKILL))
		return;
	while (wait(NULL) > 0)
		n++;
	if (n)
		report("# init: %d processes were left behind\n", n);
}

static void report_taint(void)
{
	char buf[32] = "";
	int fd;

	fd = open("/proc/sys/kernel/tainted", O_RDONLY);
	if (fd < 0 || read(fd, buf, sizeof(buf) - 1) < 0)
		return;
	report("# init: tainted %lu\n", strtoul(buf, NULL, 10));
}

int main(int argc, char *argv[])
{
	static char *const shell[] = { "sh", NULL };
	char *const *program = argv + 1;
	bool interactive;
	int status;
	pid_t pid;

	(void)argc;
	if (getpid() != 1) {
		fprintf(stderr, "%s: this is PID 1 of the test guest\n", argv[0]);
		return 2;
	}
	/* The decompressor handles this word. The kernel does not know it, and passes it on. */
	if (*program && !strcmp(*program, "nokaslr"))
		program++;
	interactive = !*program;
	mount_all();
	hush_nmis();
	/* execvpe() searches the PATH of the caller, not that of its last argument. */
	putenv(environment[0]);
	if (chdir(WORK_DIR))
		printf("init: no " WORK_DIR "\n");
	result = open_port(RESULT_PORT);
	if (result < 0)
		result = dup(1);

	pid = fork();
	if (!pid)
		run(interactive ? shell : program, interactive);
	status = wait_for(pid);
	end_leftovers();
	save_counts();
	report_taint();
	if (WIFSIGNALED(status))
		report("# init: signal %d\n", WTERMSIG(status));
	else
		report("# init: exit %d\n", WEXITSTATUS(status));
	power_off();
}
