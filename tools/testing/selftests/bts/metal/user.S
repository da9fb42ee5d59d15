/* SPDX-License-Identifier: GPL-2.0 */
/* Transfers between CPL 0 and CPL 3, and branches at CPL 3, for the CPL filter. */
#include "case.inc"

CASE user_branches, "branches at CPL 3, into a store only the supervisor may write"
	TO_USER	1f
1:	mov	$3, %ecx
2:	loop	2b
	WANT	2b, 2b, 3, 3
	WANT	2b, 2b, 3, 3
3:	call	4f
	WANT	3b, 4f, 3, 3
4:	jmp	5f
	WANT	4b, 5f, 3, 3
	nop
5:	USER_END

CASE user_int, "INT n from CPL 3, and IRETQ back"
	GATE	0x60, 3f, 3
	TO_USER	1f
1:	int	$0x60
	WANT	1b, 3f, 3, 0
	WANT	3f, 2f, 0, 3
2:	USER_END
3:	iretq

CASE user_int_jumps, "INT n from CPL 3 to a handler that jumps four times"
	GATE	0x60, user_int_jumps_to, 3
	TO_USER	1f
1:	jmp	2f
	WANT	1b, 2f, 3, 3
	nop
2:	int	$0x60
	WANT	2b, user_int_jumps_to, 3, 0
	WANT	user_jump, user_jump + 2
	WANT	user_jump + 2, user_jump + 4
	WANT	user_jump + 4, user_jump + 6
	WANT	user_jump + 6, user_jump + 8
	WANT	user_jump + 8, 3f, 0, 3
3:	USER_END
	.globl	user_int_jumps_to, user_jump
user_int_jumps_to:
	nop
user_jump:
	.rept	4
	.byte	0xeb, 0
	.endr
	iretq

CASE user_int3, "INT3 at CPL 3"
	GATE	VEC_BP, 3f, 3
	TO_USER	1f
1:	int3
	WANT	1b, 3f, 3, 0
	WANT	3f, 2f, 0, 3
2:	USER_END
3:	iretq

CASE user_int_refused, "INT n at CPL 3 through a gate of CPL 0: the #GP only"
	GATE	VEC_GP, 3f
	TO_USER	1f
	nop
1:	int	$0x60
	WANT	1b, 3f, 3, 0
	.text
3:	END

CASE user_pf, "#PF at CPL 3"
	GATE	VEC_PF, 3f
	TO_USER	1f
1:	mov	$HOLE, %eax
2:	mov	%eax, (%rax)
	WANT	2b, 3f, 3, 0
	WANT	4f, 2b, 0, 3
	USER_END
3:	add	$8, %rsp
	mov	$user_scratch, %eax
4:	iretq

CASE user_ud, "#UD at CPL 3"
	GATE	VEC_UD, 3f
	TO_USER	1f
1:	nop
2:	ud2
	WANT	2b, 3f, 3, 0
	.text
3:	END

CASE user_unmapped, "a branch at CPL 3 to an unmapped page"
	GATE	VEC_PF, 3f
	TO_USER	1f
1:	mov	$HOLE, %eax
2:	jmp	*%rax
	WANT	2b, HOLE, 3, 3
	WANT	HOLE, 3f, 3, 0
	.text
3:	END

CASE user_to_kernel_page, "a branch at CPL 3 to a page of the supervisor"
	GATE	VEC_PF, 3f
	TO_USER	1f
1:	mov	$trace_done, %eax
2:	jmp	*%rax
	WANT	2b, trace_done, 3, 3
	WANT	trace_done, 3f, 3, 0
	.text
3:	END

CASE user_iret_unmapped, "IRETQ to CPL 3 and an unmapped page"
	GATE	VEC_PF, 3f
	TO_USER	HOLE
	WANT	HOLE, 3f, 3, 0
	.text
3:	END

CASE user_interrupt, "interrupt pending at IRETQ to CPL 3: from is the first user instruction", \
	setup=setup_ipi
	GATE	VEC_IPI, 3f
	TO_USER	1f, flags=FL_IF+2
1:	nop
	WANT	1b, 3f, 3, 0
	.text
3:	END

CASE user_trap, "single-step trap at CPL 3"
	GATE	VEC_DB, 3f
	TO_USER	1f, flags=FL_TF+2
1:	jmp	2f
	WANT	1b, 2f, 3, 3
	nop
2:	nop
	WANT	2b, 3f, 3, 0
	WANT	4f, 2b, 0, 3
	USER_END
3:	andl	$~FL_TF, 16(%rsp)
4:	iretq

CASE user_call_gate, "far CALL through a call gate from CPL 3, far RET back", \
	setup=setup_call_gate_3
	TO_USER	1f
1:	movw	$(SEL_CALLGATE | RPL3), user_scratch + 4
2:	lcall	*user_scratch
	WANT	2b, user_gate_target, 3, 0
	WANT	user_gate_target, 3f, 0, 3
3:	USER_END
	.globl	user_gate_target
user_gate_target:
	lretq

CASE user_far_jmp, "far JMP at CPL 3"
	TO_USER	1f
1:	movl	$3f, user_scratch
	movw	$(SEL_UCODE | RPL3), user_scratch + 4
2:	ljmp	*user_scratch
	WANT	2b, 3f, 3, 3
3:	USER_END

CASE syscall_sysret, "SYSCALL and SYSRET", setup=setup_syscall
	TO_USER	1f
1:	nop
2:	syscall
	WANT	2b, syscall_entry, 3, 0
	WANT	4f, 3f, 0, 3
3:	USER_END
	.globl	syscall_entry
syscall_entry:
	nop
4:	sysretq

CASE sysenter_sysexit, "SYSENTER and SYSEXIT", setup=setup_sysenter
	TO_USER	1f
1:	mov	$3f, %edx
	mov	$user_stack_top, %ecx
2:	sysenter
	WANT	2b, sysenter_entry, 3, 0
	WANT	4f, 3f, 0, 3
3:	USER_END
	.globl	sysenter_entry
sysenter_entry:
	nop
4:	.byte	0x48
	sysexitl

CASE sysenter_compat, "SYSENTER and SYSEXIT of 32-bit code", setup=setup_sysenter_compat
	TO_USER	1f, sel=SEL_UCODE32
	.code32
1:	mov	$3f, %edx
	mov	$user_stack_top, %ecx
2:	sysenter
	WANT	2b, sysenter_entry_compat, 3, 0
	WANT	4f, 3f, 0, 3
3:	USER_END
	.globl	sysenter_entry_compat
sysenter_entry_compat:
	nop
4:	sysexitl

CASE sysret_compat, "SYSRET to 32-bit code", setup=setup_syscall
	mov	$1f, %ecx
	mov	$2, %r11d
2:	sysretl
	WANT	2b, 1f, 0, 3
	.section .user
	.code32
1:	jmp	3f
	WANT	1b, 3f, 3, 3
	nop
3:	USER_END

	.section .user
	.balign	16
user_scratch:
	.skip	64
