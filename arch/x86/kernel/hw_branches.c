// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder's hardware: contexts of branch traces that nobody
 * takes records from
 */

#include <linux/cpumask.h>
#include <linux/hw_branches.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>

#include <asm/bts.h>
#include <asm/intel_ds.h>

/*
 * What the ring of a context keeps, when the hardware's buffer had to be emptied
 * as a traced task came, is as much as that buffer holds of 64-bit records.
 */
#define HW_BRANCHES_DEPTH	(BTS_BUFFER_SIZE / sizeof(struct bts_raw))

/* What readers see of a CPU's, and what was created there. */
static DEFINE_PER_CPU(struct bts_context *, hw_branches_seen);
static DEFINE_PER_CPU(struct bts_context *, hw_branches_context);

u32 arch_hw_branches_depth(void)
{
	return 2 * HW_BRANCHES_DEPTH + 1;
}

int arch_hw_branches_start(int cpu)
{
	static const struct bts_attr attr = {
		.flags	= BTS_KERNEL | BTS_FLIGHT,
		.nr	= HW_BRANCHES_DEPTH,
	};
	struct bts_context *ctx;
	int err;

	err = bts_create_cpu(cpu, &attr, &ctx);
	if (err)
		return err;

	per_cpu(hw_branches_context, cpu) = ctx;
	/* Pairs with arch_hw_branches_last(). */
	smp_store_release(per_cpu_ptr(&hw_branches_seen, cpu), ctx);

	return 0;
}

void arch_hw_branches_stop(const struct cpumask *cpus)
{
	int cpu;

	if (cpumask_empty(cpus))
		return;

	for_each_cpu(cpu, cpus)
		WRITE_ONCE(per_cpu(hw_branches_seen, cpu), NULL);
	/* Who reads it in an oops or an NMI has interrupts off. */
	synchronize_rcu();
	for_each_cpu(cpu, cpus)
		bts_destroy(per_cpu(hw_branches_context, cpu));
}

u32 arch_hw_branches_freezes(void)
{
	return bts_freezes();
}

void arch_hw_branches_thaw(u32 freezes)
{
	bts_unfreeze_all(freezes);
}

int arch_hw_branches_copy(int cpu, struct hw_branch *out, u32 n)
{
	struct bts_context *ctx = per_cpu(hw_branches_seen, cpu);

	return ctx ? bts_flight_copy(ctx, out, n) : 0;
}

void notrace arch_hw_branches_freeze(void)
{
	bts_freeze_all();
}

bool arch_hw_branches_frozen(int cpu)
{
	return bts_frozen(cpu);
}

bool arch_hw_branches_hold(void)
{
	return bts_hold();
}

void arch_hw_branches_release(bool held)
{
	bts_release(held);
}

bool arch_hw_branches_is_entry(u64 to)
{
	return bts_is_entry(to);
}

u32 arch_hw_branches_last(int cpu, struct hw_branches_place *place, u32 newer,
			  struct hw_branch *out, u32 n)
{
	/* Pairs with arch_hw_branches_start(). */
	struct bts_context *ctx = smp_load_acquire(per_cpu_ptr(&hw_branches_seen, cpu));

	return ctx ? bts_flight_last(ctx, place, newer, out, n) : 0;
}
