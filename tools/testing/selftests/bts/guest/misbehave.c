// SPDX-License-Identifier: GPL-2.0
/*
 * misbehave FAULT: report one good result, then misbehave as selected. vmtest.sh must report a
 * failure.
 */
#include <signal.h>
#include <sys/reboot.h>

#include "guest.h"

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret;

	ret = fd < 0 || write(fd, text, strlen(text)) < 0;
	if (ret)
		printf("# %s: %s\n", path, strerror(errno));
	close(fd);
	return ret;
}

static int splat(void)
{
	return write_file("/dev/kmsg", "<4>WARNING: planted\n");
}

static int panic(void)
{
	/*
	 * The runner permits a panic by sysrq, as tests of the crash kernel cause one. So print
	 * the message of another panic first.
	 */
	if (write_file("/dev/kmsg", "<0>Kernel panic - not syncing: planted\n"))
		return 1;
	return write_file("/proc/sysrq-trigger", "c");
}

/* Set the taint flag W, without a line on the console. */
static int taint(void)
{
	return write_file("/proc/sys/kernel/tainted", "512");
}

static int stall(void)
{
	pause();
	return 0;
}

static int endless(void)
{
	while (!usleep(200000)) {
		puts("# still here");
		fflush(stdout);
	}
	return 0;
}

/* The reason of the failure, and lines that KUnit may print after it */
static int not_ok(void)
{
	printf("# Expected false to be true\n");
	printf("# planted: Test should be marked slow (runtime: 1.000000000s)\n");
	printf("# planted: pass:0 fail:1 skip:0 total:1\n");
	printf("# planted.speed: slow\n");
	ok(false, "planted");
	return finish();
}

/* The result is bad, but the exit status is 0. */
static int not_ok_hidden(void)
{
	ok(false, "planted");
	return 0;
}

static int plan_broken(void)
{
	printf("1..3\n");
	return 0;
}

static int bad_exit(void)
{
	return 3;
}

static int bad_signal(void)
{
	return raise(SIGSEGV);
}

static int restart(void)
{
	return reboot(RB_AUTOBOOT);
}

static int off(void)
{
	return reboot(RB_POWER_OFF);
}

static int quit(void)
{
	hmp("quit", NULL, 0);
	return stall();
}

static int save(void)
{
	dprintf(open_port(CONTROL_PORT), "save\n");
	return stall();
}

static const struct {
	const char *name;
	int (*fault)(void);
} faults[] = {
	{ "splat",	splat, },
	{ "panic",	panic, },
	{ "taint",	taint, },
	{ "stall",	stall, },
	{ "endless",	endless, },
	{ "not-ok",	not_ok, },
	{ "not-ok-hidden", not_ok_hidden, },
	{ "plan",	plan_broken, },
	{ "exit",	bad_exit, },
	{ "signal",	bad_signal, },
	{ "restart",	restart, },
	{ "off",	off, },
	{ "quit",	quit, },
	{ "save",	save, },
};

int main(int argc, char *argv[])
{
	size_t i;

	ok(true, "started");
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (argc == 2 && !strcmp(argv[1], faults[i].name))
			return faults[i].fault();
	}
	fprintf(stderr, "usage: misbehave FAULT\n");
	return 2;
}
