/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_HW_BRANCHES_KIND_H
#define _ARCH_X86_KERNEL_HW_BRANCHES_KIND_H

#ifdef __KERNEL__
#include <linux/hw_branches.h>
#else
#include "trace_hw_branches_fold.h"
#endif

/* The length of the longest instruction */
#define HW_BRANCHES_INSN_SIZE	15

/**
 * struct hw_branches_insn - a branch, and the instruction at its source
 * @byte:	the bytes of the instruction, and those that follow it
 * @n:		the number of bytes that could be read
 * @from:	the address of the instruction
 * @to:		the target of the branch
 * @entry:	@to is in the entry code of exceptions, interrupts and system calls
 * @after_call:	@entry is true, and the instruction before @to is a call
 * @wide:	the instruction is 64-bit code
 */
struct hw_branches_insn {
	u8	byte[HW_BRANCHES_INSN_SIZE];
	u32	n;
	u64	from;
	u64	to;
	bool	entry;
	bool	after_call;
	bool	wide;
};

enum hw_branch_kind hw_branches_kind_of(const struct hw_branches_insn *insn, u64 *back);

#endif /* _ARCH_X86_KERNEL_HW_BRANCHES_KIND_H */
