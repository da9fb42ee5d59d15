// SPDX-License-Identifier: GPL-2.0
/*
 * Hold BTS off while the system suspends.
 *
 * Suspend to RAM and hibernation run for a while on page tables that do not map
 * the CPU entry area. A branch record would cause a triple fault there. Users of
 * BTS do not have to handle that: the last CPU holds BTS off in its syscore suspend
 * callback, and no NMI can enable it again. ds.c stops BTS on CPUs that go offline,
 * cpu_emergency_stop_bts() on CPUs that are stopped for a kexec or a crash.
 *
 * Suspend to idle keeps the page tables, and does not stop BTS.
 */
#include <linux/init.h>
#include <linux/syscore_ops.h>

#include <asm/ds.h>

/*
 * Called on the last CPU, when the others are offline, for suspend, hibernation, and a kexec
 * that returns.
 */
static int ds_syscore_suspend(void *unused)
{
	ds_bts_hold();

	return 0;
}

static void ds_syscore_resume(void *unused)
{
	ds_bts_release();
}

static const struct syscore_ops ds_syscore_ops = {
	.suspend	= ds_syscore_suspend,
	.resume		= ds_syscore_resume,
};

static struct syscore ds_syscore = {
	.ops = &ds_syscore_ops,
};

static int __init ds_stop_init(void)
{
	/* Registered after the local APIC, and so resumed after it: the PMI is needed. */
	if (ds_has(DS_BTS))
		register_syscore(&ds_syscore);

	return 0;
}
arch_initcall(ds_stop_init);
