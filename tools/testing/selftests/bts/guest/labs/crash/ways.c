// SPDX-License-Identifier: GPL-2.0
/*
 * Crashes at a lock, in a recursion, after a longjmp(), by a wrong call and after a migration; and
 * lockups.
 */
#include <linux/compiler.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/objtool.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>

#include <asm/nospec-branch.h>
#include <asm/tsc.h>

#include "crashes.h"

noinline void bts_crash_lock(void)
{
	bts_crash_work(5);
	raw_spin_lock((raw_spinlock_t *)BAD_ADDRESS);
}

static noinline int bts_crash_recurse(int n)
{
	int sum;

	OPTIMIZER_HIDE_VAR(n);
	if (!n) {
		bts_crash_fault();
		return 0;
	}
	sum = bts_crash_work(2);
	sum += bts_crash_recurse(n - 1);
	barrier();
	return sum;
}

void bts_crash_recursion(void)
{
	bts_crash_recurse(30);
}

#ifdef CONFIG_X86_64
/* Leave several functions at once, as longjmp() does. */
static noinline void bts_crash_unwind(unsigned long *frame)
{
	bts_crash_work(5);
	asm volatile("mov (%0), %%rsp\n\t"
		     "mov 8(%0), %%rbp\n\t"
		     "mov 16(%0), %%rax\n\t"
		     ANNOTATE_RETPOLINE_SAFE
		     "\n\tjmp *%%rax" : : "r" (frame) : "memory");
}

STACK_FRAME_NON_STANDARD(bts_crash_unwind);

static noinline __used void bts_crash_deeper(unsigned long *frame)
{
	bts_crash_work(3);
	bts_crash_unwind(frame);
	barrier();
}

noinline void bts_crash_longjmp(void)
{
	unsigned long frame[3], *at = frame;

	asm volatile("mov %%rsp, (%0)\n\t"
		     "mov %%rbp, 8(%0)\n\t"
		     "leaq 1f(%%rip), %%rax\n\t"
		     "mov %%rax, 16(%0)\n\t"
		     "call bts_crash_deeper\n"
		     "1:" : "+D" (at) :
		     : "memory", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "rbx",
		       "r12", "r13", "r14", "r15");
	bts_crash_path();
}

STACK_FRAME_NON_STANDARD(bts_crash_longjmp);
#endif

/* The task that a test kills, and whether the memory of its task_struct is current's now. */
static struct task_struct *victim;

void bts_crash_choose_victim(void)
{
	victim = current;
}

static int get_reborn(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%c\n", current == victim ? 'Y' : 'N');
}

static const struct kernel_param_ops reborn_ops = { .get = get_reborn };
module_param_cb(reborn, &reborn_ops, NULL, 0400);

/*
 * bts_crash_handle() migrates to CPU 0 if @migrates is set, then takes the other CPU offline if
 * @leaves is set, and lets the task continue if @passes is set. It sets @handled_on to the CPU on
 * which it was called.
 */
static bool migrates, leaves, passes;
static int handled_on;

/*
 * Called in the handler of #GP, which has enabled interrupts. Leave the RCU critical section of the
 * notifiers, as the task must not migrate in it: nothing unregisters this notifier meanwhile.
 */
static int bts_crash_handle(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_GPF)
		return NOTIFY_DONE;

	handled_on = raw_smp_processor_id();
	if (migrates) {
		rcu_read_unlock();
		set_cpus_allowed_ptr(current, cpumask_of(0));
		if (leaves)
			remove_cpu(handled_on);
		rcu_read_lock();
	}
	if (!passes)
		return NOTIFY_DONE;
	/* Skip the instruction of bts_crash_raise(). */
	args->regs->ip += 2;

	return NOTIFY_STOP;
}

static struct notifier_block gp_notifier = { .notifier_call = bts_crash_handle };

/* Write to an address that is not canonical. The instruction has two bytes. */
static noinline void bts_crash_raise(void)
{
	asm volatile("movl %%eax, (%%" _ASM_CX ")" : : "c" (BIT(BITS_PER_LONG - 2)) : "memory");
}

static void raise_handled(bool migrate, bool pass)
{
	migrates = migrate;
	passes = pass;
	handled_on = -1;
	if (migrates)
		set_cpus_allowed_ptr(current, cpumask_of(cpumask_any_but(cpu_online_mask, 0)));
	if (register_die_notifier(&gp_notifier))
		return;
	bts_crash_work(5);
	bts_crash_raise();
	unregister_die_notifier(&gp_notifier);
}

void bts_crash_moved(void)
{
	raise_handled(true, false);
}

void bts_crash_left(void)
{
	bts_crash_choose_victim();
	leaves = true;
	raise_handled(true, false);
}

bool bts_crash_passed(bool migrate)
{
	raise_handled(migrate, true);
	return handled_on >= 0 && migrate == (raw_smp_processor_id() != handled_on);
}

/*
 * Spin while this CPU records by BTS, at most half a minute: the report of the lockup freezes the
 * recorder. The loop must not call another function, so that the watchdog interrupts
 * bts_crash_spin() itself.
 */
static noinline void bts_crash_spin(void)
{
	u64 end = rdtsc() + 30000ull * tsc_khz;

	while (records() && rdtsc() < end)
		cpu_relax();
}

void bts_crash_soft_lockup(void)
{
	preempt_disable();
	bts_crash_spin();
	preempt_enable();
}

static noinline int bts_crash_number(int n)
{
	return bts_crash_work(n);
}

/* Call a function through a pointer of another type. With kCFI, the call raises a trap. */
noinline void bts_crash_cfi(void)
{
	void (*wrong)(void) = (void *)bts_crash_number;

	OPTIMIZER_HIDE_VAR(wrong);
	bts_crash_work(5);
	wrong();
}

void bts_crash_hard_lockup(void)
{
	unsigned long flags;

	local_irq_save(flags);
	bts_crash_spin();
	local_irq_restore(flags);
}

static bool release;
module_param(release, bool, 0600);
MODULE_PARM_DESC(release, "set to let bts_crash_stuck() return");

/*
 * A hard lockup that ends when `release` is set. With BTS, bts_crash_spin() lasts until the report,
 * and the loop 30 seconds more at most. With LBRs, bts_crash_spin() returns at once, and the lockup
 * is the loop.
 */
void bts_crash_stuck(void)
{
	unsigned long flags;
	u64 end;

	local_irq_save(flags);
	bts_crash_spin();
	end = rdtsc() + 30000ull * tsc_khz;
	while (!READ_ONCE(release) && rdtsc() < end)
		cpu_relax();
	local_irq_restore(flags);
}
