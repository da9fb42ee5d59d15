// SPDX-License-Identifier: GPL-2.0
/* This file handles terminals as git and less do. */
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

/* NO_COLOR is what https://no-color.org asks programs to obey. */
bool bt_wants_color(int fd, enum bt_when when)
{
	const char *term = getenv("TERM");

	if (when != BT_AUTO)
		return when == BT_ALWAYS;
	return isatty(fd) && !is_set("NO_COLOR") && term && strcmp(term, "dumb");
}

/* Returns the columns of a terminal, or 0 if @fd is none. */
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
 * Start a pager for the terminal @fd. Returns the file to write to: @fd itself if it is no
 * terminal, or if no pager is wanted.
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
		 * less ends at once if all fits, keeps colours, and leaves the screen as it
		 * is.
		 */
		setenv("LESS", "FRX", 0);
		execlp("sh", "sh", "-c", name, NULL);
		_exit(127);
	}
	close(ends[0]);
	close(fd);
	/* ^C is for the pager. When the user leaves the pager, btstrace ends, too. */
	signal(SIGINT, SIG_IGN);
	return ends[1];
}

/*
 * Wait until the pager has read the output, which is written and closed. Returns false
 * after a message if there is no such pager.
 */
bool bt_pager_end(void)
{
	int status = 0;

	while (pager > 0 && waitpid(pager, &status, 0) < 0 && errno == EINTR)
		;
	pager = 0;
	/* The shell ends with these statuses if it cannot run a command. */
	if (!WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127))
		return true;
	bt_complain("the pager '%s' cannot be run: give --no-pager", command());
	return false;
}
