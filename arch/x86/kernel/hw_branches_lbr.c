// SPDX-License-Identifier: GPL-2.0
/*
 * Last branch records (LBR) as a source of the branch flight recorder
 *
 * The processor keeps the newest branches in registers, almost without overhead: 8 to 64, and 32 or
 * fewer on many processors. The code that finds out that an exception is fatal may make more
 * branches than that. So asm/hw_branches.h stops recording at the entry of most exceptions in the
 * kernel. If such an exception may be fatal, hw_branches_lbr_freeze.c saves the LBR registers.
 *
 * perf has priority. The recorder is the yielding owner of DEBUGCTL's LBR field: before
 * perf creates its first event that claims this field (with branch stacks, for example),
 * hw_branches_lbr_yield() stops recording on all CPUs. A second after the last such event is gone,
 * hw_branches_lbr_take() starts recording again.
 *
 * hw_branches_lbr_owned, hw_branches_lbr_cpus, hw_branches_lbr_ended and
 * hw_branches_lbr_online tell which CPUs have to record. hw_branches_lbr_update() applies a change
 * of the first three on the CPUs that it concerns, if they are online. hw_branches_lbr_update_cpu()
 * is also called on a CPU that comes online or goes offline. hw_branches_lbr_busy has the CPUs that
 * may record.
 *
 * hw_branches_lbr_records is true on the CPUs that record. The recorder has enabled their LBRs,
 * except in two cases:
 *
 *  - The CPU is frozen, for example by a crash: until a thaw, see hw_branches_lbr_freeze().
 *  - The CPU is held, for example in an NMI: see hw_branches_lbr_hold().
 *
 * The processor also clears DEBUGCTL.LBR by itself, for example at a #DB. Then the kernel soon sets
 * it again, see asm/debugctl.h.
 *
 * perf's intel_pmu_reset() also clears DEBUGCTL.LBR, but only in an NMI, and
 * hw_branches_nmi_release() sets it again. perf's function for bpf_get_branch_snapshot()
 * would also disable the LBRs: hw_branches_snapshot() replaces this function.
 */

#include <linux/cc_platform.h>
#include <linux/cleanup.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/hw_branches.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/syscore_ops.h>

#include <asm/debugctl_claim.h>
#include <asm/hw_branches.h>
#include <asm/msr.h>
#include <asm/perf_event.h>

#include "bts_internal.h"
#include "hw_branches_lbr.h"
#include "hw_branches_source.h"

/* LBR_SELECT of Intel and AMD: do not record branches whose target is in user mode. */
#define HW_BRANCHES_LBR_NO_USER	BIT_ULL(1)

/* The recorder has DEBUGCTL's LBR field, as perf has not claimed the field. */
static bool hw_branches_lbr_owned;

bool arch_hw_branches_is_given_up;

/* An orderly shutdown, reboot or kexec has come to hw_branches_lbr_shutdown(): do not record. */
static bool hw_branches_lbr_ended;

/* The CPUs that have to record while the recorder has the LBR field */
static cpumask_t hw_branches_lbr_cpus;

/*
 * The CPUs in hw_branches_lbr_cpus, and those that hw_branches_lbr_stop() has removed from it, but
 * that may not have stopped yet
 */
static cpumask_t hw_branches_lbr_busy;

/* True from hw_branches_lbr_up() to hw_branches_lbr_down() on this CPU */
static DEFINE_PER_CPU(bool, hw_branches_lbr_online);

/* hw_branches_lbr_cpu.kept points to this if the kernel has no memory that survives a reboot. */
static DEFINE_PER_CPU(struct hw_branches_lbr_saved, hw_branches_lbr_kept);

/*
 * Set the filter. It stays set while the recorder is off: on Nehalem and Westmere, two threads of a
 * core share it, and the other thread may still record. perf sets its own filter when it enables
 * the LBRs, and clears the filter before a guest gets them.
 */
static void hw_branches_lbr_select(void)
{
	if (hw_branches_lbr_stack.select)
		native_wrmsrq(hw_branches_lbr_stack.select, HW_BRANCHES_LBR_NO_USER);
}

/* Disable the LBRs. Clear FREEZE_LBRS_ON_PMI as well: a PMI must not stop the recorder. */
static void hw_branches_lbr_disable(void)
{
	hw_branches_lbr_enable(false);
	debugctl_write_field(DEBUGCTL_LBR, 0);
}

/*
 * Start or stop recording on this CPU, as hw_branches_lbr_owned, hw_branches_lbr_cpus,
 * hw_branches_lbr_ended and hw_branches_lbr_online tell.
 */
static void hw_branches_lbr_update_cpu(void *unused)
{
	int cpu = smp_processor_id();
	bool want;

	lockdep_assert_irqs_disabled();

	want = READ_ONCE(hw_branches_lbr_owned) && !READ_ONCE(hw_branches_lbr_ended) &&
	       cpumask_test_cpu(cpu, &hw_branches_lbr_cpus) &&
	       this_cpu_read(hw_branches_lbr_online);
	if (want == this_cpu_read(hw_branches_lbr_records))
		return;

	if (want) {
		hw_branches_lbr_disable();
		hw_branches_lbr_wipe();
		hw_branches_lbr_select();
		this_cpu_write(hw_branches_lbr_records, true);
		barrier();
		hw_branches_lbr_resume();
	} else {
		/* From here on, a freeze or thaw on this CPU does not access the LBR registers. */
		this_cpu_write(hw_branches_lbr_records, false);
		barrier();
		hw_branches_lbr_disable();
		hw_branches_lbr_wipe();
	}
}

/* Call hw_branches_lbr_update_cpu() on those of @cpus that are online. */
static void hw_branches_lbr_update(const struct cpumask *cpus)
{
	/*
	 * A CPU that is just coming online either gets the IPI, or reads the new values in
	 * hw_branches_lbr_up(). Pairs with setting the CPU online before hw_branches_lbr_up().
	 * Also pairs with smp_mb() in hw_branches_lbr_shutdown(), see there.
	 */
	smp_mb();
	on_each_cpu_mask(cpus, hw_branches_lbr_update_cpu, NULL, true);
}

static void hw_branches_lbr_yield(void)
{
	WRITE_ONCE(hw_branches_lbr_owned, false);
	hw_branches_lbr_update(&hw_branches_lbr_busy);
	WRITE_ONCE(arch_hw_branches_is_given_up, true);
}

static void hw_branches_lbr_take(void)
{
	WRITE_ONCE(arch_hw_branches_is_given_up, false);
	WRITE_ONCE(hw_branches_lbr_owned, true);
	hw_branches_lbr_update(&hw_branches_lbr_busy);
}

static const struct debugctl_yielder hw_branches_lbr_yielder = {
	.mask	= DEBUGCTL_LBR,
	.give_up = hw_branches_lbr_yield,
	.take	= hw_branches_lbr_take,
};

/*
 * Switching the recorder on and off, CPU hotplug, and suspend
 */

/* Erase the branches of a CPU that were saved in memory. */
static void hw_branches_lbr_reset(int cpu)
{
	struct hw_branches_lbr_cpu *c = per_cpu_ptr(&hw_branches_lbr_cpu, cpu);

	WRITE_ONCE(c->exception, NULL);
	memset(c->kept, 0, sizeof(*c->kept));
	memset(&c->before_exception, 0, sizeof(c->before_exception));
	memset(&c->for_reader, 0, sizeof(c->for_reader));
}

static void hw_branches_lbr_forget(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hw_branches_lbr_reset(cpu);
	hw_branches_lbr_forget_freezes();
}

static u32 hw_branches_lbr_depth(void)
{
	return hw_branches_lbr_stack.nr;
}

static int hw_branches_lbr_start(int cpu)
{
	int err;

	if (!hw_branches_lbr_stack.nr)
		return -EOPNOTSUPP;

	if (cpumask_empty(&hw_branches_lbr_cpus)) {
		hw_branches_lbr_forget();
		err = hw_branches_lbr_watch_nmis();
		if (err)
			return err;
		/* If perf has the LBR field, hw_branches_lbr_take() is called later. */
		WRITE_ONCE(arch_hw_branches_is_given_up, true);
		err = debugctl_claim_yielding(&hw_branches_lbr_yielder);
		if (err) {
			WRITE_ONCE(arch_hw_branches_is_given_up, false);
			return err;
		}
		static_branch_enable(&hw_branches_lbr_used);
	}
	cpumask_set_cpu(cpu, &hw_branches_lbr_busy);
	cpumask_set_cpu(cpu, &hw_branches_lbr_cpus);
	hw_branches_lbr_update(cpumask_of(cpu));

	return 0;
}

static void hw_branches_lbr_stop(const struct cpumask *cpus)
{
	int cpu;

	if (cpumask_empty(cpus))
		return;

	cpumask_andnot(&hw_branches_lbr_cpus, &hw_branches_lbr_cpus, cpus);
	hw_branches_lbr_update(cpus);
	cpumask_andnot(&hw_branches_lbr_busy, &hw_branches_lbr_busy, cpus);
	if (cpumask_empty(&hw_branches_lbr_cpus)) {
		static_branch_disable(&hw_branches_lbr_used);
		debugctl_release_yielding();
		WRITE_ONCE(arch_hw_branches_is_given_up, false);
	}
	/* Readers without hw_branches_mutex have preemption off: wait until they have finished. */
	synchronize_rcu();
	for_each_cpu(cpu, cpus)
		hw_branches_lbr_reset(cpu);
	if (cpumask_empty(&hw_branches_lbr_cpus))
		hw_branches_lbr_forget();
}

static int hw_branches_lbr_up(unsigned int cpu)
{
	guard(irqsave)();
	hw_branches_lbr_catch_up();
	this_cpu_write(hw_branches_lbr_online, true);
	hw_branches_lbr_update_cpu(NULL);

	return 0;
}

/*
 * After this and until the CPU is offline, an IPI may call hw_branches_lbr_update_cpu() again. The
 * IPI does not start recording, as hw_branches_lbr_online is false.
 */
static int hw_branches_lbr_down(unsigned int cpu)
{
	guard(irqsave)();
	this_cpu_write(hw_branches_lbr_online, false);
	hw_branches_lbr_update_cpu(NULL);

	return 0;
}

/* Suspend does not take the last CPU offline, but this CPU may lose its LBR registers as well. */
static int hw_branches_lbr_suspend(void *unused)
{
	return hw_branches_lbr_down(smp_processor_id());
}

static void hw_branches_lbr_wake(void *unused)
{
	hw_branches_lbr_up(smp_processor_id());
}

/* In an orderly shutdown, reboot or kexec, disable the LBRs: the next kernel might not do it. */
static void hw_branches_lbr_shutdown(void *unused)
{
	WRITE_ONCE(hw_branches_lbr_ended, true);
	/*
	 * hw_branches_lbr_start() sets a bit in hw_branches_lbr_busy before the barrier of
	 * hw_branches_lbr_update(). So either the test below reads this bit, or
	 * hw_branches_lbr_update_cpu() reads that hw_branches_lbr_ended is true.
	 */
	smp_mb();
	if (!cpumask_empty(&hw_branches_lbr_busy))
		hw_branches_lbr_update(&hw_branches_lbr_busy);
}

static const struct syscore_ops hw_branches_lbr_syscore_ops = {
	.suspend	= hw_branches_lbr_suspend,
	.resume		= hw_branches_lbr_wake,
	.shutdown	= hw_branches_lbr_shutdown,
};

static struct syscore hw_branches_lbr_syscore = {
	.ops = &hw_branches_lbr_syscore_ops,
};

/**
 * hw_branches_lbr_read - read branches that were saved
 * @saved: the saved branches; they may change meanwhile, and may be corrupt
 * @newer: the number of newest branches to skip
 * @out: where to store the branches, the newest first
 * @n: the largest number of branches to store
 *
 * Return: the number of branches.
 */
u32 hw_branches_lbr_read(const struct hw_branches_lbr_saved *saved, u32 newer,
			 struct hw_branch *out, u32 n)
{
	static const struct bts_raw none;
	u32 nr = READ_ONCE(saved->nr);
	u32 at, seen = 0, got = 0;

	if (nr > HW_BRANCHES_LBR_MAX)
		return 0;

	for (at = 0; got < n && at < nr; at++) {
		const struct bts_raw *raw = &saved->raw[at];

		if (!bts_flight_wants(raw) || seen++ < newer)
			continue;
		out[got++] = bts_flight_branch(raw, at + 1 < nr ? raw + 1 : &none);
	}

	return got;
}

static u32 hw_branches_lbr_last(int cpu, struct hw_branches_cursor *cursor, u32 newer,
				struct hw_branch *out, u32 n)
{
	struct hw_branches_lbr_cpu *c = per_cpu_ptr(&hw_branches_lbr_cpu, cpu);
	const struct hw_branches_lbr_saved *saved = c->kept;

	if (!hw_branches_lbr_frozen(cpu)) {
		if (cpu != raw_smp_processor_id() || !this_cpu_read(hw_branches_lbr_records))
			return 0;
		saved = &c->for_reader;
		/* @cursor is the state of the reader. Save the registers in its first call. */
		if (!cursor->moved)
			hw_branches_lbr_save(&c->for_reader);
		cursor->moved = 1;
	} else if (hw_branches_lbr_outdated(cpu)) {
		return 0;
	}

	return hw_branches_lbr_read(saved, newer, out, n);
}

struct hw_branches_lbr_call {
	struct hw_branch	*out;
	u32			n;
	int			ret;
};

static void hw_branches_lbr_copy_here(void *info)
{
	struct hw_branches_lbr_call *call = info;
	struct hw_branches_cursor cursor = { };
	bool stopped = hw_branches_lbr_hold();

	call->ret = hw_branches_lbr_last(smp_processor_id(), &cursor, 0, call->out, call->n);
	hw_branches_lbr_release(stopped);
}

static int hw_branches_lbr_copy(int cpu, struct hw_branch *out, u32 n)
{
	struct hw_branches_lbr_call call = { .out = out, .n = n };

	/* If the CPU is offline, this fails, and call.ret stays 0. */
	smp_call_function_single(cpu, hw_branches_lbr_copy_here, &call, 1);

	return call.ret;
}

const struct hw_branches_source hw_branches_lbr = {
	.name		= "lbr",
	.depth		= hw_branches_lbr_depth,
	.start		= hw_branches_lbr_start,
	.stop		= hw_branches_lbr_stop,
	.thaw		= hw_branches_lbr_thaw,
	.copy		= hw_branches_lbr_copy,
	.freeze		= hw_branches_lbr_freeze,
	.freezes	= hw_branches_lbr_freezes,
	.frozen		= hw_branches_lbr_frozen,
	.frozen_at	= hw_branches_lbr_frozen_at,
	.outdated	= hw_branches_lbr_outdated,
	.last		= hw_branches_lbr_last,
};

/**
 * hw_branches_lbr_use_memory - keep the branches of a frozen CPU in this memory
 * @cpu: any possible CPU
 * @memory: the memory; this function clears it
 *
 * Called at boot, before the recorder starts.
 */
void __init hw_branches_lbr_use_memory(unsigned int cpu, struct hw_branches_lbr_saved *memory)
{
	memset(memory, 0, sizeof(*memory));
	per_cpu(hw_branches_lbr_cpu.kept, cpu) = memory;
}

static void __init hw_branches_lbr_use_own_memory(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (!per_cpu(hw_branches_lbr_cpu.kept, cpu))
			hw_branches_lbr_use_memory(cpu, per_cpu_ptr(&hw_branches_lbr_kept, cpu));
	}
}

/*
 * Test writes to the registers that control the LBRs: a hypervisor may present a processor that has
 * LBRs, but refuse or ignore these writes.
 */
static bool __init hw_branches_lbr_works(const struct x86_lbr_stack *stack)
{
	u64 val;
	int err;

	guard(irqsave)();
	if (stack->select && wrmsrq_safe(stack->select, 0))
		return false;
	if (stack->ctl) {
		if (wrmsrq_safe(stack->ctl, stack->ctl_on))
			return false;
		err = rdmsrq_safe(stack->ctl, &val);
		return !wrmsrq_safe(stack->ctl, stack->ctl_off) && !err && val == stack->ctl_on;
	}

	if (debugctl_try_field(DEBUGCTLMSR_LBR, DEBUGCTLMSR_LBR))
		return false;
	rdmsrq(MSR_IA32_DEBUGCTLMSR, val);
	debugctl_try_field(DEBUGCTLMSR_LBR, 0);

	return val & DEBUGCTLMSR_LBR;
}

/*
 * Find the LBRs; return false if the recorder cannot use them. It cannot in a confidential guest:
 * there, a write of an MSR may raise #VC or #VE where these exceptions are not allowed.
 */
static bool __init hw_branches_lbr_find(struct x86_lbr_stack *stack)
{
	if (boot_cpu_has(X86_FEATURE_XENPV) || cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		return false;
	if (!x86_perf_get_lbr_stack(stack) && !amd_perf_get_lbr_stack(stack))
		return false;

	return stack->nr <= HW_BRANCHES_LBR_MAX && hw_branches_lbr_works(stack);
}

static int __init hw_branches_lbr_init(void)
{
	struct x86_lbr_stack stack;
	int ret;

	/* Even if there are no LBRs, hw_branches_lbr_thaw() uses this memory. */
	hw_branches_lbr_use_own_memory();
	if (!hw_branches_lbr_find(&stack))
		return 0;

	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "x86/hw_branches:online",
				hw_branches_lbr_up, hw_branches_lbr_down);
	if (ret < 0) {
		pr_err("hw_branches: no CPU hotplug state left, LBR cannot be used\n");
		return ret;
	}
	register_syscore(&hw_branches_lbr_syscore);
	hw_branches_lbr_stack = stack;
	hw_branches_lbr_ctl = (struct hw_branches_lbr_ctl) {
		.msr	= stack.ctl,
		.on	= stack.ctl_on,
		.off	= stack.ctl_off,
	};

	return 0;
}

/* Called after perf has found the LBRs, and before the recorder may start at boot. */
arch_initcall(hw_branches_lbr_init);
