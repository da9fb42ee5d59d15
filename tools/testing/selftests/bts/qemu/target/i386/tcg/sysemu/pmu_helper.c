// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Architectural performance monitoring, version 2. Counters and their controls
 * can be written and read back, which a guest checks before it uses the rest of
 * the performance monitoring unit.
 *
 * With the property x-pmu-counts, the counters count, at the privilege levels
 * that are selected:
 *
 *  - With -icount, the count of instructions is exact, and each instruction
 *    takes one cycle. Without -icount, the counters of instructions and of
 *    cycles count nanoseconds of the virtual clock.
 *  - Branch instructions, whether taken or not, are exact.
 *  - Other events never occur.
 */

#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "sysemu/cpu-timers.h"
#include "sysemu/runstate.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "exec/exec-all.h"
#include "tcg/helper-tcg.h"
#include "ds_helper.h"

#define PMU_WIDTH_MASK      MAKE_64BIT_MASK(0, PMU_WIDTH)
#define PMU_CTRL_MASK       (MAKE_64BIT_MASK(0, PMU_GP_COUNTERS) | \
                             MAKE_64BIT_MASK(32, PMU_FIXED_COUNTERS))
#define PMU_FIXED_CTRL_MASK MAKE_64BIT_MASK(0, 4 * PMU_FIXED_COUNTERS)
#define PMU_OVF_MASK        (PMU_CTRL_MASK | PERF_STATUS_LBR_FROZEN | \
                             MAKE_64BIT_MASK(62, 2))
#define PMU_RDPMC_FIXED     (1U << 30)

/*
 * Returns where a register is stored, or NULL if there is no such register.
 * Sets *@valid to the bits that a guest may write.
 */
static uint64_t *pmu2_msr(CPUX86State *env, uint32_t msr, uint64_t *valid)
{
    *valid = UINT32_MAX;
    switch (msr) {
    case MSR_P6_PERFCTR0 ... MSR_P6_PERFCTR0 + PMU_GP_COUNTERS - 1:
        *valid = UINT64_MAX;
        return &env->msr_gp_counters[msr - MSR_P6_PERFCTR0];
    case MSR_P6_EVNTSEL0 ... MSR_P6_EVNTSEL0 + PMU_GP_COUNTERS - 1:
        return &env->msr_gp_evtsel[msr - MSR_P6_EVNTSEL0];
    case MSR_CORE_PERF_FIXED_CTR0 ... MSR_CORE_PERF_FIXED_CTR2:
        *valid = PMU_WIDTH_MASK;
        return &env->msr_fixed_counters[msr - MSR_CORE_PERF_FIXED_CTR0];
    case MSR_CORE_PERF_FIXED_CTR_CTRL:
        *valid = PMU_FIXED_CTRL_MASK;
        return &env->msr_fixed_ctr_ctrl;
    case MSR_CORE_PERF_GLOBAL_STATUS:
        *valid = 0;
        return &env->msr_global_status;
    case MSR_CORE_PERF_GLOBAL_CTRL:
        *valid = PMU_CTRL_MASK;
        return &env->msr_global_ctrl;
    case MSR_CORE_PERF_GLOBAL_OVF_CTRL:
        *valid = PMU_OVF_MASK;
        return &env->msr_global_ovf_ctrl;
    }
    return NULL;
}

#define PMU_COUNTERS        (PMU_GP_COUNTERS + PMU_FIXED_COUNTERS)
#define EVTSEL_EVENT        0xffff
#define EVTSEL_USR          (1U << 16)
#define EVTSEL_OS           (1U << 17)
#define EVTSEL_INT          (1U << 20)
#define EVTSEL_EN           (1U << 22)
/* INV and CMASK: a counter with one of these bits set counts nothing. */
#define EVTSEL_INV_CMASK    0xff800000
#define FIXED_OS            1
#define FIXED_USR           2
#define FIXED_PMI           8

typedef enum PMUEvent {
    PMU_NOTHING,
    PMU_TIME,           /* instructions, and cycles */
    PMU_BRANCHES,
} PMUEvent;

/* A counter. pmu_counter() numbers the general ones first, then the fixed. */
typedef struct PMUCounter {
    uint64_t *value;
    uint64_t status;    /* bit in GLOBAL_STATUS and in GLOBAL_CTRL */
    PMUEvent event;     /* what it counts, at the CPLs usr and os */
    bool usr;
    bool os;
    bool interrupts;
} PMUCounter;

static PMUEvent pmu_event(uint64_t select)
{
    if (!(select & EVTSEL_EN) || select & EVTSEL_INV_CMASK) {
        return PMU_NOTHING;
    }
    switch (select & EVTSEL_EVENT) {
    case 0x003c: /* cycles */
    case 0x013c: /* reference cycles */
    case 0x00c0: /* instructions */
        return PMU_TIME;
    case 0x00c4: /* branch instructions */
        return PMU_BRANCHES;
    default:
        return PMU_NOTHING;
    }
}

static PMUCounter pmu_counter(CPUX86State *env, unsigned i)
{
    uint64_t ctrl;
    PMUCounter c;

    if (i < PMU_GP_COUNTERS) {
        ctrl = env->msr_gp_evtsel[i];
        c = (PMUCounter) {
            .value = &env->msr_gp_counters[i],
            .status = 1ULL << i,
            .event = pmu_event(ctrl),
            .usr = ctrl & EVTSEL_USR,
            .os = ctrl & EVTSEL_OS,
            .interrupts = ctrl & EVTSEL_INT,
        };
    } else {
        i -= PMU_GP_COUNTERS;
        ctrl = env->msr_fixed_ctr_ctrl >> (4 * i);
        c = (PMUCounter) {
            .value = &env->msr_fixed_counters[i],
            .status = 1ULL << (32 + i),
            .event = PMU_TIME,
            .usr = ctrl & FIXED_USR,
            .os = ctrl & FIXED_OS,
            .interrupts = ctrl & FIXED_PMI,
        };
    }
    if (!(env->msr_global_ctrl & c.status)) {
        c.event = PMU_NOTHING;
    }
    return c;
}

/* Returns whether a counter must see branches, or changes of the CPL. */
bool x86_pmu_hooked(CPUX86State *env)
{
    unsigned i;

    for (i = 0; i < PMU_COUNTERS && env_archcpu(env)->ds.pmu_counts; i++) {
        PMUCounter c = pmu_counter(env, i);

        if (c.event == PMU_BRANCHES ||
            (c.event == PMU_TIME && c.usr != c.os)) {
            return true;
        }
    }
    return false;
}

/* Returns the time: instructions of this CPU with -icount, or nanoseconds. */
uint64_t x86_pmu_clock(X86CPU *cpu)
{
    if (!icount_enabled()) {
        return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    }
    /* This also updates icount_executed. */
    icount_get_raw();
    return CPU(cpu)->icount_executed;
}

/*
 * Count @n times @event at the privilege level of @hflags. Returns true if a
 * counter with its interrupt enabled has overflowed.
 */
static bool pmu_add(CPUX86State *env, PMUEvent event, uint64_t n,
                    uint32_t hflags)
{
    bool pmi = false;
    unsigned i;

    for (i = 0; i < PMU_COUNTERS; i++) {
        PMUCounter c = pmu_counter(env, i);

        if (c.event != event || !(hflags & HF_CPL_MASK ? c.usr : c.os)) {
            continue;
        }
        if (n > PMU_WIDTH_MASK - *c.value) {
            env->msr_global_status |= c.status;
            pmi |= c.interrupts;
        }
        *c.value = (*c.value + n) & PMU_WIDTH_MASK;
    }
    return pmi;
}

/* Count the time since the last call, at @hflags' CPL. Returns as pmu_add(). */
static bool pmu_pass(X86CPU *cpu, uint32_t hflags)
{
    uint64_t now = x86_pmu_clock(cpu), passed = now - cpu->ds.pmu_since;

    cpu->ds.pmu_since = now;
    return pmu_add(&cpu->env, PMU_TIME, passed, hflags);
}

/* Update all counters of time. Raise a PMI if pmu_add() asks for one. */
static void pmu_count(X86CPU *cpu)
{
    if (pmu_pass(cpu, cpu->env.hflags)) {
        x86_pmi_deliver(cpu);
    }
}

/* Disable all counters, at a PMI. An overflow here raises no second PMI. */
void x86_pmu_freeze(X86CPU *cpu)
{
    pmu_pass(cpu, cpu->env.hflags);
    cpu->env.msr_global_ctrl = 0;
}

/*
 * Set a timer to the first possible overflow of a counter of time that
 * GLOBAL_CTRL enables, or delete the timer if there is none. The overflow may
 * come later: the virtual clock goes on while other CPUs execute, and a counter
 * may count at one privilege level only, or at none.
 */
static void pmu_arm(X86CPU *cpu)
{
    uint64_t left = INT64_MAX / 2;
    unsigned i;

    for (i = 0; i < PMU_COUNTERS; i++) {
        PMUCounter c = pmu_counter(&cpu->env, i);

        if (c.event == PMU_TIME) {
            left = MIN(left, PMU_WIDTH_MASK + 1 - *c.value);
        }
    }
    if (left == INT64_MAX / 2) {
        timer_del(cpu->ds.pmu_timer);
        return;
    }
    if (icount_enabled()) {
        left = icount_to_ns(left);
    }
    timer_mod(cpu->ds.pmu_timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + left);
}

/*
 * Count a branch, but not an event (an interrupt or exception). If either has
 * changed the privilege level, count the time up to now, at the old level.
 * @before is the hflags before. Returns true if a PMI was delivered.
 */
bool x86_pmu_branch(CPUX86State *env, uint32_t before, X86Branch type)
{
    X86CPU *cpu = env_archcpu(env);
    bool pmi = false;

    if (!cpu->ds.pmu_counts) {
        return false;
    }
    if ((before ^ env->hflags) & HF_CPL_MASK) {
        pmi = pmu_pass(cpu, before);
    }
    if (type != X86_BRANCH_EVENT) {
        pmi |= pmu_add(env, PMU_BRANCHES, 1, before);
    }
    return pmi && x86_pmi_deliver(cpu);
}

static void pmu_overflow(CPUState *cs, run_on_cpu_data unused)
{
    pmu_count(X86_CPU(cs));
    pmu_arm(X86_CPU(cs));
}

/* Only its thread may change the registers of a running vCPU. */
static void pmu_expired(void *opaque)
{
    async_run_on_cpu(CPU(opaque), pmu_overflow, RUN_ON_CPU_NULL);
}

/*
 * Called when the machine starts to run. A machine that was loaded from a file
 * has its counters, but no timer for them. They count from now on.
 */
static void pmu_starts(void *opaque, bool running, RunState state)
{
    X86CPU *cpu = opaque;

    if (running && !cpu->ds.pmu_since) {
        cpu->ds.pmu_since = x86_pmu_clock(cpu);
        pmu_arm(cpu);
    }
}

void x86_pmu2_realize(X86CPU *cpu)
{
    if (cpu->ds.pmu_counts && !cpu->ds.pmu_timer) {
        cpu->ds.pmu_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, pmu_expired, cpu);
        qemu_add_vm_change_state_handler(pmu_starts, cpu);
    }
}

X86MSRResult x86_pmu2_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    uint64_t valid, *reg = pmu2_msr(env, msr, &valid);

    if (!env_archcpu(env)->ds.pmu2 || !reg) {
        return X86_MSR_UNKNOWN;
    }
    if (env_archcpu(env)->ds.pmu_counts) {
        pmu_count(env_archcpu(env));
    }
    *val = *reg;
    return X86_MSR_DONE;
}

/* Handle the writes that x-pmu-stuck changes. Returns false for others. */
static bool pmu2_stuck(CPUX86State *env, uint32_t msr, uint64_t val)
{
    if (!env_archcpu(env)->ds.pmu_stuck) {
        return false;
    }
    if (msr == MSR_CORE_PERF_GLOBAL_STATUS) {
        env->msr_global_status = val;
        return true;
    }
    return msr == MSR_CORE_PERF_GLOBAL_OVF_CTRL;
}

X86MSRResult x86_pmu2_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val)
{
    uint64_t valid, *reg = pmu2_msr(env, msr, &valid);

    if (pmu2_stuck(env, msr, val)) {
        return X86_MSR_DONE;
    }
    if (!env_archcpu(env)->ds.pmu2 || !reg) {
        return X86_MSR_UNKNOWN;
    }
    if (msr == MSR_CORE_PERF_GLOBAL_STATUS || (val & ~valid)) {
        return X86_MSR_GP;
    }
    if (valid == UINT64_MAX) {
        /* A general counter takes 32 bits and extends their sign. */
        val = sextract64(val, 0, 32) & PMU_WIDTH_MASK;
    }
    if (env_archcpu(env)->ds.pmu_counts) {
        pmu_count(env_archcpu(env));
    }
    if (msr == MSR_CORE_PERF_GLOBAL_OVF_CTRL) {
        env->msr_global_status &= ~val;
    } else {
        *reg = val;
    }
    if (env_archcpu(env)->ds.pmu_counts) {
        pmu_arm(env_archcpu(env));
    }
    x86_branch_update_hflags(env);
    return X86_MSR_DONE;
}

void helper_rdpmc(CPUX86State *env)
{
    const X86DSConfig *ds = &env_archcpu(env)->ds;
    uint32_t index = env->regs[R_ECX];
    uint64_t val;

    if (!(env->cr[4] & CR4_PCE_MASK) && (env->hflags & HF_CPL_MASK)) {
        raise_exception_ra(env, EXCP0D_GPF, GETPC());
    }
    cpu_svm_check_intercept_param(env, SVM_EXIT_RDPMC, 0, GETPC());

    if (ds->netburst || ds->lbr_kind == X86_LBR_AMD) {
        if (!(ds->netburst ? x86_netburst_rdpmc(env, index, &val)
                           : x86_amd_pmu_rdpmc(env, index, &val))) {
            raise_exception_err_ra(env, EXCP0D_GPF, 0, GETPC());
        }
        env->regs[R_EAX] = (uint32_t)val;
        env->regs[R_EDX] = val >> 32;
        return;
    }
    if (!env_archcpu(env)->ds.pmu2) {
        raise_exception_ra(env, EXCP06_ILLOP, GETPC());
    }
    if (env_archcpu(env)->ds.pmu_counts) {
        pmu_count(env_archcpu(env));
    }
    if (index < PMU_GP_COUNTERS) {
        val = env->msr_gp_counters[index];
    } else if (index - PMU_RDPMC_FIXED < PMU_FIXED_COUNTERS) {
        val = env->msr_fixed_counters[index - PMU_RDPMC_FIXED];
    } else {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, GETPC());
    }
    env->regs[R_EAX] = (uint32_t)val;
    env->regs[R_EDX] = val >> 32;
}
