/* SPDX-License-Identifier: GPL-2.0 */
/* Cases for 64-bit code at CPL 0: which branches are recorded, and with which source. */
#include "case.inc"

/* A branch that is taken: one record */
.macro TAKEN jcc
.Lfrom\@:
	\jcc	.Lto\@
	WANT	.Lfrom\@, .Lto\@
	ud2
.Lto\@:
.endm

/* A Jcc with a 32-bit displacement that is taken: one record */
.macro TAKEN_NEAR opcode
.Lfrom\@:
	.byte	0x0f, \opcode
	.long	.Lto\@ - . - 4
	WANT	.Lfrom\@, .Lto\@
	ud2
.Lto\@:
.endm

.macro UNTAKEN jcc
	\jcc	.Lto\@
	nop
.Lto\@:
.endm

CASE jcc_taken, "taken Jcc of every condition"
	stc
	TAKEN	jc
	TAKEN	jbe
	clc
	TAKEN	jnc
	xor	%eax, %eax
	TAKEN	jz
	TAKEN	jle
	TAKEN	jge
	TAKEN	jno
	TAKEN	jns
	TAKEN	jp
	mov	$1, %eax
	cmp	$2, %eax
	TAKEN	jnz
	TAKEN	jl
	TAKEN	js
	cmp	$-1, %eax
	TAKEN	jg
	TAKEN	jnp
	mov	$0x7fffffff, %eax
	add	$1, %eax
	TAKEN	jo
	cmp	$1, %eax
	TAKEN	ja
	END

CASE jcc_near, "taken Jcc with a 32-bit displacement"
	stc
	TAKEN_NEAR 0x82
	xor	%eax, %eax
	TAKEN_NEAR 0x84
	or	$1, %eax
	TAKEN_NEAR 0x85
	TAKEN_NEAR 0x8f
	END

CASE jcc_untaken, "an untaken Jcc is not recorded"
	stc
	UNTAKEN	jnc
	UNTAKEN	ja
	xor	%eax, %eax
	UNTAKEN	jnz
	UNTAKEN	jl
	UNTAKEN	jo
	UNTAKEN	js
	UNTAKEN	jnp
	UNTAKEN	jg
	END

CASE jmp_direct, "JMP, short and near"
	TAKEN	jmp
1:	.byte	0xe9
	.long	2f - . - 4
	WANT	1b, 2f
	ud2
2:	END

CASE jmp_indirect, "JMP through a register and through memory"
	mov	$2f, %eax
1:	jmp	*%rax
	WANT	1b, 2f
2:	movq	$4f, seen
3:	jmp	*seen
	WANT	3b, 4f
4:	mov	$seen, %ebx
	movq	$6f, 8(%rbx)
5:	jmp	*8(%rbx)
	WANT	5b, 6f
6:	END

CASE call_ret, "CALL and RET, direct and indirect"
1:	call	7f
	WANT	1b, 7f
	WANT	7f, 2f
2:	mov	$7f, %eax
3:	call	*%rax
	WANT	3b, 7f
	WANT	7f, 4f
4:	movq	$8f, seen
	push	%rax
5:	call	*seen
	WANT	5b, 8f
	WANT	8f, 6f
6:	END
7:	ret
8:	ret	$8

CASE next_insn, "a taken branch to the next instruction is recorded"
	xor	%eax, %eax
1:	.byte	0xeb, 0
	WANT	1b, 2f
2:	.byte	0x74, 0
	WANT	2b, 3f
3:	.byte	0x75, 0
4:	.byte	0xe8, 0, 0, 0, 0
	WANT	4b, 5f
5:	mov	$2, %ecx
6:	.byte	0xe2, 0
	WANT	6b, 7f
7:	.byte	0x0f, 0x84, 0, 0, 0, 0
	WANT	7b, 8f
8:	END

CASE loop_insn, "LOOP, LOOPE, LOOPNE: taken ones only, to themselves too"
	mov	$3, %ecx
1:	loop	1b
	WANT	1b, 1b
	WANT	1b, 1b
	mov	$3, %ecx
	xor	%eax, %eax
2:	loope	2b
	WANT	2b, 2b
	WANT	2b, 2b
	mov	$5, %ecx
3:	loopne	3b
	inc	%eax
4:	loopne	5f
	WANT	4b, 5f
5:	END

CASE jrcxz_insn, "JRCXZ and JECXZ: taken ones only"
	mov	$1, %ecx
	UNTAKEN	jrcxz
	shl	$32, %rcx
	UNTAKEN	jrcxz
	TAKEN	jecxz
	xor	%ecx, %ecx
	TAKEN	jrcxz
	END

CASE prefixes, "from is the first byte of the instruction, prefixes included"
	xor	%eax, %eax
1:	.byte	0x3e
	jz	2f
	WANT	1b, 2f
2:	.byte	0x2e, 0x3e
	jz	3f
	WANT	2b, 3f
3:	.byte	0xf2
	jmp	4f
	WANT	3b, 4f
4:	mov	$6f, %eax
5:	.byte	0x3e, 0x48
	jmp	*%rax
	WANT	5b, 6f
6:	call	7f
	WANT	6b, 7f
7:	movq	$9f, (%rsp)
8:	.byte	0xf3
	ret
	WANT	8b, 9f
9:	END

CASE rep_strings, "REP iterations are not recorded"
	mov	$scratch, %esi
	lea	64(%rsi), %rdi
	mov	$5, %ecx
	rep movsb
	mov	$3, %ecx
	rep stosq
	mov	$1, %ecx
	rep lodsb
	xor	%ecx, %ecx
	rep movsb
	mov	$scratch, %esi
	mov	%esi, %edi
	mov	$7, %ecx
	repe cmpsb
	mov	$4, %ecx
	repne scasb
	mov	$9, %ecx
	rep lodsb
	END

CASE no_branch, "instructions that only end a block are not recorded"
	cmp	%eax, %eax
	cmovz	%ebx, %ecx
	setz	%al
	mov	%cr3, %rax
	mov	%rax, %cr3
	invlpg	WIN
	xor	%eax, %eax
	cpuid
	mov	$MSR_EFER, %ecx
	rdmsr
	wrmsr
	in	$0x61, %al
	pushfq
	popfq
	sti
	cli
	lgdt	gdt_ptr
	mov	$SEL_KDATA, %eax
	mov	%eax, %ss
	mov	%eax, %ds
	rdtsc
	pause
	mfence
	END

CASE far_jmp, "far JMP"
	movl	$2f, seen
	movw	$SEL_KCODE, seen + 4
1:	ljmp	*seen
	WANT	1b, 2f
2:	END

CASE far_call, "far CALL, far RET, far RET with an operand"
	movl	$5f, seen
	movw	$SEL_KCODE, seen + 4
1:	lcall	*seen
	WANT	1b, 5f
	WANT	5f, 2f
2:	pushq	$0
	pushq	$SEL_KCODE
	pushq	$4f
3:	lretq	$8
	WANT	3b, 4f
4:	END
5:	lretl

CASE call_gate, "far CALL through a call gate, from CPL 0", setup=setup_call_gate_0
	movw	$SEL_CALLGATE, seen + 4
1:	lcall	*seen
	WANT	1b, call_gate_target
	WANT	call_gate_target, 2f
2:	END
	.globl	call_gate_target
call_gate_target:
	lretq

CASE iret_same, "IRETQ to the same CPL"
	mov	%rsp, %rax
	pushq	$SEL_KDATA
	push	%rax
	pushfq
	pushq	$SEL_KCODE
	pushq	$2f
1:	iretq
	WANT	1b, 2f
2:	END

CASE page_cross, "a branch whose bytes cross a page"
	jmp	page_cross_go
	WANT	page_cross, page_cross_go
	.balign	4096
	.skip	4096 - 8, 0x90
page_cross_go:
	.skip	5, 0x90
1:	.byte	0xe9
	.long	2f - . - 4
	WANT	1b, 2f
	ud2
2:	END

CASE high_half, "addresses at the top: sign and all 64 bits kept"
	movabs	$2f + HIGH, %rax
1:	jmp	*%rax
	WANT	1b, 2f+HIGH
2:	jmp	3f
	WANT	2b+HIGH, 3f+HIGH
	nop
3:	call	5f
	WANT	3b+HIGH, 5f+HIGH
4:	mov	$6f, %eax
	WANT	5f+HIGH, 4b+HIGH
	jmp	*%rax
	WANT	4b+5+HIGH, 6f
5:	ret
6:	END

CASE hot_loop, "200 iterations of one loop, chained blocks"
	mov	$200, %ecx
1:	dec	%ecx
	nop
2:	jnz	1b
	.rept	199
	WANT	2b, 1b
	.endr
	END

CASE hot_calls, "100 calls of one function from one place"
	mov	$100, %ebx
1:	call	3f
2:	dec	%ebx
	jnz	1b
	.rept	99
	WANT	1b, 3f
	WANT	3f, 2b
	WANT	2b+2, 1b
	.endr
	WANT	1b, 3f
	WANT	3f, 2b
	END
3:	ret
