// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder for BPF: bpf_get_branch_snapshot()
 *
 * If the recorder is off, or is on but has given up its hardware to perf, perf's own function
 * serves the helper. Otherwise, the helper copies the last branches of this CPU from the recorder,
 * at most as many as the program has room for. It copies none if this CPU is frozen, or while the
 * recorder is being switched on or off.
 *
 * The verifier may write the address of the function that serves the helper into a program. So
 * hw_branches_snapshot() replaces perf's function once, at boot, and may call perf's function.
 */

#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/static_call.h>

#include "trace_hw_branches.h"

/* perf's function; returns 0 if perf has none for this machine */
DEFINE_STATIC_CALL_RET0(hw_branches_perf_snapshot, perf_snapshot_branch_stack_t);

static struct perf_branch_entry hw_branches_entry(const struct hw_branch *branch)
{
	return (struct perf_branch_entry) {
		.from	= branch->from == HW_BRANCH_USER ? 0 : branch->from,
		.to	= branch->to,
	};
}

static u32 hw_branches_snapshot_read(struct perf_branch_entry *entries, u32 cnt)
{
	struct hw_branch branch[HW_BRANCHES_CHUNK];
	struct hw_branches_cursor cursor = { };
	int cpu = smp_processor_id();
	u32 got = 0, i, n;

	/* The branches of a frozen CPU may be older than the event that runs the program. */
	if (arch_hw_branches_frozen(cpu))
		return 0;

	do {
		n = arch_hw_branches_last(cpu, &cursor, got, branch,
					  min_t(u32, cnt - got, ARRAY_SIZE(branch)));
		for (i = 0; i < n; i++)
			entries[got + i] = hw_branches_entry(&branch[i]);
		got += n;
	} while (n && got < cnt);

	return got;
}

/*
 * Any context. Stop recording as early as possible, because a few branches overwrite all last
 * branch records. Read hw_branches_on with interrupts off, so that arch_hw_branches_stop() waits
 * for this function.
 *
 * perf's function disables last branch records, so it must not run while the recorder uses them. It
 * runs in two cases: the recorder is off, or has given up the hardware to perf. These are tested
 * before anything is called, as each taken branch overwrites one of perf's last branch records.
 * While perf's function runs, the recorder cannot start to use the hardware on this CPU: code that
 * runs on this CPU does that, for example an IPI or a CPU hotplug callback, and interrupts are off.
 */
static int notrace hw_branches_snapshot(struct perf_branch_entry *entries, unsigned int cnt)
{
	unsigned long flags;
	int got = 0;
	bool stopped;

	raw_local_irq_save(flags);
	if (!static_branch_unlikely(&hw_branches_claimed) || arch_hw_branches_given_up()) {
		got = static_call(hw_branches_perf_snapshot)(entries, cnt);
	} else if (READ_ONCE(hw_branches_on)) {
		stopped = arch_hw_branches_hold();
		got = hw_branches_snapshot_read(entries, cnt);
		arch_hw_branches_release(stopped);
	}
	raw_local_irq_restore(flags);

	return got;
}

/* Called after the early_initcall in which perf chooses its function. */
static int __init hw_branches_bpf_init(void)
{
	static_call_update(hw_branches_perf_snapshot,
			   static_call_query(perf_snapshot_branch_stack));
	static_call_update(perf_snapshot_branch_stack, hw_branches_snapshot);

	return 0;
}
core_initcall(hw_branches_bpf_init);
