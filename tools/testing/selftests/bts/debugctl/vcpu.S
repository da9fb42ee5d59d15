/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code of the nested guest, in real mode, which is copied to GUEST_CODE: it makes many
 * exits that the host's kernel handles, then sets TF and counts #DBs. With the host's BTF
 * on, there would be fewer of them.
 */
#include "vcpu.h"

	.section .rodata
	.globl guest_code, guest_code_end
	.code16
guest_code:
	mov	$GUEST_EXITS, %si
1:	xor	%eax, %eax
	cpuid
	dec	%si
	jnz	1b

	pushf
	pop	%ax
	or	$0x100, %ax
	push	%ax
	popf
	mov	$GUEST_LOOPS, %si	/* the first step */
2:	dec	%si			/* two steps in each round */
	jnz	2b
	pushf				/* and five more */
	pop	%ax
	and	$~0x100, %ax
	push	%ax
	popf
	hlt

	.org	guest_code + GUEST_HANDLER - GUEST_CODE
	incw	GUEST_COUNT
	iret
guest_code_end:

	.section .note.GNU-stack, "", @progbits
