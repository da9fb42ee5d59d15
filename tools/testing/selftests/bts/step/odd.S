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
	 * Load the two arguments into DI and SI. A 64-bit caller has done so. A 32-bit caller has
	 * pushed the arguments, and needs its own values of DI and SI after the call.
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
	 * Take LOOP to itself twice. A single step executes both MOV SS and the first LOOP.
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
	 * odd_pushes(stack, counter): push to the same address below @stack again and again, and
	 * increment *@counter each time, until a push faults. The handler of the fault must
	 * continue at odd_pushes_end.
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
	 * odd_block(memory, n): a REP STOSB of @n bytes, then a jump. A block-step ends only after
	 * the jump. With TF but without BTF, each byte is a single step.
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
	 * odd_segment(where): a far call to odd_segment_in, in another code segment, by the far
	 * pointer *@where. odd_segment_in returns by a far RET.
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
