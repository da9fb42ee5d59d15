// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The interrupt of the Branch Trace Store: which record raises it, how late it
 * comes, and what happens to an interrupt that comes while its LVT entry is
 * masked. The manuals leave this open, or models differ. So properties of the
 * CPU select what is emulated.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "cpu.h"
#include "hw/i386/apic.h"
#include "ds_helper.h"

/* While nothing is recorded, a delay by one branch becomes this time. */
#define NS_PER_BRANCH   8

/*
 * Deliver a PMI of BTS or of counters, and freeze what DEBUGCTL selects. The
 * APIC calls this for a PMI that it has kept, when its LVT entry is unmasked.
 * Returns false if the PMI is not delivered now: its LVT entry is masked, or
 * the APIC is off or missing. Then nothing is frozen.
 */
bool x86_pmi_deliver(X86CPU *cpu)
{
    /* do_interrupt() has the lock already, translated code has not. */
    bool locked = qemu_mutex_iothread_locked();
    uint64_t ctl = cpu->env.msr_debugctl;
    bool delivered;

    if (!locked) {
        qemu_mutex_lock_iothread();
    }
    delivered = cpu->apic_state &&
                apic_deliver_pmi(cpu->apic_state, cpu->ds.pmi_kept);
    if (!locked) {
        qemu_mutex_unlock_iothread();
    }
    if (delivered && ctl & DEBUGCTL_FREEZE_PERFMON_ON_PMI &&
        cpu->ds.pmu_counts) {
        x86_pmu_freeze(cpu);
    }
    if (delivered && ctl & DEBUGCTL_FREEZE_LBRS_ON_PMI && cpu->ds.lbr) {
        x86_lbr_freeze(&cpu->env);
    }
    if (delivered && ctl & DEBUGCTL_FREEZE_LBRS_ON_PMI &&
        cpu->ds.freeze_clears_tr) {
        /* The hflags are updated when the interrupt is taken. */
        cpu->env.msr_debugctl &= ~(uint64_t)DEBUGCTL_TR;
    }
    return delivered;
}

/* Returns true if the PMI was delivered. */
static bool bts_pmi(X86CPU *cpu)
{
    if (!x86_pmi_deliver(cpu)) {
        cpu->ds.count.masked++;
        if (cpu->apic_state && apic_pmi_is_kept(cpu->apic_state)) {
            cpu->ds.count.kept++;
        }
        return false;
    }
    cpu->ds.count.pmis++;
    return true;
}

/* Returns whether the record from @before to @index raises a PMI. */
bool x86_bts_pmi_due(const X86CPU *cpu, uint64_t before, uint64_t index,
                     uint64_t threshold)
{
    switch (cpu->ds.pmi) {
    case X86_BTS_PMI_CROSSED:
        return before < threshold && index >= threshold;
    case X86_BTS_PMI_EQUAL:
        return index == threshold;
    default:
        return index >= threshold;
    }
}

/* Returns the delay of the next PMI. x-bts-pmi-delay must not be 0. */
static uint32_t bts_pmi_delay(X86CPU *cpu)
{
    uint32_t longest = cpu->ds.pmi_delay;

    return cpu->ds.pmi_jitter ? 1 + x86_bts_random(cpu, longest) : longest;
}

/*
 * Raise a PMI, at once or late. If branches until a late PMI are being counted
 * already, do nothing. Returns true if the PMI was delivered at once.
 */
bool x86_bts_pmi_raise(X86CPU *cpu)
{
    if (!cpu->ds.pmi_delay) {
        return bts_pmi(cpu);
    }
    if (!cpu->ds.pmi_left) {
        cpu->ds.pmi_left = bts_pmi_delay(cpu);
        x86_branch_update_hflags(&cpu->env);
    }
    return false;
}

/*
 * Count a branch, or an interrupt or exception. Returns true if this delivered
 * a late PMI.
 */
bool x86_bts_pmi_pass(X86CPU *cpu)
{
    if (!cpu->ds.pmi_left || --cpu->ds.pmi_left) {
        return false;
    }
    x86_branch_update_hflags(&cpu->env);
    return bts_pmi(cpu);
}

/*
 * Recording stops, so branches are not counted: let a timer deliver a late PMI.
 */
void x86_bts_pmi_stopped(X86CPU *cpu)
{
    if (cpu->ds.pmi_left) {
        timer_mod(cpu->ds.pmi_timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
                                     cpu->ds.pmi_left * NS_PER_BRANCH);
        cpu->ds.pmi_left = 0;
        x86_branch_update_hflags(&cpu->env);
    }
}

/* Forget a late PMI, at INIT or a reset. */
void x86_bts_pmi_reset(X86CPU *cpu)
{
    cpu->ds.pmi_left = 0;
    if (cpu->ds.pmi_timer) {
        timer_del(cpu->ds.pmi_timer);
    }
}

static void pmi_now(CPUState *cs, run_on_cpu_data unused)
{
    bts_pmi(X86_CPU(cs));
}

/* Only its thread may change the registers of a running vCPU. */
static void pmi_late(void *opaque)
{
    async_run_on_cpu(CPU(opaque), pmi_now, RUN_ON_CPU_NULL);
}

bool x86_bts_choose(const char *property, const char *value,
                    const char *const *values, unsigned n, int *chosen,
                    Error **errp)
{
    g_autofree char *all = NULL;
    unsigned i;

    *chosen = 0;
    for (i = 0; i < n && value; i++) {
        if (!strcmp(value, values[i])) {
            *chosen = i;
            return true;
        }
    }
    if (!value) {
        return true;
    }
    all = g_strjoinv(", ", (char **)values);
    error_setg(errp, "%s=%s: use one of %s", property, value, all);
    return false;
}

bool x86_bts_pmi_realize(X86CPU *cpu, Error **errp)
{
    static const char *const when[] = {
        [X86_BTS_PMI_EACH] = "each",
        [X86_BTS_PMI_CROSSED] = "crossed",
        [X86_BTS_PMI_EQUAL] = "equal",
        NULL,
    };
    int chosen;

    if (!x86_bts_choose("x-bts-pmi", cpu->ds.pmi_name, when,
                        ARRAY_SIZE(when) - 1, &chosen, errp)) {
        return false;
    }
    cpu->ds.pmi = chosen;
    if (cpu->ds.pmi_jitter && !cpu->ds.pmi_delay) {
        error_setg(errp, "x-bts-pmi-jitter: add x-bts-pmi-delay=NUMBER");
        return false;
    }
    if (cpu->ds.pmi_delay && !cpu->ds.pmi_timer) {
        cpu->ds.pmi_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, pmi_late, cpu);
    }
    return true;
}
