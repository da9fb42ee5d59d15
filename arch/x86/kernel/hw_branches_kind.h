/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ARCH_X86_KERNEL_HW_BRANCHES_KIND_H
#define _ARCH_X86_KERNEL_HW_BRANCHES_KIND_H

#ifdef __KERNEL__
#include <linux/hw_branches.h>
#else
#include "trace_hw_branches_fold.h"
#endif

/* No instruction is longer. */
#define HW_BRANCHES_INSN_SIZE	15

/**
 * struct hw_branches_insn - an instruction and the branch that it made
 * @byte:	its bytes
 * @n:		how many of them could be read
 * @from:	where it is
 * @to:		where it went
 * @entry:	@to is in the code that exceptions and interrupts enter by
 * @after_call:	and there is a call in front of @to
 * @wide:	it is code of 64 bits
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
