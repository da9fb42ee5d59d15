// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Netburst, the microarchitecture of the Pentium 4: BTS has other bits of
 * DEBUGCTL, and performance monitoring has other registers. The valid bits of
 * these registers read back as written, which a guest checks before it uses
 * BTS. Nothing is counted.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "ds_helper.h"

/* Bits of DEBUGCTL: as on later processors, or NETBURST_SHIFT bits lower */
#define NETBURST_SAME       (DEBUGCTL_LBR | DEBUGCTL_BTF)
#define NETBURST_MOVED      0x7cU
#define NETBURST_SHIFT      4

#define NETBURST_COUNTERS   18
#define NETBURST_WIDTH      40

#define MSR_NETBURST_COUNTER    0x300
#define MSR_NETBURST_CCCR       0x360
#define MSR_NETBURST_ESCR       0x3a0
#define MSR_NETBURST_ESCR_LAST  0x3e1
#define MSR_NETBURST_PRECISE    0x3f0
#define MSR_NETBURST_MATRIX     0x3f2

uint64_t x86_netburst_show_debugctl(uint64_t ctl)
{
    return (ctl & NETBURST_SAME) | (ctl >> NETBURST_SHIFT & NETBURST_MOVED);
}

/*
 * Move the bits to where later processors have them. Returns false if a
 * reserved bit is set.
 */
bool x86_netburst_take_debugctl(uint64_t *ctl)
{
    uint64_t val = *ctl;

    *ctl = (val & NETBURST_SAME) | (val & NETBURST_MOVED) << NETBURST_SHIFT;
    return !(val & ~(uint64_t)(NETBURST_SAME | NETBURST_MOVED));
}

/*
 * Returns where a register is stored, or NULL if there is no such register.
 * Sets *@valid to its valid bits.
 */
static uint64_t *netburst_msr(CPUX86State *env, uint32_t msr, uint64_t *valid)
{
    *valid = UINT32_MAX;
    switch (msr) {
    case MSR_NETBURST_COUNTER ... MSR_NETBURST_COUNTER + NETBURST_COUNTERS - 1:
        *valid = MAKE_64BIT_MASK(0, NETBURST_WIDTH);
        /* fallthrough */
    case MSR_NETBURST_CCCR ... MSR_NETBURST_CCCR + NETBURST_COUNTERS - 1:
    case MSR_NETBURST_ESCR ... MSR_NETBURST_ESCR_LAST:
    case MSR_NETBURST_PRECISE ... MSR_NETBURST_MATRIX:
        return &env_archcpu(env)->ds.netburst_pmu[msr - NETBURST_PMU_FIRST];
    }
    return NULL;
}

X86MSRResult x86_netburst_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    uint64_t valid, *reg = netburst_msr(env, msr, &valid);

    if (!reg) {
        return X86_MSR_UNKNOWN;
    }
    *val = *reg;
    return X86_MSR_DONE;
}

X86MSRResult x86_netburst_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val)
{
    uint64_t valid, *reg = netburst_msr(env, msr, &valid);

    if (!reg) {
        return X86_MSR_UNKNOWN;
    }
    *reg = val & valid;
    return X86_MSR_DONE;
}

/*
 * Returns false if there is no such counter. Bit 31 of @index means: read only
 * the lower 32 bits.
 */
bool x86_netburst_rdpmc(CPUX86State *env, uint32_t index, uint64_t *val)
{
    bool fast = index >> 31;

    index &= INT32_MAX;
    if (index >= NETBURST_COUNTERS) {
        return false;
    }
    x86_netburst_rdmsr(env, MSR_NETBURST_COUNTER + index, val);
    if (fast) {
        *val = (uint32_t)*val;
    }
    return true;
}
