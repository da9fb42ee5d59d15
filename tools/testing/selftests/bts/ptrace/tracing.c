// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracing.h"

void must_trace(pid_t pid, uint32_t flags, unsigned int records, uint32_t signal)
{
	errno = -bts_config(pid, flags | ALLOC, RECORDS(records), signal);
	if (errno)
		give_up("CONFIG of %u records, flags %#x", records, flags);
}

size_t must_drain(pid_t pid, struct x86_bts_record *rec, size_t room)
{
	int ret = bts(PTRACE_BTS_DRAIN, pid, rec, RECORDS(room));

	if (ret < 0)
		give_up("DRAIN");
	return ret;
}

void go_on(pid_t pid, int signal)
{
	int status;

	/* Discard SIGCHLD from children of the tracee. */
	do {
		status = tracee_continue(pid, 0);
	} while (stopped_by(status, SIGCHLD));
	if (!stopped_by(status, signal))
		give_up("status %#x of %d, not a stop by %#x", status, pid, signal);
}

pid_t start_chain(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		chain();
	}
	if (pid < 0)
		give_up("fork");
	wait_stop(pid, SIGTRAP);
	return pid;
}

void run_chain(pid_t pid, unsigned int passes)
{
	if (ptrace(PTRACE_POKEDATA, pid, &chain_passes, (long)passes))
		give_up("PTRACE_POKEDATA");
	go_on(pid, SIGTRAP);
}

void end_chain(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	/* The tracee may have stopped, or may yet stop, by PTRACE_EVENT_EXIT. */
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL, NULL);
}

/* Compute source and target of branch @i, counted from 0, in a run of @passes. */
static void chain_branch(unsigned int i, unsigned int passes, uint64_t *from, uint64_t *to)
{
	unsigned int link = i % CHAIN_LENGTH;

	if (link < CHAIN_LENGTH - 1) {
		*from = (uintptr_t)chain_first + link * CHAIN_LINK;
		*to = *from + CHAIN_LINK;
	} else if (i == passes * CHAIN_LENGTH - 1) {
		*from = (uintptr_t)chain_back;
		*to = (uintptr_t)chain;
	} else {
		*from = (uintptr_t)chain_again;
		*to = (uintptr_t)chain_first;
	}
}

/* Returns whether @rec is a return from the kernel to chain(). */
static bool is_return(const struct x86_bts_record *rec)
{
	return rec->type == X86_BTS_LEAVE && !rec->branch.from &&
	       rec->branch.to >= (uintptr_t)chain &&
	       rec->branch.to < (uintptr_t)chain_end;
}

bool is_chain(const struct x86_bts_record *rec, size_t nr, unsigned int passes, bool whole)
{
	unsigned int i = passes * CHAIN_LENGTH;
	uint64_t from, to;
	size_t n = nr;

	/* Go backwards: if records are missing, they are those at the beginning. */
	while (n--) {
		if (is_return(rec + n))
			continue;
		if (!i--) {
			printf("# record %zu of %zu: more than all branches\n", n, nr);
			return false;
		}
		chain_branch(i, passes, &from, &to);
		if (rec[n].type == X86_BTS_BRANCH && rec[n].branch.from == from &&
		    rec[n].branch.to == to)
			continue;
		printf("# record %zu of %zu: %u %#llx %#llx instead of branch %u\n",
		       n, nr, rec[n].type, rec[n].branch.from, rec[n].branch.to, i);
		return false;
	}
	if (whole && i)
		printf("# %u branches are missing\n", i);
	return !whole || !i;
}

size_t known_count(const struct x86_bts_record *rec, size_t nr)
{
	size_t i, count = 0;

	for (i = 0; i < nr; i++)
		count += rec[i].type == X86_BTS_BRANCH &&
			 rec[i].branch.from == (uintptr_t)known_site &&
			 rec[i].branch.to == (uintptr_t)known_loop;
	return count;
}

/* If a program without arguments runs on a machine without branch traces, skip all tests. */
__attribute__((constructor))
static void need_branch_traces(int argc)
{
	pid_t pid;
	int err;

	if (argc != 1)
		return;
	pid = start_chain();
	err = bts_config(pid, TRACE | ALLOC, RECORDS(1), 0);
	end_chain(pid);
	if (err != -EOPNOTSUPP && err != -EIO)
		return;
	printf("TAP version 13\n1..0 # SKIP no branch traces: %s\n", strerror(-err));
	fflush(stdout);
	_exit(4);
}
