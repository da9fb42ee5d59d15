// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that never returns to user mode, as it works for its process in the
 * kernel: vhost's. Its tracer dies, and what was charged is given back.
 */
#include <dirent.h>
#include <linux/vhost.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "nobody.h"

struct found {
	volatile pid_t worker;
	volatile pid_t traced;
};

/* The thread of this process that it has not made itself */
static pid_t find_worker(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	pid_t worker = 0;

	while (dir && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid && tid != getpid())
			worker = tid;
	}
	if (dir)
		closedir(dir);
	return worker;
}

static void owner(struct found *found)
{
	int fd = open("/dev/vhost-vsock", O_RDWR);

	if (fd < 0)
		give_up("/dev/vhost-vsock");
	become_nobody();
	if (ioctl(fd, VHOST_SET_OWNER))
		give_up("VHOST_SET_OWNER");
	found->worker = find_worker();
	if (!found->worker)
		give_up("no worker");
	for (;;)
		pause();
}

static void tracer(struct found *found)
{
	pid_t pid = found->worker;
	int status;

	become_nobody();
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
	    waitpid(pid, &status, __WALL) != pid)
		give_up("cannot stop the worker");
	if (bts_config(pid, TRACE | SCHED | ALLOC,
		       RECORDS(nobody_pages * PAGE / RECORDS(1)), 0))
		give_up("PTRACE_BTS_CONFIG");
	if (ptrace(PTRACE_CONT, pid, 0, 0))
		give_up("PTRACE_CONT");
	found->traced = pid;
	for (;;)
		pause();
}

static pid_t start(void (*what)(struct found *found), struct found *found,
		   const volatile pid_t *until)
{
	pid_t pid = fork();

	if (!pid)
		what(found);
	while (!*until) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			give_up("a process that was to stay");
		usleep(1000);
	}
	return pid;
}

int main(void)
{
	struct found *found = shared_memory(sizeof(*found));
	pid_t owner_pid, tracer_pid;

	owner_pid = start(owner, found, &found->worker);
	tracer_pid = start(tracer, found, &found->traced);
	ok(as_nobody(configure_all, NULL) == ENOMEM, "the trace of a worker is paid for");
	kill(tracer_pid, SIGKILL);
	waitpid(tracer_pid, NULL, 0);
	ok(all_given_back(), "its tracer dies while it waits: given back");
	ok(!waitpid(owner_pid, NULL, WNOHANG) && !kill(found->worker, 0), "it works on");
	kill(owner_pid, SIGKILL);
	ok(waitpid(owner_pid, NULL, 0) == owner_pid, "its process ends");
	return finish();
}
