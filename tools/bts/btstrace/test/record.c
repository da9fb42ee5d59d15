// SPDX-License-Identifier: GPL-2.0
/*
 * record [-x STEPS] FILE COMMAND...: execute a command step by step, on any machine, and
 * write a recorded trace of it to FILE. This program finds out whether an instruction has branched,
 * from the instruction and the addresses before and after it. With -x, before each step, the
 * file STEPS gets a line with the address and the length of the next instruction. STEPS also gets a
 * line "branch" for each record, and for the system call that ends the command. Tests compare STEPS
 * with what btstrace finds.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"
#include "jitread.h"
#include "proc.h"
#include "session.h"

#define BATCH	1000

static const struct bt_output silent = { .name = "silent" };

static struct bt_session session = { .out = &silent };
static struct x86_bts_record rec[BATCH];
static size_t nr;
static FILE *steps;
static struct bt_buffer maps;
static struct bt_jit_reader *jit;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void tell_jit(pid_t pid)
{
	struct bt_thread *t = bt_session_find(&session, pid);
	const struct bt_map *map;
	size_t n, len;
	char *text;

	if (!t)
		return;
	map = bt_space_maps(t->process->space, &n);
	text = bt_jit_read(jit, pid, map, n, &len);
	if (text)
		bt_session_jit(&session, pid, text, len);
	free(text);
}

static void flush(pid_t pid)
{
	bt_session_attach(&session, pid, true);
	if (bt_proc_read(&maps, pid, "maps") && maps.len)
		bt_session_maps(&session, pid, maps.bytes, maps.len);
	tell_jit(pid);
	bt_session_records(&session, pid, rec, nr);
	nr = 0;
}

static void add(pid_t pid, u64 what, u64 from, u64 to)
{
	if (steps)
		fputs("branch\n", steps);
	rec[nr++] = (struct x86_bts_record){ .type = what, .branch = { from, to } };
	if (nr == BATCH)
		flush(pid);
}

static u64 position(pid_t pid)
{
	return ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), 0);
}

static void look(pid_t pid, bool is64, u64 at, struct bt_insn *insn)
{
	u8 bytes[BT_INSN_MAX];
	struct iovec here = { bytes, sizeof(bytes) }, there = { (void *)at, sizeof(bytes) };
	ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);

	if (n < 0) {
		here.iov_len = 4096 - at % 4096;
		there.iov_len = here.iov_len;
		n = process_vm_readv(pid, &here, 1, &there, 1, 0);
	}
	bt_decode(bytes, n < 0 ? 0 : n, at, is64, insn);
}

/* The address that a system call returns to, unless a signal handler runs first; or 0 */
static u64 pending;

static void note_return(pid_t pid, bool handler)
{
	if (pending && !handler)
		add(pid, X86_BTS_LEAVE, 0, pending);
	pending = 0;
}

/*
 * Record the step from @from to @to. The thread got the signal @sig with it, or none if @sig
 * is 0.
 */
static void note_step(pid_t pid, const struct bt_insn *insn, u64 from, u64 to, int sig)
{
	bool branches = insn->kind != BT_UNKNOWN;

	note_return(pid, sig && !branches && to != from && to != from + insn->length);
	switch (insn->kind) {
	case BT_CALL:
	case BT_RET:
	case BT_JMP:
		add(pid, X86_BTS_BRANCH, from, to);
		break;
	case BT_JCC:
		if (to != from + insn->length)
			add(pid, X86_BTS_BRANCH, from, to);
		break;
	case BT_SYSCALL:
		pending = to;
		flush(pid);
		break;
	default:
		/*
		 * Assume that a signal handler has begun if @to is neither the next instruction
		 * nor, for a repeated string instruction, the same one.
		 */
		if (to != from && to != from + insn->length)
			add(pid, X86_BTS_LEAVE, 0, to);
	}
}

static int step_through(pid_t pid)
{
	bool is64 = bt_proc_is64(pid);
	u64 from = position(pid), to;
	struct bt_insn insn;
	int status, sig = 0, given;
	char comm[32];

	bt_proc_comm(pid, comm, sizeof(comm));
	bt_session_thread(&session, pid, pid, is64, comm);
	add(pid, X86_BTS_LEAVE, 0, from);
	for (;;) {
		look(pid, is64, from, &insn);
		if (steps)
			fprintf(steps, "%llu %d\n", (unsigned long long)from, insn.length);
		given = sig;
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, (long)sig) || waitpid(pid, &status, 0) != pid)
			fail("step");
		if (!WIFSTOPPED(status))
			return status;
		if (status >> 16 == PTRACE_EVENT_EXIT) {
			flush(pid);
			bt_session_ended_at(&session, pid, bt_proc_ip(pid));
			/* The system call that ends the command makes no record. */
			if (steps && insn.kind == BT_SYSCALL)
				fputs("branch\n", steps);
			sig = 0;
			continue;
		}
		sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		to = position(pid);
		if (!sig)
			note_step(pid, &insn, from, to, given);
		from = to;
	}
}

int main(int argc, char **argv)
{
	int fd, status;
	pid_t pid;

	if (argc > 2 && !strcmp(argv[1], "-x")) {
		steps = fopen(argv[2], "we");
		if (!steps)
			fail(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc < 3) {
		fprintf(stderr, "usage: record [-x STEPS] FILE COMMAND...\n");
		return 1;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		fail(argv[1]);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		fail(argv[2]);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
	session.record = bt_writer_open(fd);
	jit = bt_jit_reader_new();
	bt_session_begin(&session);
	status = step_through(pid);
	bt_session_exit(&session, pid, WIFSIGNALED(status) ? "+++ killed +++" : "+++ exited +++");
	bt_session_end(&session);
	errno = bt_writer_close(session.record);
	if (errno)
		fail(argv[1]);
	if (steps && fclose(steps))
		fail("the steps");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
