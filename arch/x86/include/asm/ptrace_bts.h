/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_PTRACE_BTS_H
#define _ASM_X86_PTRACE_BTS_H

#include <linux/compiler_types.h>
#include <linux/errno.h>

#include <uapi/asm/ptrace_bts.h>

struct mm_struct;
struct task_struct;

#ifdef CONFIG_X86_PTRACE_BTS

long ptrace_bts_request(struct task_struct *child, long request, unsigned long addr,
			unsigned long data);
long ptrace_bts_info(struct ptrace_bts_info __user *addr);
void ptrace_bts_fork(struct task_struct *child);
void ptrace_bts_start_child(void);
void ptrace_bts_leave_mm(struct task_struct *task, struct mm_struct *mm);
void ptrace_bts_release_task(struct task_struct *child);
void ptrace_bts_exit_to_user_mode(void);

#else

static inline long ptrace_bts_request(struct task_struct *child, long request,
				      unsigned long addr, unsigned long data)
{
	return -EIO;
}

static inline long ptrace_bts_info(struct ptrace_bts_info __user *addr)
{
	return -EINVAL;
}

static inline void ptrace_bts_fork(struct task_struct *child) { }
static inline void ptrace_bts_start_child(void) { }
static inline void ptrace_bts_leave_mm(struct task_struct *task, struct mm_struct *mm) { }
static inline void ptrace_bts_release_task(struct task_struct *child) { }

#endif /* CONFIG_X86_PTRACE_BTS */
#endif /* _ASM_X86_PTRACE_BTS_H */
