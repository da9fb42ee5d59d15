/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the nested guest runs, in real mode, linked to be copied to GUEST_CODE:
 * many exits that the host's kernel handles, then steps with TF and counts the
 * #DBs. If the host's BTF were on, there would be fewer.
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
2:	dec	%si			/* two for each round */
	jnz	2b
	pushf				/* and five */
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
