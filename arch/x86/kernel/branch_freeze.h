/* SPDX-License-Identifier: GPL-2.0 */
/* A freeze of all CPUs: the part that is the same for each hardware that records branches. */
#ifndef _X86_KERNEL_BRANCH_FREEZE_H
#define _X86_KERNEL_BRANCH_FREEZE_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/percpu.h>
#include <linux/types.h>

/**
 * struct branch_freezes - how often somebody froze and thawed
 * @last:	the number of freezes
 * @thawed:	which of them was the last that a thaw undid
 */
struct branch_freezes {
	atomic_t	last;
	atomic_t	thawed;
};

/* A freeze that no thaw has undone: another CPU may be about to follow it. */
static inline bool branch_refrozen(const struct branch_freezes *f)
{
	return atomic_read(&f->last) != atomic_read(&f->thawed);
}

void branch_count_thaw(struct branch_freezes *f, u32 freezes);

/**
 * struct branch_freeze_nmi - the NMI that freezes a CPU
 * @asked:	another CPU has sent it
 * @awaited:	it may still come
 * @when:	it was last sent, in jiffies, if @awaited
 */
struct branch_freeze_nmi {
	bool		asked;
	bool		awaited;
	unsigned long	when;
};

/* Called in each NMI, with what is this CPU's: is it to freeze? */
static inline bool branch_freeze_asked(struct branch_freeze_nmi *nmi)
{
	if (likely(!READ_ONCE(nmi->asked)))
		return false;

	WRITE_ONCE(nmi->asked, false);

	return true;
}

bool branch_freeze_claims(struct branch_freeze_nmi *nmi);

#ifdef CONFIG_SMP
void branch_freeze_send(struct branch_freeze_nmi __percpu *nmi);
#else
static inline void branch_freeze_send(struct branch_freeze_nmi __percpu *nmi)
{
}
#endif

#endif /* _X86_KERNEL_BRANCH_FREEZE_H */
