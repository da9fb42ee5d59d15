// SPDX-License-Identifier: GPL-2.0
/*
 * Traces by the trap flag (TF) of programs with rarely used instructions, of programs whose
 * memory changes meanwhile, and of a program whose tracer exits.
 *
 *   odd		instructions and memory
 *   odd block	tracer that exits, on a machine where PTRACE_SINGLEBLOCK stops at branches only
 */
#include <asm/ldt.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "../guest/system.h"
#include "../guest/tracee.h"

#define PAGE	4096UL
#define ROOM	100000

#ifdef __x86_64__
#define REG_IP	REG_RIP
#else
#define REG_IP	REG_EIP
#endif

void odd_mov_ss(void);
void odd_pushes(void *stack, volatile unsigned int *counter);
void odd_block(void *memory, unsigned long n);
extern const char odd_ss_loop[], odd_pushes_end[], odd_block_end[];

/* Shared by the tracer, a tracee, and another task in the tracee's address space. */
static struct {
	volatile unsigned int pushes;
	volatile bool stop;
	volatile long switches;
	volatile unsigned long trapped;
} *shared;

static void begin_trace(pid_t pid, uint32_t flags)
{
	struct ptrace_bts_config config = {
		.size = RECORDS(ROOM),
		.flags = TRACE | ALLOC | flags,
		.source = PTRACE_BTS_SOURCE_STEP,
	};

	errno = -bts(PTRACE_BTS_CONFIG, pid, &config, sizeof(config));
	if (errno)
		give_up("PTRACE_BTS_CONFIG");
}

/* Like tracee_do(), but deliver SIGSEGV and SIGCHLD to the tracee. */
static void do_shared(const struct tracee *t, void (*what)(unsigned long), unsigned long arg)
{
	int status;

	tracee_begin(t, what, arg);
	status = tracee_continue(t->pid, 0);
	while (stopped_by(status, SIGSEGV) || stopped_by(status, SIGCHLD))
		status = tracee_continue(t->pid, WSTOPSIG(status));
	if (!stopped_by(status, SIGSTOP))
		give_up("the tracee has status %#x", status);
}

static void after_mov_ss(unsigned long unused)
{
	(void)unused;
	odd_mov_ss();
}

static void check_mov_ss(void)
{
	struct tracee t = tracee_new();
	struct trace got = { };
	size_t i, loops = 0;

	begin_trace(t.pid, 0);
	tracee_do(&t, after_mov_ss, 0);
	trace_drain(t.pid, &got, ROOM);
	for (i = 0; i < got.nr; i++) {
		loops += got.rec[i].type == X86_BTS_BRANCH &&
			 got.rec[i].branch.from == (uintptr_t)odd_ss_loop &&
			 got.rec[i].branch.to == (uintptr_t)odd_ss_loop;
	}
	ok(loops == 2 && !trace_count(&got, X86_BTS_LOST),
	   "a branch to itself behind MOV SS: %zu of 2", loops);
	trace_free(&got);
	tracee_end(&t);
}

#ifndef __x86_64__
#define SEGMENT	0x10000

void odd_segment(const void *where);
extern const char odd_segment_in[], odd_segment_end[];

static void into_segment(unsigned long unused)
{
	struct user_desc desc = {
		.base_addr		= SEGMENT,
		.limit			= 0xfffff,
		.seg_32bit		= 1,
		.contents		= MODIFY_LDT_CONTENTS_CODE,
		.limit_in_pages		= 1,
	};
	const struct {
		uint32_t offset;
		uint16_t selector;
	} where = { (uintptr_t)odd_segment_in - SEGMENT, 7, };

	(void)unused;
	if (syscall(SYS_modify_ldt, 1, &desc, sizeof(desc)))
		give_up("modify_ldt");
	odd_segment(&where);
}

/*
 * Records must have linear addresses, also if the code segment has a base. Code segments whose
 * addresses wrap at 4 GiB are tested in the kernel's unit tests only: with a 64-bit kernel,
 * QEMU 7.2 cannot fetch code there.
 */
static void check_segment(void)
{
	/* offsets from odd_segment of the targets of CALL, JMP, LOOP twice, and RET */
	static const long in = 7, to[] = { 7, 10, 15, 15, 6 };
	struct tracee t = tracee_new();
	struct trace got = { };
	size_t i, n = 0, right = 0;

	begin_trace(t.pid, 0);
	tracee_do(&t, into_segment, 0);
	trace_drain(t.pid, &got, ROOM);
	for (i = 0; i < got.nr; i++) {
		unsigned long base = (uintptr_t)odd_segment_in - in;

		if (got.rec[i].type != X86_BTS_BRANCH || got.rec[i].branch.from < base ||
		    got.rec[i].branch.from >= (uintptr_t)odd_segment_end ||
		    got.rec[i].branch.from == base + 6)
			continue;
		right += n < ARRAY_SIZE(to) && got.rec[i].branch.to == base + to[n];
		n++;
	}
	ok(n == ARRAY_SIZE(to) && right == n && !trace_count(&got, X86_BTS_LOST),
	   "branches in a segment of code: %zu, %zu of %zu right", n, right, ARRAY_SIZE(to));
	trace_free(&got);
	tracee_end(&t);
}
#endif

/* Start a task that executes @run in the address space of the caller. */
static pid_t share_memory(int (*run)(void *), void *arg)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = clone(run, stack + sizeof(stack), CLONE_VM | SIGCHLD, arg);

	if (pid < 0)
		give_up("clone");
	return pid;
}

static void *map(size_t size, int protection)
{
	void *mem = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (mem == MAP_FAILED)
		give_up("mmap");
	return mem;
}

/* Take the mmap lock for writing again and again, by changing protections. */
static int keep_map_busy(void *unused)
{
	const size_t size = 16 << 20;
	void *mem = map(size, PROT_READ | PROT_WRITE);

	(void)unused;
	while (!shared->stop) {
		mprotect(mem, size, PROT_READ);
		mprotect(mem, size, PROT_READ | PROT_WRITE);
	}
	_exit(0);
}

/*
 * Run a loop in the last bytes before an unmapped page. The kernel reads at least eight bytes for
 * each instruction, and so reaches that page: it must take the mmap lock, and may sleep.
 */
static void loop_at_page_end(unsigned long n)
{
	static const uint8_t loop[] = { 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
	uint8_t *page = map(2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	pid_t pid = share_memory(keep_map_busy, NULL);
	struct rusage usage;

	munmap(page + PAGE, PAGE);
	memcpy(page + PAGE - sizeof(loop), loop, sizeof(loop));
	asm volatile("call *%1" : "+c"(n) : "a"(page + PAGE - sizeof(loop)) : "cc", "memory");
	getrusage(RUSAGE_SELF, &usage);
	shared->switches = usage.ru_nvcsw;
	shared->stop = true;
	waitpid(pid, NULL, 0);
}

/* X86_BTS_ENTER and X86_BTS_LEAVE must alternate, also if the kernel sleeps to read memory. */
static void check_sleep(void)
{
	struct tracee t = tracee_new();
	struct trace got = { };
	size_t i, single = 0;

	begin_trace(t.pid, ENTRY);
	do_shared(&t, loop_at_page_end, 30000);
	trace_drain(t.pid, &got, ROOM);
	for (i = 1; i < got.nr; i++) {
		bool entered = got.rec[i - 1].type == X86_BTS_ENTER;

		if (entered == (got.rec[i].type == X86_BTS_LEAVE))
			continue;
		if (!single++)
			trace_print(&got, i);
	}
	ok(shared->switches > 2, "it slept %ld times", shared->switches);
	ok(!single && trace_count(&got, X86_BTS_ENTER) > 10,
	   "%zu entries of the kernel, %zu without a way out or the contrary",
	   trace_count(&got, X86_BTS_ENTER), single);
	trace_free(&got);
	tracee_end(&t);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	uc->uc_mcontext.gregs[REG_IP] = (greg_t)(uintptr_t)odd_pushes_end;
}

static int ones;
static uint8_t *pushed;

/* After some pushes of odd_pushes(), replace its stack by a page that is not writable. */
static int replace_stack(void *round)
{
	unsigned int until = shared->pushes + 5 + (uintptr_t)round % 7;
	volatile unsigned int wait = (uintptr_t)round * 37 % 1000;

	while ((int)(shared->pushes - until) < 0)
		;
	while (wait--)
		;
	if (mmap(pushed, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, ones, 0) != pushed)
		_exit(1);
	_exit(0);
}

static void push_until_fault(unsigned long round)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	pid_t pid;

	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	mmap(pushed, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	pid = share_memory(replace_stack, (void *)round);
	odd_pushes(pushed + PAGE / 2, &shared->pushes);
	waitpid(pid, NULL, 0);
}

/*
 * Set a hardware breakpoint at an address that the tracee does not execute. With a breakpoint,
 * the kernel uses access_process_vm() to clear TF in the flags that PUSHF has stored.
 */
static void set_breakpoint(pid_t pid)
{
	const size_t reg = sizeof(((struct user *)0)->u_debugreg[0]);
	size_t dr = offsetof(struct user, u_debugreg);

	if (ptrace(PTRACE_POKEUSER, pid, dr, give_up) ||
	    ptrace(PTRACE_POKEUSER, pid, dr + 7 * reg, 1))
		give_up("breakpoint");
}

static bool only_ones(pid_t pid)
{
	size_t at;

	for (at = 0; at < PAGE; at += sizeof(long)) {
		errno = 0;
		if (ptrace(PTRACE_PEEKDATA, pid, pushed + at, 0) != -1 || errno)
			return false;
	}
	return true;
}

static void check_read_only(void)
{
	unsigned long round, rounds = 100;
	static uint8_t page[PAGE];
	struct tracee t;
	size_t forced = 0;

	memset(page, 0xff, PAGE);
	ones = memfd_create("ones", MFD_CLOEXEC);
	if (ones < 0 || write(ones, page, PAGE) != PAGE)
		give_up("memfd_create");
	pushed = map(PAGE, PROT_READ | PROT_WRITE);
	t = tracee_new();
	begin_trace(t.pid, 0);
	set_breakpoint(t.pid);
	for (round = 0; round < rounds; round++) {
		do_shared(&t, push_until_fault, round);
		forced += !only_ones(t.pid);
	}
	ok(!forced, "%zu of %lu pages that cannot be written to were", forced, rounds);
	tracee_end(&t);
}

#define BLOCK	(1UL << 20)

static volatile uint8_t *block;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	shared->trapped = uc->uc_mcontext.gregs[REG_IP];
	_exit(0);
}

static void one_block(unsigned long unused)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	(void)unused;
	sigaction(SIGTRAP, &sa, NULL);
	pin_to(1);
	odd_block((void *)block, BLOCK);
	_exit(1);
}

/* Trace and block-step a tracee, and exit while it executes the REP STOSB of odd_block(). */
static void lose_tracer(void)
{
	struct tracee t = tracee_new();
	int status;

	pin_to(0);
	ptrace(PTRACE_SETOPTIONS, t.pid, 0, 0);
	begin_trace(t.pid, 0);
	tracee_begin(&t, one_block, 0);
	while (!block[0]) {
		if (ptrace(PTRACE_SINGLEBLOCK, t.pid, 0, 0))
			_exit(1);
		while (!block[0]) {
			if (!waitpid(t.pid, &status, WNOHANG))
				continue;
			if (!stopped_by(status, SIGTRAP))
				_exit(2);
			break;
		}
	}
	/* Succeed if the tracee still executes the REP STOSB. */
	_exit(waitpid(t.pid, &status, WNOHANG) || block[BLOCK - 1] ? 3 : 0);
}

static void check_block(void)
{
	int status;
	pid_t pid;

	block = shared_memory(BLOCK);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	pid = fork();
	if (!pid)
		lose_tracer();
	waitpid(pid, &status, 0);
	ok(!status, "the tracer has ended in the middle of a block: status %#x", status);
	waitpid(-1, &status, 0);
	ok(!status && shared->trapped == (uintptr_t)odd_block_end,
	   "its tracee has gone on to the end of it: status %#x at %+ld", status,
	   (long)(shared->trapped - (uintptr_t)odd_block));
}

int main(int argc, char **argv)
{
	shared = shared_memory(sizeof(*shared));
	if (argc > 1 && !strcmp(argv[1], "block")) {
		check_block();
		return finish();
	}
	check_mov_ss();
#ifndef __x86_64__
	check_segment();
#endif
	check_sleep();
	check_read_only();
	return finish();
}
