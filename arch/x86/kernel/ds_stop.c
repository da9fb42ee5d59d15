// SPDX-License-Identifier: GPL-2.0
/*
 * Stop BTS where its buffer goes out of reach.
 *
 * Suspend, hibernation and kexec run for a while on page tables that do not
 * map the CPU entry area, where the next branch record is a triple fault, and
 * after kexec the memory belongs to another kernel. Whoever uses BTS must not
 * have to think of that: hold it off on each CPU in time, so that no NMI
 * switches it on again either. CPUs that go offline are ds.c's business.
 *
 * Suspend to idle keeps the page tables, and BTS.
 */
#include <linux/init.h>
#include <linux/smp.h>
#include <linux/syscore_ops.h>

#include <asm/ds.h>

static void ds_hold_cpu(void *unused)
{
	ds_bts_hold();
}

/* The other CPUs are offline. Also for hibernation and a kexec that returns. */
static int ds_syscore_suspend(void *unused)
{
	ds_bts_hold();

	return 0;
}

static void ds_syscore_resume(void *unused)
{
	ds_bts_release();
}

/* The other CPUs are still running, and will be parked where NMIs get in. */
static void ds_syscore_shutdown(void *unused)
{
	on_each_cpu(ds_hold_cpu, NULL, 1);
}

static const struct syscore_ops ds_syscore_ops = {
	.suspend	= ds_syscore_suspend,
	.resume		= ds_syscore_resume,
	.shutdown	= ds_syscore_shutdown,
};

static struct syscore ds_syscore = {
	.ops = &ds_syscore_ops,
};

static int __init ds_stop_init(void)
{
	/* After the local APIC, to be resumed after it: the PMI is needed. */
	if (ds_has(DS_BTS))
		register_syscore(&ds_syscore);

	return 0;
}
arch_initcall(ds_stop_init);
