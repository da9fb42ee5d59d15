/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 16-bit code, which tests copy before use: ap_code, for the second CPU, to LOW_CODE; smm_code, the
 * handler of SMIs, to SMRAM.
 */
#include "defs.h"

.macro SET_MSR msr, value
	mov	$\msr, %ecx
	mov	$\value, %eax
	xor	%edx, %edx
	wrmsr
.endm

/* The emulator does not check limits in real mode. */
.macro SET_APIC reg, value
	mov	$APIC + \reg, %ebx
	movl	$\value, (%ebx)
.endm

	.text
	.code16
	.globl	ap_code, ap_code_end, ap_first, ap_first_to, ap_second, ap_second_to
	.globl	ap_loop
ap_code:
	cli
	xor	%ax, %ax
	mov	%ax, %ds
	cmpl	$1, LOW_VARS
	je	2f
	cmpl	$3, LOW_VARS
	je	7f
	ja	8f
	cmpl	$2, LOW_VARS
	je	6f
	SET_MSR	MSR_DS_AREA, LOW_DS
	SET_MSR	MSR_DEBUGCTL, DBG_ON
ap_first:
	jmp	ap_first_to
	nop
ap_first_to:
	movl	$1, LOW_VARS + 4
1:	hlt
	jmp	1b

	/* The second start, after another INIT */
2:	mov	$MSR_DEBUGCTL, %ecx
	rdmsr
	mov	%eax, LOW_VARS + 8
	mov	$MSR_DS_AREA, %ecx
	rdmsr
	mov	%eax, LOW_VARS + 12
	jmp	3f
	nop
3:	SET_MSR	MSR_DS_AREA, LOW_DS
	jmp	4f
	nop
4:	SET_MSR	MSR_DEBUGCTL, DBG_ON
ap_second:
	jmp	ap_second_to
	nop
ap_second_to:
	SET_MSR	MSR_DEBUGCTL, 0
	movl	$2, LOW_VARS + 4
5:	hlt
	jmp	5b

	/* For SMIs: 100 records */
6:	SET_MSR	MSR_DS_AREA, LOW_DS
	SET_MSR	MSR_DEBUGCTL, DBG_ON
	mov	$101, %cx
ap_loop:
	loop	ap_loop
	SET_MSR	MSR_DEBUGCTL, 0
	movl	$3, LOW_VARS + 4
	jmp	5b

	/* A PMI that is kept, as its vector is masked */
7:	SET_APIC APIC_SVR, 0x1ff
	SET_APIC APIC_LVTPC, LVT_NMI | LVT_MASKED
	SET_MSR	MSR_DS_AREA, LOW_DS
	SET_MSR	MSR_DEBUGCTL, DBG_ON | DBG_BTINT
	jmp	9f
	nop
9:	SET_MSR	MSR_DEBUGCTL, 0
	movl	$4, LOW_VARS + 4
	jmp	5b

	/* After INIT, unmask it. */
8:	mov	$LOW_STACK, %sp
	movl	$LOW_CODE + ap_nmi - ap_code, 4 * VEC_NMI
	SET_APIC APIC_SVR, 0x1ff
	SET_APIC APIC_LVTPC, LVT_NMI
	nop
	SET_APIC APIC_LVTPC, LVT_NMI | LVT_MASKED
	movl	$5, LOW_VARS + 4
	jmp	5b
ap_nmi:
	incl	LOW_VARS + 20
	iret
ap_code_end:

	.globl	smm_code, smm_code_end
smm_code:
	jmp	1f
	nop
1:	mov	$3, %cx
2:	loop	2b
	xor	%ax, %ax
	mov	%ax, %ds
	incl	LOW_VARS + 16
	rsm
smm_code_end:
