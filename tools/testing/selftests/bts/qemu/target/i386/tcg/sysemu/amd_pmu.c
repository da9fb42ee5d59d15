// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AMD's performance monitoring, version 2. Counters and their controls read
 * back what was written, which a guest checks before it uses the last branch
 * stack. Nothing is counted.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "ds_helper.h"

#define MSR_AMD_OLD_EVNTSEL     0xc0010000
#define MSR_AMD_OLD_CTR         0xc0010004
#define MSR_AMD_OLD_LAST        0xc0010007
#define MSR_AMD_PERF_CTL        0xc0010200
#define MSR_AMD_GLOBAL_STATUS   0xc0000300
#define MSR_AMD_GLOBAL_CTL      0xc0000301
#define MSR_AMD_GLOBAL_CLEAR    0xc0000302

static uint64_t *amd_pmu_msr(CPUX86State *env, uint32_t msr)
{
    X86DSConfig *ds = &env_archcpu(env)->ds;

    switch (msr) {
    case MSR_AMD_OLD_EVNTSEL ... MSR_AMD_OLD_CTR - 1:
        return &ds->amd_pmu[2 * (msr - MSR_AMD_OLD_EVNTSEL)];
    case MSR_AMD_OLD_CTR ... MSR_AMD_OLD_LAST:
        return &ds->amd_pmu[2 * (msr - MSR_AMD_OLD_CTR) + 1];
    case MSR_AMD_PERF_CTL ... MSR_AMD_PERF_CTL + 2 * AMD_PMU_COUNTERS - 1:
        return &ds->amd_pmu[msr - MSR_AMD_PERF_CTL];
    case MSR_AMD_GLOBAL_STATUS ... MSR_AMD_GLOBAL_CLEAR:
        return &ds->amd_pmu_global[msr - MSR_AMD_GLOBAL_STATUS];
    }
    return NULL;
}

X86MSRResult x86_amd_pmu_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    uint64_t *reg = amd_pmu_msr(env, msr);

    if (!reg) {
        return X86_MSR_UNKNOWN;
    }
    *val = *reg;
    return X86_MSR_DONE;
}

X86MSRResult x86_amd_pmu_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val)
{
    X86DSConfig *ds = &env_archcpu(env)->ds;
    uint64_t *reg = amd_pmu_msr(env, msr);

    if (!reg) {
        return X86_MSR_UNKNOWN;
    }
    if (msr == MSR_AMD_GLOBAL_STATUS) {
        return X86_MSR_GP;
    }
    if (msr == MSR_AMD_GLOBAL_CLEAR) {
        ds->amd_pmu_global[0] &= ~val;
    } else {
        *reg = val;
    }
    return X86_MSR_DONE;
}

/* Returns false if there is no such counter. */
bool x86_amd_pmu_rdpmc(CPUX86State *env, uint32_t index, uint64_t *val)
{
    if (index >= AMD_PMU_COUNTERS) {
        return false;
    }
    *val = env_archcpu(env)->ds.amd_pmu[2 * index + 1];
    return true;
}
