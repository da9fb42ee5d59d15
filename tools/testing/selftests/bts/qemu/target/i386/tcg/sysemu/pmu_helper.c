// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Architectural performance monitoring, version 2, as storage: the registers
 * read back what was written and nothing ever counts. It is what a guest wants
 * to see before it believes in the rest of the performance monitoring unit.
 */

#include "qemu/osdep.h"
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

X86MSRResult x86_pmu2_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    uint64_t valid, *reg = pmu2_msr(env, msr, &valid);

    if (!env_archcpu(env)->ds.pmu2 || !reg) {
        return X86_MSR_UNKNOWN;
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
    if (msr == MSR_CORE_PERF_GLOBAL_OVF_CTRL) {
        env->msr_global_status &= ~val;
        return X86_MSR_DONE;
    }
    if (valid == UINT64_MAX) {
        /* A general counter takes 32 bits and extends their sign. */
        val = sextract64(val, 0, 32) & PMU_WIDTH_MASK;
    }
    *reg = val;
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

    if (!env_archcpu(env)->ds.pmu2) {
        raise_exception_ra(env, EXCP06_ILLOP, GETPC());
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
