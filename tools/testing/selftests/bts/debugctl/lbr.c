// SPDX-License-Identifier: GPL-2.0
/*
 * A #DB clears DEBUGCTL.LBR: the kernel must set the bit again. An event of perf uses the
 * LBRs on one CPU. Perf itself does not write DEBUGCTL before the next PMI or context switch. Also
 * check that a PMI freezes the LBRs, and that block-step works while an event uses the LBRs.
 *
 *   lbr kept|lost		kept: a kernel that sets LBR again; lost: the stock kernel, which
 *				does not
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <ucontext.h>

#include "../guest/debugctl.h"
#include "../guest/walk.h"

#define CPU		0
#define PERIOD		997
#define ROUNDS		300
#define FLAG_TF		0x100
#define RING_PAGES	64
#define MSR_TOS		0x1c9
#define MSR_FROM	0x680

static bool kept;

/* A loop with fewer branches than PERIOD, so that a run of it usually has at most one sample. */
extern const char loop_begin[], loop_back[], loop_end[];

__attribute__((noinline))
static void loop_branches(void)
{
	asm volatile("	mov	$700, %%ecx\n"
		     "	.globl	loop_begin, loop_back, loop_end\n"
		     "loop_begin:\n"
		     "	dec	%%ecx\n"
		     "loop_back:\n"
		     "	jnz	loop_begin\n"
		     "loop_end:\n"
		     : : : "ecx", "cc");
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)signal;
	(void)info;
	uc->uc_mcontext.gregs[REG_EFL] &= ~FLAG_TF;
}

/* Cause one #DB in user mode, without a context switch. */
static void trap_once(void)
{
	asm volatile("pushfq\n\t"
		     "orl	%0, (%%rsp)\n\t"
		     "popfq\n\t"
		     "nop" : : "i"(FLAG_TF) : "memory", "cc");
}

struct lbr_sample {
	struct perf_event_header header;
	uint64_t ip;
	uint64_t nr;
	struct perf_branch_entry branch[];
};

struct counts {
	unsigned int samples;	/* samples in the loop */
	unsigned int fresh;	/* samples in the loop whose newest branch is the loop's */
	unsigned int frozen;	/* samples in user mode whose newest branch goes to user mode */
	unsigned int user;	/* samples in user mode */
};

static bool in_loop(uint64_t ip)
{
	return ip >= (uintptr_t)loop_begin && ip < (uintptr_t)loop_end;
}

static void count_sample(const struct lbr_sample *s, struct counts *c)
{
	const struct perf_branch_entry *newest = &s->branch[0];
	bool user = !(s->ip >> 63);

	c->user += user;
	c->frozen += user && s->nr && !(newest->to >> 63);
	if (!in_loop(s->ip))
		return;
	c->samples++;
	c->fresh += s->nr && newest->from == (uintptr_t)loop_back &&
		    newest->to == (uintptr_t)loop_begin;
}

/* Count the samples of a round. The ring has room for all of them. */
static void count_samples(struct perf_event_mmap_page *page, struct counts *c)
{
	char *ring = (char *)page + sysconf(_SC_PAGESIZE);
	size_t size = RING_PAGES * sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	static char copy[1 << 16];

	while (tail < head) {
		struct perf_event_header *header = (void *)(ring + tail % size);
		size_t i;

		for (i = 0; i < header->size; i++)
			copy[i] = ring[(tail + i) % size];
		if (header->type == PERF_RECORD_SAMPLE)
			count_sample((void *)copy, c);
		tail += header->size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

static int must_open_lbr(uint64_t period, bool kernel)
{
	int fd = open_lbr(-1, CPU, period, kernel);

	if (fd < 0)
		give_up("perf's event with LBRs: %d", fd);
	return fd;
}

static struct counts run_sampled(bool trap, bool kernel)
{
	int fd = must_open_lbr(PERIOD, kernel), i;
	struct perf_event_mmap_page *page;
	struct counts c = { };

	page = mmap(NULL, (1 + RING_PAGES) * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		give_up("mmap of the event");
	for (i = 0; i < ROUNDS; i++) {
		if (trap)
			trap_once();
		loop_branches();
		count_samples(page, &c);
	}
	munmap(page, (1 + RING_PAGES) * sysconf(_SC_PAGESIZE));
	close(fd);
	return c;
}

static void check_samples(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct counts c = run_sampled(false, false);

	sigaction(SIGTRAP, &action, NULL);
	ok(c.samples > 50 && c.fresh == c.samples,
	   "without a #DB: %u samples of the loop, %u with its branches", c.samples, c.fresh);
	c = run_sampled(true, false);
	if (kept)
		ok(c.samples > 50 && c.fresh == c.samples,
		   "behind a #DB: %u samples of the loop, %u with its branches", c.samples,
		   c.fresh);
	else
		ok(c.samples > 50 && c.fresh < c.samples / 2,
		   "behind a #DB: %u samples of the loop, only %u with its branches",
		   c.samples, c.fresh);
	c = run_sampled(false, true);
	ok(c.user > 50 && c.frozen == c.user,
	   "the PMI's own way is not there: %u samples of user mode, %u frozen", c.user,
	   c.frozen);
}

/*
 * Check that LBR is on, and that the newest recorded branch is not one of the walk, so that it was
 * recorded after the tracee's last #DB. Do not call this on the stock kernel, where the result
 * varies: perf may have set LBR again at a context switch.
 */
static void check_recording(void)
{
	uint64_t msr = read_msr(CPU, MSR_DEBUGCTL);
	uint64_t from = read_msr(CPU, MSR_FROM + read_msr(CPU, MSR_TOS));

	ok(msr & DEBUGCTL_LBR_BIT, "LBR is on behind them (MSR %#llx)", (unsigned long long)msr);
	ok(from < (uintptr_t)walk_begin || from > (uintptr_t)walk_end,
	   "the newest branch is not the tracee's: from %#llx", (unsigned long long)from);
}

/* Block-step a tracee while an event uses the LBRs. Tracer and tracee run on the same CPU. */
static void check_block_step(void)
{
	int fd = must_open_lbr(NEVER, false);
	pid_t pid = start_walk();
	struct stops stops;

	step_through(pid, PTRACE_SINGLEBLOCK, &stops);
	ok(only_branch_targets(&stops, 0), "block-step beside LBRs: %u stops", stops.n);
	if (kept)
		check_recording();
	finish_walk(pid);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 2 || (strcmp(argv[1], "kept") && strcmp(argv[1], "lost"))) {
		fprintf(stderr, "usage: %s kept|lost\n", argv[0]);
		return 2;
	}
	kept = !strcmp(argv[1], "kept");
	plan(kept ? 6 : 4);
	pin_to(CPU);
	allow_many_samples();
	check_samples();
	check_block_step();
	return finish();
}
