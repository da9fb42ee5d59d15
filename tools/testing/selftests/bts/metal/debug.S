/* SPDX-License-Identifier: GPL-2.0 */
/* #DB and DEBUGCTL, single-stepping on branches, PMIs that need exact code, and an SMI. */
#include "case.inc"

/* The records of a branch that must trap with BTF: the branch, the #DB, and the handler's IRETQ. */
.macro STEPPED from, to
	WANT	\from, \to
	WANT	\to, btf_again
	WANT	btf_again_iret, \to
.endm

CASE btf_step, "BTF: TF traps behind taken branches only; #DB clears LBR and BTF, not TR", \
	debugctl=DBG_STEP, setup=setup_btf, check=check_btf
	GATE	VEC_DB, btf_note
	mov	$scratch, %esi
	mov	%esi, %edi
	mov	$5, %ecx
	xor	%eax, %eax
	STEP
	nop
	jnz	5f
	rep movsb
	cpuid
	xor	%eax, %eax
1:	jz	2f
	WANT	1b, 2f
	WANT	2f, btf_note
	WANT	btf_note_iret, 2f
	nop
	.globl	btf_step_to
btf_step_to:
2:	nop
5:	END

/* A handler that stores DEBUGCTL, DR6 and RIP in seen[], counts its calls, and clears TF. */
	.globl	btf_note
btf_note:
	push	%rax
	push	%rcx
	push	%rdx
	mov	$MSR_DEBUGCTL, %ecx
	rdmsr
	mov	%eax, seen
	mov	%dr6, %rax
	mov	%eax, seen + 8
	mov	24(%rsp), %rax
	mov	%rax, seen + 16
	incl	seen + 24
	andl	$~FL_TF, 40(%rsp)
	pop	%rdx
	pop	%rcx
	pop	%rax
btf_note_iret:
	iretq

CASE db_watch, "#DB of a watchpoint clears LBR and BTF, not TR", \
	debugctl=DBG_STEP, setup=setup_watch, check=check_db_watch
	GATE	VEC_DB, btf_note
	movl	$1, seen + 32
2:	nop
	WANT	2b, btf_note
	WANT	btf_note_iret, 2b
	END

CASE btf_kinds, "BTF set anew in each handler: every kind of branch, no other instruction", \
	debugctl=DBG_BTF
	GATE	VEC_DB, btf_again
	STEP
	nop
1:	call	2f
	STEPPED	1b, 2f
	nop
2:	movq	$4f, (%rsp)
3:	ret
	STEPPED	3b, 4f
4:	mov	$2, %ecx
5:	loop	5b
	STEPPED	5b, 5b
	xor	%ecx, %ecx
6:	jrcxz	7f
	STEPPED	6b, 7f
	nop
7:	mov	$9f, %eax
	nop
8:	jmp	*%rax
	STEPPED	8b, 9f
9:	xor	%eax, %eax
1:	.byte	0x74, 0
	STEPPED	1b, 2f
2:	jnz	1b
	movl	$4f, seen
	movw	$SEL_KCODE, seen + 4
3:	ljmp	*seen
	STEPPED	3b, 4f
4:	pushq	$SEL_KCODE
	pushq	$6f
5:	lretq
	STEPPED	5b, 6f
6:	mov	%rsp, %rax
	pushq	$SEL_KDATA
	push	%rax
	pushfq
	pushq	$SEL_KCODE
	pushq	$8f
7:	iretq
	STEPPED	7b, 8f
8:	pushfq
	andl	$~FL_TF, (%rsp)
	popfq
	jmp	9f
	WANT	8b+9, 9f
	nop
9:	END

	.globl	btf_again
btf_again:
	push	%rax
	push	%rcx
	push	%rdx
	mov	$MSR_DEBUGCTL, %ecx
	rdmsr
	or	$DBG_BTF, %eax
	wrmsr
	pop	%rdx
	pop	%rcx
	pop	%rax
btf_again_iret:
	iretq

CASE btf_no_tf, "BTF without TF traps nothing", debugctl=DBG_BTF
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	END

CASE btf_cleared, "BTF cleared by the first #DB: then every instruction traps", debugctl=DBG_BTF
	GATE	VEC_DB, 3f
	xor	%ebx, %ebx
	STEP
	nop
1:	jmp	2f
	WANT	1b, 2f
	WANT	2f, 3f
	WANT	4f, 2f
	nop
2:	nop
5:	nop
	WANT	5b, 3f
	WANT	4f, 5b
	END
3:	inc	%ebx
	mov	%ebx, %eax
	and	$2, %eax
	shl	$7, %eax
	not	%eax
	and	%eax, 16(%rsp)
4:	iretq

CASE btf_user, "BTF at CPL 3: not for the IRETQ that sets TF", debugctl=DBG_BTF
	GATE	VEC_DB, 3f
	TO_USER	1f, flags=FL_TF+2
1:	nop
	nop
2:	jmp	5f
	WANT	2b, 5f, 3, 3
	WANT	5f, 3f, 3, 0
	WANT	4f, 5f, 0, 3
	nop
5:	nop
	USER_END
3:	andl	$~FL_TF, 16(%rsp)
4:	iretq

/* In the cases pmi_*, record 3 reaches the threshold. Record 1 is the jump into the case. */
CASE pmi_fixed, "PMI as a fixed vector: taken at the branch's target", \
	debugctl=DBG_BTINT, setup=setup_pmi_fixed, check=check_pmi, flags=ONCE
	GATE	VEC_PMI, 3f
	sti
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	jmp	4f
	WANT	2b, 4f
	nop
4:	nop
	WANT	4b, 3f
3:	END

CASE pmi_pending, "PMI as a fixed vector waits for IF", \
	debugctl=DBG_BTINT, setup=setup_pmi_fixed, check=check_pmi, flags=ONCE
	GATE	VEC_PMI, 3f
	mov	$5, %ecx
1:	loop	1b
	.rept	4
	WANT	1b, 1b
	.endr
	sti
	nop
2:	nop
	WANT	2b, 3f
3:	END

CASE pmi_in_handler, "PMI by an exception's record: taken at the handler's first instruction", \
	debugctl=DBG_BTINT, setup=setup_pmi_nmi, check=check_pmi, flags=ONCE
	GATE	VEC_UD, 3f
	GATE	VEC_NMI, 4f
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	ud2
	WANT	2b, 3f
3:	nop
	WANT	3b, 4f
	WANT	4f, 3b
	END
4:	iretq

CASE pmi_by_int, "PMI by INT n's record: taken at the handler's first instruction", \
	debugctl=DBG_BTINT, setup=setup_pmi_nmi, check=check_pmi, flags=ONCE
	GATE	0x60, 3f
	GATE	VEC_NMI, 4f
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	int	$0x60
	WANT	2b, 3f
3:	nop
	WANT	3b, 4f
	WANT	4f, 3b
	END
4:	iretq

CASE pmi_by_interrupt, "PMI by an interrupt's record", \
	debugctl=DBG_BTINT, setup=setup_pmi_ipi, check=check_pmi, flags=ONCE
	GATE	VEC_IPI, 3f
	GATE	VEC_NMI, 4f
	sti
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	nop
	WANT	2b, 3f
3:	nop
	WANT	3b, 4f
	WANT	4f, 3b
	END
4:	iretq

CASE pmi_user, "PMI as NMI at CPL 3", \
	debugctl=DBG_BTINT, setup=setup_pmi_nmi, check=check_pmi, flags=ONCE
	GATE	VEC_NMI, 4f
	TO_USER	1f
1:	nop
2:	jmp	3f
	WANT	2b, 3f, 3, 3
	nop
3:	nop
	WANT	3b, 4f, 3, 0
	WANT	4f, 3b, 0, 3
	USER_END
4:	iretq

CASE pmi_unmapped, "PMI after a branch to an unmapped page: before the #PF", \
	debugctl=DBG_BTINT, setup=setup_pmi_nmi, check=check_pmi, flags=ONCE
	GATE	VEC_NMI, 4f
	GATE	VEC_PF, 3f
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	mov	$HOLE, %eax
	jmp	*%rax
	WANT	2b+5, HOLE
	WANT	HOLE, 4f
	WANT	4f, HOLE
	WANT	HOLE, 3f
3:	END
4:	iretq

CASE pmi_flags, "a PMI at a branch keeps the arithmetic flags", \
	debugctl=DBG_BTINT, setup=setup_pmi_nmi, check=check_pmi, flags=ONCE
	GATE	VEC_NMI, 4f
	mov	$1, %eax
	jmp	1f
	WANT	pmi_flags+5, 1f
	nop
1:	cmp	$2, %eax
2:	call	3f
	WANT	2b, 3f
	WANT	3f, 4f
	WANT	4f, 3f
	nop
3:	jnc	5f
	jz	5f
	jns	5f
	jl	6f
	WANT	3b+6, 6f
5:	ud2
6:	END
4:	iretq

CASE pmi_legacy, "PMI as NMI in protected mode", \
	debugctl=DBG_BTINT, setup=setup_pmi_nmi, check=check_pmi, flags=LEGACY+ONCE
	GATE	VEC_NMI, 4f
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	jmp	3f
	WANT	2b, 3f
	nop
3:	nop
	WANT	3b, 4f
	WANT	4f, 3b
	END32
4:	iret

CASE pmi_hlt, "PMI by the wake-up from HLT", \
	debugctl=DBG_BTINT, setup=setup_pmi_timer, check=check_pmi, flags=ONCE
	GATE	VEC_TIMER, 3f
	GATE	VEC_NMI, 4f
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	sti
	hlt
5:	nop
	WANT	5b, 3f
3:	nop
	WANT	3b, 4f
	WANT	4f, 3b
	END
4:	iretq

CASE smi, "nothing is recorded in system management mode, nor its entry and exit", \
	setup=setup_smi, check=check_smi
	mov	$0x5a, %al
1:	jmp	2f
	WANT	1b, 2f
	nop
2:	out	%al, $0xb2
	nop
3:	jmp	4f
	WANT	3b, 4f
	nop
4:	jmp	5f
	WANT	4b, 5f
	nop
5:	END

/* For test unmapped_exception: a write faults, and the handler stores the error code and CR2. */
	.globl	fault_write, fault_write_to
fault_write:
	mov	$HOLE + 0x123, %eax
	movb	$1, (%rax)
fault_write_to:
	pop	seen
	mov	%cr2, %rax
	mov	%rax, seen + 8
	jmp	trace_done
