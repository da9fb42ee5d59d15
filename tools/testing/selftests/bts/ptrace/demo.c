// SPDX-License-Identifier: GPL-2.0
/*
 * Run a program that jumps through a bad pointer (badjump) under btstrace, which prints the
 * branches before the crash. Then run badjump under the program example, as a user to whom perf
 * refuses branch traces. vmtest.sh demo runs this, with the path of btstrace.
 */
#include <grp.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest/guest.h"

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		give_up("%s", path);
	close(fd);
}

static void show(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[128];

	if (!f || !fgets(line, sizeof(line), f))
		give_up("%s", path);
	fclose(f);
	printf("$ cat %s\n%s", path, line);
}

/* Try to open the event that gdb's btrace uses. */
static bool perf_refuses(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	errno = 0;
	syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	printf("perf_event_open(branches, period 1, user mode): %s\n", strerror(errno));
	return errno;
}

/*
 * Run `@path [-n @number] badjump`, and print this command line without directories. Returns
 * whether the command reported the crash of badjump: it exited with 128 + SIGSEGV, or was killed by
 * SIGSEGV.
 */
static bool crashes(const char *path, const char *number)
{
	const char *name = strrchr(path, '/') + 1;
	int status = -1;
	pid_t pid;

	printf("$ %s %s%s%sbadjump\n", name, number ? "-n " : "", number ? number : "",
	       number ? " " : "");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(STDOUT_FILENO, STDERR_FILENO);
		if (number)
			execl(path, name, "-n", number, "/bt/badjump", NULL);
		execl(path, name, "/bt/badjump", NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGSEGV) ||
	       (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(int argc, char **argv)
{
	bool good;

	if (argc < 2)
		give_up("give the path of btstrace");
	setvbuf(stdout, NULL, _IOLBF, 0);
	good = crashes(argv[1], NULL);

	puts("\nThe same where perf refuses, by the example of ptrace_bts(2):");
	put("/proc/sys/kernel/perf_event_paranoid", "4");
	show("/proc/sys/kernel/perf_event_paranoid");
	show("/sys/devices/system/cpu/vulnerabilities/meltdown");
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		give_up("cannot become nobody");
	printf("$ id -u\n%d\n", getuid());
	good &= perf_refuses();
	good &= crashes("/bt/example", "8");
	return !good;
}
