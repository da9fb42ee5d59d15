/* SPDX-License-Identifier: GPL-2.0 */
/* Ways in which a program can see the trap flag (TF). invisible.h tells what they return. */
#include <asm/unistd.h>

#include "invisible.h"

#define TF		0x100
#define USER_CS		0x33
#define USER32_CS	0x23

#ifdef __x86_64__
#define AX	%rax
#define CX	%rcx
#define DX	%rdx
#define SP	%rsp
#define BP	%rbp
#define PUSHF	pushfq
#define POPF	popfq
#define IRET	iretq
#define LRET	lretq
#else
#define AX	%eax
#define CX	%ecx
#define DX	%edx
#define SP	%esp
#define BP	%ebp
#define PUSHF	pushfl
#define POPF	popfl
#define IRET	iret
#define LRET	lret
#endif

	.bss
	.globl	invisible_once, invisible_resume
	.balign	8
invisible_once:
	.skip	8
invisible_resume:
	.skip	8
saved_sp:
	.skip	8
#ifndef __x86_64__
	.globl	invisible_vdso
invisible_vdso:
	.skip	8
#endif
area:
	.skip	64

	.macro	way name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.endm

	/* Set TF. The program single-steps from the next instruction on. */
	.macro	set_tf
	PUSHF
	orl	$TF, (SP)
	POPF
	.endm

	.macro	clear_tf
	PUSHF
	andl	$~TF, (SP)
	POPF
	.endm

	.macro	resume where
#ifdef __x86_64__
	lea	\where(%rip), AX
	mov	%eax, invisible_resume(%rip)
#else
	movl	$\where, invisible_resume
#endif
	.endm

	.text
	.globl	invisible_text
	.balign	4096
invisible_text:

way invisible_pushf
	PUSHF
	pop	AX
	ret

way invisible_pushfw
	xor	%eax, %eax
	pushfw
	popw	%ax
	ret

	/* No #DB comes between MOV SS and PUSHF: a single step executes both. */
way invisible_mov_ss
	mov	%ss, %eax
	mov	%eax, %ss
	PUSHF
	pop	AX
	ret

way invisible_mov_ss_twice
	mov	%ss, %eax
	mov	%eax, %ss
	mov	%eax, %ss
	PUSHF
	pop	AX
	ret

way invisible_mov_ss_often
	mov	%ss, %eax
	.rept	30
	mov	%eax, %ss
	.endr
	PUSHF
	pop	AX
	ret

way invisible_pop_ss
#ifndef __x86_64__
	push	%ss
	pop	%ss
	PUSHF
	pop	AX
	ret
#else
	jmp	invisible_mov_ss
#endif

	/* If PUSHF pushed the TF by which the kernel traces, POPF would set TF for the program. */
way invisible_popf_again
	PUSHF
	POPF
	PUSHF
	POPF
	PUSHF
	pop	AX
	ret

	/* While TF is set, each instruction but MOV to SS causes a #DB, and PUSHF shows TF. */
way invisible_steps
	set_tf
	nop
	jmp	1f
1:	xor	%eax, %eax
	jz	2f
	nop
2:	jnz	3f
3:	PUSHF
	pop	DX
	mov	$2, %ecx
4:	loop	4b
#ifdef __x86_64__
	jrcxz	5f
#else
	jecxz	5f
#endif
5:	mov	%ss, %eax
	mov	%eax, %ss
	nop
	mov	%ss, %eax
	mov	%eax, %ss
	jmp	6f
	nop
6:	clear_tf
	nop
	mov	DX, AX
	ret

way invisible_steps_far
	set_tf
	mov	$__NR_getpid, %eax
#ifdef __x86_64__
	syscall
	mov	%r11, DX
#else
	int	$0x80
	PUSHF
	pop	DX
#endif
	int3
	nop
	clear_tf
	mov	DX, AX
	ret

way invisible_steps_call
	set_tf
	call	1f
	nop
	clear_tf
	PUSHF
	pop	AX
	ret
1:	PUSHF
	pop	AX
	ret

	.macro	go_back flags
	mov	SP, DX
	mov	%ss, %eax
	push	AX
	push	DX
	PUSHF
	orl	$\flags, (SP)
#ifdef __x86_64__
	pushq	$USER_CS
	lea	1f(%rip), AX
	push	AX
#else
	push	%cs
	push	$1f
#endif
	IRET
	int3
	.endm

	/* 32-bit IRET to the same privilege level does not pop SS:SP: restore SP from BP. */
way invisible_iret
	push	BP
	mov	SP, BP
	go_back 0
1:	PUSHF
	pop	AX
	mov	BP, SP
	pop	BP
	ret

way invisible_iret_tf
	push	BP
	mov	SP, BP
	go_back TF
1:	nop
	PUSHF
	pop	CX
	clear_tf
	mov	CX, AX
	mov	BP, SP
	pop	BP
	ret

way invisible_lret
#ifdef __x86_64__
	pushq	$USER_CS
	lea	1f(%rip), AX
	push	AX
#else
	push	%cs
	push	$1f
#endif
	LRET
	int3
1:	PUSHF
	pop	AX
	ret

	/* getpid(): 20 is its number in the 32-bit table. */
way invisible_int80
#ifdef __x86_64__
	push	%rbx
	mov	$20, %eax
	mov	$0x202, %r11d
	int	$0x80
	pop	%rbx
	mov	%r11, AX
#else
	mov	$20, %eax
	int	$0x80
	PUSHF
	pop	AX
#endif
	ret

	/* A repeated string instruction: each iteration is a step. */
way invisible_rep
#ifdef __x86_64__
	push	%rdi
	lea	area(%rip), %rdi
#else
	push	%edi
	mov	$area, %edi
#endif
	mov	$40, %ecx
	xor	%eax, %eax
	rep stosb
#ifdef __x86_64__
	pop	%rdi
#else
	pop	%edi
#endif
	PUSHF
	pop	AX
	ret

way invisible_fault
	resume	1f
	xor	%eax, %eax
	mov	(AX), %eax
1:	PUSHF
	pop	AX
	ret

way invisible_undefined
	resume	1f
	ud2
1:	PUSHF
	pop	AX
	ret

way invisible_divide
	resume	1f
	xor	%eax, %eax
	xor	%edx, %edx
	xor	%ecx, %ecx
	div	%ecx
1:	PUSHF
	pop	AX
	ret

way invisible_breakpoint
	int3
	PUSHF
	pop	AX
	ret

way invisible_getppid
	mov	$__NR_getppid, %eax
#ifdef __x86_64__
	syscall
	mov	%r11, AX
#else
	int	$0x80
	PUSHF
	pop	AX
#endif
	ret

#ifdef __x86_64__
way invisible_syscall
	mov	$__NR_getpid, %eax
	syscall
	mov	%r11, %rax
	ret

	/* SYSCALL with a prefix has three bytes, not two. */
way invisible_syscall_rex
	mov	$__NR_getpid, %eax
	.byte	0x48
	syscall
	mov	%r11, %rax
	ret

way invisible_syscall_66
	mov	$__NR_getpid, %eax
	.byte	0x66
	syscall
	mov	%r11, %rax
	ret

	/* A single step executes both MOV SS and SYSCALL. */
way invisible_syscall_ss
	mov	%ss, %edx
	mov	$__NR_getpid, %eax
	mov	%edx, %ss
	syscall
	mov	%r11, %rax
	ret

	/* There is no system call -1. The kernel also stores -1 in orig_ax for interrupts. */
way invisible_syscall_none
	mov	$-1, %rax
	syscall
	mov	%r11, %rax
	ret

	/*
	 * The registers look as after a SYSCALL at the NOP, with TF set in R11. As the program
	 * executed no SYSCALL, the kernel must not clear TF in R11.
	 */
way invisible_forged
	pushfq
	pop	%r11
	lea	TF(%r11), %r11	/* does not change the flags */
	lea	1f(%rip), %rcx
	mov	$-38, %rax
	.byte	0x66, 0x90	/* a two-byte NOP, as long as SYSCALL */
1:	mov	%r11, %rax
	ret

	/* time(NULL) by the vsyscall page, which the kernel emulates. */
way invisible_vsyscall
	xor	%edi, %edi
	mov	$0xffffffffff600400, %rax
	call	*%rax
	pushfq
	pop	%rax
	ret

	/* Run 32-bit code, with a stack below 4 GiB. */
way invisible_compat
	push	%rbx
	mov	%rsp, saved_sp(%rip)
	lea	compat_stack(%rip), %rsp
	lea	.Lcompat(%rip), %rax
	pushq	$USER32_CS
	push	%rax
	lretq
	int3
	.code32
.Lcompat:
	mov	$3, %ecx
1:	loop	1b
	inc	%eax		/* this byte is a REX prefix in 64-bit code */
	dec	%eax
	pushfl
	pop	%ebx
	mov	$20, %eax
	int	$0x80
	ljmp	$USER_CS, $2f
	.code64
2:	mov	%rbx, %rax
	mov	saved_sp(%rip), %rsp
	pop	%rbx
	ret

	.bss
	.balign	16
	.skip	256
compat_stack:
	.skip	16
	.text
#else
	/*
	 * Load SS with a segment of another base, and adjust SP: the stack stays at the same
	 * linear address.
	 */
way invisible_pushf_segment
	mov	$INVISIBLE_SELECTOR, %ecx
	mov	%ss, %edx
	mov	%ecx, %ss
	sub	$INVISIBLE_SEGMENT, %esp
	pushfl
	pop	%eax
	mov	%edx, %ss
	add	$INVISIBLE_SEGMENT, %esp
	ret

	/* getpid() through __kernel_vsyscall of the vDSO. */
way invisible_sysenter
	mov	$20, %eax
	cmpl	$0, invisible_vdso
	je	1f
	call	*invisible_vdso
1:	PUSHF
	pop	AX
	ret
#endif
	.section .note.GNU-stack, "", @progbits
