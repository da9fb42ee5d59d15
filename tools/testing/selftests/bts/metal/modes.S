/* SPDX-License-Identifier: GPL-2.0 */
/* 32-bit code: compatibility mode, protected mode, tasks; 16-bit code: virtual-8086 mode. */
#include "case.inc"

CASE compat, "32-bit code in long mode"
	TO_COMPAT 1f
1:	xor	%eax, %eax
2:	jz	3f
	WANT	2b, 3f
	nop
3:	call	5f
	WANT	3b, 5f
	WANT	5f, 4f
4:	mov	$2, %ecx
6:	loop	6b
	WANT	6b, 6b
	jnz	8f
	FROM_COMPAT 8f
8:	END
	.code32
5:	ret
	.code64

CASE compat_int, "INT n and a fault of 32-bit code"
	GATE	0x60, 5f
	GATE	VEC_UD, 4f
	TO_COMPAT 1f
1:	int	$0x60
	WANT	1b, 5f
	WANT	5f, 2f
2:	nop
3:	ud2
	WANT	3b, 4f
	.code64
4:	END
5:	iretq

CASE compat_base, "the segment's base counts: addresses are linear"
	TO_COMPAT 1f
1:	ljmp	$SEL_KCODE32_BASE, $2f - CODE_BASE
	WANT	1b, 2f
2:	jmp	3f
	WANT	2b, 3f
	nop
3:	call	4f
	WANT	3b, 4f
4:	FROM_COMPAT 5f
5:	END

/* The target is unmapped, as QEMU 7.2 itself does not wrap addresses when it fetches. */
CASE compat_wrap, "addresses of 32-bit code wrap at 4 GiB"
	GATE	VEC_PF, 3f
	TO_COMPAT 1f
1:	ljmp	$SEL_KCODE32_WRAP, $HOLE + WRAP_OFFSET
	WANT	1b, HOLE
	WANT	HOLE, 3f
	.code64
3:	END

CASE compat_high_regs, "32-bit code called with the upper halves of registers set"
	mov	$-1, %rbx
	mov	$-1, %rcx
	TO_COMPAT 1f
1:	mov	$2f, %eax
	jmp	*%eax
	WANT	1b+5, 2f
2:	FROM_COMPAT 3f
3:	END

CASE legacy, "protected mode without long mode", flags=LEGACY
	xor	%eax, %eax
1:	jz	2f
	WANT	1b, 2f
	nop
2:	call	4f
	WANT	2b, 4f
	WANT	4f, 3f
3:	ljmp	$SEL_KCODE32_BASE, $5f - CODE_BASE
	WANT	3b, 5f
4:	ret
5:	jmp	6f
	WANT	5b, 6f
	nop
6:	ljmp	$SEL_KCODE32, $7f
	WANT	6b, 7f
7:	END32

CASE legacy_faults, "INT n, INT3, #UD and #PF in protected mode", flags=LEGACY
	GATE	0x60, 5f
	GATE	VEC_BP, 5f
	GATE	VEC_UD, 6f
	GATE	VEC_PF, 7f
1:	int	$0x60
	WANT	1b, 5f
	WANT	5f, 2f
2:	int3
	WANT	2b, 5f
	WANT	5f, 3f
3:	ud2
	WANT	3b, 6f
5:	iret
6:	mov	$HOLE, %eax
4:	jmp	*%eax
	WANT	4b, HOLE
	WANT	HOLE, 7f
7:	END32

CASE legacy_pushed, "far CALL, far RET and RET n in protected mode", flags=LEGACY
1:	lcall	$SEL_KCODE32, $3f
	WANT	1b, 3f
	WANT	3f, 2f
2:	pushl	$0
	pushl	$4f
5:	ret	$4
	WANT	5b, 4f
3:	lret
4:	END32

CASE task_jmp, "task switch by JMP: one record", flags=LEGACY, setup=setup_task_end
1:	ljmp	$SEL_TSS32_B, $0
	WANT	1b, task_end
	.globl	task_end
task_end:
	END32

CASE task_call, "task switch by CALL through a task gate, and by IRET: one record each", \
	flags=LEGACY, setup=setup_task_iret
1:	lcall	$SEL_TASKGATE, $0
	WANT	1b, task_iret
	WANT	task_iret, 2f
2:	END32
	.globl	task_iret
task_iret:
	iret

CASE task_int, "task switch by INT n through a task gate: one record", \
	flags=LEGACY, setup=setup_task_iret_int
1:	int	$VEC_TASK
	WANT	1b, task_iret
	WANT	task_iret, 2f
2:	END32

/* A copy of v86_code, below 1 MiB, runs at CPL 3. */
CASE v86, "virtual-8086 mode: linear addresses, CPL 3", flags=LEGACY, setup=setup_v86
	pushl	$0
	pushl	$0
	pushl	$0
	pushl	$0
	pushl	$(LOW_STACK >> 4)
	pushl	$256
	pushl	$(FL_VM | FL_IOPL3 | 2)
	pushl	$(LOW_CODE >> 4)
	pushl	$0x10
1:	iret
	WANT	1b, LOW_CODE+0x10, 0, 3
	WANT	LOW_CODE+0x10, LOW_CODE+0x20, 3, 3
	WANT	LOW_CODE+0x21, trace32_done, 3, 0

	.globl	v86_code, v86_code_end
v86_code:
	.skip	0x10, 0xf4
	.byte	0xeb, 0x0e		/* 10: jmp 20 */
	.skip	0x0e, 0xf4
	.byte	0x90			/* 20: nop */
	.byte	0xcd, VEC_EXIT		/* 21: int */
v86_code_end:

/* Test task_cr3 runs this code: the record of the task switch and later ones go to another page. */
	.globl	task_other, task_other_jmp, task_other_end
task_other:
task_other_jmp:
	ljmp	$SEL_TSS32_B, $0
task_other_end:
	jmp	trace32_done
	.code64
