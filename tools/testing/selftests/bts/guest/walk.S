/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The walk: code between two INT3, for 64 and 32 bits. walk_targets lists the targets of all taken
 * branches, in order, up to a 0. walk_nrsteps is the number of instructions that the walk executes
 * between the INT3; REP MOVSB counts once. The comments number these instructions.
 */
#ifdef __x86_64__
#define REG(x) %r##x
#define WORD .quad
#define JCXZ jrcxz
#else
#define REG(x) %e##x
#define WORD .long
#define JCXZ jecxz
#endif

	.text
	.globl walk, walk_begin, walk_end, walk_probed, walk_behind_probe
	.globl walk_behind_write, walk_rep, step_myself
	.type walk, @function
walk:
	push	REG(si)
	push	REG(di)
	push	REG(cx)
	int3
walk_begin:
	xor	%eax, %eax		/* 1 */
	jmp	.Lforward		/* 2 */
	nop
.Lforward:
	test	%eax, %eax		/* 3 */
	jnz	.Lnever			/* 4: not taken */
	jz	.Lconditional		/* 5 */
	nop
.Lconditional:
	.byte	0xeb, 0			/* 6: a jump to the next instruction */
.Lnext:
	mov	$3, %ecx		/* 7 */
.Lagain:
	dec	%ecx			/* 8, 10, 12 */
	jnz	.Lagain			/* 9, 11, 13: taken twice */
	mov	$3, %ecx		/* 14 */
.Lloop:
	loop	.Lloop			/* 15, 16, 17: taken twice */
	JCXZ	.Lzero			/* 18 */
	nop
.Lzero:
	call	leaf			/* 19, then 20 in leaf */
.Lreturned:
walk_probed:
	add	$1, %eax		/* 21 */
walk_behind_probe:
	mov	$bytes, REG(si)		/* 22 */
	mov	$bytes, REG(di)		/* 23 */
	mov	$16, %ecx		/* 24 */
walk_rep:
	rep movsb			/* 25: no branch */
	mov	$.Lindirect, REG(cx)	/* 26 */
	jmp	*REG(cx)		/* 27 */
	nop
.Lindirect:
	mov	$leaf, REG(cx)		/* 28 */
	call	*REG(cx)		/* 29, then 30 in leaf */
.Lreturned2:
	movl	%eax, walk_result	/* 31 */
walk_behind_write:
	push	$.Lpushed		/* 32 */
	ret				/* 33 */
	nop
.Lpushed:
	nop				/* 34 */
walk_end:
	int3
	pop	REG(cx)
	pop	REG(di)
	pop	REG(si)
	ret
.Lnever:
	ud2
	.size walk, . - walk

leaf:
	ret

/* Set TF, loop @n times, clear TF. This causes 2 * @n + 3 single-step traps. */
	.type step_myself, @function
step_myself:
#ifdef __x86_64__
	mov	%edi, %ecx
#else
	mov	4(%esp), %ecx
#endif
	pushf
	orl	$0x100, (REG(sp))
	popf
.Lcount:
	dec	%ecx
	jnz	.Lcount
	pushf
	andl	$~0x100, (REG(sp))
	popf
	ret
	.size step_myself, . - step_myself

	.data
	.globl walk_targets, walk_nrsteps, walk_result
	.balign 8
walk_targets:
	WORD	.Lforward, .Lconditional, .Lnext, .Lagain, .Lagain, .Lloop, .Lloop
	WORD	.Lzero, leaf, .Lreturned, .Lindirect, leaf, .Lreturned2, .Lpushed, 0
walk_nrsteps:
	.long	34
walk_result:
	.long	0
	.balign 16
bytes:
	.skip	16

	.section .note.GNU-stack, "", @progbits
