// SPDX-License-Identifier: GPL-2.0
/* The kit's output to the screen, the first serial port and the report, and its wait for Enter. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "kit.h"

static int screen = -1;
static int serial = -1;
static bool overwrite;

static int open_terminal(const char *path)
{
	int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	struct termios tio;

	if (fd < 0)
		return -1;
	/* A missing serial port can be opened, but tcgetattr() fails. */
	if (tcgetattr(fd, &tio)) {
		close(fd);
		return -1;
	}
	return fd;
}

void screen_open(void)
{
	screen = open_terminal("/dev/tty0");
	serial = open_terminal("/dev/ttyS0");
}

/*
 * Write @text to @fd, unless @fd is -1. A serial port may be slow, so retry. Wait at most one
 * second in all, then drop the rest: a port that accepts nothing must not stop the kit.
 */
static void put(int fd, const char *text, size_t len)
{
	int tries = 200;

	while (fd >= 0 && len && tries) {
		ssize_t n = write(fd, text, len);

		if (n > 0) {
			text += n;
			len -= n;
		} else {
			poll(NULL, 0, 5);
			tries--;
		}
	}
}

static void put_all(const char *text, size_t len)
{
	put(screen, text, len);
	put(serial, text, len);
}

void screen_clear(void)
{
	static const char clear[] = "\033[H\033[2J\033[3J";

	put(screen, clear, strlen(clear));
	overwrite = false;
}

static void end_progress(void)
{
	if (overwrite)
		put(screen, "\r\033[K", 4);
	overwrite = false;
}

static void show_line(const char *fmt, va_list ap, bool on_screen, bool in_report)
{
	char line[1024];
	int len = vsnprintf(line, sizeof(line), fmt, ap);

	if (len >= (int)sizeof(line))
		len = sizeof(line) - 1;
	if (on_screen) {
		end_progress();
		put_all(line, len);
	}
	if (in_report)
		report_add(line, len);
}

void show(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	show_line(fmt, ap, true, false);
	va_end(ap);
}

void tell(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	show_line(fmt, ap, true, true);
	va_end(ap);
}

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	show_line(fmt, ap, false, true);
	va_end(ap);
}

void show_progress(const char *fmt, ...)
{
	char line[80];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	end_progress();
	put(screen, line, len < (int)sizeof(line) ? len : (int)sizeof(line) - 1);
	overwrite = true;
}

void wait_for_enter(void)
{
	struct pollfd fds[] = {
		{ .fd = screen, .events = POLLIN, },
		{ .fd = serial, .events = POLLIN, },
	};
	char c = '\0';
	size_t i;

	if (screen < 0 && serial < 0)
		return;
	/* Enter may have been pressed while the steps ran. */
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		tcflush(fds[i].fd, TCIFLUSH);
	for (;;) {
		poll(fds, ARRAY_SIZE(fds), -1);
		for (i = 0; i < ARRAY_SIZE(fds); i++) {
			/* Stop polling a port that hung up: poll() would always report it. */
			if (fds[i].revents & ~POLLIN)
				fds[i].fd = -1;
			if (fds[i].revents & POLLIN && read(fds[i].fd, &c, 1) == 1 &&
			    (c == '\n' || c == '\r'))
				return;
		}
		if (fds[0].fd < 0 && fds[1].fd < 0)
			return;
	}
}
