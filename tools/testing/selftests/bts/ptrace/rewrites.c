// SPDX-License-Identifier: GPL-2.0
/*
 * To trace by the trap flag, the kernel looks after each step for the instruction that was
 * executed. The kernel skips instructions MOV SS, as no #DB comes after them. A program has 16 MiB
 * of MOV SS, with one instruction before that overwrites itself by MOV SS. The kernel must not
 * search all of that memory.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "../guest/tracee.h"

#define ROOM	(16UL << 20)
/* To search all of ROOM would take more than ten seconds. */
#define SECONDS	2

/* mov %ecx, %ss; and mov %rax, (%rdi), three bytes long */
#define MOV_SS	"\x8e\xd1"
#define STORE	"\x48\x89\x07"

static uint8_t *code;

/*
 * Jump to STORE, which overwrites itself and the next bytes. The program then continues in the
 * middle of a MOV SS. These bytes cause a signal.
 */
static void rewrite(unsigned long unused)
{
	uint64_t many;
	unsigned int i;

	(void)unused;
	for (i = 0; i < sizeof(many); i += 2)
		memcpy((char *)&many + i, MOV_SS, 2);
	asm volatile("mov	%%ss, %%ecx\n"
		     "	jmp	*%%rdi\n"
		     : : "a"(many), "D"(code) : "rcx", "memory");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(void)
{
	struct tracee t;
	int status;
	double begin;
	size_t i;

	plan(2);
	code = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (code == MAP_FAILED)
		give_up("memory for code");
	for (i = 0; i < ROOM; i += 2)
		memcpy(code + i, MOV_SS, 2);
	memcpy(code, STORE, 3);
	t = tracee_new();
	errno = -bts_config(t.pid, TRACE | ALLOC, RECORDS(1000), 0);
	if (errno)
		give_up("PTRACE_BTS_CONFIG");
	begin = now();
	tracee_begin(&t, rewrite, 0);
	status = tracee_continue(t.pid, 0);
	begin = now() - begin;
	ok(stopped_by(status, SIGSEGV) || stopped_by(status, SIGILL) || stopped_by(status, SIGTRAP),
	   "what follows is no code: status %#x", status);
	ok(begin < SECONDS, "it got there in %.3f s", begin);
	tracee_end(&t);
	return finish();
}
