// SPDX-License-Identifier: GPL-2.0
/* Run commands, and get their status and their output. */
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "../guest/guest.h"
#include "run.h"

#define WORDS	40

static const char *btstrace, *recorder;
static long divisor = 1;

void run_init(int argc, char **argv)
{
	btstrace = argv[1];
	recorder = argv[2];
	if (!strncmp(argv[argc - 1], "less=", 5))
		divisor = atol(argv[argc - 1] + 5);
}

long less(long n)
{
	return n / divisor ? n / divisor : 1;
}

/* Split @line at blanks, and replace $b and $r by the paths of btstrace and record. */
static void split_words(char *line, const char **argv)
{
	int n = 0;
	char *word;

	for (word = strtok(line, " "); word && n < WORDS - 1; word = strtok(NULL, " ")) {
		if (!strcmp(word, "$b"))
			argv[n++] = btstrace;
		else if (!strcmp(word, "$r"))
			argv[n++] = recorder;
		else
			argv[n++] = word;
	}
	argv[n] = NULL;
}

/*
 * Execute a command in this process, with @fd as standard output and error. If @fd is -1, close
 * the three standard files.
 */
static void execute(const char *line, int fd)
{
	const char *argv[WORDS];

	if (fd >= 0) {
		dup2(fd, 2);
		dup2(fd, 1);
		close(fd);
	} else {
		close_range(0, 2, 0);
	}
	split_words(strdup(line), argv);
	execv(argv[0], (char **)argv);
	perror(argv[0]);
	_exit(127);
}

pid_t run_begin(const char *line, uid_t uid, long memlock)
{
	struct rlimit limit = { memlock, memlock };
	pid_t pid;

	unlink(OUT);
	unlink(ERR);
	pid = fork();
	if (pid)
		return pid;
	if (memlock >= 0)
		setrlimit(RLIMIT_MEMLOCK, &limit);
	if (uid && (setgid(uid) || setuid(uid)))
		_exit(126);
	execute(line, open(ERR, O_WRONLY | O_CREAT | O_TRUNC, 0666));
	return 0;
}

/*
 * Act as a shell: run the command as the foreground job, and exit with its status. If the job
 * stops, the test continues it, not this shell.
 */
static void run_as_shell(const char *line, int slave)
{
	pid_t job;
	int status;

	signal(SIGTTOU, SIG_IGN);
	job = fork();
	if (!job) {
		setpgid(0, 0);
		tcsetpgrp(slave, getpid());
		signal(SIGTTOU, SIG_DFL);
		execute(line, slave);
	}
	close(slave);
	while (waitpid(job, &status, 0) != job)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static pid_t begin_on_terminal(const char *line, int *terminal, bool job)
{
	int slave;
	pid_t pid;

	*terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (grantpt(*terminal) || unlockpt(*terminal))
		give_up("no terminal");
	unlink(OUT);
	pid = fork();
	if (!pid) {
		/* The first terminal that a session leader opens becomes its controlling one. */
		setsid();
		slave = open(ptsname(*terminal), O_RDWR);
		if (slave < 0)
			_exit(126);
		if (job)
			run_as_shell(line, slave);
		execute(line, slave);
	}
	return pid;
}

pid_t run_on_terminal(const char *line, int *terminal)
{
	return begin_on_terminal(line, terminal, false);
}

pid_t run_as_job(const char *line, int *terminal)
{
	return begin_on_terminal(line, terminal, true);
}

struct run run_terminal_end(pid_t pid, int terminal)
{
	size_t used = 0, room = 65536;
	struct run r = { .err = calloc(room, 1) };
	struct pollfd poll_fd = { .fd = terminal, .events = POLLIN };
	bool over = false;
	ssize_t n = 0;

	/*
	 * While there is no output, read() fails: retry until the command ends. Then read the rest
	 * of its output.
	 */
	while (n > 0 || !over) {
		over = over || waitpid(pid, &r.status, WNOHANG) == pid;
		if (!over)
			poll(&poll_fd, 1, 100);
		n = read(terminal, r.err + used, room - 1 - used);
		used += n > 0 ? n : 0;
	}
	close(terminal);
	r.out = read_file(OUT);
	return r;
}

struct run run_end(pid_t pid)
{
	struct run r = { };

	waitpid(pid, &r.status, 0);
	r.out = read_file(OUT);
	r.err = read_file(ERR);
	return r;
}

struct run run_closed(const char *line)
{
	pid_t pid;

	unlink(OUT);
	unlink(ERR);
	pid = fork();
	if (!pid)
		execute(line, -1);
	return run_end(pid);
}

struct run run_as(const char *line, uid_t uid, long memlock)
{
	return run_end(run_begin(line, uid, memlock));
}

struct run run(const char *line)
{
	return run_as(line, 0, -1);
}

void run_free(struct run *r)
{
	free(r->out);
	free(r->err);
}

bool exited(const struct run *r, int status)
{
	return WIFEXITED(r->status) && WEXITSTATUS(r->status) == status;
}

bool killed(const struct run *r, int sig)
{
	return WIFSIGNALED(r->status) && WTERMSIG(r->status) == sig;
}

/* Returns the contents of a file, or an empty string if it cannot be read. */
char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	size_t used = 0, room = 65536;
	char *text = malloc(room + 1);
	ssize_t n;

	while (fd >= 0 && (n = read(fd, text + used, room - used)) > 0) {
		used += n;
		if (used == room) {
			room *= 2;
			text = realloc(text, room + 1);
		}
	}
	close(fd);
	text[used] = '\0';
	return text;
}

void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		printf("# cannot write %s to %s\n", text, path);
	close(fd);
}

size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

const char *last_line(const char *text, const char *what)
{
	const char *found = NULL, *at;

	for (at = text; (at = strstr(at, what)); at++)
		found = at;
	if (!found)
		return "";
	while (found > text && found[-1] != '\n')
		found--;
	return found;
}

/* Print the status of a command, and parts of what it wrote, to explain a failure. */
void explain(const struct run *r)
{
	printf("# status %#x, standard error: %.300s\n", r->status, r->err);
	printf("# output, %zu bytes, its end: %.600s\n", strlen(r->out),
	       strlen(r->out) > 600 ? r->out + strlen(r->out) - 600 : r->out);
}

bool wait_until(bool (*what)(long arg), long arg)
{
	struct timespec pause = { .tv_nsec = 20000000 };
	int i;

	for (i = 0; i < 500; i++) {
		if (what(arg))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}
