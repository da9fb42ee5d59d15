/* SPDX-License-Identifier: GPL-2.0 */
/*
 * chain(): an endless loop, for 64-bit, x32 and 32-bit programs. A tracee stops at its INT3.
 * When continued, the tracee makes chain_passes passes of CHAIN_LENGTH branches. The branches of
 * a pass are at different addresses. The last branch of the last pass jumps back to the INT3.
 */
#include "chain.h"

#ifdef __x86_64__
#define PASSES	chain_passes(%rip)
#else
#define PASSES	chain_passes
#endif

	.text
	.globl chain, chain_top, chain_first, chain_count, chain_again, chain_back, chain_end
	.type chain, @function
chain:
	int3
chain_top:
	movl	PASSES, %ecx
chain_first:
	.rept	CHAIN_LENGTH - 1
	jmp	1f
	nop
1:
	.endr
chain_count:
	dec	%ecx
chain_again:
	jnz	chain_first
chain_back:
	jmp	chain
chain_end:
	.size chain, . - chain

	.data
	.globl chain_passes
	.balign 8
chain_passes:
	.quad	1

	.section .note.GNU-stack, "", @progbits
