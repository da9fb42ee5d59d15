// SPDX-License-Identifier: GPL-2.0
/* Begins the trace of a live thread, and reads it until the thread ends or is detached. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explain.h"
#include "read.h"
#include "tracee.h"

/* If memory is short, and -s was not given, try smaller traces down to this many bytes. */
#define SMALLEST	4096
/* The smallest share of RLIMIT_MEMLOCK that bytes_for() uses, in bytes */
#define SHARE_MIN	(16 * 1024)

static struct tracee **slot_of(struct bt_follow *f, pid_t tid)
{
	struct tracee **at = &f->slot[bt_hash(tid, TRACEE_BITS)];

	while (*at && (*at)->tid != tid)
		at = &(*at)->next;
	return at;
}

struct tracee *tracee_find(struct bt_follow *f, pid_t tid)
{
	return *slot_of(f, tid);
}

struct tracee *tracee_add(struct bt_follow *f, pid_t tid)
{
	struct tracee **at = slot_of(f, tid);

	if (!*at) {
		*at = bt_alloc(1, sizeof(**at));
		(*at)->tid = tid;
		f->nr++;
	}
	return *at;
}

void tracee_forget(struct bt_follow *f, pid_t tid)
{
	struct tracee **at = slot_of(f, tid), *t = *at;

	if (!t)
		return;
	*at = t->next;
	free(t);
	f->nr--;
}

/*
 * The thread has called execve(), and becomes the first thread of its process: its new ID is
 * @tid.
 */
void tracee_rename(struct bt_follow *f, struct tracee *t, pid_t tid)
{
	struct tracee **at;

	if (t->tid == tid)
		return;
	tracee_forget(f, tid);
	at = slot_of(f, t->tid);
	*at = t->next;
	t->next = NULL;
	t->tid = tid;
	*slot_of(f, tid) = t;
}

static u32 config_flags(const struct bt_how *how)
{
	u32 flags = PTRACE_BTS_F_ALLOC | PTRACE_BTS_F_TRACE;

	if (how->full)
		flags |= PTRACE_BTS_F_SIGNAL | PTRACE_BTS_F_STOP_FULL;
	if (how->kernel)
		flags |= PTRACE_BTS_F_KERNEL;
	if (how->entries)
		flags |= PTRACE_BTS_F_ENTRY;
	if (how->sched)
		flags |= PTRACE_BTS_F_SCHED;
	return flags;
}

static void give_up(struct bt_follow *f, struct tracee *t, int error, u32 bytes)
{
	int status;

	if (error == ESRCH)
		return;	/* The thread was killed: waitpid() will report that. */
	t->refused = true;
	/* The reason is mostly the same for all threads: print it once. */
	if (f->refused++)
		return;
	status = bt_explain_config(t->tid, error, bytes,
				   f->how.kernel || f->how.entries);
	if (f->one_traced)
		return;
	/* No thread has had a trace yet, so there is nothing to show: end. */
	f->error = status;
	f->ending = true;
	f->end_signal = SIGKILL;
}

/*
 * Tell the session which functions the just-in-time compiler of the process has listed since
 * the last call.
 */
static void tell_jit(struct bt_follow *f, struct tracee *t)
{
	struct bt_thread *thread = bt_session_find(f->s, t->tid);
	const struct bt_map *maps;
	size_t n, len;
	char *text;

	if (!thread)
		return;
	maps = bt_space_maps(thread->process->space, &n);
	text = bt_jit_read(f->jit, thread->process->tgid, maps, n, &len);
	if (text)
		bt_session_jit(f->s, t->tid, text, len);
	free(text);
}

/*
 * Tell the session what is mapped now. Do that early: after execve() the old mappings cannot
 * be read any more.
 */
static void tell_maps(struct bt_follow *f, struct tracee *t)
{
	bt_session_attach(f->s, t->tid, true);
	if (bt_proc_read(&f->maps, t->tid, "maps") && f->maps.len)
		bt_session_maps(f->s, t->tid, f->maps.bytes, f->maps.len);
	tell_jit(f, t);
}

/*
 * Warn, once, if a trace has no room for @f->s->last branches. Do not warn if no branches get lost
 * (@f->how.full), or if traces may shrink (@f->how.shrink).
 */
static void tell_short(struct bt_follow *f, u32 room)
{
	if (f->how.full || f->how.shrink || room >= f->s->last || f->short_told)
		return;
	f->short_told = true;
	bt_complain("a trace has room for %u branches only, not %u: ulimit -l, or more (-s)", room,
		    f->s->last);
}

/*
 * Warn, once, if the thread is executed step by step, as the kernel has no Branch Trace Store that
 * it can use. Do not warn if @f->how.quiet is true.
 */
static void tell_stepped(struct bt_follow *f, pid_t tid)
{
	struct ptrace_bts_status status;

	if (f->how.quiet || f->stepped_told || bt_status(tid, &status) ||
	    status.source != PTRACE_BTS_SOURCE_STEP)
		return;
	f->stepped_told = true;
	bt_complain("no Branch Trace Store here: the program is stepped, much slower");
}

/*
 * Returns the size of the trace of a new thread, in bytes. If traces may shrink, and the user
 * is not root, this is at most a share of RLIMIT_MEMLOCK: the more threads there are, the smaller
 * is the share, but not less than SHARE_MIN. If the limit is 8 MiB, it suffices for a hundred
 * threads, and the first trace has room for the branches of an uncaught exception, about 40,000.
 */
static u32 bytes_for(const struct bt_follow *f)
{
	struct rlimit limit;
	u64 share;

	if (!f->how.shrink || !geteuid() || getrlimit(RLIMIT_MEMLOCK, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return f->how.bytes;
	share = limit.rlim_cur / 6 / (f->nr ? f->nr : 1);
	if (share < SHARE_MIN)
		share = SHARE_MIN;
	return share < f->how.bytes ? share : f->how.bytes;
}

/* Begin the trace of a thread that has stopped, and that has no trace. */
void tracee_configure(struct bt_follow *f, struct tracee *t)
{
	struct ptrace_bts_config config = {
		.size = bytes_for(f), .flags = config_flags(&f->how),
		.bts_size = sizeof(struct x86_bts_record),
	};
	char comm[32];
	int err;

	while ((err = bt_configure(t->tid, &config)) == -ENOMEM && !f->how.fixed &&
	       config.size >= 2 * SMALLEST)
		config.size /= 2;
	if (err) {
		give_up(f, t, -err, config.size);
		return;
	}
	t->traced = true;
	f->one_traced = true;
	tell_stepped(f, t->tid);
	tell_short(f, config.size / sizeof(struct x86_bts_record));
	bt_proc_comm(t->tid, comm, sizeof(comm));
	bt_session_thread(f->s, t->tid, bt_proc_tgid(t->tid), bt_proc_is64(t->tid), comm);
	tell_maps(f, t);
}

/* Tell the session the first @n records of @f->rec, for the thread that it knows as @tid. */
static void tell_records(struct bt_follow *f, struct tracee *t, pid_t tid, int n)
{
	const struct x86_bts_record *rec;

	for (rec = f->rec; rec < f->rec + n; rec++)
		if (rec->type == X86_BTS_LOST)
			t->lost += rec->lost.count;
	bt_session_records(f->s, tid, f->rec, n);
}

static int read_records(struct bt_follow *f, struct tracee *t)
{
	int n = bt_drain(t->tid, f->rec, f->how.bytes / sizeof(struct x86_bts_record));

	if (n == -EPERM) {
		bt_complain("process %d is not dumpable any more, its trace is withheld: be root",
			    t->tid);
		t->traced = false;
	}
	return n;
}

/* If somebody else has taken the hardware, ask for the hardware again: it may be free now. */
static void regain(struct bt_follow *f, struct tracee *t)
{
	struct ptrace_bts_config config = { .flags = config_flags(&f->how) & ~PTRACE_BTS_F_ALLOC };
	struct ptrace_bts_status status;

	if (bt_status(t->tid, &status) || !(status.state & PTRACE_BTS_S_REVOKED))
		return;
	if (!f->revoked_told)
		bt_complain("somebody with CAP_PERFMON has the hardware: branches are missing");
	f->revoked_told = true;
	bt_configure(t->tid, &config);
}

/* Read all records of a stopped thread, and tell them to the session. */
void tracee_drain(struct bt_follow *f, struct tracee *t)
{
	bool first = true;
	int n;

	while (t->traced && (n = read_records(f, t)) > 0) {
		if (first)
			tell_maps(f, t);
		first = false;
		tell_records(f, t, t->tid, n);
	}
	if (t->traced)
		regain(f, t);
}

/*
 * A thread has executed another program. The records that were not read yet belong to the
 * old program.
 */
void tracee_exec(struct bt_follow *f, struct tracee *t, pid_t old)
{
	char comm[32];
	int n;

	if (!t->traced)
		return;
	bt_session_attach(f->s, old, false);
	while ((n = read_records(f, t)) > 0)
		tell_records(f, t, old, n);
	bt_proc_comm(t->tid, comm, sizeof(comm));
	bt_session_exec(f->s, t->tid, old, bt_proc_is64(t->tid), comm);
	bt_jit_exec(f->jit, t->tid);
	tell_maps(f, t);
}

static const char *signal_name(int sig, char *buf, size_t len)
{
	const char *abbrev = sigabbrev_np(sig);

	if (abbrev)
		snprintf(buf, len, "SIG%s", abbrev);
	else if (sig >= 32)
		snprintf(buf, len, "SIGRT_%d", sig - 32);
	else
		snprintf(buf, len, "signal %d", sig);
	return buf;
}

/* Did an instruction of the thread cause the signal? */
static bool is_fault(const siginfo_t *info, int sig)
{
	return info->si_code > 0 && (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL ||
				     sig == SIGFPE || sig == SIGTRAP || sig == SIGSYS);
}

/*
 * Returns a message about a fault: where it is and, if the kernel tells it, @info->si_addr. Of
 * SIGSEGV and SIGBUS, this is mostly the address that could not be accessed. The caller frees the
 * message.
 */
static char *fault_note(struct bt_follow *f, struct tracee *t, const siginfo_t *info,
			const char *name)
{
	char *where, *note;

	tell_maps(f, t);
	where = bt_session_where(f->s, t->tid, bt_proc_ip(t->tid));
	if (info->si_code == SI_KERNEL || info->si_signo == SIGSYS)
		note = bt_print("--- %s at %s ---", name, where);
	else
		note = bt_print("--- %s at %s, address 0x%llx ---", name, where,
				(unsigned long long)(uintptr_t)info->si_addr);
	free(where);
	return note;
}

/* Tell the session that a thread is about to get a signal. */
void tracee_signal(struct bt_follow *f, struct tracee *t, int sig)
{
	char name[32], *note;
	siginfo_t info;

	signal_name(sig, name, sizeof(name));
	if (ptrace(PTRACE_GETSIGINFO, t->tid, 0, &info))
		return;
	if (is_fault(&info, sig))
		note = fault_note(f, t, &info, name);
	else if (info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL)
		note = bt_print("--- %s from process %d ---", name, info.si_pid);
	else
		note = bt_print("--- %s ---", name);
	bt_session_note(f->s, t->tid, note);
	free(note);
}

/*
 * Returns how a thread has ended, as text. @status has the format of waitpid(). The caller frees
 * the text.
 */
char *tracee_ending(int status)
{
	char name[32];

	if (WIFEXITED(status))
		return bt_print("+++ exited with %d +++", WEXITSTATUS(status));
	signal_name(WTERMSIG(status), name, sizeof(name));
	return bt_print("+++ killed by %s%s +++", name, WCOREDUMP(status) ? " (core dumped)" : "");
}

/*
 * Tell the session of missing records that no record X86_BTS_LOST has counted: the trace may
 * have had no room for such a record, or newer records have overwritten it.
 */
static void tell_losses(struct bt_follow *f, struct tracee *t)
{
	struct ptrace_bts_status status;
	struct x86_bts_record rec = { .type = X86_BTS_LOST };

	if (!t->traced || bt_status(t->tid, &status) || status.lost <= t->lost)
		return;
	rec.lost.count = status.lost - t->lost;
	bt_session_records(f->s, t->tid, &rec, 1);
}

/*
 * A stopped thread is about to end, or to be detached: tell the session the rest of its
 * trace, and @how it has ended.
 */
void tracee_leave(struct bt_follow *f, struct tracee *t, const char *how)
{
	if (t->done)
		return;
	tracee_drain(f, t);
	tell_losses(f, t);
	bt_session_ended_at(f->s, t->tid, bt_proc_ip(t->tid));
	bt_session_exit(f->s, t->tid, how);
	t->done = true;
}
