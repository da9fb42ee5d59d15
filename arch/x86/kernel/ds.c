// SPDX-License-Identifier: GPL-2.0
/*
 * The users of the Debug Store
 *
 * Intel's Debug Store has two halves: one for branches (BTS), and one for samples of
 * events (PEBS). Each half has a buffer. The store is a page that both halves share: it
 * holds their positions in the buffers. Each CPU has its own store and buffers. The MSR DS_AREA
 * of a CPU holds the address of its store. The hardware writes to store and buffers through the
 * page table that is loaded, and a write that faults is fatal. Hence the rules of this file:
 *
 *  - Store and buffers are in the CPU entry area, which the page tables of all tasks map, also
 *    those of user mode under page-table isolation. The addresses of store and buffers never
 *    change. Exception: perf's intel_bts PMU makes the store point to its AUX buffer in the
 *    direct mapping. So perf does not register intel_bts under page-table isolation.
 *  - Each half is reference counted, for all possible CPUs at once. When one half gets its first
 *    user and the other half has none, ds_get() loads DS_AREA on every online CPU. When neither
 *    half has a user any more, ds_put() clears DS_AREA there before it unmaps the last buffers.
 *  - Users set the BTS field of DEBUGCTL by ds_bts_write(), so that ds_bts_hold() can
 *    stop BTS before the CPU runs with page tables that do not map the buffer.
 *
 * perf uses PEBS and BTS. ds_claim_bts() takes BTS from perf for one other user: the claimant.
 *
 * Lock order, outermost first: ds_claim_mutex, pmc_reserve_mutex of perf,
 * ds_mutex. While a CPU may write records of one half, only code on this CPU, with interrupts off
 * or in an NMI, writes the positions of this half. Only such code accesses the CPU's ds_bts_field.
 */
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/init.h>
#include <linux/kexec.h>
#include <linux/kvm_types.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include <asm/debugctl.h>
#include <asm/ds.h>
#include <asm/intel_ds.h>
#include <asm/msr.h>
#include <asm/perf_event.h>

#include "ds_internal.h"

/* Each store is a full page, so that it can be mapped into the entry area. */
DEFINE_PER_CPU_PAGE_ALIGNED(struct debug_store, cpu_debug_store);

/**
 * struct ds_bts_field - the BTS field of DEBUGCTL on a CPU
 * @bits:	the value that the user of BTS wants in the field
 * @mask:	the bits that may be set in the field: 0 while BTS is held off, see ds_bts_hold();
 *		otherwise DS_BTS_ANY
 */
struct ds_bts_field {
	unsigned long	bits;
	unsigned long	mask;
};

#define DS_BTS_ANY	(~0UL)

static DEFINE_PER_CPU(struct ds_bts_field, ds_bts_field) = { .mask = DS_BTS_ANY };

/* This protects changes of the next two variables, and ds_alloc() and ds_free(). */
static DEFINE_MUTEX(ds_mutex);
static unsigned int ds_users[DS_NR_PARTS];
/*
 * If true, DS_AREA of each online CPU has to be the address of its store; if false, 0. While a
 * guest runs, DS_AREA may be that of the guest.
 */
static bool ds_loaded;

/* This protects changes of the next two variables. */
static DEFINE_MUTEX(ds_claim_mutex);
static bool ds_claimed;
/* @give_way of ds_claim_bts(): it asks the claimant to give BTS back. May be NULL. */
static bool (*ds_claimant)(bool privileged);
/* ds_give_way() increments this, ds_end_give_way() decrements it. ds_claim_bts() needs 0. */
static atomic_t ds_takers;

/**
 * ds_area - tell the value of DS_AREA of this CPU while the host runs
 *
 * Called with preemption off.
 *
 * Return: the address of the store, or 0 while it has no user.
 */
unsigned long ds_area(void)
{
	if (!READ_ONCE(ds_loaded))
		return 0;

	return (unsigned long)ds_store(smp_processor_id());
}

static unsigned long ds_bts_wanted(void)
{
	return this_cpu_read(ds_bts_field.bits) & this_cpu_read(ds_bts_field.mask);
}

/*
 * Write the BTS field of DEBUGCTL as ds_bts_field tells. If an NMI changes ds_bts_field before the
 * write, the value is stale: write again.
 */
static void notrace ds_bts_apply(void)
{
	unsigned long bits;

	do {
		bits = ds_bts_wanted();
		debugctl_write_bts(bits);
	} while (unlikely(bits != ds_bts_wanted()));
}

/**
 * ds_bts_write - set the BTS field of DEBUGCTL on this CPU
 * @bits:	the value of the field on this CPU model, see debugctl_bts_bits(); 0 to stop
 *
 * Called with interrupts off, or in an NMI. While BTS is held off, the field stays 0.
 */
void notrace ds_bts_write(u64 bits)
{
	this_cpu_write(ds_bts_field.bits, bits);
	ds_bts_apply();
}

/**
 * ds_bts_has_pmi - tell whether BTS on this CPU raises PMIs, or would if it was not held off
 *
 * Called with interrupts off.
 *
 * Return: true if the value of the last ds_bts_write() has BTINT.
 */
bool ds_bts_has_pmi(void)
{
	return this_cpu_read(ds_bts_field.bits) & debugctl_bts_bits(DEBUGCTLMSR_BTINT);
}

/**
 * ds_bts_hold - keep BTS off on this CPU until ds_bts_release(), even if ds_bts_write() is called
 *
 * Called with interrupts off, or in an NMI. If the CPU goes offline and comes online again,
 * ds_cpu_starting() ends the hold, except during a kexec.
 *
 * Return: true; false if BTS was held off already: then this caller must not release it.
 */
bool ds_bts_hold(void)
{
	bool held_off = !this_cpu_read(ds_bts_field.mask);

	this_cpu_write(ds_bts_field.mask, 0);
	ds_bts_apply();

	return !held_off;
}

/**
 * cpu_emergency_stop_bts - keep BTS off on a CPU that is stopped or leaves this kernel
 *
 * Called with interrupts off, in any context, also on CPUs without BTS. Like ds_bts_hold(), this
 * keeps BTS off even if ds_bts_write() is called. If the CPU comes back to this kernel, for example
 * after a kexec that returns, ds_bts_release() undoes this.
 */
void cpu_emergency_stop_bts(void)
{
	this_cpu_write(ds_bts_field.mask, 0);
	debugctl_emergency_stop_bts();
}

/**
 * ds_bts_release - undo ds_bts_hold(): set the BTS field to the value of the last ds_bts_write()
 *
 * Called with interrupts off, or in an NMI.
 */
void ds_bts_release(void)
{
	this_cpu_write(ds_bts_field.mask, DS_BTS_ANY);
	ds_bts_apply();
}

/* If BTS has no user any more, stop it. Then load or clear DS_AREA. Interrupts are off. */
static void ds_sync_cpu(void *unused)
{
	if (!READ_ONCE(ds_users[DS_BTS]) && this_cpu_read(ds_bts_field.bits))
		ds_bts_write(0);
	wrmsrq(MSR_IA32_DS_AREA, ds_area());
}

static int ds_get(enum ds_part part, size_t size, size_t record)
{
	int ret;

	if (!ds_has(part))
		return -EOPNOTSUPP;

	guard(mutex)(&ds_mutex);

	if (!ds_users[part]) {
		ret = ds_alloc(part, size, record);
		if (ret)
			return ret;
	}
	WRITE_ONCE(ds_users[part], ds_users[part] + 1);

	/* A CPU that is not online yet reads ds_loaded in ds_cpu_online(). */
	if (!ds_loaded) {
		WRITE_ONCE(ds_loaded, true);
		on_each_cpu(ds_sync_cpu, NULL, 1);
	}

	return 0;
}

/**
 * ds_get_bts - use the branch half of the Debug Store
 *
 * On success, each possible CPU has a mapped buffer of BTS_BUFFER_SIZE until ds_put(), and
 * DS_AREA is loaded on each CPU that is online. May sleep.
 *
 * Return: 0, -EOPNOTSUPP if ds_has(DS_BTS) is false, or -ENOMEM.
 */
int ds_get_bts(void)
{
	return ds_get(DS_BTS, BTS_BUFFER_SIZE, ds_layout.record);
}

/**
 * ds_get_pebs - use the event half of the Debug Store
 * @size:	bytes of the buffer, at most PEBS_BUFFER_SIZE
 * @record:	bytes of a record
 *
 * Like ds_get_bts(). All users share the buffers, with the sizes that the first user gave.
 *
 * Return: 0; -EINVAL for invalid sizes; -EOPNOTSUPP if ds_has(DS_PEBS) is false; or -ENOMEM.
 */
int ds_get_pebs(size_t size, size_t record)
{
	if (!size || size > PEBS_BUFFER_SIZE || !record || record > size)
		return -EINVAL;

	return ds_get(DS_PEBS, size, record);
}

/**
 * ds_put - end the use of one half of the Debug Store
 * @part:	the half that was taken by ds_get_bts() or ds_get_pebs()
 *
 * The caller has stopped the hardware that writes to this half. May sleep.
 */
void ds_put(enum ds_part part)
{
	guard(mutex)(&ds_mutex);

	if (WARN_ON_ONCE(!ds_users[part]))
		return;

	WRITE_ONCE(ds_users[part], ds_users[part] - 1);
	if (ds_users[part])
		return;

	if (!ds_users[DS_BTS] && !ds_users[DS_PEBS])
		WRITE_ONCE(ds_loaded, false);
	on_each_cpu(ds_sync_cpu, NULL, 1);

	ds_free(part);
}

/**
 * ds_bts_claimed - tell whether the BTS half belongs to the caller of ds_claim_bts()
 *
 * While BTS is claimed, perf must neither read nor write the positions of BTS. Any context.
 *
 * Return: true if BTS is claimed.
 */
bool ds_bts_claimed(void)
{
	return READ_ONCE(ds_claimed);
}

/**
 * ds_give_way - ask the claimant of BTS to give it back
 * @privileged: the user who needs the hardware may monitor performance, or KVM needs it
 *
 * May sleep.
 *
 * Return: false if the claimant keeps BTS; true if BTS is not claimed now. If true, the caller
 * has to call ds_end_give_way(), and ds_claim_bts() fails until then.
 */
bool ds_give_way(bool privileged)
{
	bool (*give_way)(bool privileged);
	bool claimed;

	atomic_inc(&ds_takers);
	/* Wait for a ds_claim_bts() or ds_unclaim_bts() that is in progress. */
	scoped_guard(mutex, &ds_claim_mutex) {
		claimed = ds_claimed;
		give_way = ds_claimant;
	}
	if (!claimed || (give_way && give_way(privileged)))
		return true;
	ds_end_give_way();

	return false;
}
EXPORT_SYMBOL_FOR_KVM(ds_give_way);

/**
 * ds_end_give_way - let BTS be claimed again after ds_give_way()
 */
void ds_end_give_way(void)
{
	atomic_dec(&ds_takers);
}
EXPORT_SYMBOL_FOR_KVM(ds_end_give_way);

/*
 * With architectural LBRs, perf leaves FREEZE_LBRS_ON_PMI set after its last event with LBRs. On
 * some models, a PMI may then clear TR. While BTS is claimed, perf has no such event.
 */
static void ds_claim_cpu(void *unused)
{
	debugctl_write_field(DEBUGCTLMSR_FREEZE_LBRS_ON_PMI, 0);
}

/**
 * ds_claim_bts - take BTS from perf, for one caller on all CPUs
 * @give_way: called when perf needs BTS, and when perf or KVM needs hardware that cannot be used at
 *	the same time as BTS. @give_way may call ds_unclaim_bts(), and returns true if BTS is
 *	not claimed any more. perf may hold the mutex of a perf_event_context, so @give_way
 *	must not wait for CPU hotplug. If NULL, BTS is not given back for perf or KVM.
 *
 * On success the caller may write the BTS positions of the store and call
 * ds_bts_write(), until ds_unclaim_bts(). May sleep.
 *
 * Return: 0; -EOPNOTSUPP if ds_has(DS_BTS) is false, in a Xen PV guest, or without a PMU driver;
 * -EBUSY if BTS is claimed already, or if perf uses BTS, or if perf or KVM uses hardware that
 * cannot be used at the same time as BTS, or is about to use BTS or such hardware; or -ENOMEM.
 */
int ds_claim_bts(bool (*give_way)(bool privileged))
{
	unsigned int cpu;
	int ret;

	if (!ds_has(DS_BTS) || boot_cpu_has(X86_FEATURE_XENPV))
		return -EOPNOTSUPP;

	guard(mutex)(&ds_claim_mutex);

	if (ds_claimed || atomic_read(&ds_takers))
		return -EBUSY;

	ret = x86_perf_claim_bts();
	if (ret)
		return ret;

	ret = ds_get_bts();
	if (ret) {
		x86_perf_unclaim_bts();
		return ret;
	}

	/* perf may have left other positions in the stores. */
	for_each_possible_cpu(cpu)
		ds_reset(DS_BTS, cpu, BTS_BUFFER_SIZE, ds_layout.record);
	WRITE_ONCE(ds_claimant, give_way);
	WRITE_ONCE(ds_claimed, true);
	/* This also waits for an NMI handler of perf that has read ds_claimed as false. */
	on_each_cpu(ds_claim_cpu, NULL, 1);

	return 0;
}

static void ds_stop_cpu(void *unused)
{
	ds_bts_write(0);
}

/**
 * ds_unclaim_bts - give BTS back to perf
 *
 * Stops BTS on all CPUs. If the CPUs have the Meltdown bug, user space may be able to read the
 * CPU entry area, so this also clears the buffers. May sleep.
 */
void ds_unclaim_bts(void)
{
	unsigned int cpu;

	guard(mutex)(&ds_claim_mutex);

	if (WARN_ON_ONCE(!ds_claimed))
		return;

	on_each_cpu(ds_stop_cpu, NULL, 1);
	for_each_possible_cpu(cpu) {
		ds_reset(DS_BTS, cpu, BTS_BUFFER_SIZE, ds_layout.record);
		if (boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN))
			memset(ds_bts_buffer(cpu), 0, BTS_BUFFER_SIZE);
	}

	WRITE_ONCE(ds_claimed, false);
	WRITE_ONCE(ds_claimant, NULL);
	ds_put(DS_BTS);
	x86_perf_unclaim_bts();
}

/**
 * ds_resume - load DS_AREA again on the CPU that resumes first from suspend
 */
void notrace ds_resume(void)
{
	if (ds_has(DS_BTS) || ds_has(DS_PEBS))
		wrmsrq(MSR_IA32_DS_AREA, ds_area());
}

static int ds_cpu_starting(unsigned int cpu)
{
	/* On the boot CPU, this may be called with interrupts on. */
	guard(irqsave)();

	this_cpu_write(ds_bts_field.bits, 0);
	/* A CPU that is brought up during a kexec must not record. */
	this_cpu_write(ds_bts_field.mask, kexec_in_progress ? 0 : DS_BTS_ANY);
	/* The kernel before a kexec may have left BTS on, with its own buffer. */
	if (debugctl_get() & debugctl_bts_bits(DEBUGCTL_BTS))
		ds_bts_apply();
	ds_sync_cpu(NULL);

	return 0;
}

/*
 * ds_get() and ds_put() set DS_AREA only on CPUs that are online. If they ran after
 * ds_cpu_starting() but before this CPU was online, its DS_AREA may be wrong: set it again.
 */
static int ds_cpu_online(unsigned int cpu)
{
	guard(irqsave)();
	ds_sync_cpu(NULL);

	return 0;
}

static int ds_cpu_dying(unsigned int cpu)
{
	ds_bts_hold();
	wrmsrq(MSR_IA32_DS_AREA, 0);

	return 0;
}

static int __init ds_init(void)
{
	int ret;
	u64 val;

	ds_layout = ds_choose_layout(boot_cpu_has(X86_FEATURE_DS),
				     boot_cpu_has(X86_FEATURE_DTES64),
				     IS_ENABLED(CONFIG_X86_64));
	if (!ds_has(DS_BTS) && !ds_has(DS_PEBS))
		return 0;

	/* A hypervisor may report the features in CPUID, but not have the register. */
	if (rdmsrq_safe(MSR_IA32_DS_AREA, &val)) {
		ds_layout = (struct ds_layout){};
		return 0;
	}

	ret = cpuhp_setup_state(CPUHP_AP_X86_DS_STARTING, "x86/ds:starting",
				ds_cpu_starting, ds_cpu_dying);
	if (!ret)
		ret = cpuhp_setup_state(CPUHP_AP_X86_DS_ONLINE, "x86/ds:online",
					ds_cpu_online, NULL);
	if (ret)
		ds_layout = (struct ds_layout){};

	return ret;
}
early_initcall(ds_init);
