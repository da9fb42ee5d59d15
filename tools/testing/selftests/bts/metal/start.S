/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The multiboot entry, the switch to long mode, exception stubs, functions that catch exceptions,
 * the GDT, and page tables
 */
#include "defs.h"

#define MB_MAGIC	0x1badb002
#define PAGE_P		1
#define PAGE_KERN	3
#define PAGE_USER	7
#define PAGE_BIG	0x80

	.section .multiboot, "a"
	.balign	4
	.long	MB_MAGIC, 0, -MB_MAGIC

	.text
	.code32
	.globl	_start
_start:
	cli
	cld
	mov	$boot_stack_top, %esp
	mov	16(%ebx), %eax
	mov	%eax, boot_cmdline
	mov	$(CR4_PAE | CR4_PCE), %eax
	mov	%eax, %cr4
	mov	$pml4, %eax
	mov	%eax, %cr3
	mov	$MSR_EFER, %ecx
	rdmsr
	or	$0x101, %eax
	wrmsr
	mov	%cr0, %eax
	or	$(CR0_PG | CR0_WP | CR0_PE), %eax
	and	$~0xc, %eax
	mov	%eax, %cr0
	lgdt	gdt_ptr
	ljmp	$SEL_KCODE, $1f
	.code64
1:	mov	$SEL_KDATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	xor	%eax, %eax
	mov	%eax, %fs
	mov	%eax, %gs
	call	main
	call	machine_exit

	.globl	reload_cs
reload_cs:
	pop	%rax
	pushq	$SEL_KCODE
	push	%rax
	lretq

/*
 * A stub for each vector, 16 bytes apart. If the variable fixup is set, an exception continues at
 * that address. Otherwise it ends the run.
 */
	.globl	stubs
	.balign	16
stubs:
	vector = 0
	.rept	256
	.balign	16
	.if !(vector == 8 || (vector >= 10 && vector <= 14) || vector == 17)
	pushq	$0
	.endif
	pushq	$vector
	jmp	stub_common
	vector = vector + 1
	.endr

stub_common:
	push	%rax
	mov	fixup, %rax
	test	%rax, %rax
	jz	1f
	mov	%rax, 24(%rsp)
	mov	8(%rsp), %rax
	mov	%rax, caught
	pop	%rax
	add	$16, %rsp
	iretq
1:	pop	%rax
	mov	%rsp, %rdi
	and	$-16, %rsp
	call	unexpected

/* u32 wrmsr_fault(u32 msr, u64 value): returns the vector that WRMSR raised, or 0 */
	.globl	wrmsr_fault
wrmsr_fault:
	mov	%edi, %ecx
	mov	%esi, %eax
	mov	%rsi, %rdx
	shr	$32, %rdx
	movq	$0, caught
	movq	$1f, fixup
	wrmsr
1:	movq	$0, fixup
	mov	caught, %eax
	ret

/* u32 rdpmc_fault(u32 counter, u64 *value): returns the vector that RDPMC raised, or 0 */
	.globl	rdpmc_fault
rdpmc_fault:
	mov	%edi, %ecx
	xor	%eax, %eax
	xor	%edx, %edx
	movq	$0, caught
	movq	$1f, fixup
	rdpmc
1:	movq	$0, fixup
	shl	$32, %rdx
	or	%rdx, %rax
	mov	%rax, (%rsi)
	mov	caught, %eax
	ret

	.data
	.balign	8
	.globl	boot_cmdline, fixup, caught
boot_cmdline:
	.quad	0
fixup:	.quad	0
caught:	.quad	0

	.globl	gdt, gdt_ptr
	.balign	16
gdt:	.quad	0
	.quad	0x00af9b000000ffff		/* KCODE */
	.quad	0x00cf93000000ffff		/* KDATA */
	.quad	0x00cffb000000ffff		/* UCODE32 */
	.quad	0x00cff3000000ffff		/* UDATA */
	.quad	0x00affb000000ffff		/* UCODE */
	.quad	0x00cff3000000ffff		/* UDATA2 */
	.quad	0x00cf9b000000ffff		/* KCODE32 */
	.quad	0x00cf9b080000ffff		/* KCODE32_BASE */
	/* gdt_init() and set_call_gate() set the rest */
	.fill	SEL_LIMIT / 8 - 9, 8, 0
gdt_ptr:
	.word	SEL_LIMIT - 1
	.quad	gdt

/*
 * Large pages map the first GiB, in long mode twice. User mode may only access the page at 4 MiB
 * (.user) in long mode, and the first 4 MiB in protected mode.
 */
	.balign	4096
	.globl	pml4, win_pt, win_pt32, win_pt32_other, pd32, pd32_other
pml4:	.quad	pdpt + PAGE_USER
	.fill	510, 8, 0
	.quad	pdpt_high + PAGE_USER
pdpt:	.quad	pd + PAGE_USER
	.quad	win_pd + PAGE_USER
	.quad	0
	.quad	apic_pd + PAGE_KERN
	.fill	508, 8, 0
pdpt_high:
	.fill	510, 8, 0
	.quad	pd + PAGE_USER
	.quad	0
pd:	frame = 0
	.rept	512
	.if frame == 2
	.quad	frame * 0x200000 + PAGE_BIG + PAGE_USER
	.else
	.quad	frame * 0x200000 + PAGE_BIG + PAGE_KERN
	.endif
	frame = frame + 1
	.endr
apic_pd:
	frame = 0
	.rept	512
	.quad	0xc0000000 + frame * 0x200000 + PAGE_BIG + PAGE_KERN
	frame = frame + 1
	.endr
win_pd:	.quad	win_pt + PAGE_USER
	.fill	511, 8, 0

.macro DIRECTORY32 window
	.long	PAGE_BIG + PAGE_USER
	frame = 1
	.rept	255
	.long	frame * 0x400000 + PAGE_BIG + PAGE_KERN
	frame = frame + 1
	.endr
	.long	\window + PAGE_USER
	.fill	767, 4, 0
.endm
pd32:	DIRECTORY32 win_pt32
pd32_other:
	DIRECTORY32 win_pt32_other

	.bss
	.balign	4096
win_pt:	.skip	4096
win_pt32:
	.skip	4096
win_pt32_other:
	.skip	4096
	.skip	16384
boot_stack_top:
	.section .user, "awx"
	.globl	user_stack_top
	.skip	4096
user_stack_top:
