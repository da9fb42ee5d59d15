/* SPDX-License-Identifier: GPL-2.0 */
/* Rarely used instructions: see odd.c. */

#ifdef __x86_64__
#define CX	%rcx
#define DI	%rdi
#define SI	%rsi
#define SP	%rsp
#define PUSHF	pushfq
#else
#define CX	%ecx
#define DI	%edi
#define SI	%esi
#define SP	%esp
#define PUSHF	pushfl
#endif

	.macro	way name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.endm

	/*
	 * Load two arguments into DI and SI, and save these registers for a 32-bit caller.
	 */
	.macro	arguments
#ifndef __x86_64__
	push	DI
	push	SI
	mov	12(SP), DI
	mov	16(SP), SI
#endif
	.endm

	.macro	return
#ifndef __x86_64__
	pop	SI
	pop	DI
#endif
	ret
	.endm

	.bss
	.balign	8
saved_sp:
	.skip	8

	.text
	/*
	 * Take LOOP to itself twice. The first LOOP is in the step that begins with MOV SS.
	 */
	.globl	odd_ss_loop
way odd_mov_ss
	mov	$3, %ecx
	mov	%ss, %eax
	mov	%eax, %ss
odd_ss_loop:
	loop	odd_ss_loop
	ret

	/*
	 * odd_pushes(stack, counter): push at @stack and count, until the push faults. The
	 * handler of the fault continues at odd_pushes_end.
	 */
	.globl	odd_pushes_end
way odd_pushes
	arguments
	mov	SP, saved_sp
1:	mov	DI, SP
	PUSHF
	incl	(SI)
	jmp	1b
odd_pushes_end:
	mov	saved_sp, SP
	return

	/*
	 * odd_block(memory, n): a REP STOSB of @n bytes, then a jump. Block-step stops only after
	 * the jump. For TF, each byte is a step.
	 */
	.globl	odd_block_end
way odd_block
	arguments
	mov	SI, CX
	mov	$1, %eax
	rep stosb
	jmp	odd_block_end
	nop
odd_block_end:
	return

#ifndef __x86_64__
	/*
	 * odd_segment(far pointer to odd_segment_in): a far call to another code segment, whose
	 * code returns.
	 */
	.globl	odd_segment_in, odd_segment_end
way odd_segment
	mov	4(SP), %eax
	lcall	*(%eax)
	ret
odd_segment_in:
	jmp	1f
	nop
1:	mov	$3, CX
2:	loop	2b
	lret
odd_segment_end:
#endif

	.section .note.GNU-stack, "", @progbits
