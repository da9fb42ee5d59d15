/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways in which user code enters the kernel and returns, and far transfers. After the signal of a
 * fault, on_signal() in workload.c returns to resume_at: the instruction would fault again.
 */
#include <asm/unistd.h>

#define USER_CS		0x33
#define USER32_CS	0x23
#define TF		0x100

	.bss
	.globl	resume_at, resume_sp
	.balign	8
resume_at:
	.skip	8
resume_sp:
	.skip	8
compat_sp:
	.skip	8

	.macro	function name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
	.endm

	.macro	resume where
	lea	\where(%rip), %rax
	mov	%rax, resume_at(%rip)
	mov	%rsp, resume_sp(%rip)
	.endm

	.text
function fault_int3
	int3
	ret

function fault_ud2
	resume	1f
	ud2
1:	ret

function fault_divide
	resume	1f
	xor	%edx, %edx
	mov	$1, %eax
	xor	%ecx, %ecx
	div	%ecx
1:	ret

/* void fault_load(const void *unmapped) */
function fault_load
	resume	1f
	mov	(%rdi), %al
1:	ret

/* void fault_jump(const void *unmapped): the jump is recorded, then the fetch faults */
function fault_jump
	resume	1f
	jmp	*%rdi
1:	ret

/* void fault_call(void *unmapped): the push faults, so the call is not recorded */
function fault_call
	resume	1f
	mov	%rdi, %rsp
	call	1f
1:	ret

/* void fault_ret(void *unmapped) */
function fault_ret
	resume	1f
	mov	%rdi, %rsp
	ret
1:	ret

/* TF is set between the two POPFs: each instruction traps, also the branches. */
function trap_flag
	pushf
	orl	$TF, (%rsp)
	popf
	nop
	jmp	1f
	nop
1:	call	2f
	xor	%eax, %eax
	jz	3f
	nop
2:	ret
3:	pushf
	andl	$~TF, (%rsp)
	popf
	ret

/*
 * void spin_in_place(const struct itimerval *timer)
 * Executes a jump to itself until the timer's signal comes. Records of the jump and of the
 * interrupts that come meanwhile have the same source address.
 */
function spin_in_place
	resume	2f
	mov	%rdi, %rsi
	mov	$__NR_setitimer, %eax
	xor	%edi, %edi
	xor	%edx, %edx
	syscall
1:	jmp	1b
2:	ret

/* void copy_string(void *to, const void *from, size_t n): page faults may interrupt REP MOVSB */
function copy_string
	mov	%rdx, %rcx
	rep movsb
	ret

function system_call_int80
	push	%rbx
	/* __NR_getpid of 32-bit programs */
	mov	$20, %eax
	int	$0x80
	pop	%rbx
	ret

/* Far transfers to the same code segment, without a change of privilege. */
function far_transfers
	lea	1f(%rip), %rax
	pushq	$USER_CS
	push	%rax
	lretq
	int3
1:	mov	%rsp, %rdx
	mov	%ss, %eax
	push	%rax
	push	%rdx
	pushf
	pushq	$USER_CS
	lea	2f(%rip), %rax
	push	%rax
	iretq
	int3
2:	ret

/*
 * Runs 32-bit code: the program must be linked below 4 GiB. An interrupt of 32-bit code may
 * truncate the stack pointer to 32 bits, so save it in compat_sp.
 */
function compat_code
	push	%rbx
	mov	%rsp, compat_sp(%rip)
	lea	.Lcompat(%rip), %rax
	pushq	$USER32_CS
	push	%rax
	lretq
	int3
	.code32
.Lcompat:
	mov	$3, %ecx
1:	loop	1b
	xor	%eax, %eax
	jz	2f
	nop
2:	inc	%eax
	jecxz	3f
	nop
3:	ljmp	$USER_CS, $4f
	.code64
4:	mov	compat_sp(%rip), %rsp
	pop	%rbx
	ret
	.section .note.GNU-stack, "", @progbits
