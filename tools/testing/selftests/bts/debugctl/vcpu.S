/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Real-mode code of the guest, which nested.c copies to GUEST_CODE. First, CPUID causes many exits
 * to the host. Then the guest sets TF, and its handler counts #DBs. If the host's BTF were on in
 * the guest, the guest would get fewer #DBs.
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
	mov	$GUEST_LOOPS, %si	/* the first #DB */
2:	dec	%si			/* two #DBs in each round */
	jnz	2b
	pushf				/* and five more #DBs */
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
