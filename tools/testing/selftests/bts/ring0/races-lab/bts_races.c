// SPDX-License-Identifier: GPL-2.0
/*
 * Races of the branch flight recorder. Each word that is written to /dev/bts_races is a step of a
 * race: see kinds[]. The module does something at a chosen point of what the recorder does, on the
 * same CPU or on another one. A crash freezes the recorder: all CPUs stop recording until a thaw.
 */
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/hw_branches.h>
#include <linux/hw_breakpoint.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include <asm/msr.h>

#include <trace/events/error_report.h>

#include "lookup.h"

/* Nothing is mapped at this address. */
#define BAD_ADDRESS	0xb75ul

typedef void (*print_func)(struct seq_file *m, const char *fmt, ...);

static lookup_func look_up;

static bool (*crash_freeze)(unsigned long ip);
static bool (*claim_dump)(int cpu);
static void (*keep_frozen)(void);
static void (*report_lockup)(int cpu, bool first);
static void (*press_sysrq)(u8 key);
static void (*freeze_to_read)(void);
static void (*thaw_after_read)(void);
static void (*sys_info_branches)(void);
static void (*dump_cpu)(print_func print, int cpu, int since, u32 nr);
static u32 (*last_branches)(int cpu, struct hw_branches_cursor *cursor, u32 newer,
			    struct hw_branch *out, u32 n);

/*
 * Variables of the recorder. A crash keeps it frozen while *first_cpu is not negative. Root, a
 * trigger or a watchpoint keeps it frozen while *kept_frozen is true.
 */
static int *first_cpu;
static bool *kept_frozen;

static int find_functions(void)
{
	look_up = find_lookup();
	if (!look_up)
		return -ENOENT;

	crash_freeze = (void *)look_up("hw_branches_crash_freeze");
	claim_dump = (void *)look_up("hw_branches_claim_dump");
	keep_frozen = (void *)look_up("hw_branches_keep_frozen");
	report_lockup = (void *)look_up("hw_branches_report_lockup_print");
	press_sysrq = (void *)look_up("hw_branches_sysrq");
	freeze_to_read = (void *)look_up("hw_branches_freeze_to_read");
	thaw_after_read = (void *)look_up("hw_branches_thaw_after_read");
	first_cpu = (int *)look_up("hw_branches_first");
	kept_frozen = (bool *)look_up("hw_branches_kept_frozen");
	sys_info_branches = (void *)look_up("hw_branches_sys_info");
	dump_cpu = (void *)look_up("hw_branches_dump_cpu");
	last_branches = (void *)look_up("arch_hw_branches_last");

	return crash_freeze && claim_dump && keep_frozen && report_lockup && press_sysrq &&
	       freeze_to_read && thaw_after_read && first_cpu && kept_frozen &&
	       sys_info_branches && dump_cpu && last_branches ? 0 : -ENOENT;
}

/* Freeze as a crash does, but print nothing. */
static void do_freeze(void)
{
	crash_freeze(0);
}

/* Report that CPU 1 is locked up, as the detector on another CPU does. */
static void do_other(void)
{
	guard(preempt)();
	report_lockup(1, crash_freeze(0));
}

/* Report that this CPU is locked up, as its detector does. */
static void do_own(void)
{
	guard(preempt)();
	report_lockup(smp_processor_id(), crash_freeze(0));
}

/* Call the tracepoint that KASAN calls at the end of a report. */
static void do_report(void)
{
	trace_error_report_end(ERROR_DETECTOR_KASAN, BAD_ADDRESS);
}

/* Hold the mutex that a write to the recorder's file "freeze" takes, and that its works take. */
static void do_mutex(void)
{
	struct mutex *mutex = (struct mutex *)look_up("hw_branches_mutex");

	mutex_lock(mutex);
	msleep(2500);
	mutex_unlock(mutex);
}

/* How often hw_branches_sys_info() read branches with preemption on; -1 if it read none. */
static int preemptible_reads;
module_param(preemptible_reads, int, 0400);

static struct task_struct *reader;
static int least, most;

static int read_begins(struct kprobe *probe, struct pt_regs *regs)
{
	int count = preempt_count() & PREEMPT_MASK;

	if (current != reader)
		return 0;
	least = min(least, count);
	most = max(most, count);
	preemptible_reads += count == least;

	return 0;
}

/*
 * Empty: a kprobe with a post handler is not optimized into a jump. If the kernel optimized the
 * kprobe between two reads, the preemption count in read_begins() would change.
 */
static void read_began(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static void do_sys_info(void)
{
	struct kprobe probe = {
		.symbol_name = "arch_hw_branches_last",
		.pre_handler = read_begins,
		.post_handler = read_began,
	};
	struct hw_branches_cursor cursor = { };
	struct hw_branch branch;

	least = INT_MAX;
	most = 0;
	reader = current;
	if (register_kprobe(&probe))
		return;
	/* This read, with preemption on, sets @least: in a kprobe, the count need not be 0. */
	last_branches(raw_smp_processor_id(), &cursor, 0, &branch, 1);
	preemptible_reads = 0;
	sys_info_branches();
	unregister_kprobe(&probe);
	/* If only the read above was seen, hw_branches_sys_info() has read no branches. */
	if (most == least && !preemptible_reads)
		preemptible_reads = -1;
}

static void (*at_return)(void);

static int freeze_ends(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	void (*act)(void);

	act = xchg(&at_return, NULL);
	if (act)
		act();

	return 0;
}

/* Freeze as a crash does. Call @act at the first return of bts_freeze_all(), after the NMIs. */
static void freeze_and(void (*act)(void))
{
	struct kretprobe probe = {
		.kp.symbol_name = "bts_freeze_all",
		.handler = freeze_ends,
		.maxactive = 4,
	};

	at_return = act;
	if (register_kretprobe(&probe))
		return;
	/* crash_freeze() uses raw_local_irq_save(): lockdep is not told that interrupts are off. */
	lockdep_off();
	crash_freeze(0);
	lockdep_on();
	unregister_kretprobe(&probe);
}

static void delay(void)
{
	mdelay(20);
}

static void do_late(void)
{
	freeze_and(delay);
}

/* A print function that crashes. */
static void print_faults(struct seq_file *m, const char *fmt, ...)
{
	asm volatile("movl $1, (%0)" : : "r" (BAD_ADDRESS) : "memory");
}

static void do_break(void)
{
	dump_cpu(print_faults, raw_smp_processor_id(), 0, 4);
}

/* If true, the next sysrq-B crashes when it begins to print. */
static bool sysrq_faults;

static int sysrq_prints(struct kprobe *probe, struct pt_regs *regs)
{
	if (!xchg(&sysrq_faults, false))
		return 0;
	instruction_pointer_set(regs, (unsigned long)print_faults);

	return 1;
}

static struct kprobe sysrq_probe = {
	.symbol_name = "hw_branches_dump_cpu",
	.pre_handler = sysrq_prints,
};

static bool sysrq_probed;

static void do_sysrq(void)
{
	sysrq_probed = !register_kprobe(&sysrq_probe);
	sysrq_faults = sysrq_probed;
	press_sysrq('B');
}

static void do_sysrq_end(void)
{
	if (sysrq_probed)
		unregister_kprobe(&sysrq_probe);
	sysrq_probed = false;
}

/* A watchpoint on a variable of the recorder. If @armed, the next write calls at_write(). */
static struct perf_event * __percpu *watch;
static void (*at_write)(void);
static bool armed;

/* Freeze and claim the printing of branches, as a crash or the report of a lockup does. */
static void crash_too(void)
{
	crash_freeze(0);
	claim_dump(raw_smp_processor_id());
}

/* Set when this module begins to wait for another CPU, and while do_read() keeps CPUs frozen */
static bool waiting;
module_param(waiting, bool, 0400);

/* Keep the recorder frozen for two seconds, as sysrq does while it prints. */
static void do_read(void)
{
	freeze_to_read();
	WRITE_ONCE(waiting, true);
	msleep(2000);
	WRITE_ONCE(waiting, false);
	thaw_after_read();
}

static bool is_kept(void)
{
	return READ_ONCE(*kept_frozen);
}

static bool is_crashed(void)
{
	return READ_ONCE(*first_cpu) >= 0;
}

/* Whether the recorder was still frozen by a crash at the end of do_printing() */
static bool kept;
module_param(kept, bool, 0400);

/* Behave for 2.5 seconds as if an oops were being printed. */
static void do_printing(void)
{
	u64 debugctl;

	oops_in_progress++;
	msleep(2500);
	rdmsrq(MSR_IA32_DEBUGCTLMSR, debugctl);
	kept = is_crashed() && !(debugctl & DEBUGCTLMSR_BTS);
	oops_in_progress--;
}

/*
 * Wait until a thaw on another CPU begins: then @frozen returns false. Wait 20 ms more, so that the
 * thaw gets to branch_thaw_cpus(), where it waits for this CPU, whose interrupts are off.
 */
static void await(bool (*frozen)(void))
{
	int left = 5000;

	WRITE_ONCE(waiting, true);
	while (frozen() && left--)
		mdelay(1);
	mdelay(20);
}

static void await_thaw(void)
{
	await(is_crashed);
}

static void await_thaw_of_kept(void)
{
	await(is_kept);
}

static void variable_written(struct perf_event *event, struct perf_sample_data *data,
			     struct pt_regs *regs)
{
	if (xchg(&armed, false))
		at_write();
}

static void unwatch(void)
{
	if (watch)
		unregister_wide_hw_breakpoint(watch);
	watch = NULL;
	waiting = false;
}

static void watch_variable(unsigned long address, unsigned int len, void (*what)(void))
{
	struct perf_event_attr attr;

	unwatch();
	hw_breakpoint_init(&attr);
	attr.bp_addr = address;
	attr.bp_len = len;
	attr.bp_type = HW_BREAKPOINT_W;
	watch = register_wide_hw_breakpoint(&attr, variable_written, NULL);
	if (IS_ERR((void __force *)watch))
		watch = NULL;
	at_write = what;
	armed = true;
}

static void do_thaw_keeping(void)
{
	watch_variable((unsigned long)kept_frozen, HW_BREAKPOINT_LEN_1, crash_too);
}

/* On x86-64, hw_branches_first.task is the second long of hw_branches_first. */
static void do_thaw_task(void)
{
	watch_variable((unsigned long)first_cpu + sizeof(long), HW_BREAKPOINT_LEN_4, crash_too);
}

static void do_thaw_first(void)
{
	watch_variable((unsigned long)first_cpu, HW_BREAKPOINT_LEN_4, crash_too);
}

/* A thaw comes after the crash has written hw_branches_first.cpu, but before the crash freezes. */
static void do_crash_thawed(void)
{
	watch_variable((unsigned long)first_cpu, HW_BREAKPOINT_LEN_4, await_thaw);
	crash_freeze(0);
	unwatch();
}

/* A thaw comes after the crash has frozen the CPUs, but before it knows that they stay frozen. */
static void do_freeze_thawed(void)
{
	freeze_and(await_thaw);
}

/* Like do_crash_thawed() for hw_branches_kept_frozen, which hw_branches_keep_frozen() sets. */
static void do_keep_thawed(void)
{
	watch_variable((unsigned long)kept_frozen, HW_BREAKPOINT_LEN_1, await_thaw_of_kept);
	keep_frozen();
	unwatch();
}

static int pauses(struct kprobe *probe, struct pt_regs *regs)
{
	if (xchg(&armed, false))
		crash_freeze(0);

	return 0;
}

static struct kprobe pause_probe = {
	.symbol_name = "bts_ds_pause",
	.pre_handler = pauses,
};

static bool pause_probed;

/* The next thaw of a CPU crashes before it has drained the buffer. */
static void do_crash_in_thaw(void)
{
	armed = true;
	pause_probed = !register_kprobe(&pause_probe);
}

static void do_crash_in_thaw_end(void)
{
	if (pause_probed)
		unregister_kprobe(&pause_probe);
	pause_probed = false;
}

/* Crash a CPU that goes offline: the task that has requested it keeps the lock of CPU hotplug. */
static int crash_down(unsigned int cpu)
{
	print_faults(NULL, NULL);

	return 0;
}

static void do_hotplug(void)
{
	cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "bts_races:crash", NULL, crash_down);
}

/* The parameter `hit`: whether at_write() was called since the last watch_variable(). */
static int get_hit(char *buf, const struct kernel_param *kp)
{
	return sprintf(buf, "%c\n", armed ? 'N' : 'Y');
}

static const struct kernel_param_ops hit_ops = { .get = get_hit };
module_param_cb(hit, &hit_ops, NULL, 0400);

/*
 * A write to the file "watch" looks up a symbol, and then searches for others of that name. Replace
 * the search by a function that sleeps, and finds no other one. Meanwhile, the symbol's module can
 * go.
 */
static int find_no_other(int (*fn)(void *data, unsigned long address), const char *name,
			 void *data)
{
	msleep(1000);

	return fn(data, 0);
}

static int looked_up(struct kprobe *probe, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)find_no_other);

	return 1;
}

static struct kprobe look_up_probe = {
	.symbol_name = "kallsyms_on_each_match_symbol",
	.pre_handler = looked_up,
};

static bool slow;

static void do_slow(void)
{
	slow = !register_kprobe(&look_up_probe);
}

static void do_quick(void)
{
	if (slow)
		unregister_kprobe(&look_up_probe);
	slow = false;
}

/*
 * After do_refuse(), this function runs in place of trace_event_enable_disable(): enabling the
 * event of a new trigger fails after a second. Meanwhile the trigger is in the list of its event,
 * and can be hit.
 */
static int enable_nothing(struct trace_event_file *file, int enable, int soft)
{
	msleep(1000);

	return -ENOMEM;
}

static int enables(struct kprobe *probe, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)enable_nothing);

	return 1;
}

static struct kprobe enable_probe = {
	.symbol_name = "trace_event_enable_disable",
	.pre_handler = enables,
};

static bool refusing;

static void do_refuse(void)
{
	refusing = !register_kprobe(&enable_probe);
}

static void do_allow(void)
{
	if (refusing)
		unregister_kprobe(&enable_probe);
	refusing = false;
}

/* The parameter `marked`: whether a work has yet to write other CPUs' branches for a trigger. */
static int get_marked(char *buf, const struct kernel_param *kp)
{
	void **marked = (void **)look_up("hw_branches_others_event");

	return sprintf(buf, "%c\n", READ_ONCE(*marked) ? 'Y' : 'N');
}

static const struct kernel_param_ops marked_ops = { .get = get_marked };
module_param_cb(marked, &marked_ops, NULL, 0400);

/*
 * Make a task that calls panic() migrate. When it freezes the recorder, raise an interrupt, which
 * lasts until another CPU has requested the migration.
 */
static struct task_struct *migrant;

static void await_migration(struct irq_work *work)
{
	int left = 5000;

	WRITE_ONCE(waiting, true);
	while (!need_resched() && left--)
		mdelay(1);
}

static struct irq_work migration = IRQ_WORK_INIT_HARD(await_migration);

static void migrant_freezes(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			    struct ftrace_regs *regs)
{
	if (cmpxchg(&migrant, current, NULL) == current)
		irq_work_queue(&migration);
}

static struct ftrace_ops migrant_ops = { .func = migrant_freezes };

static noinline void bts_races_panic(void)
{
	panic("as asked for by a test");
}

static void do_migrate(void)
{
	static char sender[] = "branch_freeze_send";

	if (ftrace_set_filter(&migrant_ops, sender, sizeof(sender) - 1, 1) ||
	    register_ftrace_function(&migrant_ops))
		return;
	migrant = current;
	bts_races_panic();
}

static const struct {
	const char *word;
	void (*act)(void);
} kinds[] = {
	{ "freeze", do_freeze },
	{ "lockup", crash_too },
	{ "other", do_other },
	{ "own", do_own },
	{ "printing", do_printing },
	{ "report", do_report },
	{ "mutex", do_mutex },
	{ "sysinfo", do_sys_info },
	{ "late", do_late },
	{ "break", do_break },
	{ "sysrq", do_sysrq },
	{ "sysrqend", do_sysrq_end },
	{ "read", do_read },
	{ "thawkeeping", do_thaw_keeping },
	{ "thawtask", do_thaw_task },
	{ "thawfirst", do_thaw_first },
	{ "crashthawed", do_crash_thawed },
	{ "keepthawed", do_keep_thawed },
	{ "freezethawed", do_freeze_thawed },
	{ "crashinthaw", do_crash_in_thaw },
	{ "thawended", do_crash_in_thaw_end },
	{ "hotplug", do_hotplug },
	{ "unwatch", unwatch },
	{ "slow", do_slow },
	{ "quick", do_quick },
	{ "refuse", do_refuse },
	{ "allow", do_allow },
	{ "migrate", do_migrate },
};

static ssize_t races_write(struct file *file, const char __user *buf, size_t size, loff_t *pos)
{
	char word[16] = "";
	int i;

	if (size >= sizeof(word) || copy_from_user(word, buf, size))
		return -EINVAL;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(word, kinds[i].word)) {
			kinds[i].act();
			return size;
		}
	}
	return -EINVAL;
}

static const struct file_operations races_fops = {
	.owner	= THIS_MODULE,
	.write	= races_write,
};

static struct miscdevice races_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "bts_races",
	.mode	= 0600,
	.fops	= &races_fops,
};

static int __init races_init(void)
{
	return find_functions() ?: misc_register(&races_device);
}

static void __exit races_exit(void)
{
	misc_deregister(&races_device);
	unwatch();
	do_quick();
	do_allow();
	do_sysrq_end();
}

module_init(races_init);
module_exit(races_exit);

MODULE_DESCRIPTION("Races of the branch flight recorder for the test bench");
MODULE_LICENSE("GPL");
