// SPDX-License-Identifier: GPL-2.0
/*
 * The module bts_crash crashes the kernel on demand. A word written to /dev/bts_crash selects the
 * crash, or another action such as an event: see kinds[]. If the branch flight recorder ("the
 * recorder") is on, a crash freezes the recorder: all CPUs stop recording. Then the kernel prints
 * the last branches.
 */
#include <linux/console.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/kfence.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <linux/objtool.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include <asm/apic.h>
#include <asm/asm.h>
#include <asm/msr.h>
#include <asm/nospec-branch.h>

#include <trace/events/printk.h>

#include "crashes.h"
#include "lookup.h"

#define CREATE_TRACE_POINTS
#include "bts_crash_trace.h"

/* Nothing is mapped at this address, unless KASLR has moved the kernel's memory. */
#define BAD_STACK	0xffffe90000001000ul

#define OBJECT_SIZE	256

static bool again;

/* The function that the next NMI calls: see send_nmi(). */
static void (*nmi_wanted)(void);

/* Targets of watchpoints: a global variable, a slab object, and one that is refused. */
int bts_crash_global;
DEFINE_PER_CPU(int, bts_crash_percpu);
static int *bts_crash_object;
static ulong object;
module_param(object, ulong, 0400);

/* The time when do_seen() crashed, and the time when the CPU in do_look() stopped recording. */
static ulong crashed_at, stopped_at;
module_param(crashed_at, ulong, 0400);
module_param(stopped_at, ulong, 0400);

static int marks;
static atomic_t at_meeting;

noinline void bts_crash_fault(void)
{
	asm volatile("movl $1, (%0)" : : "r" (BAD_ADDRESS) : "memory");
}

static noinline void bts_crash_at(unsigned long address)
{
	asm volatile("movl $1, (%0)" : : "r" (address) : "memory");
}

static noinline void bts_crash_double_fault(void)
{
	asm volatile("mov %0, %%" _ASM_SP "\n\t"
		     "push $0" : : "r" (BAD_STACK) : "memory");
}

STACK_FRAME_NON_STANDARD(bts_crash_double_fault);

/* Hide the count from the compiler, or it would optimize the branches away. */
noinline __noclone int bts_crash_work(int n)
{
	int i, sum = 0;

	OPTIMIZER_HIDE_VAR(n);
	for (i = 0; i < n; i++) {
		barrier();
		OPTIMIZER_HIDE_VAR(i);
		sum += i;
	}
	return sum;
}

noinline void bts_crash_path(void)
{
	bts_crash_work(5);
	bts_crash_fault();
}

/* Jump to a bad address. The oops shows @target, but not where the jump is. */
static noinline void bts_crash_jump(unsigned long target)
{
	asm volatile(ANNOTATE_RETPOLINE_SAFE
		     "\n\tjmp *%0" : : "r" (target) : "memory");
}

static void do_jump(void)
{
	bts_crash_work(5);
	bts_crash_jump(BAD_ADDRESS);
}

static void do_null(void)
{
	bts_crash_work(5);
	bts_crash_jump(0);
}

static void do_error(void)
{
	bts_crash_work(5);
	bts_crash_jump(-EPERM);
}

static void do_protection(void)
{
	bts_crash_work(5);
	bts_crash_at(BIT_ULL(62));
}

static void do_kernel(void)
{
	bts_crash_work(5);
	bts_crash_at(BAD_STACK);
}

/*
 * Fault in an access that has an exception table entry. This fault must not count as a crash. A
 * 32-bit kernel does not access this address, and so does not fault.
 */
static void do_fixup(void)
{
	int val;

	WARN_ON(!copy_from_kernel_nofault(&val, (void *)BAD_STACK, sizeof(val)));
}

static void crash_in_irq(struct irq_work *work)
{
	bts_crash_path();
}

static struct irq_work irq_crash = IRQ_WORK_INIT_HARD(crash_in_irq);

/* The oops kills the kworker. Other works of this CPU may then wait for ever. */
static void crash_in_work(struct work_struct *work)
{
	bts_crash_path();
}

static DECLARE_WORK(work_crash, crash_in_work);

/* The CPU on which crash_in_nmi() checks whether recording has stopped, or -1. */
static int looker = -1;

/* Registers of the NMI that calls nmi_wanted. */
static struct pt_regs *nmi_regs;

static int crash_in_nmi(unsigned int cmd, struct pt_regs *regs)
{
	void (*wanted)(void) = READ_ONCE(nmi_wanted);

	if (READ_ONCE(looker) == smp_processor_id() && !stopped_at && !records())
		WRITE_ONCE(stopped_at, ktime_get_mono_fast_ns());

	if (!wanted)
		return NMI_DONE;
	WRITE_ONCE(nmi_wanted, NULL);
	nmi_regs = regs;
	wanted();
	return NMI_HANDLED;
}

static void do_nothing(struct irq_work *work)
{
}

static struct irq_work interruption = IRQ_WORK_INIT_HARD(do_nothing);

/*
 * Fault while interrupts are off. Without SMAP, do_user_addr_fault() would warn of that if page
 * faults were not disabled. The fault ends the task, so nothing enables them again.
 */
static void crash_irqs_off(void)
{
	pagefault_disable();
	bts_crash_fault();
}

static int crash_again(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == DIE_OOPS && again) {
		again = false;
		crash_irqs_off();
	}
	return NOTIFY_DONE;
}

static struct notifier_block die_notifier = { .notifier_call = crash_again };

static void do_irq(void)
{
	irq_work_queue(&irq_crash);
}

static void do_work(void)
{
	queue_work_on(raw_smp_processor_id(), system_percpu_wq, &work_crash);
}

static void send_nmi(void (*wanted)(void))
{
	unsigned long flags;

	WRITE_ONCE(nmi_wanted, wanted);
	local_irq_save(flags);
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	local_irq_restore(flags);
}

static void do_nmi(void)
{
	send_nmi(bts_crash_path);
}

static void do_double_fault(void)
{
	local_irq_disable();
	bts_crash_double_fault();
}

static void do_recursive(void)
{
	again = true;
	bts_crash_path();
}

/*
 * crash_watched(FUNCTION, ...) makes ftrace call crash_in_freeze() at the start of FUNCTION, and
 * makes the current task the `freezer`, which then crashes. While the recorder is on, the crash
 * calls FUNCTION. In branch_freeze_send(), this CPU has stopped recording. The other CPUs have not,
 * as the NMIs that stop them are not sent yet. crash_in_freeze() raises an interrupt if
 * `interrupt`, calls `overwrite` if set, and crashes again, up to `freezes` times.
 */
static struct task_struct *freezer;
static bool interrupt;
static void (*overwrite)(void);
static int freezes;
module_param(freezes, int, 0400);

static void crash_in_freeze(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			    struct ftrace_regs *regs)
{
	void (*what)(void);

	if (current != freezer || !in_task())
		return;
	if (xchg(&interrupt, false))
		irq_work_queue(&interruption);
	what = xchg(&overwrite, NULL);
	if (what)
		what();
	if (freezes-- > 0)
		crash_irqs_off();
}

static struct ftrace_ops freeze_ops = {
	.func	= crash_in_freeze,
	/* If the kernel has a bug, func may crash and be called again in that crash: limit that. */
	.flags	= FTRACE_OPS_FL_RECURSION,
};

static void crash_watched(const char *function, void (*crash)(void))
{
	/* ftrace_set_filter() needs a string that is not const. */
	char name[32] = "";

	strscpy(name, function, sizeof(name));
	if (freezer || ftrace_set_filter(&freeze_ops, name, strlen(name), 1) ||
	    register_ftrace_function(&freeze_ops))
		return;
	freezer = current;
	crash();
}

static void do_freezing(void)
{
	freezes = 3;
	crash_watched("branch_freeze_send", bts_crash_path);
}

/* The handler of a divide error enables interrupts, as do_interrupted() needs. */
static noinline void bts_crash_divide(void)
{
	unsigned int low = 1, high = 0;

	asm volatile("divl %2" : "+a" (low), "+d" (high) : "r" (0) : "cc");
}

static void do_interrupted(void)
{
	interrupt = true;
	crash_watched("branch_freeze_send", bts_crash_divide);
}

static void do_console(void)
{
	console_lock();
	bts_crash_path();
}

/* Release the lock that the task killed by do_console() holds, so that the guest can shut down. */
static void do_unlock(void)
{
	console_unlock();
}

/* To be called on two CPUs: they crash as simultaneously as possible. */
static void do_meet(void)
{
	atomic_inc(&at_meeting);
	while (atomic_read(&at_meeting) < 2)
		cpu_relax();
	bts_crash_path();
}

/*
 * An emulator that runs CPUs in turn switches to the next CPU at PAUSE. Execute PAUSE at each
 * message of the kernel, so that the CPU in do_look() runs while the crashing CPU prints.
 */
static void end_turn(void *unused, const char *text, size_t len)
{
	cpu_relax();
}

/*
 * Wait until a crash in do_seen() on another CPU stops recording on this CPU, at most ten seconds.
 * crash_in_nmi() checks that, as this task may not run before recording resumes.
 */
static void do_look(void)
{
	unsigned long end = jiffies + 10 * HZ;

	if (register_trace_console(end_turn, NULL))
		pr_err("bts_crash: the tracepoint console cannot be used\n");
	WRITE_ONCE(stopped_at, 0);
	WRITE_ONCE(looker, raw_smp_processor_id());
	atomic_inc(&at_meeting);
	while (!READ_ONCE(stopped_at) && time_before(jiffies, end))
		cpu_relax();
	atomic_dec(&at_meeting);
	WRITE_ONCE(looker, -1);
	unregister_trace_console(end_turn, NULL);
	tracepoint_synchronize_unregister();
}

static void do_seen(void)
{
	while (!atomic_read(&at_meeting))
		cpu_relax();
	WRITE_ONCE(crashed_at, ktime_get_mono_fast_ns());
	bts_crash_path();
}

/* Keep interrupts off: a tick before the freeze would add branches. */
static noinline void bts_crash_panic(void)
{
	local_irq_disable();
	bts_crash_work(5);
	panic("as asked for by a test");
}

static noinline void bts_crash_nmi_panic(void)
{
	bts_crash_work(5);
	nmi_panic(nmi_regs, "as asked for by a test");
}

static void do_nmi_panic(void)
{
	send_nmi(bts_crash_nmi_panic);
}

/* Set when panic_after_message() begins to wait for another CPU. */
static bool waiting;
module_param(waiting, bool, 0400);

/* The message of another CPU for which this CPU waits, and whether the message was printed */
static const char *awaited;
static bool printed;

static void watch_messages(void *unused, const char *text, size_t len)
{
	if (strnstr(text, awaited, len))
		WRITE_ONCE(printed, true);
}

/* Run in an NMI: NMIs are blocked here, so the other CPU's panic() cannot stop this CPU. */
static void panic_after_message(void)
{
	WRITE_ONCE(waiting, true);
	while (!READ_ONCE(printed))
		cpu_relax();
	bts_crash_panic();
}

static void panic_after(const char *message)
{
	awaited = message;
	if (register_trace_console(watch_messages, NULL))
		pr_err("bts_crash: the tracepoint console cannot be used\n");
	send_nmi(panic_after_message);
}

/* Panic after another CPU has begun to panic. */
static void do_panic_too(void)
{
	panic_after("Kernel panic - not syncing");
}

/* Panic while another CPU prints its branches, and so cut that output short. */
static void do_cut(void)
{
	panic_after("Last branches of CPU 0");
}

static noinline void bts_crash_bug(void)
{
	bts_crash_work(5);
	BUG();
}

/*
 * BUG() after a #GP that was not fatal. Unlike most exceptions, the trap of BUG() does not replace
 * the branches that were saved for a crash. So if hw_branches_lbr_drop_saved() has not dropped
 * those of the #GP, BUG() prints them.
 */
static void do_passed(void)
{
	if (bts_crash_passed(false))
		bts_crash_bug();
}

static void do_passed_moved(void)
{
	if (bts_crash_passed(true))
		bts_crash_bug();
}

static noinline void bts_crash_warn(void)
{
	unsigned long flags;

	local_irq_save(flags);
	bts_crash_work(5);
	WARN(1, "as asked for by a test");
	local_irq_restore(flags);
}

static noinline void bts_crash_read(const int *at)
{
	unsigned long flags;

	local_irq_save(flags);
	bts_crash_work(5);
	READ_ONCE(*at);
	local_irq_restore(flags);
}

/* KASAN detects the read behind the end of the object. */
static void do_kasan(void)
{
	bts_crash_read(bts_crash_object + OBJECT_SIZE / sizeof(int));
}

/* KFENCE detects reads of freed objects, but guards few allocations: try many times to get one. */
static void do_kfence(void)
{
	int tries = 10000;
	bool guarded;
	int *at;

	do {
		at = kmalloc(OBJECT_SIZE, GFP_KERNEL);
		guarded = at && is_kfence_address(at);
		kfree(at);
		usleep_range(100, 200);
	} while (!guarded && tries--);
	if (guarded)
		bts_crash_read(at);
}

/* Keep interrupts off: branches of a tick would displace those of bts_crash_work(). */
static noinline void bts_crash_mark(void)
{
	unsigned long flags;

	local_irq_save(flags);
	bts_crash_work(5);
	trace_bts_crash_mark(++marks);
	local_irq_restore(flags);
}

static void do_nmi_mark(void)
{
	send_nmi(bts_crash_mark);
}

/* Send an NMI that crash_in_nmi() does not claim. */
static void do_stray(void)
{
	send_nmi(NULL);
}

static void do_storm(void)
{
	int i;

	for (i = 0; i < 1000; i++)
		bts_crash_mark();
}

/*
 * A kernel thread that triggers the event bts_crash_mark. Unlike an open file of the device, the
 * thread does not pin the module, which can be unloaded meanwhile.
 */
static struct task_struct *ticker;

static int tick(void *unused)
{
	while (!kthread_should_stop()) {
		bts_crash_mark();
		usleep_range(50, 100);
	}
	return 0;
}

static void do_tick(void)
{
	if (!ticker)
		ticker = kthread_run(tick, NULL, "bts_crash");
	if (IS_ERR(ticker))
		ticker = NULL;
}

static noinline void bts_crash_write(int *at)
{
	unsigned long flags;

	local_irq_save(flags);
	bts_crash_work(5);
	WRITE_ONCE(*at, 1);
	local_irq_restore(flags);
}

static void do_write(void)
{
	bts_crash_write(&bts_crash_global);
}

static void do_write_object(void)
{
	bts_crash_write(bts_crash_object);
}

static void do_read(void)
{
	READ_ONCE(bts_crash_global);
}

/*
 * crash_in_freeze() calls one of the functions bad_*(). They overwrite data of this CPU that the
 * recorder reads to print the branches: a pointer of the ring, the pointer to the context, or the
 * pointers in the Debug Store area.
 */

/* Nothing is mapped at this address of a 64-bit kernel without KASLR. */
#define NO_MEMORY	0xffffc8ffdead0000ul

/* The kernel's per-CPU variable hw_branches_readable, a pointer to the recorder's context. */
static unsigned long __percpu *seen;

static void bad_ring(void)
{
	unsigned long *context = (void *)*raw_cpu_ptr(seen);

	/* struct bts_context has two list heads, then the ring, which begins with a pointer. */
	context[4] = NO_MEMORY;
}

static void bad_context(void)
{
	*raw_cpu_ptr(seen) = NO_MEMORY;
}

static void bad_store(void)
{
	unsigned long *store;
	u64 area;
	int i;

	rdmsrq(MSR_IA32_DS_AREA, area);
	store = (void *)(unsigned long)area;
	for (i = 0; i < 4; i++)
		store[i] = NO_MEMORY + PAGE_SIZE * i;
}

static void crash_overwritten(void (*what)(void))
{
	lookup_func lookup = find_lookup();

	if (!lookup)
		return;
	seen = (unsigned long __percpu *)lookup("hw_branches_readable");
	overwrite = what;
	crash_watched("branch_freeze_send", bts_crash_path);
}

static void do_bad_ring(void)
{
	crash_overwritten(bad_ring);
}

static void do_bad_context(void)
{
	crash_overwritten(bad_context);
}

static void do_bad_store(void)
{
	crash_overwritten(bad_store);
}

static bool (*crash_freeze)(unsigned long ip);

static void freeze_first(void)
{
	crash_freeze(0);
}

/*
 * Crash, and freeze the recorder at the entry of the exception, before the branches are saved: as
 * when an NMI arrives there because another CPU crashes.
 */
static void do_victim(void)
{
	lookup_func lookup = find_lookup();

	if (!lookup)
		return;
	crash_freeze = (void *)lookup("hw_branches_crash_freeze");
	if (!crash_freeze)
		return;
	overwrite = freeze_first;
	bts_crash_choose_victim();
	crash_watched("search_exception_tables", bts_crash_path);
}

static const struct {
	const char *word;
	void (*crash)(void);
} kinds[] = {
	{ "task", bts_crash_path },
	{ "jump", do_jump },
	{ "null", do_null },
	{ "error", do_error },
	{ "protection", do_protection },
	{ "moved", bts_crash_moved },
	{ "left", bts_crash_left },
	{ "passed", do_passed },
	{ "passedmoved", do_passed_moved },
	{ "kernel", do_kernel },
	{ "fixup", do_fixup },
	{ "victim", do_victim },
	{ "irq", do_irq },
	{ "work", do_work },
	{ "nmi", do_nmi },
	{ "double", do_double_fault },
	{ "recursive", do_recursive },
	{ "freezing", do_freezing },
	{ "interrupted", do_interrupted },
	{ "console", do_console },
	{ "unlock", do_unlock },
	{ "meet", do_meet },
	{ "look", do_look },
	{ "seen", do_seen },
	{ "mark", bts_crash_mark },
	{ "nmimark", do_nmi_mark },
	{ "storm", do_storm },
	{ "tick", do_tick },
	{ "stray", do_stray },
	{ "write", do_write },
	{ "writeobject", do_write_object },
	{ "read", do_read },
	{ "panic", bts_crash_panic },
	{ "panictoo", do_panic_too },
	{ "cut", do_cut },
	{ "nmipanic", do_nmi_panic },
	{ "bug", bts_crash_bug },
	{ "warn", bts_crash_warn },
	{ "lock", bts_crash_lock },
	{ "recurse", bts_crash_recursion },
#ifdef CONFIG_X86_64
	{ "longjmp", bts_crash_longjmp },
#endif
	{ "cfi", bts_crash_cfi },
	{ "badring", do_bad_ring },
	{ "badcontext", do_bad_context },
	{ "badstore", do_bad_store },
	{ "kasan", do_kasan },
	{ "kfence", do_kfence },
	{ "softlockup", bts_crash_soft_lockup },
	{ "hardlockup", bts_crash_hard_lockup },
	{ "stuck", bts_crash_stuck },
};

static ssize_t crash_write(struct file *file, const char __user *buf, size_t size, loff_t *pos)
{
	char word[16] = "";
	int i;

	if (size >= sizeof(word) || copy_from_user(word, buf, size))
		return -EINVAL;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(word, kinds[i].word)) {
			kinds[i].crash();
			return size;
		}
	}
	return -EINVAL;
}

static const struct file_operations crash_fops = {
	.owner	= THIS_MODULE,
	.write	= crash_write,
};

static struct miscdevice crash_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "bts_crash",
	.mode	= 0600,
	.fops	= &crash_fops,
};

static int __init crash_init(void)
{
	int err;

	bts_crash_object = kzalloc(OBJECT_SIZE, GFP_KERNEL);
	if (!bts_crash_object)
		return -ENOMEM;
	object = (ulong)bts_crash_object;

	err = register_nmi_handler(NMI_LOCAL, crash_in_nmi, 0, "bts_crash");
	if (err)
		goto free;
	register_die_notifier(&die_notifier);
	err = misc_register(&crash_device);
	if (!err)
		return 0;

	unregister_die_notifier(&die_notifier);
	unregister_nmi_handler(NMI_LOCAL, "bts_crash");
free:
	kfree(bts_crash_object);
	return err;
}

static void __exit crash_exit(void)
{
	misc_deregister(&crash_device);
	if (ticker)
		kthread_stop(ticker);
	if (freezer)
		unregister_ftrace_function(&freeze_ops);
	unregister_die_notifier(&die_notifier);
	unregister_nmi_handler(NMI_LOCAL, "bts_crash");
	kfree(bts_crash_object);
}

module_init(crash_init);
module_exit(crash_exit);

MODULE_DESCRIPTION("Crashes for the test bench");
MODULE_LICENSE("GPL");
