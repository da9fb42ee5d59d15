// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder in kgdb and kdb: the freeze, and kdb's command 'branches'
 *
 * In the debugger, one CPU waits for input, and usually the others wait for that CPU. All of them
 * make branches. So hw_branches_debugger_enter() freezes all CPUs when an exception enters the
 * debugger.
 */

#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kdb.h>
#include <linux/kprobes.h>
#include <linux/kstrtox.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "trace_hw_branches.h"

/* The number of calls of hw_branches_debugger_enter() on this CPU that have to be undone */
static DEFINE_PER_CPU(unsigned int, hw_branches_debugged);

/**
 * hw_branches_debugger_enter - freeze the recorder while the kernel is in its debugger
 *
 * Called with interrupts off, on a CPU that enters the debugger by an exception. This may be early
 * at boot, before irq_work can be queued: then the recorder is still off. The calls nest if, for
 * example, hw_branches_freeze_to_read() calls a function that has a breakpoint.
 */
void notrace hw_branches_debugger_enter(void)
{
	if (!READ_ONCE(hw_branches_on))
		return;
	if (this_cpu_inc_return(hw_branches_debugged) == 1)
		hw_branches_freeze_to_read();
}

NOKPROBE_SYMBOL(hw_branches_debugger_enter);

/**
 * hw_branches_debugger_leave - undo hw_branches_debugger_enter()
 *
 * Called like hw_branches_debugger_enter(), once for each call of that function. If the recorder
 * was switched on between nested calls, the outer one has nothing to undo.
 */
void notrace hw_branches_debugger_leave(void)
{
	unsigned int depth = this_cpu_read(hw_branches_debugged);

	if (depth == 1)
		hw_branches_thaw_after_read();
	if (depth)
		this_cpu_dec(hw_branches_debugged);
}

NOKPROBE_SYMBOL(hw_branches_debugger_leave);

#ifdef CONFIG_KGDB_KDB
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
#endif /* CONFIG_KGDB_KDB */
