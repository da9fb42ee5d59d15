/* SPDX-License-Identifier: GPL-2.0 */
#include <asm/unistd.h>

#define IOC_ENABLE	0x2400
#define IOC_DISABLE	0x2401

/*
 * long traced_call(int fd, void (*fn)(void *arg), void *arg)
 *
 * The only branches between the two system calls are those of fn, the call of it, and its return.
 */
	.text
	.globl	traced_call, traced_call_site, traced_call_back
	.type	traced_call, @function
traced_call:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	mov	%edi, %ebx
	mov	%rsi, %r12
	mov	%rdx, %rbp
	mov	$__NR_ioctl, %eax
	mov	$IOC_ENABLE, %esi
	xor	%edx, %edx
	syscall
	mov	%rax, %r14
	mov	%rbp, %rdi
traced_call_site:
	call	*%r12
traced_call_back:
	mov	$__NR_ioctl, %eax
	mov	%ebx, %edi
	mov	$IOC_DISABLE, %esi
	xor	%edx, %edx
	syscall
	or	%r14, %rax
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	traced_call, . - traced_call

/*
 * record: append a record to the table. @nr is its position in the order of execution. The record
 * goes to the subsection @nr, so the assembler sorts the table. branch: put a branch, and its
 * record.
 */
	.macro	record nr, from, to
	.pushsection .sequence, \nr, "a"
	.quad	\from, \to
	.popsection
	.endm

	.macro	branch nr, to, insn:vararg
.Lbranch\@:
	\insn
	record	\nr, .Lbranch\@, \to
	.endm

	.globl	sequence_records, sequence_records_end
	.pushsection .sequence, 0, "a"
	.balign	8
sequence_records:
	.popsection
	.pushsection .sequence, 1000, "a"
sequence_records_end:
	.popsection

	.globl	sequence
	.type	sequence, @function
sequence:
	/* Jumps to the next instruction are taken, too. */
	branch	1, 1f, jmp 1f
1:	xor	%eax, %eax
	branch	2, 1f, jz 1f
1:	jnz	1f
1:	/* not taken: no record */
	jc	9f
	jnz	9f
	/* conditional branches, long and short */
	branch	3, 1f, jz 1f
	nop
1:	branch	4, 1f, jz.d32 1f
	.skip	200, 0x90
1:	cmp	$1, %eax
	branch	5, 1f, jb 1f
	nop
1:	branch	6, 1f, js 1f
	nop
1:	branch	7, 1f, jl 1f
	nop
	/* loops: a record for each time they are taken */
1:	mov	$4, %ecx
1:
.Lloop:	loop	1b
	record	8, .Lloop, 1b
	record	9, .Lloop, 1b
	record	10, .Lloop, 1b
	branch	11, 1f, jrcxz 1f
	nop
1:	inc	%ecx
	jrcxz	8f
	/* calls and returns */
	branch	12, 2f, call 2f
1:	branch	14, 3f, jmp 3f
8:	ud2
2:	branch	13, 1b, ret
3:	lea	2f(%rip), %rax
	branch	15, 2f, call *%rax
1:	branch	17, 3f, jmp 3f
2:	branch	16, 1b, repz ret
3:	branch	18, 2f, call *.Lpointer(%rip)
	/* A prefix is part of the instruction, so the source is the address of the prefix. */
1:	branch	20, 3f, bnd jmp 3f
2:
.Lleaf:	branch	19, 1b, bnd ret
3:	lea	1f(%rip), %rdx
	branch	21, 1f, notrack jmp *%rdx
	int3
1:	push	%rdx
	lea	1f(%rip), %rdx
	mov	%rdx, (%rsp)
	branch	22, 1f, ret
	int3
	/* string instructions repeat, but do not branch */
1:	lea	-64(%rsp), %rdi
	mov	$32, %ecx
	xor	%eax, %eax
	rep stosb
	/* into the kernel and back: no branch of user mode */
	mov	$__NR_getpid, %eax
	syscall
	/* an instruction that crosses a page boundary */
	branch	23, .Lacross, jmp .Lacross
	.balign	4096
	.skip	4094, 0xcc
.Lacross:
	branch	24, 1f, jmp.d32 1f
	int3
1:	branch	25, 1f, jmp 1f
	.skip	4096, 0xcc
1:
.Lend:	ret
	record	26, .Lend, traced_call_back
9:	ud2
	.size	sequence, . - sequence

	.section .rodata
	.balign	8
.Lpointer:
	/* the target of branch 18 */
	.quad	.Lleaf
	.section .note.GNU-stack, "", @progbits
