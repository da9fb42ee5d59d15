// SPDX-License-Identifier: GPL-2.0
/*
 * Traces of threads that the kernel adds to a process, and that never return to user mode: threads
 * of vhost and io_uring. When the tracer dies, the kernel must give the memory of the trace back.
 */
#include <dirent.h>
#include <linux/io_uring.h>
#include <linux/vhost.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../guest/nobody.h"
#include "uring.h"

/* An open() of this FIFO for reading blocks until it is opened for writing. */
#define FIFO	"/tmp/fifo"

struct found {
	volatile pid_t worker;
	volatile pid_t traced;
	volatile bool ask;
	volatile bool answered;
	volatile int answer;
};

/* Returns the pid of the thread that the kernel has added to this process, or 0. */
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

static void vhost_owner(struct found *found)
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

static void poll_owner(struct found *found, unsigned int idle)
{
	become_nobody();
	uring_new(IORING_SETUP_SQPOLL, idle);
	found->worker = find_worker();
	if (!found->worker)
		give_up("no thread that polls");
	for (;;)
		pause();
}

static void busy_owner(struct found *found)
{
	poll_owner(found, 600000);
}

static void idle_owner(struct found *found)
{
	poll_owner(found, 1);
}

static void uring_owner(struct found *found)
{
	const struct io_uring_sqe nothing = { .opcode = IORING_OP_NOP };
	const struct io_uring_sqe wait = {
		.opcode		= IORING_OP_OPENAT,
		.fd		= AT_FDCWD,
		.addr		= (unsigned long)FIFO,
		.open_flags	= O_RDONLY,
	};

	become_nobody();
	uring_new(0, 0);
	if (uring_ask(&nothing))
		give_up("a request for nothing");
	found->worker = find_worker();
	if (!found->worker)
		give_up("no worker");
	while (!found->ask)
		usleep(1000);
	found->answer = uring_ask(&wait);
	found->answered = true;
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

static struct found *found;
static pid_t owner_pid, tracer_pid;

static void trace_worker(void (*owner)(struct found *found))
{
	owner_pid = start(owner, found, &found->worker);
	tracer_pid = start(tracer, found, &found->traced);
	ok(as_nobody(configure_all, NULL) == ENOMEM, "the trace of a worker is paid for");
}

static void kill_tracer(void)
{
	kill(tracer_pid, SIGKILL);
	waitpid(tracer_pid, NULL, 0);
}

static void end_owner(void)
{
	kill(owner_pid, SIGKILL);
	ok(waitpid(owner_pid, NULL, 0) == owner_pid, "its process ends");
	found->worker = 0;
	found->traced = 0;
}

static void test_waiting(void (*owner)(struct found *found), const char *who)
{
	trace_worker(owner);
	kill_tracer();
	ok(all_given_back(), "%s, whose tracer dies: given back", who);
	ok(!waitpid(owner_pid, NULL, WNOHANG) && !kill(found->worker, 0), "it works on");
	end_owner();
}

/* The tracer dies while a traced worker executes a request: the request must succeed. */
static void test_working(void)
{
	int tries = 200, fd;

	if (mkfifo(FIFO, 0666))
		give_up("mkfifo");
	trace_worker(uring_owner);
	found->ask = true;
	usleep(200000);
	kill_tracer();
	usleep(200000);
	ok(!found->answered, "its tracer dies while it works: it works on");
	fd = open(FIFO, O_WRONLY | O_NONBLOCK);
	ok(fd >= 0, "the file that it waits for is opened");
	ok(all_given_back(), "then all is given back");
	/* The owner may not have been scheduled yet. */
	while (!found->answered && tries--)
		usleep(10000);
	ok(found->answered && found->answer >= 0, "its answer: %d", found->answer);
	end_owner();
	close(fd);
	unlink(FIFO);
}

int main(void)
{
	found = shared_memory(sizeof(*found));
	let_nobody_trace();
	test_waiting(vhost_owner, "vhost's worker");
	test_waiting(uring_owner, "io_uring's worker");
	test_waiting(busy_owner, "io_uring's thread that polls");
	test_waiting(idle_owner, "one that sleeps");
	test_working();
	return finish();
}
