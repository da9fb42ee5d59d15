/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Freezes of all CPUs: code shared by the Debug Store and by last branch records
 *
 * A freeze stops recording by one of the two on all CPUs, for example in a crash, and keeps the
 * recorded branches. The CPUs continue to execute code. A thaw resumes recording. The CPU that
 * requests a freeze freezes itself, and sends an NMI to each other online CPU. Each of these CPUs
 * freezes itself in the NMI handler.
 */
#ifndef _X86_KERNEL_BRANCH_FREEZE_H
#define _X86_KERNEL_BRANCH_FREEZE_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/types.h>

/**
 * struct branch_freezes - all freezes of the Debug Store or of last branch records, numbered from 1
 * @last:	the number of the last freeze
 * @thawed:	the number of the last freeze that a thaw has undone; a thaw undoes all earlier
 *		freezes, too
 */
struct branch_freezes {
	atomic_t	last;
	atomic_t	thawed;
};

/*
 * Tell whether a freeze is in force: no thaw has undone the last freeze. Some CPUs may not have
 * frozen themselves yet.
 */
static inline bool branch_freeze_in_force(const struct branch_freezes *f)
{
	return atomic_read(&f->last) != atomic_read(&f->thawed);
}

void branch_count_thaw(struct branch_freezes *f, u32 freezes);

/**
 * enum branch_thaw_state - the last thaw of a CPU
 * @BRANCH_THAW_DONE:	the CPU has thawed, or was not frozen
 * @BRANCH_THAW_ASKED:	the CPU has to thaw. If there is another freeze before it has, it stays
 *			frozen, in this state
 * @BRANCH_THAW_MISSED:	the CPU was offline, or did not respond within a second. While it is still
 *			frozen, its branches are from before that thaw
 */
enum branch_thaw_state {
	BRANCH_THAW_DONE,
	BRANCH_THAW_ASKED,
	BRANCH_THAW_MISSED,
};

/**
 * struct branch_thaw - the thaw of a CPU
 * @work:	a hard irq_work that thaws the CPU on which it runs
 * @state:	enum branch_thaw_state
 */
struct branch_thaw {
	struct irq_work	work;
	atomic_t	state;
};

void branch_thaw_cpus(struct branch_thaw __percpu *thaw, bool (*frozen)(int cpu));

static inline void branch_thaw_done(struct branch_thaw *thaw)
{
	atomic_set(&thaw->state, BRANCH_THAW_DONE);
}

static inline bool branch_thaw_missed(const struct branch_thaw *thaw)
{
	return atomic_read(&thaw->state) == BRANCH_THAW_MISSED;
}

/**
 * struct branch_freeze_nmi - the NMI that freezes a CPU
 * @requested:	another CPU has requested the freeze of this CPU, and the request was neither
 *		handled nor dropped
 * @awaited:	the NMI may still arrive, see branch_freeze_claims()
 * @when:	when the NMI was last sent; valid if @awaited. The clock is
 *		ktime_get_mono_fast_ns(), as jiffies may not advance in a crash
 */
struct branch_freeze_nmi {
	bool		requested;
	bool		awaited;
	u64		when;
};

/*
 * Tell whether this CPU has to freeze itself, and clear the request. Called by a handler of NMIs
 * with the state of this CPU.
 */
static inline bool branch_freeze_take_request(struct branch_freeze_nmi *nmi)
{
	if (likely(!READ_ONCE(nmi->requested)))
		return false;

	WRITE_ONCE(nmi->requested, false);

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
