// SPDX-License-Identifier: GPL-2.0
/*
 * Check that the branch flight recorder still records the kernel's branches while a program is
 * traced by the trap flag, even on processors where #DB stops the recording.
 *
 *   stepped
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asm/ptrace_bts.h>

#include "../guest/recorder.h"

#define CALLS	100
#define ROOM	10000

/*
 * The program that is traced step by step. At its end, it freezes the recorder, so the newest
 * branches are those of the write() to the file "freeze".
 */
static int program(void)
{
	int i;

	raise(SIGSTOP);
	for (i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	return set("freeze", "1") ? 1 : 0;
}

static void trace(pid_t pid)
{
	struct ptrace_bts_config config = {
		.size = ROOM * sizeof(struct x86_bts_record),
		.flags = PTRACE_BTS_F_TRACE | PTRACE_BTS_F_ALLOC,
		.source = PTRACE_BTS_SOURCE_STEP,
	};
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_BTS_CONFIG, pid, &config, sizeof(config)) < 0)
		give_up("PTRACE_BTS_CONFIG");
	ptrace(PTRACE_CONT, pid, 0, 0);
	ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	   "the program has frozen the recorder: status %#x", status);
}

int main(void)
{
	size_t n;
	pid_t pid;

	pin_to(0);
	must_set("enable", "1");
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		_exit(program());
	}
	trace(pid);
	n = count_lines(get("trace"), 0, "hw_branches_freeze");
	ok(n > 0, "%zu branches of hw_branches_freeze()", n);
	return finish();
}
