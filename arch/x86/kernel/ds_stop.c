// SPDX-License-Identifier: GPL-2.0
/*
 * Hold BTS off while the system suspends.
 *
 * In suspend to RAM and in hibernation, the last CPU that is online runs for a while with paging
 * off, or on page tables that do not map the CPU entry area. If BTS were on then, the write of a
 * branch record would overwrite other memory, or cause a triple fault.
 * So the last CPU that is online holds BTS off in a syscore suspend callback. No user of
 * BTS has to stop it for suspend, and no NMI can enable it before resume. On CPUs that go
 * offline, ds_cpu_dying() holds BTS off. On CPUs that are stopped for a kexec or in a
 * crash, cpu_emergency_stop_bts() does.
 *
 * Suspend to idle keeps the page tables, and does not stop BTS.
 */
#include <linux/init.h>
#include <linux/syscore_ops.h>

#include <asm/ds.h>

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
	/*
	 * Registered after the local APIC, and so resumed after it: BTS needs the local APIC to
	 * raise its PMI.
	 */
	if (ds_has(DS_BTS))
		register_syscore(&ds_syscore);

	return 0;
}
arch_initcall(ds_stop_init);
