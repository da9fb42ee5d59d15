// SPDX-License-Identifier: GPL-2.0
/*
 * When the kernel traces by the trap flag, it decodes the executed instruction at each #DB. It
 * skips instructions that load SS, as they may delay the #DB. Here, 16 MiB are full of MOV SS,
 * except for the first instruction, which overwrites itself with MOV SS. At the next #DB, the
 * kernel must not decode all of that memory.
 *
 * Other instructions overwrite themselves with POPF or PUSHF. The program must not get the trap
 * flag of the trace, and its stack must not change.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "../guest/tracee.h"

#define ROOM	(16UL << 20)
/* Decoding all of ROOM would take longer. */
#define SECONDS	2

/* mov %ecx, %ss; and mov %rax, (%rdi), three bytes long */
#define MOV_SS	"\x8e\xd1"
#define STORE	"\x48\x89\x07"

static uint8_t *code;

/*
 * Jump to STORE, which overwrites itself and the next bytes with MOV SS. Then the program continues
 * in the middle of a MOV SS: what it executes there causes a signal.
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

#define POPF	"\x9d"
#define PUSHF	"\x9c"

/* Call code that overwrites its first byte with @byte, and returns. The stack must not change. */
static void rewrite_byte(unsigned long byte)
{
	unsigned long top = -1;

	asm volatile("	sub	$128, %%rsp\n"
		     "	push	%[top]\n"
		     "	lea	1f(%%rip), %%rdx\n"
		     "	jmp	*%%rdi\n"
		     "1:	pop	%[top]\n"
		     "	add	$128, %%rsp\n"
		     : [top] "+r"(top) : "a"(byte), "D"(code) : "rdx", "memory");
	if (top != -1UL)
		raise(SIGUSR1);
}

/*
 * Returns the status of a tracee with a trace by the trap flag, whose code overwrites itself with
 * @op. Without a SIGTRAP and with its stack unchanged, the tracee stops itself.
 */
static int status_after(const char *op)
{
	/* mov %al, (%rdi); jmp *%rdx */
	static const char store[] = "\x88\x07\xff\xe2";
	struct tracee t;
	int status;

	memcpy(code, store, 4);
	t = tracee_new();
	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(1000), 0) < 0)
		give_up("PTRACE_BTS_CONFIG");
	tracee_begin(&t, rewrite_byte, (unsigned char)*op);
	status = tracee_continue(t.pid, 0);
	tracee_end(&t);
	return status;
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

	plan(4);
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
	status = status_after(POPF);
	ok(stopped_by(status, SIGSTOP), "overwritten with POPF: status %#x", status);
	status = status_after(PUSHF);
	ok(stopped_by(status, SIGSTOP), "overwritten with PUSHF: status %#x", status);
	return finish();
}
