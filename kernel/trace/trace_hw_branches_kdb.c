// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder in kdb: the command 'branches'
 *
 * Whoever waits for a key makes branches, and so do the CPUs that wait for him.
 * So all are frozen from when an exception enters the debugger until it is left.
 */

#include <linux/init.h>
#include <linux/kdb.h>
#include <linux/kprobes.h>
#include <linux/smp.h>

#include "trace_hw_branches.h"

/**
 * hw_branches_debugger_enter - freeze while the kernel is looked at
 *
 * Called with interrupts off, on the CPU that stops the others.
 */
void notrace hw_branches_debugger_enter(void)
{
	hw_branches_debug();
}

NOKPROBE_SYMBOL(hw_branches_debugger_enter);

/**
 * hw_branches_debugger_leave - go on recording, unless somebody else does not want it
 * @undone: it was entered by an exception that the kernel is not to see now
 *
 * Called as hw_branches_debugger_enter().
 */
void notrace hw_branches_debugger_leave(bool undone)
{
	if (undone)
		hw_branches_undone();
	hw_branches_debug_over();
}

NOKPROBE_SYMBOL(hw_branches_debugger_leave);

static int hw_branches_kdb(int argc, const char **argv)
{
	int cpu = raw_smp_processor_id();

	if (argc)
		return KDB_ARGCOUNT;

	if (!READ_ONCE(hw_branches_on)) {
		kdb_printf("The branch recorder is off\n");
		return 0;
	}

	kdb_trap_printk++;
	hw_branches_dump(cpu, hw_branches_since_stop(cpu));
	kdb_trap_printk--;

	return 0;
}

static kdbtab_t hw_branches_kdb_cmd = {
	.name	= "branches",
	.func	= hw_branches_kdb,
	.usage	= "",
	.help	= "Show the last branches of all CPUs",
	.flags	= KDB_ENABLE_INSPECT,
};

static int __init hw_branches_kdb_init(void)
{
	kdb_register(&hw_branches_kdb_cmd);

	return 0;
}
late_initcall(hw_branches_kdb_init);
