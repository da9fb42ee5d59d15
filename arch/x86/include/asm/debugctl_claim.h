/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_DEBUGCTL_CLAIM_H
#define _ASM_X86_DEBUGCTL_CLAIM_H

/* The owners of fields of DEBUGCTL, if several may want the same field. */

/**
 * struct debugctl_yielder - an owner that gives its fields up when another owner claims them
 * @mask:	the fields
 * @give_up:	stop using the fields on all CPUs: after this returns, another owner uses them
 * @take:	start using the fields
 *
 * Both functions are called in process context under debugctl_mutex, and must not call
 * debugctl_claim(), debugctl_release(), debugctl_claim_yielding() or
 * debugctl_release_yielding().
 */
struct debugctl_yielder {
	unsigned long	mask;
	void		(*give_up)(void);
	void		(*take)(void);
};

int debugctl_claim(unsigned long mask);
void debugctl_release(unsigned long mask);
int debugctl_claim_yielding(const struct debugctl_yielder *yielder);
void debugctl_release_yielding(void);

#endif /* _ASM_X86_DEBUGCTL_CLAIM_H */
