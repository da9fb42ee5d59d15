// SPDX-License-Identifier: GPL-2.0
/*
 * Permissions: undumpable tracees, set-user-ID programs, the sysctl kernel.ptrace_bts, branches of
 * the kernel, the limit of locked memory, namespaces. Most tests run as a user without
 * capabilities.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "tracing.h"

#define NOBODY		65534
#define SOMEBODY	1000
#define ROOM		100
#define PAGE		4096u
#define PAGES		8
#define SYSCTL		"/proc/sys/kernel/ptrace_bts"
#define PARANOID	"/proc/sys/kernel/perf_event_paranoid"

static struct x86_bts_record records[ROOM];

static void set_limit(rlim_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		give_up("RLIMIT_MEMLOCK");
}

static void become(uid_t uid)
{
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid) || prctl(PR_SET_DUMPABLE, 1))
		give_up("cannot become %d", uid);
}

/* Run @test in a process of user @uid. Fails if @test fails. */
static void as_user(struct __test_metadata *_metadata, uid_t uid,
		    void (*test)(struct __test_metadata *_metadata))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		become(uid);
		test(_metadata);
		_exit(_metadata->exit_code);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

static void expect_all(struct __test_metadata *_metadata, pid_t pid, int err)
{
	struct ptrace_bts_status status;
	struct x86_bts_record rec;

	EXPECT_EQ(err, bts_config(pid, TRACE | ALLOC, 240, 0));
	EXPECT_EQ(err, bts_config(pid, TRACE, 0, 0));
	EXPECT_EQ(err, bts(PTRACE_BTS_STATUS, pid, &status, sizeof(status)));
	EXPECT_EQ(err, bts(PTRACE_BTS_SIZE, pid, NULL, 0));
	EXPECT_EQ(err, bts(PTRACE_BTS_GET, pid, &rec, 0));
	EXPECT_EQ(err, bts(PTRACE_BTS_CLEAR, pid, NULL, 0));
	EXPECT_EQ(err, bts(PTRACE_BTS_DRAIN, pid, &rec, 24));
	EXPECT_EQ(err, bts(PTRACE_BTS_READ, pid, NULL, 0));
}

static void be_dumpable(unsigned long how)
{
	prctl(PR_SET_DUMPABLE, how);
}

static void try_dumpable(struct __test_metadata *_metadata)
{
	struct tracee t = tracee_new();
	size_t nr;

	must_trace(t.pid, TRACE, ROOM, 0);
	tracee_do(&t, known_work, 20);
	nr = bts_status(t.pid).held;
	tracee_do(&t, be_dumpable, 0);
	/* PTRACE_PEEKDATA is refused as well. */
	errno = 0;
	EXPECT_EQ(-1, ptrace(PTRACE_PEEKDATA, t.pid, records, NULL));
	EXPECT_EQ(EIO, errno);
	expect_all(_metadata, t.pid, -EPERM);
	/* PTRACE_BTS_CONFIG reports invalid arguments first. */
	EXPECT_EQ(-EINVAL, bts_config(t.pid, TRACE | ALLOC, 0, 0));
	tracee_do(&t, be_dumpable, 1);
	EXPECT_LT(nr, bts_status(t.pid).held);
	tracee_end(&t);
}

/* A tracer that may not read the tracee's memory may not see its branches. */
TEST(dumpable)
{
	struct tracee t = tracee_new();

	as_user(_metadata, NOBODY, try_dumpable);
	must_trace(t.pid, TRACE, ROOM, 0);
	tracee_do(&t, be_dumpable, 0);
	EXPECT_LT(0, bts(PTRACE_BTS_SIZE, t.pid, NULL, 0));
	tracee_end(&t);
}

static void run_secret(unsigned long unused)
{
	(void)unused;
	execl("/tmp/secret", "secret", NULL);
	_exit(127);
}

static void try_secret(struct __test_metadata *_metadata)
{
	struct tracee t = tracee_new();

	must_trace(t.pid, TRACE, ROOM, 0);
	tracee_begin(&t, run_secret, 0);
	go_on(t.pid, SIGTRAP);
	expect_all(_metadata, t.pid, -EPERM);
	tracee_end(&t);
}

static void make_copy(struct __test_metadata *_metadata, const char *copy, const char *program,
		      mode_t mode)
{
	char buf[65536];
	int in = open(program, O_RDONLY), out;
	ssize_t len;

	out = open(copy, O_WRONLY | O_CREAT | O_TRUNC, mode);
	ASSERT_LT(0, out);
	while ((len = read(in, buf, sizeof(buf))) > 0)
		ASSERT_EQ(len, write(out, buf, len));
	close(out);
	close(in);
}

/* Make /tmp/secret, a copy of @program that users may execute but not read. */
static void make_secret(struct __test_metadata *_metadata, const char *program)
{
	make_copy(_metadata, "/tmp/secret", program, 0111);
}

TEST(unreadable_program)
{
	make_secret(_metadata, "/bt/hello");
	as_user(_metadata, NOBODY, try_secret);
	unlink("/tmp/secret");
}

/* When this program is started as `PROGRAM leave`, it only executes /bt/hello. */
__attribute__((constructor))
static void leave(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[1], "leave"))
		return;
	execl("/bt/hello", "hello", NULL);
	_exit(127);
}

static void run_hello(unsigned long how)
{
	if (how)
		prctl(PR_SET_DUMPABLE, 0);
	leave(2, (char *[]){ "", "leave" });
}

static void run_through_secret(unsigned long unused)
{
	(void)unused;
	execl("/tmp/secret", "secret", "leave", NULL);
	_exit(127);
}

/*
 * Ways of a tracee to execute hello, a program that the user may read. @programs is the number of
 * calls of execve(). @secret: the user may not read the memory of the program that executes hello.
 */
static const struct departure {
	const char *name;
	void (*run)(unsigned long arg);
	unsigned long arg;
	int programs;
	bool secret;
} departures[] = {
	{ "from a readable one", run_hello, 0, 1, false, },
	{ "from one that says it is not", run_hello, 1, 1, true, },
	{ "from one without read permission", run_through_secret, 0, 2, true, },
};

static struct tracee depart(const struct departure *d)
{
	struct tracee t = tracee_new();
	int i;

	must_trace(t.pid, TRACE, ROOM, 0);
	tracee_do(&t, known_work, 20);
	if (ptrace(PTRACE_SETOPTIONS, t.pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT))
		give_up("PTRACE_SETOPTIONS");
	tracee_begin(&t, d->run, d->arg);
	for (i = 0; i < d->programs; i++)
		go_on(t.pid, SIGTRAP);
	return t;
}

static void expect_reads(struct __test_metadata *_metadata, const struct departure *d,
			 pid_t pid, bool allowed)
{
	struct ptrace_bts_status status;
	struct x86_bts_record rec;
	long held;

	EXPECT_EQ(allowed ? (int)sizeof(status) : -EPERM,
		  bts(PTRACE_BTS_STATUS, pid, &status, sizeof(status)))
		TH_LOG("%s", d->name);
	EXPECT_EQ(allowed ? 0 : -EPERM, bts(PTRACE_BTS_GET, pid, &rec, 0));
	EXPECT_EQ(allowed ? 1 : -EPERM, bts(PTRACE_BTS_DRAIN, pid, &rec, sizeof(rec)));
	held = bts(PTRACE_BTS_SIZE, pid, NULL, 0);
	EXPECT_TRUE(allowed ? held > 0 : held == -EPERM)
		TH_LOG("%s: %ld", d->name, held);
}

/* The trace must be empty and readable. Records from now on must be readable, too. */
static void expect_anew(struct __test_metadata *_metadata, const struct departure *d, pid_t pid)
{
	struct x86_bts_record rec;

	EXPECT_EQ(0, bts(PTRACE_BTS_SIZE, pid, NULL, 0)) TH_LOG("%s", d->name);
	EXPECT_EQ(-EINVAL, bts(PTRACE_BTS_GET, pid, &rec, 0));
	go_on(pid, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	expect_reads(_metadata, d, pid, true);
}

static void try_departures(struct __test_metadata *_metadata)
{
	const struct departure *d;

	for (d = departures; d < departures + ARRAY_SIZE(departures); d++) {
		struct tracee t = depart(d);

		expect_reads(_metadata, d, t.pid, !d->secret);
		/* CONFIG without ALLOC keeps the records, and must not change who may read them. */
		EXPECT_EQ(0, bts_config(t.pid, TRACE | SCHED, 0, 0));
		expect_reads(_metadata, d, t.pid, !d->secret);
		EXPECT_EQ(0, bts(PTRACE_BTS_CLEAR, t.pid, NULL, 0));
		expect_anew(_metadata, d, t.pid);
		end_chain(t.pid);

		t = depart(d);
		EXPECT_EQ(0, bts_config(t.pid, TRACE | ALLOC, RECORDS(ROOM), 0));
		expect_anew(_metadata, d, t.pid);
		end_chain(t.pid);
	}
}

/*
 * A trace of a program whose memory the user may not read must stay unreadable after execve() of
 * another program, until the tracer clears the trace or configures a new one.
 */
TEST(program_before)
{
	const struct departure *d;

	make_secret(_metadata, "/proc/self/exe");
	as_user(_metadata, NOBODY, try_departures);
	/* Root may read each of these traces. */
	for (d = departures; d < departures + ARRAY_SIZE(departures); d++) {
		struct tracee t = depart(d);

		expect_reads(_metadata, d, t.pid, true);
		end_chain(t.pid);
	}
	unlink("/tmp/secret");
}

/* Run in a task that shares the tracee's memory: make both tasks undumpable, execute hello. */
static int sibling_main(void *unused)
{
	(void)unused;
	prctl(PR_SET_DUMPABLE, 0);
	execl("/bt/hello", "hello", NULL);
	_exit(127);
}

static void run_sibling(unsigned long unused)
{
	static char stack[16384];
	sigset_t child;
	int status;
	pid_t pid;

	(void)unused;
	/*
	 * execve() changes the exit signal of the sibling from 0 to SIGCHLD. This signal would
	 * stop the tracee: block it.
	 */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	pid = clone(sibling_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, NULL);
	waitpid(pid, &status, __WALL);
}

static void try_siblings(struct __test_metadata *_metadata)
{
	struct tracee t = tracee_new();

	must_trace(t.pid, TRACE, ROOM, 0);
	tracee_do(&t, known_work, 20);
	EXPECT_LT(0, bts(PTRACE_BTS_SIZE, t.pid, NULL, 0));
	tracee_do(&t, run_sibling, 0);
	/* The sibling has executed another program, but the tracee stays undumpable. */
	expect_all(_metadata, t.pid, -EPERM);
	tracee_do(&t, be_dumpable, 1);
	EXPECT_LT(0, bts(PTRACE_BTS_SIZE, t.pid, NULL, 0));
	tracee_end(&t);
}

TEST(siblings)
{
	as_user(_metadata, NOBODY, try_siblings);
}

#define SETUID	"/tmp/setuid"

static void run_setuid(unsigned long uid)
{
	if (uid)
		become(uid);
	execl(SETUID, SETUID, NULL);
	_exit(127);
}

static uid_t euid_of(pid_t pid)
{
	char path[64], line[128];
	uid_t uid = -1;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "Uid: %*u %u", &uid);
	if (status)
		fclose(status);
	return uid;
}

/* With an unprivileged tracer, execve() of a set-uid program does not change the user. */
static void try_setuid(struct __test_metadata *_metadata)
{
	struct tracee t = tracee_new();

	must_trace(t.pid, TRACE, ROOM, 0);
	tracee_begin(&t, run_setuid, 0);
	go_on(t.pid, SIGTRAP);
	EXPECT_EQ(NOBODY, euid_of(t.pid));
	EXPECT_LT(0, bts(PTRACE_BTS_SIZE, t.pid, NULL, 0));
	tracee_end(&t);
}

/*
 * With root as tracer, execve() of a set-uid program changes the user. Root may read the
 * trace.
 */
TEST(set_uid)
{
	struct tracee t;

	make_copy(_metadata, SETUID, "/bt/hello", 0700);
	ASSERT_EQ(0, chown(SETUID, SOMEBODY, SOMEBODY));
	ASSERT_EQ(0, chmod(SETUID, 04755));
	as_user(_metadata, NOBODY, try_setuid);

	t = tracee_new();
	must_trace(t.pid, TRACE, ROOM, 0);
	tracee_begin(&t, run_setuid, NOBODY);
	go_on(t.pid, SIGTRAP);
	EXPECT_EQ(SOMEBODY, euid_of(t.pid));
	EXPECT_LT(0, bts(PTRACE_BTS_SIZE, t.pid, NULL, 0));
	/* The credentials at PTRACE_TRACEME count. These were root's, and allow access. */
	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, 0));
	EXPECT_LT(0, bts(PTRACE_BTS_SIZE, t.pid, NULL, 0));
	ASSERT_EQ(0, setresuid(0, 0, 0));
	tracee_end(&t);
	unlink(SETUID);
}

static int write_sysctl(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static int nobody_config(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		become(NOBODY);
		_exit(-bts_config(start_chain(), TRACE | ALLOC, 240, 0));
	}
	waitpid(pid, &status, 0);
	return -WEXITSTATUS(status);
}

TEST(sysctl)
{
	struct ptrace_bts_status before;
	pid_t pid = start_chain();

	must_trace(pid, TRACE, ROOM, 0);
	run_chain(pid, 1);
	before = bts_status(pid);
	EXPECT_EQ(-EINVAL, write_sysctl(SYSCTL, "3"));
	EXPECT_EQ(-EINVAL, write_sysctl(SYSCTL, "-1"));
	EXPECT_EQ(0, nobody_config());

	ASSERT_EQ(0, write_sysctl(SYSCTL, "2"));
	expect_all(_metadata, pid, -EPERM);
	EXPECT_EQ(-EPERM, nobody_config());
	run_chain(pid, 1);

	ASSERT_EQ(0, write_sysctl(SYSCTL, "1"));
	EXPECT_EQ(-EPERM, nobody_config());
	/* The trace has recorded while the sysctl forbade requests. */
	EXPECT_LE(before.held + CHAIN_LENGTH, bts_status(pid).held);
	ASSERT_EQ(0, write_sysctl(SYSCTL, "0"));
	EXPECT_EQ(0, nobody_config());
	end_chain(pid);
}

/*
 * Use an existing trace of the kernel. Requests must fail with @err, or succeed if @err is 0. A
 * PTRACE_BTS_CONFIG with only TRACE must succeed in both cases.
 */
static void try_kernel(struct __test_metadata *_metadata, pid_t pid, int err)
{
	struct ptrace_bts_status status;
	struct x86_bts_record rec;

	EXPECT_EQ(err, bts_config(pid, KERNEL, 0, 0));
	EXPECT_EQ(err ?: (int)sizeof(status),
		  bts(PTRACE_BTS_STATUS, pid, &status, sizeof(status)));
	EXPECT_EQ(err, bts(PTRACE_BTS_GET, pid, &rec, 0));
	EXPECT_EQ(err ?: 1, bts(PTRACE_BTS_DRAIN, pid, &rec, 24));
	/* Without KERNEL, the trace still has records of the kernel, which stay protected. */
	EXPECT_EQ(0, bts_config(pid, TRACE, 0, 0));
	EXPECT_EQ(err ?: 1, bts(PTRACE_BTS_DRAIN, pid, &rec, 24));
}

/* A pipe. Writing to it makes a privileged process set PARANOID to 2. */
static int strict;

static void in_paranoid_1(struct __test_metadata *_metadata)
{
	pid_t pid = start_chain();

	must_trace(pid, KERNEL, 10000, 0);
	run_chain(pid, 1);
	try_kernel(_metadata, pid, 0);
	must_trace(pid, KERNEL | TRACE, 10000, 0);
	run_chain(pid, 1);
	/* Have the privileged process forbid traces of the kernel, and wait. */
	if (write(strict, "2", 1) != 1)
		give_up("pipe");
	while (!bts(PTRACE_BTS_CLEAR, pid, NULL, 0))
		usleep(1000);
	try_kernel(_metadata, pid, -EACCES);
	EXPECT_EQ(-EACCES, bts_config(pid, KERNEL | ALLOC, 240, 0));
	EXPECT_EQ(-EACCES, bts_config(pid, KERNEL | TRACE | ALLOC, 240, 0));
	EXPECT_EQ(-EACCES, bts_config(pid, ENTRY | TRACE | ALLOC, 240, 0));
	must_trace(pid, TRACE, ROOM, 0);
	run_chain(pid, 1);
	EXPECT_TRUE(is_chain(records, must_drain(pid, records, ROOM), 1, true));
	end_chain(pid);
}

TEST(kernel)
{
	int pipes[2], status;
	pid_t pid;
	char c;

	if (!bts_hardware())
		SKIP(return, "the trap flag does not record the kernel");
	ASSERT_EQ(0, pipe(pipes));
	strict = pipes[1];
	ASSERT_EQ(0, write_sysctl(PARANOID, "1"));
	pid = fork();
	if (!pid)
		_exit(read(pipes[0], &c, 1) != 1 || write_sysctl(PARANOID, "2"));
	as_user(_metadata, NOBODY, in_paranoid_1);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* At perf_event_paranoid 4, Debian's kernel refuses perf to users. Traces must be allowed there. */
TEST(paranoid)
{
	ASSERT_EQ(0, write_sysctl(PARANOID, "4"));
	EXPECT_EQ(0, nobody_config());
	EXPECT_EQ(0, write_sysctl(PARANOID, "2"));
}

/* RLIMIT_MEMLOCK is exact to the page. The end of a trace gives its memory back. */
static void try_limit(struct __test_metadata *_metadata)
{
	const unsigned int fits = PAGES * PAGE / 24, half = PAGES / 2 * PAGE / 24;
	const unsigned int skid = 320;
	pid_t one = start_chain(), other = start_chain();
	int i;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, bts_config(one, TRACE | ALLOC, RECORDS(fits), 0));
		ASSERT_EQ(-ENOMEM, bts_config(other, TRACE | ALLOC, 24, 0));
		ASSERT_EQ(-ENOMEM, bts_config(one, TRACE | ALLOC, 24, 0));
		ASSERT_EQ(0, bts_end(one));
		ASSERT_EQ(-ENOMEM, bts_config(one, TRACE | ALLOC, RECORDS(fits + 1), 0));
	}
	/* The reserve of a ring that stops when full is charged as well. */
	EXPECT_EQ(-ENOMEM, bts_config(one, TRACE | STOP_FULL | ALLOC, RECORDS(fits), 0));
	EXPECT_EQ(0, bts_config(one, TRACE | STOP_FULL | ALLOC, RECORDS(fits - skid), 0));
	EXPECT_EQ(0, bts_end(one));

	/* While the kernel allocates a new ring, the old ring is still charged. */
	must_trace(one, TRACE, half, 0);
	run_chain(one, 1);
	EXPECT_EQ(-ENOMEM, bts_config(one, TRACE | ALLOC, RECORDS(half + 1), 0));
	EXPECT_EQ(RECORDS(half), bts_status(one).size);
	EXPECT_TRUE(is_chain(records, must_drain(one, records, ROOM), 1, true));
	EXPECT_EQ(0, bts_config(one, TRACE | ALLOC, RECORDS(half), 0));
	EXPECT_EQ(0, bts_config(other, TRACE | ALLOC, RECORDS(half), 0));
	end_chain(one);
	end_chain(other);
	one = start_chain();
	EXPECT_EQ(0, bts_config(one, TRACE | ALLOC, RECORDS(fits), 0));
	end_chain(one);
}

TEST(limit)
{
	pid_t pid = start_chain();

	set_limit(PAGES * PAGE);
	as_user(_metadata, SOMEBODY, try_limit);
	/* This fails if the first run has not given back all memory. */
	as_user(_metadata, SOMEBODY, try_limit);
	/* CAP_IPC_LOCK lifts the limit. */
	EXPECT_EQ(0, bts_config(pid, TRACE | ALLOC, 2 * PAGES * PAGE, 0));
	end_chain(pid);
}

static void run_fork(unsigned long unused)
{
	(void)unused;
	if (!fork())
		_exit(0);
}

static void try_children(struct __test_metadata *_metadata)
{
	struct tracee t = tracee_new();
	const int options = PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL;
	unsigned long child;
	int i;

	must_trace(t.pid, TRACE | INHERIT, PAGES / 2 * PAGE / 24, 0);
	ASSERT_EQ(0, ptrace(PTRACE_SETOPTIONS, t.pid, NULL, options));
	/*
	 * The first child gets a trace. While it lives, there is no memory for another one.
	 */
	for (i = 0; i < 3; i++) {
		tracee_begin(&t, run_fork, 0);
		go_on(t.pid, SIGTRAP | PTRACE_EVENT_FORK << 8);
		ASSERT_EQ(0, ptrace(PTRACE_GETEVENTMSG, t.pid, NULL, &child));
		wait_stop(child, SIGSTOP);
		EXPECT_EQ(i ? -ENXIO : 0, bts(PTRACE_BTS_SIZE, child, NULL, 0)) TH_LOG("%d", i);
		EXPECT_EQ(i, bts_status(t.pid).not_inherited);
		go_on(t.pid, SIGSTOP);
	}
	tracee_end(&t);
}

TEST(limit_of_children)
{
	set_limit(PAGES * PAGE);
	as_user(_metadata, SOMEBODY, try_children);
}

/* When this program is started as `PROGRAM undumpable`, it makes itself undumpable and stops. */
__attribute__((constructor))
static void undumpable(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[1], "undumpable"))
		return;
	prctl(PR_SET_DUMPABLE, 0);
	raise(SIGSTOP);
	_exit(0);
}

static void run_undumpable(unsigned long unused)
{
	(void)unused;
	execl("/proc/self/exe", "permissions", "undumpable", NULL);
}

/* Capabilities in a user namespace must give no rights outside of the namespace. */
static void try_userns(struct __test_metadata *_metadata)
{
	struct tracee t;
	pid_t pid;

	ASSERT_EQ(0, unshare(CLONE_NEWUSER));
	ASSERT_EQ(0, prctl(PR_SET_DUMPABLE, 1));
	pid = start_chain();
	EXPECT_EQ(bts_hardware() ? -EACCES : -EOPNOTSUPP,
		  bts_config(pid, KERNEL | ALLOC, 240, 0));
	EXPECT_EQ(-ENOMEM, bts_config(pid, TRACE | ALLOC, 2 * PAGES * PAGE, 0));
	must_trace(pid, TRACE, ROOM, 0);
	run_chain(pid, 1);
	EXPECT_TRUE(is_chain(records, must_drain(pid, records, ROOM), 1, true));
	end_chain(pid);
	/* The tracer must not trace an undumpable program that was started outside. */
	t = tracee_new();
	must_trace(t.pid, TRACE, ROOM, 0);
	tracee_do(&t, be_dumpable, 0);
	expect_all(_metadata, t.pid, -EPERM);
	tracee_end(&t);
	/* The tracer may trace an undumpable program that was started in the namespace. */
	t = tracee_new();
	tracee_begin(&t, run_undumpable, 0);
	go_on(t.pid, SIGTRAP);
	go_on(t.pid, SIGSTOP);
	EXPECT_EQ(0, bts_config(t.pid, TRACE | ALLOC, 240, 0));
	tracee_end(&t);
}

TEST(user_namespace)
{
	set_limit(PAGES * PAGE);
	as_user(_metadata, SOMEBODY, try_userns);
}

/* Run as pid 1 of a pid namespace. Records must have the tracee's pid in that namespace. */
static void trace_in_pidns(struct __test_metadata *_metadata)
{
	size_t nr, i, events = 0;
	pid_t pid = start_chain();

	EXPECT_EQ(1, getpid());
	must_trace(pid, TRACE | SCHED, ROOM, 0);
	run_chain(pid, 1);
	nr = must_drain(pid, records, ROOM);
	for (i = 0; i < nr; i++) {
		if (records[i].type != X86_BTS_TASK_ARRIVES &&
		    records[i].type != X86_BTS_TASK_DEPARTS)
			continue;
		EXPECT_EQ(pid, records[i].event.pid);
		events++;
	}
	EXPECT_LE(2, events);
	end_chain(pid);
}

TEST(pid_namespace)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	pid = fork();
	if (!pid) {
		trace_in_pidns(_metadata);
		_exit(_metadata->exit_code);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
