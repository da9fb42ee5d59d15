// SPDX-License-Identifier: GPL-2.0
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "nobody.h"
#include "system.h"

unsigned int nobody_pages = 4;

void become_nobody(void)
{
	struct rlimit limit = { nobody_pages * PAGE, nobody_pages * PAGE };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgroups(0, NULL) || setgid(NOBODY) ||
	    setuid(NOBODY) || prctl(PR_SET_DUMPABLE, 1))
		give_up("cannot become nobody");
}

int as_nobody(int (*what)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		become_nobody();
		_exit(what(arg));
	}
	if (waitpid(pid, &status, 0) != pid)
		give_up("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int configure_all(void *unused)
{
	const unsigned int fits = nobody_pages * PAGE / RECORDS(1);
	struct tracee t = tracee_new();
	int ret = -bts_config(t.pid, TRACE | ALLOC, RECORDS(fits), 0);

	(void)unused;
	tracee_end(&t);
	return ret;
}

bool nobody_may_trace(void)
{
	return !cpu_has("bts") || uses_cpl_filter() || !cpu_has_bug("cpu_meltdown");
}

void let_nobody_trace(void)
{
	if (!nobody_may_trace())
		write_file("/proc/sys/kernel/perf_event_paranoid", "1");
}

bool all_given_back(void)
{
	int tries = 200;

	while (as_nobody(configure_all, NULL)) {
		if (!tries--)
			return false;
		usleep(10000);
	}
	return true;
}
