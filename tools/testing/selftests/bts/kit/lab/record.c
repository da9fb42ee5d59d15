// SPDX-License-Identifier: GPL-2.0
/*
 * One experiment: record a loop of known branches with interrupts off, and look at the buffer.
 * lab_nmi() handles the interrupt of the Debug Store, which is an NMI.
 */
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/nmi.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/timex.h>

#include <asm/apic.h>
#include <asm/asm.h>
#include <asm/intel_ds.h>
#include <asm/msr.h>

#include "internal.h"

/* The time to wait for an interrupt after recording has stopped, or after its vector is unmasked */
#define LATE_US		500

/* After so many interrupts of one experiment, recording does not go on. */
#define MOST_NMIS	2000

static DEFINE_PER_CPU(bool, armed);
static DEFINE_PER_CPU(u32, nmis);

/* The bits of DEBUGCTL with which to go on recording after an interrupt; 0 to stop. */
static DEFINE_PER_CPU(u64, go_on);

extern const char lab_loop_site[], lab_loop_top[];

static noinline void make_branches(unsigned long n)
{
	asm volatile(".globl lab_loop_top, lab_loop_site\n"
		     "lab_loop_top:	dec %0\n"
		     "lab_loop_site:	jnz lab_loop_top\n"
		     : "+r" (n) : : "cc");
}

static void write_lvtpc(u32 val)
{
	lab_kernel.apic->write(APIC_LVTPC, val);
}

static int lab_nmi(unsigned int cmd, struct pt_regs *regs)
{
	u64 bits = __this_cpu_read(go_on);

	if (!__this_cpu_read(armed))
		return NMI_DONE;
	lab_kernel.write(0);
	/*
	 * If recording goes on, the branches at the end of this handler are recorded. If they reach
	 * the threshold, each interrupt causes the next one: stop after MOST_NMIS.
	 */
	if (__this_cpu_inc_return(nmis) >= MOST_NMIS)
		bits = 0;
	if (bits)
		lab_empty();
	/*
	 * The delivery of the interrupt has masked its vector: unmask it. But if the processor
	 * raises the interrupt again and again, leave it masked.
	 */
	if (__this_cpu_read(nmis) < MOST_NMIS)
		write_lvtpc(APIC_DM_NMI);
	if (bits)
		lab_kernel.write(bits);
	return NMI_HANDLED;
}

static int lab_debug(struct notifier_block *nb, unsigned long reason, void *data)
{
	struct die_args *args = data;

	if (reason != DIE_DEBUG || !__this_cpu_read(armed))
		return NOTIFY_DONE;
	args->regs->flags &= ~X86_EFLAGS_TF;
	return NOTIFY_STOP;
}

static struct notifier_block lab_debug_block = {
	.notifier_call	= lab_debug,
	.priority	= INT_MAX,
};

static noinline void single_step(void)
{
	asm volatile("pushf\n"
		     "orl $0x100, (%%" _ASM_SP ")\n"
		     "popf\n"
		     "nop\n"
		     "nop\n" : : : "cc", "memory");
}

static int start(u32 flags)
{
	u64 bits = DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS;

	if (flags & KIT_OFF)
		return 0;
	if (flags & KIT_BTINT)
		bits |= DEBUGCTLMSR_BTINT;
	bits = lab_bts_bits(bits);
	__this_cpu_write(go_on, flags & KIT_GO_ON ? bits : 0);
	if (flags & KIT_FREEZE)
		return wrmsrq_safe(MSR_IA32_DEBUGCTLMSR, bits | DEBUGCTLMSR_FREEZE_LBRS_ON_PMI) ?
		       -EOPNOTSUPP : 0;
	lab_kernel.write(bits);
	return 0;
}

/* Call with interrupts off. */
static int record(struct kit_run *run)
{
	u64 begin = rdtsc_ordered();
	int err = start(run->flags);

	if (err)
		return err;
	make_branches(run->branches);
	if (run->flags & KIT_STEP)
		single_step();
	__this_cpu_write(go_on, 0);
	lab_kernel.write(0);
	run->ticks = rdtsc_ordered() - begin;
	udelay(LATE_US);
	run->nmis = __this_cpu_read(nmis);
	if (run->flags & KIT_MASKED) {
		__this_cpu_write(nmis, 0);
		write_lvtpc(APIC_DM_NMI);
		udelay(LATE_US);
		run->nmis_unmasked = __this_cpu_read(nmis);
	}
	return 0;
}

static bool is_known(u32 i)
{
	return lab_word(i, 0) == (unsigned long)lab_loop_site &&
	       lab_word(i, 1) == (unsigned long)lab_loop_top;
}

/*
 * Look at the records from number @first on: count the known records and the other ones between
 * them, find the records of the NMI and of the debug exception, and combine the flags.
 */
static void analyse(struct kit_run *run, u32 first)
{
	u32 end = run->bytes / lab_record_size(), i, last = first;
	bool began = false;

	run->flags_and = ~0ull;
	for (i = first; i < end; i++) {
		run->flags_or |= lab_word(i, 2);
		run->flags_and &= lab_word(i, 2);
		if (lab_word(i, 1) == lab_kernel.nmi_entry && !run->nmi_at)
			run->nmi_at = i + 1;
		if (lab_word(i, 1) == lab_kernel.debug_entry && !run->step_at)
			run->step_at = i + 1;
		if (!is_known(i))
			continue;
		run->known++;
		if (began)
			run->strange += i - last - 1;
		began = true;
		last = i;
	}
}

int lab_run(struct kit_run *run)
{
	u32 size = lab_record_size(), room = BTS_BUFFER_SIZE / size;
	u32 threshold = run->threshold * size, first = 0, lvtpc;
	unsigned long flags;
	int err;

	if (run->threshold >= room)
		return -EINVAL;
	if (run->flags & KIT_HALF)
		threshold += size / 2;
	if (run->flags & KIT_PAST)
		first = run->threshold + 1;
	*run = (struct kit_run) {
		.branches	= run->branches,
		.threshold	= run->threshold,
		.flags		= run->flags,
		.record_size	= size,
	};
	local_irq_save(flags);
	lvtpc = lab_kernel.apic->read(APIC_LVTPC);
	write_lvtpc(APIC_DM_NMI | (run->flags & KIT_MASKED ? APIC_LVT_MASKED : 0));
	lab_reset_store(room, threshold, first * size);
	__this_cpu_write(nmis, 0);
	__this_cpu_write(armed, true);
	err = record(run);
	run->bytes = lab_bytes();
	analyse(run, first);
	write_lvtpc(lvtpc);
	__this_cpu_write(armed, false);
	__this_cpu_write(go_on, 0);
	local_irq_restore(flags);
	return err;
}

int lab_record_init(void)
{
	int err = register_nmi_handler(NMI_LOCAL, lab_nmi, NMI_FLAG_FIRST, "kit_lab");

	if (err)
		return err;
	err = register_die_notifier(&lab_debug_block);
	if (err)
		unregister_nmi_handler(NMI_LOCAL, "kit_lab");
	return err;
}

void lab_record_exit(void)
{
	unregister_die_notifier(&lab_debug_block);
	unregister_nmi_handler(NMI_LOCAL, "kit_lab");
}
