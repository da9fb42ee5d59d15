// SPDX-License-Identifier: GPL-2.0
/*
 * Trace a real program from its first instruction to its end, while the emulator logs each
 * instruction. The oracle, a program on the host, compares the records with that log.
 *
 *   busy RECORDS PROGRAM [ARGUMENT...]	RECORDS: the least number of records that must come
 *
 * The printed line `# oracle ...` has the arguments for the oracle.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../guest/handover.h"
#include "../guest/tracee.h"

/* A record in the hardware's format, which the oracle reads. */
struct raw {
	u64 from;
	u64 to;
	u64 flags;
};

static pid_t start(char **argv)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execv(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !stopped_by(status, SIGSTOP))
		give_up("no tracee");
	if (ptrace(PTRACE_SETOPTIONS, pid, 0,
		   PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT))
		give_up("PTRACE_SETOPTIONS");
	if (!stopped_by(tracee_continue(pid, 0), SIGTRAP | PTRACE_EVENT_EXEC << 8))
		give_up("%s", argv[0]);
	return pid;
}

static bool run_logged(pid_t pid)
{
	int status;

	hmp("singlestep on", NULL, 0);
	log_on("exec,nochain,int");
	status = tracee_continue(pid, 0);
	log_off();
	hmp("singlestep off", NULL, 0);
	return stopped_by(status, SIGTRAP | PTRACE_EVENT_EXIT << 8);
}

/* Copy the branches to memory in the oracle's format, for hand_over(). */
static struct raw *raw_records(const struct trace *got, size_t *nr)
{
	struct raw *raw = mmap(NULL, got->nr * sizeof(*raw), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	*nr = 0;
	for (i = 0; i < got->nr; i++) {
		if (got->rec[i].type == X86_BTS_BRANCH)
			raw[(*nr)++] = (struct raw){ got->rec[i].branch.from,
						     got->rec[i].branch.to, 0 };
	}
	return raw;
}

int main(int argc, char **argv)
{
	size_t records = argc > 2 ? strtoull(argv[1], NULL, 0) : 0, nr;
	struct ptrace_bts_status status;
	struct trace got = { };
	struct raw *raw;
	pid_t pid;

	pid = start(argv + 2);
	if (bts_config(pid, TRACE | STOP_FULL | ALLOC, RECORDS(3 * records), 0))
		give_up("PTRACE_BTS_CONFIG");
	ok(run_logged(pid), "%s ran to its end", argv[2]);
	status = bts_status(pid);
	trace_drain(pid, &got, 4096);
	ok(got.nr >= records && !status.lost && !status.gaps && !trace_count(&got, X86_BTS_LOST),
	   "%zu records, none lost", got.nr);
	ok(trace_leak(&got) < 0, "no address of the kernel");
	raw = raw_records(&got, &nr);
	ok(hand_over("records", (u64)raw, nr * sizeof(*raw), false) && hand_over_code(),
	   "records and code handed over");
	hand_over_arguments();
	kill(pid, SIGKILL);
	return finish();
}
