/* SPDX-License-Identifier: GPL-2.0 */
/* Exceptions, interrupts, traps: the delivery of each is one record. */
#include "case.inc"

CASE int_n, "INT n: from is itself"
	GATE	0x60, 2f
1:	int	$0x60
	WANT	1b, 2f
2:	END

CASE int3_insn, "INT3: from is itself, and IRETQ back"
	GATE	VEC_BP, 3f
1:	int3
	WANT	1b, 3f
	WANT	3f, 2f
2:	END
3:	iretq

CASE int3_long, "CD 03: from is itself"
	GATE	VEC_BP, 2f
1:	.byte	0xcd, 3
	WANT	1b, 2f
2:	END

CASE fault_ud, "#UD: from is the faulting instruction"
	GATE	VEC_UD, 2f
	nop
1:	ud2
	WANT	1b, 2f
2:	END

CASE fault_de, "#DE: from is the faulting instruction"
	GATE	0, 2f
	xor	%ecx, %ecx
	mov	$1, %eax
	cltd
	nop
1:	div	%ecx
	WANT	1b, 2f
2:	END

CASE fault_pf, "#PF of a load: from is the faulting instruction, which runs again", \
	check=check_fault_pf
	GATE	VEC_PF, 3f
	mov	$seen + 32, %ebx
	mov	$HOLE, %eax
	nop
1:	mov	(%rax), %edx
	WANT	1b, 3f
	WANT	4f, 1b
	END
3:	mov	%cr2, %rax
	mov	%rax, seen
	pop	seen + 8
	mov	$seen, %eax
4:	iretq

CASE fault_pf_rmw, "#PF in the middle of a block of stores"
	GATE	VEC_PF, 2f
	mov	$HOLE, %eax
	incl	seen
	incl	seen + 4
1:	lock incl (%rax)
	WANT	1b, 2f
2:	END

CASE fault_gp, "#GP: from is the faulting instruction"
	GATE	VEC_GP, 2f
	mov	$SEL_LIMIT, %eax
1:	mov	%eax, %ds
	WANT	1b, 2f
2:	END

CASE fault_chain, "a fault of a fault's delivery: the one delivered is recorded", \
	setup=setup_absent_gate
	GATE	VEC_NP, 2f
1:	int	$0x61
	WANT	1b, 2f
2:	END

CASE branch_unmapped, "a branch to an unmapped page: its record, then the #PF's", \
	check=check_unmapped
	GATE	VEC_PF, 3f
	mov	$HOLE + 8, %eax
1:	jmp	*%rax
	WANT	1b, HOLE+8
	WANT	HOLE+8, 3f
3:	mov	%cr2, %rax
	mov	%rax, seen
	END

CASE ret_unmapped, "RET, far RET and IRETQ to an unmapped page"
	GATE	VEC_PF, 8f
	mov	$2f, %ebx
	pushq	$HOLE
1:	ret
	WANT	1b, HOLE
	WANT	HOLE, 8f
	WANT	9f, 2f
2:	mov	$4f, %ebx
	pushq	$SEL_KCODE
	pushq	$HOLE
3:	lretq
	WANT	3b, HOLE
	WANT	HOLE, 8f
	WANT	9f, 4f
4:	mov	$6f, %ebx
	mov	%rsp, %rax
	pushq	$SEL_KDATA
	push	%rax
	pushfq
	pushq	$SEL_KCODE
	pushq	$HOLE
5:	iretq
	WANT	5b, HOLE
	WANT	HOLE, 8f
	WANT	9f, 6f
6:	END
8:	add	$8, %rsp
	mov	%rbx, (%rsp)
9:	iretq

CASE handler_unmapped, "an exception whose handler is on an unmapped page"
	GATE	VEC_UD, HOLE + 16
	GATE	VEC_PF, 2f
1:	ud2
	WANT	1b, HOLE+16
	WANT	HOLE+16, 2f
2:	END

CASE jmp_faults, "JMP and CALL that fault on their operand leave only the exception"
	GATE	VEC_PF, 8f
	mov	$HOLE, %eax
	mov	$2f, %ebx
1:	jmp	*(%rax)
	WANT	1b, 8f
	WANT	9f, 2f
2:	mov	$4f, %ebx
3:	call	*8(%rax)
	WANT	3b, 8f
	WANT	9f, 4f
4:	END
8:	add	$8, %rsp
	mov	%rbx, (%rsp)
9:	iretq

CASE stack_faults, "CALL, RET, far RET and IRETQ that fault on their stack", setup=setup_ist
	GATE	VEC_PF, 8f
	mov	$2f, %ebx
	mov	$HOLE + 64, %esp
1:	call	2f
	WANT	1b, 8f
	WANT	9f, 2f
2:	mov	$4f, %ebx
3:	ret
	WANT	3b, 8f
	WANT	9f, 4f
4:	mov	$6f, %ebx
5:	lretq
	WANT	5b, 8f
	WANT	9f, 6f
6:	mov	$11f, %ebx
10:	iretq
	WANT	10b, 8f
	WANT	9f, 11f
11:	END
8:	add	$8, %rsp
	mov	%rbx, (%rsp)
9:	iretq

CASE far_faults, "far branches and IRETQ refused by #GP and #NP leave only the exception"
	GATE	VEC_GP, 8f
	GATE	VEC_NP, 8f
	movl	$8f, seen
	movw	$SEL_LIMIT, seen + 4
	mov	$2f, %ebx
1:	ljmp	*seen
	WANT	1b, 8f
	WANT	9f, 2f
2:	mov	$4f, %ebx
	movw	$SEL_ABSENT, seen + 4
3:	lcall	*seen
	WANT	3b, 8f
	WANT	9f, 4f
4:	mov	$6f, %ebx
	pushq	$SEL_KDATA
	push	%rsp
	pushfq
	pushq	$SEL_ABSENT
	pushq	$8f
5:	iretq
	WANT	5b, 8f
	WANT	9f, 6f
6:	END
8:	add	$8, %rsp
	mov	%rbx, (%rsp)
9:	iretq

CASE interrupt, "interrupt: from is the next instruction", setup=setup_ipi
	GATE	VEC_IPI, 3f
	sti
	nop
2:	nop
	WANT	2b, 3f
3:	END

CASE interrupt_after_branch, "interrupt at a branch's target: from is the target", setup=setup_ipi
	GATE	VEC_IPI, 3f
	sti
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	nop
	WANT	2b, 3f
3:	END

CASE hlt_wake, "wake-up from HLT: from is the instruction after it", setup=setup_timer
	GATE	VEC_TIMER, 3f
	nop
	sti
	hlt
2:	nop
	WANT	2b, 3f
3:	END

CASE hlt_wake_later, "wake-up from HLT by a timer that fires during it", setup=setup_timer_later
	GATE	VEC_TIMER, 3f
	sti
	hlt
2:	nop
	WANT	2b, 3f
3:	END

/*
 * In QEMU, STI delays interrupts, but not NMIs. It makes QEMU end the block of translated code
 * after the next instruction, and so deliver the NMI there.
 */
CASE nmi, "NMI: from is the next instruction; IRETQ back"
	GATE	VEC_NMI, 3f
	mov	$APIC, %ecx
	sti
	movl	$(1 << 18 | 1 << 14 | LVT_NMI), APIC_ICR(%rcx)
1:	nop
	WANT	1b, 3f
	WANT	3f, 1b
	END
3:	iretq

CASE trap_tf, "single-step trap: from is the next instruction"
	GATE	VEC_DB, 3f
	STEP
	nop
2:	nop
	WANT	2b, 3f
	WANT	4f, 2b
	END
3:	andl	$~FL_TF, 16(%rsp)
4:	iretq

CASE trap_tf_branch, "single-step trap of a branch: the branch, then the trap from its target"
	GATE	VEC_DB, 3f
	STEP
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	nop
	WANT	2b, 3f
	WANT	4f, 2b
	END
3:	andl	$~FL_TF, 16(%rsp)
4:	iretq

CASE trap_tf_rep, "single-step through REP: the iteration is no branch"
	GATE	VEC_DB, 3f
	mov	$scratch, %esi
	mov	%esi, %edi
	mov	$4, %ecx
	STEP
1:	rep movsb
	WANT	1b, 3f
	WANT	4f, 1b
	END
3:	andl	$~FL_TF, 16(%rsp)
4:	iretq

CASE trap_watch, "data watchpoint: from is the next instruction", setup=setup_watch, check=clear_dr7
	GATE	VEC_DB, 3f
	movl	$1, seen + 32
2:	nop
	WANT	2b, 3f
3:	END

CASE trap_watch_branch, "data watchpoint hit by CALL: its record, then the trap from the target", \
	setup=setup_watch, check=clear_dr7
	GATE	VEC_DB, 3f
	mov	$seen + 40, %esp
1:	call	2f
	WANT	1b, 2f
	nop
2:	nop
	WANT	2b, 3f
3:	END

CASE fault_break, "instruction breakpoint: from is the instruction", \
	setup=setup_break, check=clear_dr7
	GATE	VEC_DB, 3f
	nop
	.globl	break_here
break_here:
	nop
	WANT	break_here, 3f
3:	END

	.bss
	.balign	16
	.globl	scratch
scratch:
	.skip	256
	.skip	1024
	.globl	spare_stack_top
spare_stack_top:
