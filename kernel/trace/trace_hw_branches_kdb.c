// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder in kdb: the command 'branches'
 *
 * In the debugger, the CPU that waits for a key makes branches, and so do the CPUs that wait
 * for it. So hw_branches_debugger_enter() freezes all CPUs when an exception enters the debugger.
 */

#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kdb.h>
#include <linux/kstrtox.h>
#include <linux/smp.h>

#include "trace_hw_branches.h"

/* Print a line, unless the user has answered kdb's pager with q. */
static __printf(2, 3)
void hw_branches_kdb_line(struct seq_file *unused, const char *fmt, ...)
{
	va_list args;

	if (KDB_FLAG(CMD_INTERRUPT))
		return;
	va_start(args, fmt);
	vkdb_printf(KDB_MSGSRC_INTERNAL, fmt, args);
	va_end(args);
}

static int hw_branches_kdb(int argc, const char **argv)
{
	u32 cpu = raw_smp_processor_id(), nr = READ_ONCE(hw_branches_nr);

	if (argc > 2)
		return KDB_ARGCOUNT;
	if ((argc > 0 && kstrtou32(argv[1], 0, &cpu)) || (argc > 1 && kstrtou32(argv[2], 0, &nr)))
		return KDB_BADINT;
	if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return KDB_BADCPUNUM;
	if (!nr || nr > HW_BRANCHES_MAX_NR)
		return KDB_BADINT;

	if (!READ_ONCE(hw_branches_on)) {
		kdb_printf("The branch recorder is off\n");
		return 0;
	}

	if (argc)
		hw_branches_print_cpus(hw_branches_kdb_line, cpumask_of(cpu), -1, false, nr);
	else
		hw_branches_dump(hw_branches_kdb_line, cpu, hw_branches_newer_than_stop(cpu));

	return 0;
}

static kdbtab_t hw_branches_kdb_cmd = {
	.name	= "branches",
	.func	= hw_branches_kdb,
	.usage	= "[<cpu> [<nr>]]",
	.help	= "Show the last branches of all CPUs, or of one",
	.flags	= KDB_ENABLE_INSPECT,
};

static int __init hw_branches_kdb_init(void)
{
	kdb_register(&hw_branches_kdb_cmd);

	return 0;
}
late_initcall(hw_branches_kdb_init);
