// SPDX-License-Identifier: GPL-2.0
/*
 * Claiming fields of DEBUGCTL that may have several users. See asm/debugctl_claim.h.
 */

#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include <asm/debugctl.h>
#include <asm/debugctl_claim.h>

static const unsigned long debugctl_fields[] = {
	DEBUGCTL_STEP,
	DEBUGCTL_LBR,
	DEBUGCTL_BTS,
	DEBUGCTL_SMM,
	DEBUGCTL_BUSLOCK,
};

static DEFINE_MUTEX(debugctl_mutex);

/* The yielding owner, or NULL */
static const struct debugctl_yielder *debugctl_yielder;

/*
 * The yielding owner uses its fields: its ->take() was called, and its ->give_up() was not called
 * since. While nobody holds debugctl_mutex, no other owner has claimed any of these fields then.
 */
static bool debugctl_yielder_has;

/*
 * If another owner releases fields of the yielding owner, the yielding owner takes them back this
 * much later. ->take() and ->give_up() send an IPI to all CPUs. A user who opens and closes events
 * of perf in a loop must not cause that often.
 */
#define DEBUGCTL_LINGER	HZ

/*
 * The fields that owners other than the yielding owner have claimed. The fields of block-step,
 * freeze-in-SMM and bus lock detection are never released.
 */
static unsigned long debugctl_claimed = DEBUGCTL_STEP | DEBUGCTL_SMM | DEBUGCTL_BUSLOCK;

/* Tell whether @mask consists of whole fields, without any other bit. True for 0, too. */
static bool debugctl_whole_fields(unsigned long mask)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(debugctl_fields); i++) {
		unsigned long field = debugctl_fields[i];

		if ((mask & field) == field)
			mask &= ~field;
	}
	return !mask;
}

/* Tell whether there is a yielding owner without its fields, and all of them are free. */
static bool debugctl_may_take(void)
{
	return debugctl_yielder && !debugctl_yielder_has &&
	       !(debugctl_claimed & debugctl_yielder->mask);
}

static void debugctl_take(void)
{
	debugctl_yielder_has = true;
	debugctl_yielder->take();
}

static void debugctl_give_up(void)
{
	debugctl_yielder_has = false;
	debugctl_yielder->give_up();
}

static void debugctl_take_back(struct work_struct *unused)
{
	guard(mutex)(&debugctl_mutex);
	if (debugctl_may_take())
		debugctl_take();
}

static DECLARE_DELAYED_WORK(debugctl_take_work, debugctl_take_back);

/**
 * debugctl_claim - Claim fields of DEBUGCTL, on all CPUs
 * @mask: one or more whole fields
 *
 * For the fields that may have several users: LBR and BTS. May sleep. If this succeeds, and a
 * field of @mask belongs to the yielding owner, the yielding owner gives all its fields up on all
 * CPUs before this returns.
 *
 * Return: 0; -EBUSY if an owner other than the yielding owner has a field of @mask, and then
 * nothing changes; -EINVAL if @mask is 0 or is not made of whole fields.
 */
int debugctl_claim(unsigned long mask)
{
	if (!mask || !debugctl_whole_fields(mask))
		return -EINVAL;

	guard(mutex)(&debugctl_mutex);
	if (debugctl_claimed & mask)
		return -EBUSY;

	debugctl_claimed |= mask;
	if (debugctl_yielder_has && debugctl_yielder->mask & mask)
		debugctl_give_up();
	return 0;
}

/**
 * debugctl_release - Release fields that debugctl_claim() has granted
 * @mask: a mask that was claimed, or some of its fields
 *
 * The caller must have cleared the bits on all CPUs. Exception: with architectural LBRs, perf
 * leaves FREEZE_LBRS_ON_PMI set. May sleep. If that releases the last claimed field of the yielding
 * owner, its ->take() is called after DEBUGCTL_LINGER, if its fields are still free then.
 */
void debugctl_release(unsigned long mask)
{
	guard(mutex)(&debugctl_mutex);
	WARN_ON_ONCE((debugctl_claimed & mask) != mask);
	debugctl_claimed &= ~mask;
	if (debugctl_may_take() && debugctl_yielder->mask & mask)
		mod_delayed_work(system_dfl_wq, &debugctl_take_work, DEBUGCTL_LINGER);
}

/**
 * debugctl_claim_yielding - Use fields of DEBUGCTL while no other owner claims them
 * @yielder: the fields and the callbacks
 *
 * If all the fields are free, this calls ->take(). If not, ->take() is called after the last of
 * them was released, see debugctl_release(). May sleep.
 *
 * Return: 0; -EBUSY if there is a yielding owner already; -EINVAL if the mask is 0 or is not
 * made of whole fields.
 */
int debugctl_claim_yielding(const struct debugctl_yielder *yielder)
{
	if (!yielder->mask || !debugctl_whole_fields(yielder->mask))
		return -EINVAL;

	guard(mutex)(&debugctl_mutex);
	if (debugctl_yielder)
		return -EBUSY;

	debugctl_yielder = yielder;
	if (debugctl_may_take())
		debugctl_take();
	return 0;
}

/**
 * debugctl_release_yielding - Undo debugctl_claim_yielding()
 *
 * If the yielding owner has its fields, its ->give_up() is called. May sleep.
 */
void debugctl_release_yielding(void)
{
	guard(mutex)(&debugctl_mutex);
	if (debugctl_yielder_has)
		debugctl_give_up();
	debugctl_yielder = NULL;
}
