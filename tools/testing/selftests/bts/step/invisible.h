/* SPDX-License-Identifier: GPL-2.0 */
/* Ways in which a program can see the trap flag: see invisible_ways.S. */
#ifndef BTS_PTRACE_INVISIBLE_H
#define BTS_PTRACE_INVISIBLE_H

/* The base and the selector of the first segment in the LDT of 32-bit programs. */
#define INVISIBLE_SEGMENT	0xfffffff0
#define INVISIBLE_SELECTOR	7

#ifndef __ASSEMBLER__
/*
 * Each function returns flags, or R11, where SYSCALL stores the flags. invisible.c logs whether TF
 * is set in this value. It also logs each signal that the function causes.
 */
unsigned long invisible_pushf(void);
unsigned long invisible_pushfw(void);
unsigned long invisible_mov_ss(void);
unsigned long invisible_mov_ss_twice(void);
unsigned long invisible_mov_ss_often(void);
unsigned long invisible_pop_ss(void);
unsigned long invisible_popf_again(void);
unsigned long invisible_steps(void);
unsigned long invisible_steps_far(void);
unsigned long invisible_steps_call(void);
unsigned long invisible_iret(void);
unsigned long invisible_iret_tf(void);
unsigned long invisible_lret(void);
unsigned long invisible_int80(void);
unsigned long invisible_rep(void);
unsigned long invisible_fault(void);
unsigned long invisible_undefined(void);
unsigned long invisible_divide(void);
unsigned long invisible_breakpoint(void);
unsigned long invisible_getppid(void);
#ifdef __x86_64__
unsigned long invisible_syscall(void);
unsigned long invisible_syscall_rex(void);
unsigned long invisible_syscall_66(void);
unsigned long invisible_syscall_ss(void);
unsigned long invisible_syscall_none(void);
unsigned long invisible_forged(void);
unsigned long invisible_vsyscall(void);
unsigned long invisible_compat(void);
#else
unsigned long invisible_sysenter(void);
unsigned long invisible_pushf_segment(void);
#endif

/* If not 0, the handler of SIGTRAP clears TF, so that the program steps one instruction only. */
extern int invisible_once;
/* The address at which the handler of a fault lets the program continue. */
extern unsigned long invisible_resume;
extern const char invisible_text[];
#ifndef __x86_64__
/* The address of __kernel_vsyscall, from AT_SYSINFO in the auxiliary vector, or 0. */
extern unsigned long invisible_vdso;
#endif

#endif /* __ASSEMBLER__ */
#endif
