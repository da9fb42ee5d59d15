// SPDX-License-Identifier: GPL-2.0
/*
 * Run the kernel's own selftests one after the other, and print their results so that the
 * results on two kernels can be compared: a line for each verdict, without numbers and addresses,
 * and a line for the end of each program.
 *
 * upstream SECONDS DIRECTORY...: every program in the directories, each for SECONDS at most.
 */
#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "guest.h"

static const char *const tags[] = {
	"ok ", "not ok ", "[OK]", "[FAIL]", "[SKIP]", "[WARN]", "Bail out!",
};

static bool is_verdict(const char *line)
{
	size_t i;

	line += strspn(line, " \t#");
	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (!strncmp(line, tags[i], strlen(tags[i])))
			return true;
	return false;
}

/* Print a verdict, with '#' in place of each word that has a digit in it. */
static void print_verdict(const char *name, const char *line)
{
	bool digit;
	size_t n, i;

	printf("# VERDICT %s:", name);
	for (; *line; line += n) {
		line += strspn(line, " \t\r");
		n = strcspn(line, " \t\r");
		for (digit = false, i = 0; i < n; i++)
			digit |= isdigit((unsigned char)line[i]);
		if (digit)
			printf(" #");
		else if (n)
			printf(" %.*s", (int)n, line);
	}
	puts("");
}

/* Print the verdicts in the output. If it is not over after @seconds, kill the program. */
static void collect(int fd, pid_t pid, const char *name, int seconds)
{
	time_t end = time(NULL) + seconds;
	struct pollfd poller = { .fd = fd, .events = POLLIN, };
	char line[1024];
	size_t used = 0;
	char c;

	for (;;) {
		if (poll(&poller, 1, 1000) > 0) {
			if (read(fd, &c, 1) != 1)
				return;
			if (c != '\n' && used + 1 < sizeof(line)) {
				line[used++] = c;
				continue;
			}
			line[used] = '\0';
			used = 0;
			if (is_verdict(line))
				print_verdict(name, line);
		}
		if (time(NULL) >= end) {
			printf("# VERDICT %s: time-out\n", name);
			kill(-pid, SIGKILL);
			return;
		}
	}
}

static void run_one(const char *directory, const char *name, int seconds)
{
	int status, output[2];
	pid_t pid;

	if (pipe(output))
		exit(1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		dup2(output[1], 1);
		dup2(output[1], 2);
		close(output[0]);
		close(output[1]);
		if (!chdir(directory))
			execl(name, name, NULL);
		_exit(127);
	}
	close(output[1]);
	setpgid(pid, pid);
	collect(output[0], pid, name, seconds);
	close(output[0]);
	kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	printf("# VERDICT %s: %s %d\n", name, WIFEXITED(status) ? "exit" : "signal",
	       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	ok(true, "%s ran", name);
}

int main(int argc, char *argv[])
{
	struct dirent **names;
	int i, j, n;

	for (i = 2; i < argc; i++) {
		n = scandir(argv[i], &names, NULL, alphasort);
		for (j = 0; j < n; j++)
			if (names[j]->d_name[0] != '.')
				run_one(argv[i], names[j]->d_name, atoi(argv[1]));
	}
	return finish();
}
