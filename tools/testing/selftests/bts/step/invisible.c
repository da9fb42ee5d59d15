// SPDX-License-Identifier: GPL-2.0
/*
 * A program must not notice that the kernel records its branches by the trap flag (TF). The
 * program logs what it sees of TF and of single steps. The program runs three times: alone, with
 * a tracer but without a branch trace, and with a branch trace by TF. The tracer of the second and
 * the third run logs the stops. The program's three logs must be the same, and so must the
 * tracer's two.
 *
 *   invisible [smap]	smap: skip IRET and far RET, which fail in the emulator with SMAP
 */
#include <asm/ldt.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "../guest/tracee.h"
#include "invisible.h"

#define TF	0x100
#define ROOM	65536

#ifdef __x86_64__
#define REG_IP	REG_RIP
#define USER_IP	offsetof(struct user_regs_struct, rip)
#define USER_FL	offsetof(struct user_regs_struct, eflags)
#else
#define REG_IP	REG_EIP
#define USER_IP	(4 * 12)
#define USER_FL	(4 * 14)
#endif

static const struct {
	const char *name;
	unsigned long (*test)(void);
	bool iret;
} invisible_tests[] = {
	{ "pushf", invisible_pushf, false },
	{ "pushfw", invisible_pushfw, false },
	{ "mov ss", invisible_mov_ss, false },
	{ "mov ss twice", invisible_mov_ss_twice, false },
	{ "mov ss often", invisible_mov_ss_often, false },
	{ "pop ss", invisible_pop_ss, false },
	{ "popf again", invisible_popf_again, false },
	{ "steps", invisible_steps, false },
	{ "steps and system calls", invisible_steps_far, false },
	{ "steps and calls", invisible_steps_call, false },
	{ "iret", invisible_iret, true },
	{ "iret sets it", invisible_iret_tf, true },
	{ "lret", invisible_lret, true },
	{ "int80", invisible_int80, false },
	{ "rep", invisible_rep, false },
	{ "fault", invisible_fault, false },
	{ "undefined", invisible_undefined, false },
	{ "divide", invisible_divide, false },
	{ "breakpoint", invisible_breakpoint, false },
	{ "getppid", invisible_getppid, false },
#ifdef __x86_64__
	{ "syscall", invisible_syscall, false },
	{ "syscall with rex", invisible_syscall_rex, false },
	{ "syscall with a prefix", invisible_syscall_66, false },
	{ "syscall behind mov ss", invisible_syscall_ss, false },
	{ "syscall of no number", invisible_syscall_none, false },
	{ "forged registers", invisible_forged, false },
	{ "vsyscall", invisible_vsyscall, false },
	{ "compat", invisible_compat, true },
#else
	{ "sysenter", invisible_sysenter, false },
	{ "pushf into a segment", invisible_pushf_segment, false },
#endif
};

struct transcript {
	size_t used;
	char text[ROOM];
};

static struct transcript *seen;
/* The selector of syscall user dispatch: whether the kernel turns a system call into SIGSYS. */
static volatile char dispatch = SYSCALL_DISPATCH_FILTER_ALLOW;
static const char *what = "";
static bool smap;

__attribute__((format(printf, 1, 2)))
static void see(const char *fmt, ...)
{
	size_t room = ROOM - seen->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(seen->text + seen->used, room, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < room)
		seen->used += n;
}

/* Log a signal: its number and code, the interrupted address relative to invisible_text, and TF. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *regs = uc->uc_mcontext.gregs;

	dispatch = SYSCALL_DISPATCH_FILTER_ALLOW;
	see("%s: signal %d code %d at %+ld, trap flag %d\n", what, sig, info->si_code,
	    (long)(regs[REG_IP] - (greg_t)(uintptr_t)invisible_text), !!(regs[REG_EFL] & TF));
#ifdef __x86_64__
	if (sig == SIGSYS)
		see("%s: r11 %d\n", what, !!(regs[REG_R11] & TF));
#endif
	if (sig == SIGSEGV || sig == SIGILL || sig == SIGFPE)
		regs[REG_IP] = (greg_t)invisible_resume;
	/* step_by_sigreturn() single-steps one instruction: SIGUSR2 sets TF, SIGTRAP clears TF. */
	if (sig == SIGUSR2)
		regs[REG_EFL] |= TF;
	if (sig == SIGTRAP && invisible_once)
		regs[REG_EFL] &= ~TF;
}

/* Run one test and log whether TF is set in the flags that it returns. */
static void one(const char *name, unsigned long (*test)(void))
{
	unsigned long flags;

	what = name;
	flags = test();
	see("%s: trap flag %d\n", name, !!(flags & TF));
}

static unsigned long raise_usr1(void)
{
	raise(SIGUSR1);
	return invisible_pushf();
}

/* The handler of SIGUSR2 sets TF in the signal frame, so sigreturn() starts single-stepping. */
static unsigned long step_by_sigreturn(void)
{
	invisible_once = 1;
	raise(SIGUSR2);
	invisible_once = 0;
	return invisible_pushf();
}

static unsigned long in_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		see("child: trap flag %d\n", !!(invisible_pushf() & TF));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return invisible_pushf();
}

static unsigned long in_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		see("child: trap flag %d\n", !!(invisible_steps() & TF));
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return invisible_pushf();
}

static int run_thread(void *unused)
{
	(void)unused;
	see("thread: trap flag %d\n", !!(invisible_pushf() & TF));
	return 0;
}

static unsigned long in_thread(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int flags = CLONE_VM | CLONE_FILES | SIGCHLD;
	pid_t pid = clone(run_thread, stack + sizeof(stack), flags, NULL);

	waitpid(pid, NULL, 0);
	return invisible_pushf();
}

/* Syscall user dispatch turns the call into a SIGSYS, whose frame shows the flags. */
static unsigned long dispatched_call(void)
{
	unsigned long flags;

	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &dispatch))
		give_up("PR_SET_SYSCALL_USER_DISPATCH");
	dispatch = SYSCALL_DISPATCH_FILTER_BLOCK;
	flags = invisible_getppid();
	prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
	return flags;
}

/* Like dispatched_call(), but by seccomp. Without CONFIG_NET, log the error of prctl(). */
static unsigned long filtered_call(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(filter), filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		see("%s: %s\n", what, strerror(errno));
	return invisible_getppid();
}

static void all(void)
{
	static const int signals[] = {
		SIGTRAP, SIGUSR1, SIGUSR2, SIGSEGV, SIGILL, SIGFPE, SIGSYS,
	};
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	size_t i;

	sigaltstack(&alternate, NULL);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);

	for (i = 0; i < ARRAY_SIZE(invisible_tests); i++) {
		if (!smap || !invisible_tests[i].iret)
			one(invisible_tests[i].name, invisible_tests[i].test);
	}
	one("signal", raise_usr1);
	one("sigreturn", step_by_sigreturn);
	one("vfork", in_vfork);
	one("fork", in_fork);
	one("thread", in_thread);
	one("dispatch", dispatched_call);
	one("seccomp", filtered_call);
}

enum how { ALONE, TRACED, STEPPED };

static void child(enum how how)
{
	if (how != ALONE) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
	}
	all();
	_exit(0);
}

/* Continue the tracee to its end, and log each stop, except stops by SIGCHLD: their time varies. */
static int follow(pid_t pid, struct transcript *stops)
{
	int status, signal = 0;
	unsigned long ip, flags;

	for (;;) {
		if (ptrace(PTRACE_CONT, pid, 0, signal) || waitpid(pid, &status, 0) != pid)
			give_up("the tracee");
		if (!WIFSTOPPED(status))
			return status;
		ip = ptrace(PTRACE_PEEKUSER, pid, USER_IP, 0);
		flags = ptrace(PTRACE_PEEKUSER, pid, USER_FL, 0);
		signal = WSTOPSIG(status);
		if (signal == SIGCHLD)
			continue;
		stops->used += snprintf(stops->text + stops->used, ROOM - stops->used,
					"stop %x at %+ld, trap flag %d\n", status,
					(long)(ip - (uintptr_t)invisible_text), !!(flags & TF));
	}
}

/* Run the tests once. The program logs to @program, and its tracer to @stops. */
static void run(enum how how, struct transcript *program, struct transcript *stops)
{
	struct ptrace_bts_config config = {
		.size = RECORDS(100000),
		.flags = TRACE | ALLOC,
		.source = PTRACE_BTS_SOURCE_STEP,
	};
	int status;
	pid_t pid;

	seen = program;
	pid = fork();
	if (!pid)
		child(how);
	if (how == ALONE) {
		waitpid(pid, &status, 0);
	} else {
		waitpid(pid, &status, 0);
		if (how == STEPPED && bts(PTRACE_BTS_CONFIG, pid, &config, sizeof(config)))
			give_up("PTRACE_BTS_CONFIG");
		status = follow(pid, stops);
	}
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "%s: status %#x, %zu bytes",
	   how == ALONE ? "alone" : how == TRACED ? "traced" : "stepped", status,
	   program->used);
}

/* Compare two logs, and print the first line that differs. */
static bool same(const struct transcript *a, const struct transcript *b)
{
	size_t i, line = 0;

	if (a->used == b->used && !memcmp(a->text, b->text, a->used))
		return true;
	for (i = 0; i < a->used && a->text[i] == b->text[i]; i++) {
		if (a->text[i] == '\n')
			line = i + 1;
	}
	printf("# %.*s\n# %.*s\n", (int)strcspn(a->text + line, "\n"), a->text + line,
	       (int)strcspn(b->text + line, "\n"), b->text + line);
	return false;
}

#ifndef __x86_64__
/* Make a segment whose base is so high that addresses wrap at 4 GiB. */
static void need_segment(void)
{
	struct user_desc desc = {
		.base_addr		= INVISIBLE_SEGMENT,
		.limit			= 0xfffff,
		.seg_32bit		= 1,
		.limit_in_pages		= 1,
	};

	if (syscall(SYS_modify_ldt, 1, &desc, sizeof(desc)))
		give_up("modify_ldt");
}
#endif

int main(int argc, char **argv)
{
	struct transcript *program[3], *stops[3];
	int i;

#ifndef __x86_64__
	invisible_vdso = getauxval(AT_SYSINFO);
	need_segment();
#endif
	smap = argc > 1 && !strcmp(argv[1], "smap");
	for (i = 0; i < 3; i++) {
		program[i] = shared_memory(sizeof(*program[i]));
		stops[i] = shared_memory(sizeof(*stops[i]));
		run(i, program[i], stops[i]);
	}
	ok(same(program[ALONE], program[TRACED]), "ptrace() alone does not show");
	ok(same(program[ALONE], program[STEPPED]), "the program sees the same");
	ok(same(stops[TRACED], stops[STEPPED]), "its tracer sees the same");
	ok(strstr(program[ALONE]->text, "trap flag 1") && stops[TRACED]->used > 1000,
	   "they see steps");
	return finish();
}
