// SPDX-License-Identifier: GPL-2.0
/*
 * An NMI storm, and an observer that compares the MSR with the kernel's copy.
 *
 * A timer of each CPU sends an NMI to the next CPU, where it may interrupt any code. Another timer,
 * the observer, reads the MSR and the copy of its own CPU. Timers interrupt only code with
 * interrupts on, which never writes DEBUGCTL, so a difference is an error, unless a #DB has cleared
 * TR of perf's BTS (see asm/debugctl.h). If an NMI comes between the two reads, the observer
 * repeats them.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/nmi.h>

#include "internal.h"

struct storm_cpu {
	struct hrtimer nmi_timer;
	struct hrtimer observer;
	struct lab_report report;
	unsigned int nmis;
	bool lbr;
};

static DEFINE_PER_CPU(struct storm_cpu, storm_cpus);
static struct lab_storm storm;
static bool storming;

static int nmi_handler(unsigned int type, struct pt_regs *regs)
{
	struct storm_cpu *cpu = this_cpu_ptr(&storm_cpus);

	/* Count all NMIs, also those that others have sent: the observer must notice each. */
	cpu->nmis++;
	if (lab_window_nmi())
		return NMI_HANDLED;
	if (!READ_ONCE(storming))
		return NMI_DONE;

	cpu->report.nmis++;
	if (storm.flip_lbr) {
		cpu->lbr = !cpu->lbr;
		lab_write_lbr(cpu->lbr);
	}
	return NMI_HANDLED;
}

/* Claim an NMI if the storm began only after nmi_handler() had declined this NMI. */
static int unknown_nmi(unsigned int type, struct pt_regs *regs)
{
	return READ_ONCE(storming) ? NMI_HANDLED : NMI_DONE;
}

static void observe(struct storm_cpu *cpu)
{
	unsigned int nmis;
	u64 msr, copy;
	bool lbr;

	do {
		nmis = READ_ONCE(cpu->nmis);
		barrier();
		msr = lab_msr();
		copy = lab_copy();
		lbr = READ_ONCE(cpu->lbr);
		barrier();
	} while (nmis != READ_ONCE(cpu->nmis));

	cpu->report.observed++;
	if (msr != copy)
		cpu->report.copy_differs++;
	if (storm.flip_lbr && lbr != !!(msr & DEBUGCTLMSR_LBR))
		cpu->report.lbr_differs++;
	else if (msr == copy)
		return;
	cpu->report.bad_msr = msr;
	cpu->report.bad_copy = copy;
}

static ktime_t microseconds(u32 us)
{
	return ns_to_ktime((u64)us * NSEC_PER_USEC);
}

static enum hrtimer_restart nmi_tick(struct hrtimer *timer)
{
	unsigned int next = cpumask_next(smp_processor_id(), cpu_online_mask);

	if (next >= nr_cpu_ids)
		next = cpumask_first(cpu_online_mask);
	lab_send_nmi(next);
	hrtimer_forward_now(timer, microseconds(storm.nmi_us));
	return HRTIMER_RESTART;
}

static enum hrtimer_restart observer_tick(struct hrtimer *timer)
{
	observe(this_cpu_ptr(&storm_cpus));
	hrtimer_forward_now(timer, microseconds(storm.observe_us));
	return HRTIMER_RESTART;
}

static void start_timer(struct hrtimer *timer, enum hrtimer_restart (*tick)(struct hrtimer *),
			u32 us)
{
	hrtimer_setup(timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	if (us)
		hrtimer_start(timer, microseconds(us), HRTIMER_MODE_REL_PINNED_HARD);
}

static void start_cpu(void *unused)
{
	struct storm_cpu *cpu = this_cpu_ptr(&storm_cpus);

	memset(&cpu->report, 0, sizeof(cpu->report));
	cpu->lbr = lab_msr() & DEBUGCTLMSR_LBR;
	start_timer(&cpu->observer, observer_tick, storm.observe_us);
	start_timer(&cpu->nmi_timer, nmi_tick, storm.nmi_us);
}

void lab_storm_start(const struct lab_storm *wanted)
{
	storm = *wanted;
	WRITE_ONCE(storming, true);
	on_each_cpu(start_cpu, NULL, 1);
}

static void stop_cpu(void *unused)
{
	lab_write_lbr(false);
}

void lab_storm_stop(struct lab_report *sum)
{
	unsigned int i;

	memset(sum, 0, sizeof(*sum));
	if (!storming)
		return;
	for_each_online_cpu(i)
		hrtimer_cancel(&per_cpu(storm_cpus, i).nmi_timer);
	/* NMIs may be pending: wait for them. The handler and the observer stay active. */
	fsleep(20000);
	for_each_online_cpu(i) {
		struct lab_report *one = &per_cpu(storm_cpus, i).report;

		hrtimer_cancel(&per_cpu(storm_cpus, i).observer);
		sum->nmis += one->nmis;
		sum->observed += one->observed;
		sum->copy_differs += one->copy_differs;
		sum->lbr_differs += one->lbr_differs;
		sum->bad_msr |= one->bad_msr;
		sum->bad_copy |= one->bad_copy;
	}
	WRITE_ONCE(storming, false);
	on_each_cpu(stop_cpu, NULL, 1);
}

int lab_storm_init(void)
{
	int err;

	err = register_nmi_handler(NMI_LOCAL, nmi_handler, 0, "debugctl_lab");
	if (err)
		return err;
	err = register_nmi_handler(NMI_UNKNOWN, unknown_nmi, 0, "debugctl_lab");
	if (err)
		unregister_nmi_handler(NMI_LOCAL, "debugctl_lab");
	return err;
}

void lab_storm_exit(void)
{
	struct lab_report unused;

	lab_storm_stop(&unused);
	unregister_nmi_handler(NMI_UNKNOWN, "debugctl_lab");
	unregister_nmi_handler(NMI_LOCAL, "debugctl_lab");
}
