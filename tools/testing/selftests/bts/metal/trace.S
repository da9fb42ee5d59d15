/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run code while its branches are recorded, in long mode and in protected mode; handlers of
 * interrupts and exceptions
 */
#include "defs.h"

	.text
	.code64
/* void trace(u64 code, u32 debugctl) */
	.globl	trace, trace_go, trace_done
trace:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	pushfq
	mov	%rsp, trace_rsp
	mov	%esi, %eax
	xor	%edx, %edx
	mov	trace_msr, %ecx
	wrmsr
trace_go:
	jmp	*%rdi
/*
 * The chain: jumps of two bytes, each to the instruction behind it. Where the code enters the chain
 * decides how many are taken.
 */
	.rept	128
	.byte	0xeb, 0
	.endr
trace_done:
	mov	trace_msr, %ecx
	xor	%edx, %edx
	xor	%eax, %eax
	wrmsr
	mov	$SEL_KDATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	trace_rsp, %rsp
	popfq
	cld
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

/* void trace32(u64 code, u32 debugctl): the same in protected mode, with pd32, for DEBUGCTL only */
	.globl	trace32, trace32_go, trace32_done
trace32:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, trace_rsp
	lidt	idt32_ptr
	pushq	$SEL_KCODE32
	pushq	$1f
	lretq
	.code32
1:	mov	$SEL_KDATA, %eax
	mov	%eax, %ss
	mov	%cr0, %eax
	and	$~CR0_PG, %eax
	mov	%eax, %cr0
	mov	$MSR_EFER, %ecx
	rdmsr
	and	$~0x100, %eax
	wrmsr
	mov	$CR4_PSE, %eax
	mov	%eax, %cr4
	mov	$pd32, %eax
	mov	%eax, %cr3
	mov	%cr0, %eax
	or	$CR0_PG, %eax
	mov	%eax, %cr0
	mov	$SEL_TSS32_A, %eax
	ltr	%ax
	mov	%esi, %eax
	xor	%edx, %edx
	mov	$MSR_DEBUGCTL, %ecx
	wrmsr
trace32_go:
	jmp	*%edi
trace32_done:
	mov	$MSR_DEBUGCTL, %ecx
	xor	%edx, %edx
	xor	%eax, %eax
	wrmsr
	mov	$SEL_KDATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	pushl	$2
	popfl
	mov	%cr0, %eax
	and	$~(CR0_PG | 8), %eax
	mov	%eax, %cr0
	mov	$(CR4_PAE | CR4_PCE), %eax
	mov	%eax, %cr4
	mov	$pml4, %eax
	mov	%eax, %cr3
	mov	$MSR_EFER, %ecx
	rdmsr
	or	$0x100, %eax
	wrmsr
	mov	%cr0, %eax
	or	$CR0_PG, %eax
	mov	%eax, %cr0
	ljmp	$SEL_KCODE, $1f
	.code64
1:	mov	trace_rsp, %rsp
	lidt	idt_ptr
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

/*
 * PMI handlers whose only branch is IRETQ. pmi_note stores RIP, LVTPC and the index. pmi_drain also
 * resets the index, and writes pmi_relvt to LVTPC to unmask the vector, as a driver does.
 */
	.globl	pmi_note, pmi_note_iret, pmi_drain, pmi_drain_iret
.macro PMI_NOTE
	push	%rax
	push	%rdx
	incl	pmi_count
	mov	16(%rsp), %rax
	mov	%rax, pmi_rip
	mov	$APIC, %edx
	mov	APIC_LVTPC(%rdx), %eax
	mov	%eax, pmi_lvt
	movl	$0, APIC_EOI(%rdx)
	mov	ds_index_at, %rax
	mov	(%rax), %eax
	mov	%eax, pmi_index
.endm
pmi_note:
	PMI_NOTE
	pop	%rdx
	pop	%rax
pmi_note_iret:
	iretq
pmi_drain:
	PMI_NOTE
	mov	ds_index_at, %rax
	movl	$BUF, (%rax)
	mov	pmi_relvt, %eax
	mov	%eax, APIC_LVTPC(%rdx)
	pop	%rdx
	pop	%rax
pmi_drain_iret:
	iretq

/* Handler of what a test ignores: a #DB, or an interrupt still pending from a previous case. */
	.globl	ignore_irq
ignore_irq:
	push	%rax
	mov	$APIC, %eax
	movl	$0, APIC_EOI(%rax)
	pop	%rax
	iretq

/* Power off at an unexpected exception in protected mode. run.sh fails, as finish() did not run. */
	.globl	unexpected32
	.code32
unexpected32:
	mov	$PM1A_OFF, %eax
	mov	$PORT_PM1A, %edx
	out	%ax, %dx
1:	hlt
	jmp	1b

	.data
	.balign	8
	.globl	trace_msr
trace_msr:
	.long	MSR_DEBUGCTL

	.bss
	.balign	8
trace_rsp:
	.skip	8
