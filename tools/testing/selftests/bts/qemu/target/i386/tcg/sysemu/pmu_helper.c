// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Architectural performance monitoring, version 2. The registers read back what
 * was written. That is what a guest wants to see before it believes in the rest
 * of the performance monitoring unit.
 *
 * With the property x-pmu-counts the counters count, too: nanoseconds of the
 * virtual clock, whatever the event and the mode. With -icount shift=0 these are
 * instructions.
 */

#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "exec/exec-all.h"
#include "tcg/helper-tcg.h"
#include "ds_helper.h"

#define PMU_WIDTH_MASK      MAKE_64BIT_MASK(0, PMU_WIDTH)
#define PMU_CTRL_MASK       (MAKE_64BIT_MASK(0, PMU_GP_COUNTERS) | \
                             MAKE_64BIT_MASK(32, PMU_FIXED_COUNTERS))
#define PMU_FIXED_CTRL_MASK MAKE_64BIT_MASK(0, 4 * PMU_FIXED_COUNTERS)
#define PMU_OVF_MASK        (PMU_CTRL_MASK | MAKE_64BIT_MASK(62, 2))
#define PMU_RDPMC_FIXED     (1U << 30)

/* Where a register is kept, and which of its bits may be set. */
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
#define EVTSEL_INT          (1U << 20)
#define EVTSEL_EN           (1U << 22)
#define FIXED_EN            3
#define FIXED_PMI           8

/* All counters in one row, the general ones first. */
typedef struct PMUCounter {
    uint64_t *value;
    uint64_t status;    /* its bit of GLOBAL_STATUS, and of GLOBAL_CTRL */
    bool on;
    bool interrupts;
} PMUCounter;

static PMUCounter pmu_counter(CPUX86State *env, unsigned i)
{
    uint64_t ctrl;

    if (i < PMU_GP_COUNTERS) {
        ctrl = env->msr_gp_evtsel[i];
        return (PMUCounter) { &env->msr_gp_counters[i], 1ULL << i,
                              ctrl & EVTSEL_EN && env->msr_global_ctrl >> i & 1,
                              ctrl & EVTSEL_INT };
    }
    i -= PMU_GP_COUNTERS;
    ctrl = env->msr_fixed_ctr_ctrl >> (4 * i);
    return (PMUCounter) { &env->msr_fixed_counters[i], 1ULL << (32 + i),
                          ctrl & FIXED_EN &&
                          env->msr_global_ctrl >> (32 + i) & 1,
                          ctrl & FIXED_PMI };
}

/* Let all counters have counted up to now, and tell of those that overflow. */
static void pmu_count(X86CPU *cpu)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint64_t passed = now - cpu->ds.pmu_since;
    bool pmi = false;
    unsigned i;

    cpu->ds.pmu_since = now;
    for (i = 0; i < PMU_COUNTERS; i++) {
        PMUCounter c = pmu_counter(&cpu->env, i);

        if (!c.on) {
            continue;
        }
        if (passed > PMU_WIDTH_MASK - *c.value) {
            cpu->env.msr_global_status |= c.status;
            pmi |= c.interrupts;
        }
        *c.value = (*c.value + passed) & PMU_WIDTH_MASK;
    }
    if (pmi) {
        x86_pmi_deliver(cpu);
    }
}

/* Wake up when the first counter overflows. */
static void pmu_arm(X86CPU *cpu)
{
    uint64_t left = INT64_MAX / 2;
    unsigned i;

    for (i = 0; i < PMU_COUNTERS; i++) {
        PMUCounter c = pmu_counter(&cpu->env, i);

        if (c.on) {
            left = MIN(left, PMU_WIDTH_MASK + 1 - *c.value);
        }
    }
    if (left == INT64_MAX / 2) {
        timer_del(cpu->ds.pmu_timer);
    } else {
        timer_mod(cpu->ds.pmu_timer, cpu->ds.pmu_since + left);
    }
}

static void pmu_overflow(CPUState *cs, run_on_cpu_data unused)
{
    pmu_count(X86_CPU(cs));
    pmu_arm(X86_CPU(cs));
}

/* The registers are the vCPU's own thread's to change. */
static void pmu_expired(void *opaque)
{
    async_run_on_cpu(CPU(opaque), pmu_overflow, RUN_ON_CPU_NULL);
}

void x86_pmu2_realize(X86CPU *cpu)
{
    if (cpu->ds.pmu_counts && !cpu->ds.pmu_timer) {
        cpu->ds.pmu_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, pmu_expired, cpu);
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

X86MSRResult x86_pmu2_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val)
{
    uint64_t valid, *reg = pmu2_msr(env, msr, &valid);

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
    return X86_MSR_DONE;
}

void helper_rdpmc(CPUX86State *env)
{
    uint32_t index = env->regs[R_ECX];
    uint64_t val;

    if (!(env->cr[4] & CR4_PCE_MASK) && (env->hflags & HF_CPL_MASK)) {
        raise_exception_ra(env, EXCP0D_GPF, GETPC());
    }
    cpu_svm_check_intercept_param(env, SVM_EXIT_RDPMC, 0, GETPC());

    if (env_archcpu(env)->ds.netburst) {
        if (!x86_netburst_rdpmc(env, index, &val)) {
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
