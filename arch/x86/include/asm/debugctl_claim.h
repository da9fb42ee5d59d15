/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _ASM_X86_DEBUGCTL_CLAIM_H
#define _ASM_X86_DEBUGCTL_CLAIM_H

/*
 * Claiming fields of DEBUGCTL (see asm/debugctl.h), on all CPUs. One owner may be the yielding
 * owner: it uses its fields only while no other owner claims any of them.
 */

/**
 * struct debugctl_yielder - the yielding owner
 * @mask:	the fields
 * @give_up:	stop using the fields on all CPUs: after this returns, another owner may use them
 * @take:	start using the fields
 *
 * Both functions are called in process context with debugctl_mutex held. So they must not
 * call the functions that are declared below.
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
