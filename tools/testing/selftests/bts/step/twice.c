// SPDX-License-Identifier: GPL-2.0
/*
 * Trace a program twice, by the Debug Store and by the trap flag. For each of its tasks, both
 * traces must be the same, record for record. The contents of X86_BTS_EXEC are not compared.
 *
 *   twice branches|entry PROGRAM [ARGUMENT...]
 *
 * `branches` does not compare records of entry to and exit from the kernel (X86_BTS_ENTER,
 * X86_BTS_LEAVE): interrupts, stops, and faults that restart an instruction come at different
 * times. `entry` compares these records, except for an entry and the next exit if the kernel
 * returns to the address from which it was entered.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>

#include "../guest/tracee.h"

#define TASKS	64
#define ROOM	4096
#define NAME	64

/*
 * A task. The first one has the name 1, the N-th child of PARENT has the name PARENT.N. So a task
 * has the same name in both runs.
 */
struct task {
	pid_t pid;
	char name[NAME];
	unsigned int children;
	struct trace got;
	unsigned long long lost;
};

struct run {
	struct task task[TASKS];
	size_t nr;
	int status;
};

static struct run runs[2];
static bool entry;

static struct task *find(struct run *run, pid_t pid)
{
	size_t i;

	/*
	 * A thread that calls execve() gets the pid of its leader. Its further records go to the
	 * struct task of the leader.
	 */
	for (i = run->nr; i--; ) {
		if (run->task[i].pid == pid)
			return &run->task[i];
	}
	if (run->nr == TASKS)
		give_up("more than %d tasks", TASKS);
	run->task[run->nr].pid = pid;
	return &run->task[run->nr++];
}

static void start(struct run *run, uint32_t source, char **argv)
{
	struct ptrace_bts_config config = {
		.size = RECORDS(ROOM),
		.flags = TRACE | STOP_FULL | SIGNAL | INHERIT | ALLOC | (entry ? ENTRY : 0),
		.source = source,
	};
	static char *const environment[] = { NULL };
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execve(argv[0], argv, environment);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !stopped_by(status, SIGSTOP) ||
	    ptrace(PTRACE_SETOPTIONS, pid, 0,
		   PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK |
		   PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC))
		give_up("no tracee");
	if (!stopped_by(tracee_continue(pid, 0), SIGTRAP | PTRACE_EVENT_EXEC << 8))
		give_up("%s", argv[0]);
	if (bts(PTRACE_BTS_CONFIG, pid, &config, sizeof(config)))
		give_up("source %u", source);
	snprintf(find(run, pid)->name, NAME, "1");
	if (ptrace(PTRACE_CONT, pid, 0, 0))
		give_up("PTRACE_CONT");
}

static void take(struct task *task)
{
	struct ptrace_bts_status status = bts_status(task->pid);

	trace_drain(task->pid, &task->got, ROOM);
	task->lost = status.lost + status.gaps;
}

static void name_child(struct run *run, struct task *parent)
{
	unsigned long pid;
	struct task *child;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &pid))
		give_up("PTRACE_GETEVENTMSG");
	child = find(run, pid);
	snprintf(child->name, NAME, "%.40s.%u", parent->name, ++parent->children);
}

/* Handle a stop. Returns the signal to be delivered to the task, or 0. */
static int stop(struct run *run, struct task *task, int status)
{
	switch (status >> 16) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		name_child(run, task);
		return 0;
	case PTRACE_EVENT_BTS:
	case PTRACE_EVENT_EXIT:
		take(task);
		return 0;
	case 0:
		/* A new child stops by SIGSTOP, which must not be delivered. */
		return WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
	}
	return 0;
}

static void follow(struct run *run)
{
	int status, signal;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			if (pid == run->task[0].pid)
				run->status = status;
			continue;
		}
		signal = stop(run, find(run, pid), status);
		ptrace(PTRACE_CONT, pid, 0, signal);
	}
}

/* Remove the records that are not compared, and clear the contents of X86_BTS_EXEC. */
static void reduce(struct trace *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->nr; i++) {
		unsigned int type = t->rec[i].type;

		if (entry && type == X86_BTS_LEAVE && n &&
		    t->rec[n - 1].type == X86_BTS_ENTER &&
		    t->rec[n - 1].branch.from == t->rec[i].branch.to) {
			n--;
			continue;
		}
		if (!entry && (type == X86_BTS_LEAVE || type == X86_BTS_ENTER))
			continue;
		t->rec[n] = t->rec[i];
		if (type == X86_BTS_EXEC)
			memset(&t->rec[n].event, 0, sizeof(t->rec[n].event));
		n++;
	}
	t->nr = n;
}

/* Returns the index of the first difference, or -1. */
static long difference(const struct trace *a, const struct trace *b)
{
	size_t i;

	for (i = 0; i < a->nr && i < b->nr; i++) {
		if (memcmp(&a->rec[i], &b->rec[i], sizeof(*a->rec)))
			return i;
	}
	return a->nr == b->nr ? -1 : (long)i;
}

static const struct task *same_name(const struct run *run, const char *name)
{
	size_t i;

	for (i = 0; i < run->nr; i++) {
		if (!strcmp(run->task[i].name, name))
			return &run->task[i];
	}
	return NULL;
}

static void compare(const struct task *a, const struct task *b)
{
	long at;

	if (!ok(b, "task %s is there twice", a->name))
		return;
	ok(!a->lost && !b->lost, "task %s: nothing lost", a->name);
	at = difference(&a->got, &b->got);
	ok(at < 0 && a->got.nr, "task %s: %zu records compared, %s", a->name, a->got.nr,
	   at < 0 ? "0 different" : "different");
	if (at >= 0) {
		trace_print(&a->got, at);
		trace_print(&b->got, at);
	}
}

int main(int argc, char **argv)
{
	static const uint32_t sources[] = { PTRACE_BTS_SOURCE_DS, PTRACE_BTS_SOURCE_STEP };
	size_t i, j, all = 0;

	if (argc < 3)
		give_up("branches or entry, and a program");
	entry = !strcmp(argv[1], "entry");
	for (i = 0; i < 2; i++) {
		start(&runs[i], sources[i], argv + 2);
		follow(&runs[i]);
		for (j = 0; j < runs[i].nr; j++)
			reduce(&runs[i].task[j].got);
	}
	ok(runs[0].status == runs[1].status && runs[0].nr == runs[1].nr,
	   "%s: status %#x and %#x, %zu and %zu tasks", argv[2], runs[0].status,
	   runs[1].status, runs[0].nr, runs[1].nr);
	for (j = 0; j < runs[0].nr; j++) {
		compare(&runs[0].task[j], same_name(&runs[1], runs[0].task[j].name));
		all += runs[0].task[j].got.nr;
	}
	printf("# %zu records compared\n", all);
	return finish();
}
