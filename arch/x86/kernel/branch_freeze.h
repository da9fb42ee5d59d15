/* SPDX-License-Identifier: GPL-2.0 */
/* Freezing all CPUs: code shared by the Debug Store and by last branch records */
#ifndef _X86_KERNEL_BRANCH_FREEZE_H
#define _X86_KERNEL_BRANCH_FREEZE_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/percpu.h>
#include <linux/types.h>

/**
 * struct branch_freezes - counts of freezes and thaws
 * @last:	the number of freezes
 * @thawed:	the number of the last freeze that a thaw has undone
 */
struct branch_freezes {
	atomic_t	last;
	atomic_t	thawed;
};

/* Tell whether there is a freeze that no thaw has undone. Some CPUs may not be frozen yet. */
static inline bool branch_refrozen(const struct branch_freezes *f)
{
	return atomic_read(&f->last) != atomic_read(&f->thawed);
}

void branch_count_thaw(struct branch_freezes *f, u32 freezes);

/**
 * struct branch_freeze_nmi - the NMI that freezes a CPU
 * @asked:	another CPU has sent the NMI, and this CPU has not frozen itself yet
 * @awaited:	the NMI may still arrive
 * @when:	when the NMI was last sent, by ktime_get_mono_fast_ns(), as jiffies may not
 *		advance in a crash; valid if @awaited
 */
struct branch_freeze_nmi {
	bool		asked;
	bool		awaited;
	u64		when;
};

/* Called in each NMI with the state of this CPU: tell whether it has to freeze itself. */
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
