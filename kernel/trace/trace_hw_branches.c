// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder
 *
 * Some processors can record, in a circular buffer, each branch that they take. The kernel executes
 * no instruction to record a branch. After a crash, the buffer shows how the CPU got there: not
 * only the calls that are still on the stack, but each jump, call and return of the last
 * microseconds.
 *
 * This file switches the recorder on and off. <linux/hw_branches.h> explains the terms, and
 * declares the functions of the architecture that control the hardware.
 */
#define pr_fmt(fmt) "hw_branches: " fmt

#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "trace_hw_branches.h"

/*
 * The CPUs that are to be recorded when the recorder is on. The boot parameter may set this mask.
 * After boot, the mask changes under hw_branches_mutex.
 */
static cpumask_t hw_branches_mask = CPU_MASK_ALL;

/* The CPUs on which recording was started and not stopped. Changes under hw_branches_mutex. */
static cpumask_t hw_branches_recording;

/* True while the recorder is on, and while it is being switched on or off */
DEFINE_STATIC_KEY_FALSE(hw_branches_claimed);

static void hw_branches_stop(const struct cpumask *cpus)
{
	arch_hw_branches_stop(cpus);
	cpumask_andnot(&hw_branches_recording, &hw_branches_recording, cpus);
}

/* Record on the CPUs in @want, and on no others. After an error, the same CPUs record as before. */
static int hw_branches_record(const struct cpumask *want)
{
	cpumask_var_t cpus;
	int cpu, err = 0;

	lockdep_assert_held(&hw_branches_mutex);

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;

	for_each_cpu_andnot(cpu, want, &hw_branches_recording) {
		if (!cpu_possible(cpu))
			continue;
		err = arch_hw_branches_start(cpu);
		if (err)
			break;
		cpumask_set_cpu(cpu, cpus);
	}
	cpumask_or(&hw_branches_recording, &hw_branches_recording, cpus);
	/* After an error, stop the CPUs that were started above; otherwise those not in @want. */
	if (!err)
		cpumask_andnot(cpus, &hw_branches_recording, want);
	hw_branches_stop(cpus);
	free_cpumask_var(cpus);

	return err;
}

/**
 * hw_branches_parse_source - parse the name of a source
 * @word: 0, 1, auto, or the name of a source
 * @source: where to store the argument for hw_branches_enable()
 *
 * Return: 0, or -EINVAL.
 */
int hw_branches_parse_source(const char *word, int *source)
{
	const char *name;
	int i;

	if (!strcmp(word, "0")) {
		*source = HW_BRANCHES_OFF;
		return 0;
	}
	if (!strcmp(word, "1") || !strcmp(word, "auto")) {
		*source = HW_BRANCHES_AUTO;
		return 0;
	}
	for (i = 0; (name = arch_hw_branches_name(i)); i++) {
		if (!strcmp(word, name)) {
			*source = i;
			return 0;
		}
	}

	return -EINVAL;
}

/*
 * Start recording with @source; for HW_BRANCHES_AUTO, with the first source that does not fail. On
 * an error, choose the first source.
 */
static int hw_branches_start(int source)
{
	int err, first, i;

	if (source >= 0) {
		arch_hw_branches_choose(source);
		err = hw_branches_record(&hw_branches_mask);
		if (err)
			arch_hw_branches_choose(0);
		return err;
	}

	first = hw_branches_start(0);
	err = first;
	for (i = 1; err && arch_hw_branches_name(i); i++)
		err = hw_branches_start(i);

	return err ? first : 0;
}

/* Tell whether hw_branches_enable() has nothing to do for @source. */
static bool hw_branches_is_source(int source)
{
	if (!hw_branches_on || source < 0)
		return hw_branches_on == (source != HW_BRANCHES_OFF);

	return !strcmp(arch_hw_branches_name(source), arch_hw_branches_source());
}

/**
 * hw_branches_enable - switch the recorder on or off
 * @source: the number of a source, HW_BRANCHES_AUTO or HW_BRANCHES_OFF
 *
 * Switching the recorder off erases the recorded branches. Those of a CPU that stays frozen, for
 * example because a reader has frozen it, may stay until this CPU is thawed.
 *
 * Return: 0; -EBUSY if another source is on, or another user has the hardware, or hardware that
 * excludes it; -EOPNOTSUPP without usable hardware; or -ENOMEM.
 */
int hw_branches_enable(int source)
{
	int err = 0;

	guard(mutex)(&hw_branches_mutex);

	if (hw_branches_is_source(source))
		return 0;

	if (source != HW_BRANCHES_OFF) {
		if (hw_branches_on)
			return -EBUSY;
		static_branch_enable(&hw_branches_claimed);
		err = hw_branches_start(source);
		if (err)
			static_branch_disable(&hw_branches_claimed);
		WRITE_ONCE(hw_branches_on, !err);
	} else {
		WRITE_ONCE(hw_branches_on, false);
		/* A crash or a reader may have read hw_branches_on as true: wait until it is done. */
		synchronize_rcu();
		/* Thaw first: hw_branches_stop() may leave the branches of a frozen CPU. */
		hw_branches_thaw();
		hw_branches_stop(&hw_branches_recording);
		static_branch_disable(&hw_branches_claimed);
	}

	return err;
}

/**
 * hw_branches_set_cpus - choose the CPUs whose branches are recorded
 * @cpus: the CPUs; at least one must be possible
 *
 * Return: 0; -EINVAL if none is possible; or an error like hw_branches_enable().
 */
int hw_branches_set_cpus(const struct cpumask *cpus)
{
	int err = 0;

	if (!cpumask_intersects(cpus, cpu_possible_mask))
		return -EINVAL;

	guard(mutex)(&hw_branches_mutex);

	if (hw_branches_on)
		err = hw_branches_record(cpus);
	if (!err)
		cpumask_copy(&hw_branches_mask, cpus);

	return err;
}

/**
 * hw_branches_cpus - return the mask of the CPUs whose branches are recorded
 *
 * Return: the mask, which hw_branches_set_cpus() may change at any time.
 */
const struct cpumask *hw_branches_cpus(void)
{
	return &hw_branches_mask;
}

/**
 * hw_branches_copy - copy the last branches of a CPU, the newest first
 * @cpu: the CPU
 * @out: where to store the branches
 * @n: the largest number of branches to copy
 *
 * May sleep. If the CPU records, it is held while its branches are copied.
 *
 * Return: the number of branches that were copied; 0 if the recorder is off.
 */
int hw_branches_copy(int cpu, struct hw_branch *out, u32 n)
{
	struct hw_branches_cursor cursor = { };
	int got;

	guard(mutex)(&hw_branches_mutex);

	if (!hw_branches_on)
		return 0;
	/*
	 * arch_hw_branches_copy() would wait for ever for a CPU that is locked up, or if code that
	 * holds the lock of CPU hotplug has crashed. So if the CPU is frozen, do not call it. A CPU
	 * that has missed a thaw may thaw itself when it enables interrupts or comes online: test
	 * again.
	 */
	if (arch_hw_branches_frozen(cpu)) {
		got = arch_hw_branches_last(cpu, &cursor, 0, out, n);
		if (arch_hw_branches_frozen(cpu))
			return got;
	}

	return arch_hw_branches_copy(cpu, out, n);
}

/*
 * Boot parameter
 */

static int hw_branches_early __initdata = HW_BRANCHES_OFF;

static bool __init hw_branches_setup_cpus(const char *list)
{
	cpumask_var_t cpus;
	bool good;

	alloc_bootmem_cpumask_var(&cpus);
	good = !cpulist_parse(list, cpus) && !cpumask_empty(cpus);
	if (good)
		cpumask_copy(&hw_branches_mask, cpus);
	free_bootmem_cpumask_var(cpus);

	return good;
}

/*
 * Parse hw_branches[=SOURCE|=CPUS|=SOURCE,CPUS]. SOURCE is auto or the name of a source. Unlike in
 * the file hw_branches/enable, 0 and 1 are numbers of CPUs.
 */
static int __init hw_branches_setup(char *str)
{
	int source = HW_BRANCHES_AUTO;
	char word[8];
	size_t len;

	if (*str && *str++ != '=')
		return 0;

	len = strcspn(str, ",");
	if (*str >= 'a' && len < sizeof(word)) {
		memcpy(word, str, len);
		word[len] = '\0';
		if (!hw_branches_parse_source(word, &source))
			str += len + (str[len] == ',');
	}
	if (*str && !hw_branches_setup_cpus(str)) {
		pr_warn("%s is no source and no list of CPUs, recording is off\n", str);
		source = HW_BRANCHES_OFF;
	}
	hw_branches_early = source;

	return 1;
}
__setup("hw_branches", hw_branches_setup);

/* If the boot parameter asks for it, record as soon as the architecture has found its hardware. */
static int __init hw_branches_boot(void)
{
	int err;

	if (hw_branches_early == HW_BRANCHES_OFF)
		return 0;

	err = hw_branches_enable(hw_branches_early);
	if (err)
		pr_warn("cannot record: error %pe\n", ERR_PTR(err));

	return 0;
}
subsys_initcall(hw_branches_boot);
