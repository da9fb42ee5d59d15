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
#include <linux/timekeeping.h>
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
 * struct branch_frozen_by - the freeze that has frozen a CPU
 * @nr:		the number of that freeze; 0 if the CPU keeps no branches of a freeze. Later freezes
 *		do not change it, except by branch_renew_freeze()
 * @when:	when the CPU was frozen, by ktime_get_mono_fast_ns(); 0 until this time is stored
 */
struct branch_frozen_by {
	u32	nr;
	u64	when;
};

static __always_inline u32 branch_freeze_nr(const struct branch_freezes *f)
{
	u32 nr = atomic_read(&f->last);

	/*
	 * The caller has requested the last freeze, or has found it in force. A thaw may have
	 * undone it since. Then only the next thaw makes the branches outdated.
	 */
	if (nr == (u32)atomic_read(&f->thawed))
		nr++;

	/* The count overflows after 2^32 freezes. */
	return nr ?: 1;
}

/*
 * This CPU has stopped recording for a freeze. If @nr is not 0, nothing changes. Called with
 * interrupts off. An NMI may call this at any time.
 */
static __always_inline void branch_note_freeze(struct branch_frozen_by __percpu *by,
					       const struct branch_freezes *f)
{
	if (!this_cpu_cmpxchg(by->nr, 0, branch_freeze_nr(f)))
		this_cpu_write(by->when, ktime_get_mono_fast_ns());
}

/*
 * This CPU, which is frozen, recorded until now: take the last freeze for the one that has frozen
 * it. Called with interrupts off.
 */
static __always_inline void branch_renew_freeze(struct branch_frozen_by __percpu *by,
						const struct branch_freezes *f)
{
	if (this_cpu_read(by->nr))
		this_cpu_write(by->nr, branch_freeze_nr(f));
}

/*
 * The branches that a CPU has kept were delivered or erased. In between, an NMI that freezes this
 * CPU does not change @nr.
 */
static inline void branch_forget_freeze(struct branch_frozen_by *by)
{
	WRITE_ONCE(by->when, 0);
	barrier();
	WRITE_ONCE(by->nr, 0);
}

/*
 * Tell whether the branches that a CPU keeps are outdated: a thaw has undone the freeze, but the
 * CPU was offline, did not respond, or was not thawed because there was another freeze.
 */
static inline bool branch_is_outdated(const struct branch_frozen_by *by,
				      const struct branch_freezes *f)
{
	u32 nr = READ_ONCE(by->nr);

	return nr && (s32)(nr - atomic_read(&f->thawed)) <= 0;
}

void branch_thaw_cpus(struct irq_work __percpu *thaw);

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

	/*
	 * This store may overwrite the request of a new freeze. Then the barrier makes the caller
	 * read the number of that freeze. So the caller finds it in force, and freezes this CPU.
	 * Pairs with smp_mb__after_atomic() in bts_freeze_all() and hw_branches_lbr_freeze().
	 */
	smp_store_mb(nmi->requested, false);

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
