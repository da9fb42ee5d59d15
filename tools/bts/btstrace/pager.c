// SPDX-License-Identifier: GPL-2.0
/* This file finds out about terminals, and starts a pager as git does. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explain.h"
#include "pager.h"

static pid_t pager;

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* Should text for @fd have colors? https://no-color.org asks programs to obey NO_COLOR. */
bool bt_wants_color(int fd, enum bt_when when)
{
	const char *term = getenv("TERM");

	if (when != BT_AUTO)
		return when == BT_ALWAYS;
	return isatty(fd) && !is_set("NO_COLOR") && term && strcmp(term, "dumb");
}

/* Returns the number of columns of a terminal; 0 if it is not known, or if @fd is no terminal. */
size_t bt_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

static const char *command(void)
{
	const char *name = getenv("BTSTRACE_PAGER");

	if (!name)
		name = getenv("PAGER");
	return name ? name : "less";
}

/*
 * Start a pager if @fd is a terminal, unless the user has set the pager to nothing or to
 * cat. Returns the descriptor to write to: a pipe to the pager or, if no pager was started, @fd.
 */
int bt_pager_start(int fd)
{
	const char *name = command();
	int ends[2];

	if (!isatty(fd) || !*name || !strcmp(name, "cat") || pipe2(ends, O_CLOEXEC))
		return fd;
	pager = fork();
	if (pager < 0) {
		close(ends[0]);
		close(ends[1]);
		return fd;
	}
	if (!pager) {
		dup2(ends[0], STDIN_FILENO);
		dup2(fd, STDOUT_FILENO);
		/*
		 * F: less ends at once if all text fits; R: it shows colors; X: it does not
		 * clear the screen.
		 */
		setenv("LESS", "FRX", 0);
		execlp("sh", "sh", "-c", name, NULL);
		_exit(127);
	}
	close(ends[0]);
	close(fd);
	/* Only the pager handles ^C. When the pager has ended, a write fails, and btstrace ends. */
	signal(SIGINT, SIG_IGN);
	return ends[1];
}

/*
 * Wait until the pager has ended. The caller has closed the output. Returns false, after a
 * message, if the pager could not be run.
 */
bool bt_pager_end(void)
{
	int status = 0;

	while (pager > 0 && waitpid(pager, &status, 0) < 0 && errno == EINTR)
		;
	pager = 0;
	/* The shell exits with one of these statuses if it cannot run a command. */
	if (!WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127))
		return true;
	bt_complain("the pager '%s' cannot be run: give --no-pager", command());
	return false;
}
