/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code for tests of LBRs and counters, and lists of branches that the LBRs must hold: source and
 * target, in lbr_types_list also the filter bit.
 */
#include "defs.h"

	.text
	.code64
	.globl	lbr_types, lbr_vector, lbr_nest
/* At least one branch of each kind, and two branches that are not taken. */
lbr_types:
	xor	%eax, %eax
1:	jz	2f
	nop
2:	jnz	3f
3:	jmp	4f
	nop
4:	call	10f
5:	mov	$10f, %eax
6:	call	*%rax
7:	mov	$9f, %eax
8:	jmp	*%rax
	nop
9:	mov	$2, %ecx
11:	loop	11b
12:	int	$0x60
13:	jmp	trace_done
10:	ret
lbr_vector:
	iretq

	.section .rodata
	.balign	8
	.globl	lbr_types_list, lbr_types_end, lbr_nest_list
lbr_types_list:
	.quad	trace_go, lbr_types, LBR_JMP_IND
	.quad	1b, 2b, LBR_JCC
	.quad	3b, 4b, LBR_JMP_REL
	.quad	4b, 10b, LBR_CALL_REL
	.quad	10b, 5b, LBR_RET
	.quad	6b, 10b, LBR_CALL_IND
	.quad	10b, 7b, LBR_RET
	.quad	8b, 9b, LBR_JMP_IND
	.quad	11b, 11b, LBR_JCC
	.quad	12b, lbr_vector, LBR_FAR
	.quad	lbr_vector, 13b, LBR_FAR
	.quad	13b, trace_done, LBR_JMP_REL
lbr_types_end:

/* Three nested calls, of which the innermost has returned at the end. */
	.text
lbr_nest:
	call	2f
	ud2
2:	call	3f
	ud2
3:	call	4f
	jmp	trace_done
4:	ret

	.section .rodata
	.balign	8
lbr_nest_list:
	.quad	lbr_nest, 2b
	.quad	2b, 3b
