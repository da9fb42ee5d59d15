/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program without a library, so that stock.c knows every branch of it from the first
 * instruction to the last.
 */
#include <asm/unistd.h>
#include "victim.h"

	.globl	_start, work, work_done
	.text
	.type	_start, @function
_start:
	mov	$VICTIM_ROUNDS, %ebx
	/* the only branch outside of the rounds, except SYSCALL */
	call	work
	.size	_start, . - _start

	.type	work_done, @function
work_done:
	mov	$__NR_exit, %eax
	xor	%edi, %edi
	syscall
	.size	work_done, . - work_done

	/* A round has VICTIM_BRANCHES taken branches. The last of them loops, or returns. */
	.type	work, @function
work:
	call	leaf
	test	%ebx, %ebx
	jz	1f
	jmp	1f
	nop
1:	lea	leaf(%rip), %rax
	call	*%rax
	dec	%ebx
	jnz	work
	ret
	.size	work, . - work

	.type	leaf, @function
leaf:
	nop
	ret
	.size	leaf, . - leaf
	.section .note.GNU-stack, "", @progbits
