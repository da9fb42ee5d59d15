// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Last branch records: the newest branches in registers of the CPU. The
 * property x-lbr is their number, and x-lbr-kind tells which registers there
 * are:
 *
 *  - model: 8 as on Bonnell, which have no filter, 16 as on Nehalem, or 32 as
 *    on Skylake. DEBUGCTL.LBR enables them. A #DB clears DEBUGCTL.LBR, and so
 *    does a PMI with FREEZE_LBRS_ON_PMI.
 *  - arch: the architectural ones, 8, 16 or 32. IA32_LBR_CTL enables and
 *    filters them. A PMI with FREEZE_LBRS_ON_PMI sets a bit of
 *    IA32_PERF_GLOBAL_STATUS, which stops them until it is acknowledged.
 *  - amd: AMD's last branch stack, 8, 16 or 32. DBG_EXTN_CFG enables it.
 *
 * With arch and amd, record 0 is the newest branch. A record is marked as
 * mispredicted if it is a forward conditional branch.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "sysemu/cpu-timers.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "ds_helper.h"

#define SELECT_NO_OS        (1U << 0)
#define SELECT_NO_USR       (1U << 1)
#define SELECT_CALLSTACK    (1U << 9)

/* Formats in IA32_PERF_CAPABILITIES, and their registers */
#define FORMAT_ADDRESSES    2   /* addresses only */
#define FORMAT_FLAGS        3   /* FROM has MISPREDICTED */
#define FORMAT_INFO         5   /* a third register has it, and the cycles */
#define FORMAT_ARCH         0x3f
#define MISPREDICTED        (1ULL << 63)
#define CYCLES_MAX          0xffff

/* Bits of IA32_LBR_CTL, which select what is recorded. */
#define CTL_ENABLE          (1U << 0)
#define CTL_OS              (1U << 1)
#define CTL_USR             (1U << 2)
#define CTL_CALLSTACK       (1U << 3)
#define CTL_VALID           0x7f000f

/* The third register of an architectural record */
#define INFO_CYCLES_VALID   (1ULL << 60)
#define INFO_TYPE_SHIFT     56

/* AMD's registers */
#define AMD_ENABLE          (1U << 6)
#define AMD_VALID           (1ULL << 63)
#define AMD_ADDRESS_BITS    61

/* How IA32_LBR_CTL and the third register number the types of branches. */
typedef struct LBRType {
    uint8_t ctl_bit;
    uint8_t info;
} LBRType;

static const LBRType lbr_types[] = {
    [X86_BRANCH_JCC] = { 16, 0 },
    [X86_BRANCH_JMP_REL] = { 17, 2 },
    [X86_BRANCH_JMP_IND] = { 18, 1 },
    [X86_BRANCH_CALL_REL] = { 19, 4 },
    [X86_BRANCH_CALL_IND] = { 20, 3 },
    [X86_BRANCH_RET] = { 21, 5 },
    [X86_BRANCH_FAR] = { 22, 6 },
};

static bool lbr_has_info(const X86CPU *cpu)
{
    return cpu->ds.lbr_kind == X86_LBR_ARCH ||
           (cpu->ds.lbr_kind == X86_LBR_MODEL && cpu->ds.lbr == 32);
}

static bool lbr_is_short(const X86CPU *cpu)
{
    return cpu->ds.lbr_kind == X86_LBR_MODEL && cpu->ds.lbr == 8;
}

static uint64_t lbr_select_valid(const X86CPU *cpu)
{
    return MAKE_64BIT_MASK(0, lbr_has_info(cpu) ? 10 : 9);
}

static uint32_t lbr_depth(const CPUX86State *env)
{
    return env->lbr.depth ? env->lbr.depth
                          : env_archcpu((CPUX86State *)env)->ds.lbr;
}

/* Returns whether branches that pass the filter are recorded. */
bool x86_lbr_on(CPUX86State *env)
{
    X86CPU *cpu = env_archcpu(env);

    if (!cpu->ds.lbr) {
        return false;
    }
    switch (cpu->ds.lbr_kind) {
    case X86_LBR_ARCH:
        return env->lbr.ctl & CTL_ENABLE &&
               !(env->msr_global_status & PERF_STATUS_LBR_FROZEN);
    case X86_LBR_AMD:
        return env->lbr.ctl & AMD_ENABLE;
    default:
        return env->msr_debugctl & DEBUGCTL_LBR;
    }
}

/*
 * Stop recording. Call this at a PMI with FREEZE_LBRS_ON_PMI. AMD's last branch
 * stack goes on: its freeze is not emulated.
 */
void x86_lbr_freeze(CPUX86State *env)
{
    if (env_archcpu(env)->ds.lbr_kind == X86_LBR_ARCH) {
        env->msr_global_status |= PERF_STATUS_LBR_FROZEN;
    } else {
        env->msr_debugctl &= ~(uint64_t)DEBUGCTL_LBR;
    }
}

static bool lbr_ctl_filtered(CPUX86State *env, X86Branch type)
{
    uint64_t ctl = env->lbr.ctl;

    if (!(ctl & (env->hflags & HF_CPL_MASK ? CTL_USR : CTL_OS))) {
        return true;
    }
    return !(ctl >> lbr_types[MIN(type, X86_BRANCH_FAR)].ctl_bit & 1);
}

static bool lbr_filtered(CPUX86State *env, X86Branch type)
{
    uint64_t select = env->lbr.select;

    if (select & (env->hflags & HF_CPL_MASK ? SELECT_NO_USR : SELECT_NO_OS)) {
        return true;
    }
    return select >> MIN(type, X86_BRANCH_FAR) & 1;
}

/*
 * Returns the cycles since the last call, at most CYCLES_MAX. Without -icount,
 * returns 0.
 */
static uint64_t lbr_cycles(X86CPU *cpu)
{
    uint64_t now, passed;

    if (!icount_enabled()) {
        return 0;
    }
    now = x86_pmu_clock(cpu);
    passed = now - cpu->env.lbr.since;
    cpu->env.lbr.since = now;
    return MIN(passed, CYCLES_MAX);
}

static uint64_t lbr_info(X86CPU *cpu, X86Branch type)
{
    uint64_t info = lbr_cycles(cpu);

    if (cpu->ds.lbr_kind == X86_LBR_ARCH) {
        info |= INFO_CYCLES_VALID |
                (uint64_t)lbr_types[MIN(type, X86_BRANCH_FAR)].info
                << INFO_TYPE_SHIFT;
    }
    return info;
}

static void lbr_push(CPUX86State *env, X86Branch type, target_ulong from)
{
    X86CPU *cpu = env_archcpu(env);
    X86LBR *lbr = &env->lbr;
    target_ulong to = x86_bts_ip(env);
    uint64_t mispredicted = 0;

    if (type == X86_BRANCH_JCC && to > from) {
        mispredicted = MISPREDICTED;
    }
    lbr->tos = (lbr->tos + 1) % lbr_depth(env);
    lbr->to[lbr->tos] = to;
    if (lbr_has_info(cpu)) {
        lbr->from[lbr->tos] = from;
        lbr->info[lbr->tos] = mispredicted | lbr_info(cpu, type);
    } else if (lbr_is_short(cpu)) {
        lbr->from[lbr->tos] = from;
    } else {
        lbr->from[lbr->tos] = (from & ~MISPREDICTED) | mispredicted;
    }
    if (cpu->ds.lbr_kind == X86_LBR_AMD) {
        lbr->to[lbr->tos] = AMD_VALID |
                            (to & MAKE_64BIT_MASK(0, AMD_ADDRESS_BITS));
    }
}

/* In call stack mode, a return removes its call. */
static void lbr_pop(CPUX86State *env)
{
    X86LBR *lbr = &env->lbr;

    lbr->from[lbr->tos] = 0;
    lbr->to[lbr->tos] = 0;
    lbr->info[lbr->tos] = 0;
    lbr->tos = (lbr->tos + lbr_depth(env) - 1) % lbr_depth(env);
}

/* Record a branch, interrupt or exception at @from, which has completed. */
void x86_lbr_record(CPUX86State *env, X86Branch type, target_ulong from)
{
    bool arch = env_archcpu(env)->ds.lbr_kind == X86_LBR_ARCH;

    if (!x86_lbr_on(env) ||
        (arch ? lbr_ctl_filtered(env, type) : lbr_filtered(env, type))) {
        return;
    }
    if (type == X86_BRANCH_RET && (arch ? env->lbr.ctl & CTL_CALLSTACK
                                        : env->lbr.select & SELECT_CALLSTACK)) {
        lbr_pop(env);
    } else {
        lbr_push(env, type, from);
    }
}

/* Returns the index of record @n, for LBRs whose record 0 is the newest. */
static uint32_t lbr_slot(const CPUX86State *env, uint32_t n)
{
    uint32_t depth = lbr_depth(env);

    return (env->lbr.tos + depth - n % depth) % depth;
}

static uint64_t *lbr_arch_entry(CPUX86State *env, uint32_t msr)
{
    uint32_t n = msr % LBR_MAX_DEPTH;

    if (n >= lbr_depth(env)) {
        return NULL;
    }
    switch (msr - n) {
    case MSR_ARCH_LBR_FROM_0:
        return &env->lbr.from[lbr_slot(env, n)];
    case MSR_ARCH_LBR_TO_0:
        return &env->lbr.to[lbr_slot(env, n)];
    case MSR_ARCH_LBR_INFO_0:
        return &env->lbr.info[lbr_slot(env, n)];
    }
    return NULL;
}

static uint64_t *lbr_amd_entry(CPUX86State *env, uint32_t msr)
{
    uint32_t n = (msr - MSR_AMD_LBR_FROM) / 2;

    if (msr < MSR_AMD_LBR_FROM || n >= lbr_depth(env)) {
        return NULL;
    }
    return msr % 2 ? &env->lbr.to[lbr_slot(env, n)]
                   : &env->lbr.from[lbr_slot(env, n)];
}

static uint64_t *lbr_model_entry(CPUX86State *env, uint32_t msr)
{
    X86CPU *cpu = env_archcpu(env);
    uint32_t n = msr % LBR_MAX_DEPTH;

    if (n >= cpu->ds.lbr) {
        return NULL;
    }
    switch (msr - n) {
    case MSR_LBR_SHORT_FROM:
        return lbr_is_short(cpu) ? &env->lbr.from[n] : NULL;
    case MSR_LBR_SHORT_TO:
        return lbr_is_short(cpu) ? &env->lbr.to[n] : NULL;
    case MSR_LBR_FROM:
        return lbr_is_short(cpu) ? NULL : &env->lbr.from[n];
    case MSR_LBR_TO:
        return lbr_is_short(cpu) ? NULL : &env->lbr.to[n];
    case MSR_LBR_INFO:
        return lbr_has_info(cpu) ? &env->lbr.info[n] : NULL;
    }
    return NULL;
}

static uint64_t *lbr_entry(CPUX86State *env, uint32_t msr)
{
    switch (env_archcpu(env)->ds.lbr_kind) {
    case X86_LBR_ARCH:
        return lbr_arch_entry(env, msr);
    case X86_LBR_AMD:
        return lbr_amd_entry(env, msr);
    default:
        return lbr_model_entry(env, msr);
    }
}

static X86MSRResult lbr_arch_rdmsr(CPUX86State *env, uint32_t msr,
                                   uint64_t *val)
{
    switch (msr) {
    case MSR_IA32_PERF_CAPABILITIES:
        *val = FORMAT_ARCH;
        return X86_MSR_DONE;
    case MSR_ARCH_LBR_CTL:
        *val = env->lbr.ctl;
        return X86_MSR_DONE;
    case MSR_ARCH_LBR_DEPTH:
        *val = lbr_depth(env);
        return X86_MSR_DONE;
    }
    return X86_MSR_UNKNOWN;
}

static X86MSRResult lbr_amd_rdmsr(CPUX86State *env, uint32_t msr,
                                  uint64_t *val)
{
    switch (msr) {
    case MSR_AMD_DBG_EXTN_CFG:
        *val = env->lbr.ctl;
        return X86_MSR_DONE;
    case MSR_AMD_LBR_SELECT:
        *val = env->lbr.select;
        return X86_MSR_DONE;
    }
    return X86_MSR_UNKNOWN;
}

X86MSRResult x86_lbr_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    X86CPU *cpu = env_archcpu(env);
    uint64_t *entry;

    if (!cpu->ds.lbr) {
        return X86_MSR_UNKNOWN;
    }
    entry = lbr_entry(env, msr);
    if (entry) {
        *val = *entry;
        return X86_MSR_DONE;
    }
    if (cpu->ds.lbr_kind == X86_LBR_ARCH) {
        return lbr_arch_rdmsr(env, msr, val);
    }
    if (cpu->ds.lbr_kind == X86_LBR_AMD) {
        return lbr_amd_rdmsr(env, msr, val);
    }
    switch (msr) {
    case MSR_IA32_PERF_CAPABILITIES:
        *val = lbr_has_info(cpu) ? FORMAT_INFO
               : lbr_is_short(cpu) ? FORMAT_ADDRESSES : FORMAT_FLAGS;
        return X86_MSR_DONE;
    case MSR_LBR_SELECT:
        if (lbr_is_short(cpu)) {
            return X86_MSR_UNKNOWN;
        }
        *val = env->lbr.select;
        return X86_MSR_DONE;
    case MSR_LBR_TOS:
        *val = env->lbr.tos;
        return X86_MSR_DONE;
    }
    return X86_MSR_UNKNOWN;
}

/* Returns whether @val is valid for a register of a record. */
static bool lbr_valid(CPUX86State *env, uint32_t msr, uint64_t val)
{
    switch (env_archcpu(env)->ds.lbr_kind) {
    case X86_LBR_ARCH:
        if (msr - msr % LBR_MAX_DEPTH == MSR_ARCH_LBR_INFO_0) {
            return true;
        }
        return x86_is_canonical(env, val);
    case X86_LBR_AMD:
        return true;
    default:
        break;
    }
    switch (msr - msr % LBR_MAX_DEPTH) {
    case MSR_LBR_INFO:
        return true;
    case MSR_LBR_FROM:
        if (!lbr_has_info(env_archcpu(env))) {
            val = sextract64(val, 0, 63);
        }
        break;
    }
    return x86_is_canonical(env, val);
}

/* A write of the depth erases all records. */
static void lbr_set_depth(CPUX86State *env, uint32_t depth)
{
    X86LBR *lbr = &env->lbr;

    memset(lbr->from, 0, sizeof(lbr->from));
    memset(lbr->to, 0, sizeof(lbr->to));
    memset(lbr->info, 0, sizeof(lbr->info));
    lbr->tos = 0;
    lbr->depth = depth;
}

/* Set lbr.ctl to @val. With x-lbr-ignored, the bit @enable stays 0. */
static void lbr_set_ctl(CPUX86State *env, uint64_t val, uint64_t enable)
{
    env->lbr.ctl = env_archcpu(env)->ds.lbr_ignored ? val & ~enable : val;
    x86_branch_update_hflags(env);
}

static X86MSRResult lbr_arch_wrmsr(CPUX86State *env, uint32_t msr,
                                   uint64_t val)
{
    switch (msr) {
    case MSR_IA32_PERF_CAPABILITIES:
        return X86_MSR_GP;
    case MSR_ARCH_LBR_CTL:
        if (val & ~(uint64_t)CTL_VALID) {
            return X86_MSR_GP;
        }
        lbr_set_ctl(env, val, CTL_ENABLE);
        return X86_MSR_DONE;
    case MSR_ARCH_LBR_DEPTH:
        if (!val || val % 8 || val > env_archcpu(env)->ds.lbr) {
            return X86_MSR_GP;
        }
        lbr_set_depth(env, val);
        return X86_MSR_DONE;
    }
    return X86_MSR_UNKNOWN;
}

static X86MSRResult lbr_amd_wrmsr(CPUX86State *env, uint32_t msr,
                                  uint64_t val)
{
    switch (msr) {
    case MSR_AMD_DBG_EXTN_CFG:
        lbr_set_ctl(env, val, AMD_ENABLE);
        return X86_MSR_DONE;
    case MSR_AMD_LBR_SELECT:
        if (val & ~lbr_select_valid(env_archcpu(env))) {
            return X86_MSR_GP;
        }
        env->lbr.select = val;
        return X86_MSR_DONE;
    }
    return X86_MSR_UNKNOWN;
}

X86MSRResult x86_lbr_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val)
{
    X86CPU *cpu = env_archcpu(env);
    uint64_t *entry;

    if (!cpu->ds.lbr) {
        return X86_MSR_UNKNOWN;
    }
    entry = lbr_entry(env, msr);
    if (entry) {
        if (!lbr_valid(env, msr, val)) {
            return X86_MSR_GP;
        }
        *entry = val;
        return X86_MSR_DONE;
    }
    if (cpu->ds.lbr_kind == X86_LBR_ARCH) {
        return lbr_arch_wrmsr(env, msr, val);
    }
    if (cpu->ds.lbr_kind == X86_LBR_AMD) {
        return lbr_amd_wrmsr(env, msr, val);
    }
    switch (msr) {
    case MSR_IA32_PERF_CAPABILITIES:
        return X86_MSR_GP;
    case MSR_LBR_SELECT:
        if (lbr_is_short(cpu) || val & ~lbr_select_valid(cpu)) {
            return X86_MSR_GP;
        }
        env->lbr.select = val;
        return X86_MSR_DONE;
    case MSR_LBR_TOS:
        if (val >= cpu->ds.lbr) {
            return X86_MSR_GP;
        }
        env->lbr.tos = val;
        return X86_MSR_DONE;
    }
    return X86_MSR_UNKNOWN;
}

static bool lbr_number_valid(const X86CPU *cpu)
{
    return cpu->ds.lbr == 8 || cpu->ds.lbr == 16 || cpu->ds.lbr == 32;
}

bool x86_lbr_realize(X86CPU *cpu, Error **errp)
{
    static const char *const kinds[] = {
        [X86_LBR_MODEL] = "model",
        [X86_LBR_ARCH] = "arch",
        [X86_LBR_AMD] = "amd",
        NULL,
    };
    int chosen;

    if (!x86_bts_choose("x-lbr-kind", cpu->ds.lbr_kind_name, kinds,
                        ARRAY_SIZE(kinds) - 1, &chosen, errp)) {
        return false;
    }
    cpu->ds.lbr_kind = chosen;
    if (!cpu->ds.lbr) {
        if (chosen != X86_LBR_MODEL) {
            error_setg(errp, "x-lbr-kind=%s: add x-lbr=NUMBER", kinds[chosen]);
        }
        return chosen == X86_LBR_MODEL;
    }
    if (!lbr_number_valid(cpu)) {
        error_setg(errp, "x-lbr=%u: use 8, 16 or 32, or 0 for none",
                   cpu->ds.lbr);
        return false;
    }
    if (cpu->ds.pmu2 == (chosen == X86_LBR_AMD)) {
        error_setg(errp, chosen == X86_LBR_AMD
                   ? "x-lbr-kind=amd has a PMU of its own: add x-pmu2=off"
                   : "x-lbr needs a PMU: add x-pmu2=on");
        return false;
    }
    return true;
}
