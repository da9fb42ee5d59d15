// SPDX-License-Identifier: GPL-2.0
/*
 * Hold BTS off while the system suspends.
 *
 * Suspend to RAM and hibernation run for a while on page tables that do not map
 * the CPU entry area. The next branch record is a triple fault there. Users of
 * BTS do not have to know: the last CPU holds BTS off in the syscore suspend, so
 * that no NMI turns it on again. ds.c stops it on CPUs that go offline, and
 * cpu_emergency_stop_bts() on CPUs that go down for a kexec or a crash.
 *
 * Suspend to idle keeps the page tables, and BTS.
 */
#include <linux/init.h>
#include <linux/syscore_ops.h>

#include <asm/ds.h>

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

static const struct syscore_ops ds_syscore_ops = {
	.suspend	= ds_syscore_suspend,
	.resume		= ds_syscore_resume,
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
