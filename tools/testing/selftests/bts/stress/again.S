/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program for the race `exec` of collide.c. It executes itself with one argument less, until only
 * argv[0] is left. First it loops as often as the first byte of argv[0] says. If the second byte is
 * 't', a new thread calls execve() while the leader spins.
 */
#include <asm/unistd.h>

#define CLONE_VM	0x00000100
#define CLONE_SIGHAND	0x00000800
#define CLONE_THREAD	0x00010000

	.text
	.globl	_start
_start:
	lea	8(%rsp), %rbp
	movq	(%rbp), %rbx
	movzbl	(%rbx), %ecx
1:	loop	1b
	xor	%edi, %edi
	mov	$__NR_exit_group, %eax
	cmpq	$1, (%rsp)
	jle	3f
	cmpb	$'t', 1(%rbx)
	jne	2f
	mov	$__NR_clone, %eax
	mov	$(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD), %edi
	lea	-4096(%rsp), %rsi
	xor	%edx, %edx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	syscall
	test	%eax, %eax
	/* The leader spins. The new thread, or the leader if clone() failed, calls execve(). */
	jg	4f
2:	mov	$__NR_execve, %eax
	lea	path(%rip), %rdi
	lea	8(%rbp), %rsi
	xor	%edx, %edx
3:	syscall
	/* Crash after an error: the tracer ignores an exit status. */
	ud2
4:	pause
	jmp	4b

	.section .rodata
path:	.asciz	"/bt/again"
	.section .note.GNU-stack, "", @progbits
