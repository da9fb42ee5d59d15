/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For test programs: KTAP on standard output, and, in the guest, the emulator's monitor through the
 * control port. The programs of the kselftest also run outside the guest. Programs whose tests need
 * a fresh process each use kselftest_harness.h instead, by ptrace/harness.h: the tests of the other
 * programs depend on each other, as they change the state of the guest.
 */
#ifndef BTS_GUEST_H
#define BTS_GUEST_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <termios.h>
#include <unistd.h>

/*
 * The first address above user space: on a 64-bit kernel, for 64-bit programs and with 4 levels of
 * page tables; on a 32-bit kernel, with the default memory split.
 */
#define USER_END	user_end()

static inline uint64_t user_end(void)
{
	static uint64_t end;
	struct utsname name;

	if (!end)
		end = !uname(&name) && name.machine[0] == 'i' ? 0xc0000000ull : 0x7ffffffff000ull;
	return end;
}

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#define CONTROL_PORT	"/dev/ttyS2"
#define DATA_PORT	"/dev/ttyS3"

static struct {
	int planned;
	int run;
	int failed;
} ktap;

/* Announce @n results. Without this, finish() prints the plan. */
static inline void plan(int n)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	ktap.planned = n;
	printf("TAP version 13\n1..%d\n", n);
}

/* Report a result, named by @fmt. Returns @cond. */
__attribute__((format(printf, 2, 3)))
static inline bool ok(bool cond, const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int len;

	len = snprintf(line, sizeof(line), "%sok %d - ", cond ? "" : "not ",
		       ++ktap.run);
	va_start(ap, fmt);
	vsnprintf(line + len, sizeof(line) - len, fmt, ap);
	va_end(ap);
	puts(line);
	fflush(stdout);
	ktap.failed += !cond;
	return cond;
}

/* Report that the test @name is skipped, and why. */
static inline void skip(const char *name, const char *reason)
{
	printf("ok %d - %s # SKIP %s\n", ++ktap.run, name, reason);
	fflush(stdout);
}

/* Print the plan if necessary. Returns the exit status of the program. */
static inline int finish(void)
{
	if (!ktap.planned) {
		printf("1..%d\n", ktap.run);
	} else if (ktap.planned != ktap.run) {
		printf("# planned %d, ran %d\n", ktap.planned, ktap.run);
		ktap.failed++;
	}
	fflush(stdout);
	return ktap.failed || !ktap.run;
}

/* Print the reason why the test cannot continue, and exit. */
__attribute__((format(printf, 1, 2), noreturn))
static inline void give_up(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	printf("Bail out! ");
	vprintf(fmt, ap);
	printf(": %s\n", strerror(err));
	va_end(ap);
	exit(1);
}

/* Open a serial port in raw mode, so that it passes all bytes. */
static inline int open_port(const char *path)
{
	struct termios tio;
	int fd;

	fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!tcgetattr(fd, &tio)) {
		cfmakeraw(&tio);
		tio.c_cflag |= CLOCAL;
		cfsetspeed(&tio, B115200);
		tcsetattr(fd, TCSANOW, &tio);
	}
	return fd;
}

/* Read the monitor's answer from @fd, up to a line that is a single dot. */
static inline int read_answer(int fd, char *buf, size_t len)
{
	size_t used = 0, column = 0;
	bool dot = false;
	char c;

	for (;;) {
		if (read(fd, &c, 1) != 1)
			return -1;
		if (c == '\n' && dot && column == 1)
			break;
		dot = !column && c == '.';
		column = c == '\n' ? 0 : column + 1;
		if (buf && used + 1 < len)
			buf[used++] = c;
	}
	if (buf && len) {
		/* Remove the dot. If @buf is full, keep its last byte: it may not be the dot. */
		if (used && buf[used - 1] == '.' && used + 1 < len)
			used--;
		buf[used] = '\0';
	}
	return 0;
}

/*
 * Run a command of the emulator's monitor, and store its output in @buf (may be NULL), at most @len
 * bytes with the final NUL. Returns 0, or -1 on an error, for example if there is no control port.
 */
static inline int hmp(const char *cmd, char *buf, size_t len)
{
	char line[1024];
	int fd, n, ret = -1;

	fd = open_port(CONTROL_PORT);
	if (fd < 0)
		return -1;
	/* Only one process may use the monitor at a time. */
	flock(fd, LOCK_EX);
	n = snprintf(line, sizeof(line), "%s\n", cmd);
	if (n < (int)sizeof(line) && write(fd, line, n) == n)
		ret = read_answer(fd, buf, len);
	close(fd);
	return ret;
}

/* Start the emulator's log (exec.log of the case), e.g. log_on("exec,nochain"). */
static inline int log_on(const char *items)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "log %s", items);
	return hmp(cmd, NULL, 0);
}

static inline int log_off(void)
{
	return hmp("log none", NULL, 0);
}

#endif /* BTS_GUEST_H */
