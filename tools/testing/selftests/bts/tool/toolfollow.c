// SPDX-License-Identifier: GPL-2.0
/*
 * Check that btstrace follows threads, processes and execve(), attaches to processes and threads,
 * and does not change their signals, stops and exit statuses.
 *
 *   toolfollow BTSTRACE RECORD
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "../guest/guest.h"
#include "run.h"

#define SPINNERS	4

/* As in walk.c */
struct spin {
	volatile long count[8];
	volatile char end;
};

static void check_statuses(void)
{
	struct run r = run("$b -o " OUT " /bt/walk exit 0");

	ok(exited(&r, 0) && strstr(r.out, "+++ exited with 0 +++"), "exit status 0");
	run_free(&r);
	r = run("$b -q --full -o " OUT " /bt/walk exit 77");
	ok(exited(&r, 77) && strstr(r.out, "+++ exited with 77 +++") && !*r.err,
	   "exit status 77, quietly");
	run_free(&r);
	r = run("$b -o " OUT " /bt/walk die 15");
	ok(killed(&r, SIGTERM) && strstr(r.out, "+++ killed by SIGTERM +++"), "killed by SIGTERM");
	run_free(&r);
	r = run("$b --full -o " OUT " /bt/walk die 9");
	ok(killed(&r, SIGKILL), "killed by SIGKILL");
	run_free(&r);
	r = run("$b --full -o " OUT " /bt/walk die 10");
	ok(killed(&r, SIGUSR1) && strstr(r.out, "--- SIGUSR1 from process "),
	   "a signal, and who sent it");
	run_free(&r);
	r = run("$b --full -o " OUT " /bt/walk die 34");
	ok(killed(&r, 34) && strstr(r.out, "--- SIGRT_2 "), "a realtime signal");
	run_free(&r);
	/*
	 * A shell reports SIGKILL by 137, and SIGSTOP by 147. btstrace must not take these exit
	 * statuses for signals.
	 */
	r = run("$b -o " OUT " /bt/walk exit 137");
	ok(exited(&r, 137), "exit status 137");
	run_free(&r);
	r = run("$b -o " OUT " /bt/walk exit 147");
	ok(exited(&r, 147), "exit status 147");
	run_free(&r);
}

/* The command must inherit the signal settings with which btstrace was started. */
static void check_inherited(void)
{
	static const char *const lines[] = {
		"/bt/walk inherited", "$b -o " OUT " /bt/walk inherited",
	};
	sigset_t set;
	struct run r;
	int i, ignored;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	for (ignored = 0; ignored < 2; ignored++) {
		for (i = 0; i < 2; i++) {
			r = run(lines[i]);
			ok(exited(&r, ignored ? 0x51 : 0), "signals%s, %s: %#x",
			   ignored ? " ignored and blocked" : "", i ? "traced" : "untraced",
			   WEXITSTATUS(r.status));
			run_free(&r);
		}
		if (ignored)
			break;
		signal(SIGPIPE, SIG_IGN);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Count the lines before @at that show a call of fork() in the first process. */
static size_t forks_before(const char *text, const char *at)
{
	size_t n = 0;

	while ((text = strstr(text, "call      forks+0x")) && text < at) {
		n += !strncmp(strstr(text, " -> "), " -> fork+0x0", 12);
		text++;
	}
	return n;
}

/* Returns NULL if there is none. */
static const char *next_line(const char *line)
{
	const char *eol = strchr(line, '\n');

	return eol ? eol + 1 : NULL;
}

/*
 * Returns whether there are @children children and, for each n, the first line of the n-th child is
 * behind that of the n-th fork.
 */
static bool forks_come_first(const char *text, size_t children)
{
	const char *line = text, *seen[64];
	size_t nr = 0, i;

	for (; line && *line && nr < ARRAY_SIZE(seen); line = next_line(line)) {
		if (strncmp(line, "[pid ", 5))
			continue;
		for (i = 0; i < nr && atoi(seen[i] + 5) != atoi(line + 5); i++)
			;
		if (i < nr)
			continue;
		seen[nr++] = line;
		/* The first entry of seen[] is the process that calls fork(). */
		if (nr > 1 && forks_before(text, line) < nr - 1)
			return false;
	}
	return nr == children + 1;
}

static void check_children(void)
{
	struct run r = run("$b -f -n 500 -o " OUT " /bt/walk threads 10");

	ok(exited(&r, 0) && count(r.out, "+++ exited with 0 +++") == 11 &&
	   count(r.out, " fib+0x") >= 10, "-f: 10 threads");
	run_free(&r);
	r = run("$b -n 20 -o " OUT " /bt/walk threads 10");
	ok(exited(&r, 0) && count(r.out, "+++ exited with 0 +++") == 1, "not without -f");
	run_free(&r);
	r = run("$b -f --full -o " OUT " /bt/walk forks 10");
	ok(exited(&r, 0) && count(r.out, "+++ exited with 0 +++") == 11 &&
	   strstr(r.err, ", 0 lost, 0 gaps, 11 threads"), "-f: 10 processes");
	if (!ok(forks_come_first(r.out, 10), "-f: each fork is told of before what it led to"))
		explain(&r);
	run_free(&r);
	r = run("$b -f --calls --by-thread -o " OUT " /bt/walk threads 3");
	ok(exited(&r, 0) && count(r.out, "]:\n     calls     branches") == 4,
	   "--by-thread: %zu trees", count(r.out, "]:\n     calls     branches"));
	run_free(&r);
	r = run("$b -f --flow --root fib -o " OUT " /bt/walk threads 3");
	ok(exited(&r, 0) && count(r.out, " fib") > 20 && !strstr(r.out, " main"),
	   "--flow --root: %zu of fib", count(r.out, " fib"));
	run_free(&r);
	r = run("$b -f --calls -o " OUT " /bt/walk forks 10");
	ok(exited(&r, 0) && strstr(r.out, "; balanced\n"), "-f --calls: 10 processes, balanced");
	run_free(&r);
	r = run("$b --full -o " OUT " /bt/walk execs 4");
	if (!ok(exited(&r, 7) && count(r.out, "--- another program ---") >= 4 &&
		count(r.out, "execs+0x") >= 20, "programs of 32 and 64 bits in turn"))
		explain(&r);
	run_free(&r);
	r = run("$b -f --full -o " OUT " /bt/walk exec-by-thread 2");
	if (!ok(exited(&r, 7) && strstr(r.err, ", 0 lost, "),
		"exec by a thread that is not the first"))
		explain(&r);
	run_free(&r);
}

static char state_of(pid_t pid)
{
	char path[64], *text, *at, state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = read_file(path);
	at = strrchr(text, ')');
	state = at ? at[2] : 0;
	free(text);
	return state;
}

static pid_t child_of(pid_t pid)
{
	char path[96], *text;
	pid_t child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	text = read_file(path);
	child = atoi(text);
	free(text);
	return child;
}

/* Returns whether @pid, a tracer, sleeps while its child is stopped. */
static bool is_at_rest(long pid)
{
	pid_t child = child_of(pid);
	char state = child ? state_of(child) : 0;

	return (state == 'T' || state == 't') && state_of(pid) == 'S';
}

static bool stays_at_rest(long pid)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	int i;

	for (i = 0; i < 6 && is_at_rest(pid); i++)
		nanosleep(&pause, NULL);
	return i == 6;
}

/* A program that stops itself must stay stopped under btstrace until SIGCONT. */
static void check_stop(void)
{
	pid_t pid = run_begin("$b --full -o " OUT " /bt/walk stop 6", 0, -1);
	struct run r;

	if (ok(wait_until(stays_at_rest, pid), "a stopped program stays stopped"))
		kill(child_of(pid), SIGCONT);
	r = run_end(pid);
	ok(exited(&r, 6) && strstr(r.out, "--- SIGSTOP from process ") &&
	   strstr(r.out, "--- SIGCONT from process "), "and goes on");
	run_free(&r);
}

static struct spin *spin_file(void)
{
	int fd = open("/tmp/spin", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct spin *spin;

	if (ftruncate(fd, sizeof(*spin)))
		exit(2);
	spin = mmap(NULL, sizeof(*spin), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return spin;
}

static struct spin *spin;

static long mark[SPINNERS];

static void set_mark(void)
{
	int i;

	for (i = 0; i < SPINNERS; i++)
		mark[i] = spin->count[i];
}

/* Returns whether all threads have made progress since set_mark(). */
static bool moved_on(long unused)
{
	int i, n = 0;

	(void)unused;
	for (i = 0; i < SPINNERS; i++)
		n += spin->count[i] > mark[i];
	return n == SPINNERS;
}

/* Returns whether no thread has made progress since set_mark(). */
static bool stands_still(void)
{
	int i;

	for (i = 0; i < SPINNERS; i++)
		if (spin->count[i] != mark[i])
			return false;
	return true;
}

static bool all_spin(void)
{
	set_mark();
	return wait_until(moved_on, 0);
}

static bool first_spins(long unused)
{
	(void)unused;
	return spin->count[0] > 1000;
}

static bool has_ended(long pid)
{
	return state_of(pid) == 'Z';
}

static bool is_traced(long pid)
{
	char path[64], *text;
	bool traced;

	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	text = read_file(path);
	traced = !strstr(text, "TracerPid:\t0\n");
	free(text);
	return traced;
}

static void attach(pid_t target, const char *mode, int sig, int how_often)
{
	char line[128];
	struct run r;
	pid_t pid;
	int i;

	for (i = 0; i < how_often; i++) {
		snprintf(line, sizeof(line), "$b %s -o " OUT " -p %d", mode, target);
		pid = run_begin(line, 0, -1);
		if (!wait_until(is_traced, target) || !all_spin())
			ok(false, "-p: attached, and all threads go on");
		kill(pid, sig);
		r = run_end(pid);
		if (!killed(&r, sig) || count(r.out, "+++ detached +++") != SPINNERS ||
		    is_traced(target))
			break;
		run_free(&r);
	}
	if (!ok(i == how_often, "-p %s: attached and detached %d times", mode, how_often))
		explain(&r);
	ok(all_spin(), "-p %s: all threads go on afterwards", mode);
}

/* Attach to one thread, to its process with all threads, and to the same thread again. */
static void attach_twice(pid_t target)
{
	char line[128], path[64];
	struct run r;
	pid_t pid;
	int last;

	for (last = target + 1; last < target + 64; last++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", target, last);
		if (!access(path, F_OK))
			break;
	}
	snprintf(line, sizeof(line), "$b -o " OUT " -p %d,%d -p %d", last, target, last);
	pid = run_begin(line, 0, -1);
	if (!wait_until(is_traced, target) || !all_spin())
		ok(false, "-p: attached, and all threads go on");
	kill(pid, SIGINT);
	r = run_end(pid);
	if (!ok(killed(&r, SIGINT) && count(r.out, "+++ detached +++") == SPINNERS,
		"-p: a thread, its process, and the thread again"))
		explain(&r);
	run_free(&r);
}

static bool is_stopped(long pid)
{
	return state_of(pid) == 'T' && !is_traced(pid);
}

static bool rests_traced(long pid)
{
	return (state_of(pid) == 'T' || state_of(pid) == 't') && is_traced(pid);
}

/* A process that is stopped, before btstrace attaches or later, must stay so after the detach. */
static void detach_stopped(pid_t target, bool before)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	char line[64];
	struct run r;
	pid_t pid;

	if (before) {
		kill(target, SIGSTOP);
		ok(wait_until(is_stopped, target), "stopped before");
	}
	snprintf(line, sizeof(line), "$b -p %d -o " OUT, target);
	pid = run_begin(line, 0, -1);
	ok(wait_until(is_traced, target), "attached");
	if (!before) {
		all_spin();
		kill(target, SIGSTOP);
	}
	if (!wait_until(rests_traced, target))
		ok(false, "a stopped process that is attached rests");
	nanosleep(&pause, NULL);
	kill(pid, SIGINT);
	r = run_end(pid);
	nanosleep(&pause, NULL);
	set_mark();
	nanosleep(&pause, NULL);
	if (!ok(killed(&r, SIGINT) && count(r.out, "+++ detached +++") == SPINNERS &&
		wait_until(is_stopped, target) && stands_still(), "stopped %s: still so afterwards",
		before ? "before" : "meanwhile"))
		explain(&r);
	kill(target, SIGCONT);
	ok(all_spin(), "and goes on when it is told to");
	run_free(&r);
}

static void check_attach(void)
{
	char line[64];
	struct run r;
	pid_t target;
	int status;

	spin = spin_file();
	target = fork();
	if (!target) {
		execl("/bt/walk", "walk", "spins", "4", NULL);
		_exit(127);
	}
	all_spin();
	attach(target, "", SIGINT, 5);
	attach(target, "--full -s 16K", SIGTERM, 5);
	attach(target, "-f --full -s 4K -t", SIGINT, 5);
	attach_twice(target);
	detach_stopped(target, true);
	detach_stopped(target, false);
	snprintf(line, sizeof(line), "$b -p %d -o /nowhere/out", target);
	r = run(line);
	ok(exited(&r, 118) && !is_traced(target), "nobody attached if there is nowhere to write");
	run_free(&r);
	spin->end = 1;
	waitpid(target, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 42, "unharmed to its end");
}

static bool is_in_stop(long pid)
{
	return state_of(pid) == 't';
}

static bool is_suspended_alone(long pid)
{
	return state_of(pid) == 'T';
}

/* A signal that stopped the tracee before btstrace was told to end must be delivered. */
static void check_on_its_way(void)
{
	char line[64];
	pid_t target, pid;
	struct run r;
	int status;

	spin = spin_file();
	target = fork();
	if (!target) {
		execl("/bt/walk", "walk", "spins", "1", NULL);
		_exit(127);
	}
	wait_until(first_spins, 0);
	snprintf(line, sizeof(line), "$b -p %d -o " OUT, target);
	pid = run_begin(line, 0, -1);
	ok(wait_until(is_traced, target), "attached");
	kill(pid, SIGSTOP);
	ok(wait_until(is_suspended_alone, pid), "btstrace is held up");
	kill(target, SIGUSR1);
	ok(wait_until(is_in_stop, target), "its tracee gets a signal");
	kill(pid, SIGTERM);
	kill(pid, SIGCONT);
	r = run_end(pid);
	ok(killed(&r, SIGTERM), "btstrace ends");
	wait_until(has_ended, target);
	kill(target, SIGKILL);
	waitpid(target, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1, "the signal arrives");
	run_free(&r);
}

static bool is_quiet(long unused)
{
	struct timespec a_while = { .tv_nsec = 100000000 };

	(void)unused;
	set_mark();
	nanosleep(&a_while, NULL);
	return stands_still();
}

/* The reader of the output closes the FIFO: SIGPIPE ends btstrace, but not the command. */
static void check_pipe(void)
{
	struct run r;
	char byte;
	pid_t pid;
	int fd;

	spin = spin_file();
	unlink("/tmp/fifo");
	mkfifo("/tmp/fifo", 0600);
	pid = run_begin("$b -f --full -o /tmp/fifo /bt/walk spins 4", 0, -1);
	fd = open("/tmp/fifo", O_RDONLY);
	ok(read(fd, &byte, 1) == 1, "output to a pipe");
	close(fd);
	r = run_end(pid);
	if (!ok(killed(&r, SIGPIPE) && !strstr(r.err, "Broken pipe"), "nobody reads: SIGPIPE"))
		explain(&r);
	ok(all_spin(), "and the command goes on");
	spin->end = 1;
	ok(wait_until(is_quiet, 0), "to its end");
	run_free(&r);
}

/* SIGTERM ends btstrace and the command that it has started. btstrace shows the last branches. */
static void check_end(void)
{
	struct timespec a_while = { .tv_nsec = 300000000 };
	struct run r;
	pid_t pid;

	spin = spin_file();
	pid = run_begin("$b -f -o " OUT " /bt/walk spins 4", 0, -1);
	ok(all_spin(), "a command that goes on for ever");
	kill(pid, SIGTERM);
	r = run_end(pid);
	if (!ok(killed(&r, SIGTERM) && count(r.out, "+++ detached +++") == SPINNERS,
		"ended by SIGTERM, with what there is"))
		explain(&r);
	set_mark();
	nanosleep(&a_while, NULL);
	ok(stands_still(), "and so is the command");
	run_free(&r);
}

/* Started by nohup, btstrace must ignore SIGHUP: a terminal that is closed does not end it. */
static void check_nohup(void)
{
	struct run r;
	pid_t pid;

	spin = spin_file();
	signal(SIGHUP, SIG_IGN);
	pid = run_begin("$b -f -o " OUT " /bt/walk spins 4", 0, -1);
	signal(SIGHUP, SIG_DFL);
	ok(all_spin(), "with nohup");
	kill(pid, SIGHUP);
	ok(all_spin() && is_traced(child_of(pid)), "it goes on");
	kill(pid, SIGTERM);
	r = run_end(pid);
	ok(killed(&r, SIGTERM) && count(r.out, "+++ detached +++") == SPINNERS,
	   "until it is told to end");
	run_free(&r);
}

/* If ^C on a terminal ends the command, btstrace shows the last branches and ends. */
static void check_interrupted(void)
{
	struct run r;
	int terminal;
	pid_t pid;

	spin = spin_file();
	pid = run_on_terminal("$b -f -n 50 -o " OUT " /bt/walk spins 4", &terminal);
	if (!ok(all_spin() && write(terminal, "\003", 1) == 1, "^C on a terminal"))
		spin->end = 1;
	r = run_terminal_end(pid, terminal);
	if (!ok(killed(&r, SIGINT) && count(r.out, "+++ killed by SIGINT +++") == SPINNERS &&
		count(r.out, " spinner+0x") >= 40 && strstr(r.out, "--- SIGINT ---"),
		"the last branches of all threads"))
		explain(&r);
	run_free(&r);
}

static bool is_suspended(long pid)
{
	char command = state_of(child_of(pid));

	return state_of(pid) == 'T' && (command == 't' || command == 'T');
}

static bool is_stopped_itself(long pid)
{
	return state_of(pid) == 'T';
}

/*
 * ^Z on a terminal stops btstrace and its command, and after fg both go on. SIGTSTP by kill() to
 * btstrace stops btstrace alone.
 */
static void check_suspended(void)
{
	pid_t shell, job;
	struct run r;
	int terminal, i;

	spin = spin_file();
	shell = run_as_job("$b -f -n 50 -o " OUT " /bt/walk spins 4", &terminal);
	ok(all_spin(), "a job");
	job = child_of(shell);
	for (i = 0; i < 2; i++) {
		if (write(terminal, "\032", 1) != 1 || !wait_until(is_suspended, job))
			ok(false, "^Z");
		ok(wait_until(is_quiet, 0), "^Z: all of it stops");
		kill(-job, SIGCONT);
		ok(all_spin(), "fg: all of it goes on");
	}
	kill(job, SIGTSTP);
	ok(wait_until(is_stopped_itself, job) && all_spin(), "kill: btstrace stops alone");
	kill(job, SIGCONT);
	spin->end = 1;
	r = run_terminal_end(shell, terminal);
	if (!ok(exited(&r, 42) && count(r.out, "+++ exited with ") == SPINNERS &&
		strstr(r.out, "+++ exited with 42 +++"),
		"and ends as it would"))
		explain(&r);
	run_free(&r);
}

/*
 * A thread that is not followed calls execve(), and replaces the traced thread. SIGTERM must still
 * end btstrace.
 */
static void check_replaced(void)
{
	struct run r;
	pid_t pid;

	spin = spin_file();
	pid = run_begin("$b -o " OUT " /bt/walk exec-spins", 0, -1);
	spin->count[0] = 0;
	ok(wait_until(first_spins, 0), "a thread that is not followed executes a program");
	kill(pid, SIGTERM);
	ok(wait_until(has_ended, pid), "told to end, it does");
	spin->end = 1;
	r = run_end(pid);
	ok(killed(&r, SIGTERM), "by that signal");
	run_free(&r);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 99;
	run_init(argc, argv);
	check_statuses();
	check_inherited();
	check_children();
	check_stop();
	check_attach();
	check_end();
	check_on_its_way();
	check_pipe();
	check_nohup();
	check_interrupted();
	check_suspended();
	check_replaced();
	return finish();
}
