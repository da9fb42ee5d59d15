// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Last branch records: the newest branches in registers of the CPU, 16 as on
 * Nehalem or 32 as on Skylake, according to the property x-lbr.
 *
 * A branch is recorded while DEBUGCTL.LBR is set, unless LBR_SELECT filters it
 * out. A #DB clears DEBUGCTL.LBR, and so does a PMI with FREEZE_LBRS_ON_PMI.
 * The records' prediction is the static one: a forward conditional branch is
 * predicted not taken.
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
#define FORMAT_FLAGS        3   /* FROM: mispredicted */
#define FORMAT_INFO         5   /* a third register: mispredicted, cycles */
#define MISPREDICTED        (1ULL << 63)
#define CYCLES_MAX          0xffff

static bool lbr_has_info(const X86CPU *cpu)
{
    return cpu->ds.lbr == 32;
}

static uint64_t lbr_select_valid(const X86CPU *cpu)
{
    return MAKE_64BIT_MASK(0, lbr_has_info(cpu) ? 10 : 9);
}

static bool lbr_filtered(CPUX86State *env, X86Branch type)
{
    uint64_t select = env->lbr.select;

    if (select & (env->hflags & HF_CPL_MASK ? SELECT_NO_USR : SELECT_NO_OS)) {
        return true;
    }
    return select >> MIN(type, X86_BRANCH_FAR) & 1;
}

/* Returns the cycles since the last record, or 0 without -icount. */
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

static void lbr_push(CPUX86State *env, X86Branch type, target_ulong from)
{
    X86CPU *cpu = env_archcpu(env);
    X86LBR *lbr = &env->lbr;
    target_ulong to = x86_bts_ip(env);
    uint64_t mispredicted = 0;

    if (type == X86_BRANCH_JCC && to > from) {
        mispredicted = MISPREDICTED;
    }
    lbr->tos = (lbr->tos + 1) % cpu->ds.lbr;
    lbr->to[lbr->tos] = to;
    if (lbr_has_info(cpu)) {
        lbr->from[lbr->tos] = from;
        lbr->info[lbr->tos] = mispredicted | lbr_cycles(cpu);
    } else {
        lbr->from[lbr->tos] = (from & ~MISPREDICTED) | mispredicted;
    }
}

/* In call stack mode, a return removes its call. */
static void lbr_pop(CPUX86State *env)
{
    X86LBR *lbr = &env->lbr;

    lbr->from[lbr->tos] = 0;
    lbr->to[lbr->tos] = 0;
    lbr->info[lbr->tos] = 0;
    lbr->tos = (lbr->tos - 1) % env_archcpu(env)->ds.lbr;
}

/* Record a transfer from @from that has completed. */
void x86_lbr_record(CPUX86State *env, X86Branch type, target_ulong from)
{
    if (!env_archcpu(env)->ds.lbr || !(env->msr_debugctl & DEBUGCTL_LBR) ||
        lbr_filtered(env, type)) {
        return;
    }
    if (env->lbr.select & SELECT_CALLSTACK && type == X86_BRANCH_RET) {
        lbr_pop(env);
    } else {
        lbr_push(env, type, from);
    }
}

static uint64_t *lbr_entry(CPUX86State *env, uint32_t msr)
{
    X86CPU *cpu = env_archcpu(env);
    uint32_t n = msr % LBR_MAX_DEPTH;

    if (n >= cpu->ds.lbr) {
        return NULL;
    }
    switch (msr - n) {
    case MSR_LBR_FROM:
        return &env->lbr.from[n];
    case MSR_LBR_TO:
        return &env->lbr.to[n];
    case MSR_LBR_INFO:
        return lbr_has_info(cpu) ? &env->lbr.info[n] : NULL;
    }
    return NULL;
}

X86MSRResult x86_lbr_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    uint64_t *entry = lbr_entry(env, msr);
    X86CPU *cpu = env_archcpu(env);

    if (!cpu->ds.lbr) {
        return X86_MSR_UNKNOWN;
    }
    if (entry) {
        *val = *entry;
        return X86_MSR_DONE;
    }
    switch (msr) {
    case MSR_IA32_PERF_CAPABILITIES:
        *val = lbr_has_info(cpu) ? FORMAT_INFO : FORMAT_FLAGS;
        return X86_MSR_DONE;
    case MSR_LBR_SELECT:
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

X86MSRResult x86_lbr_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val)
{
    uint64_t *entry = lbr_entry(env, msr);
    X86CPU *cpu = env_archcpu(env);

    if (!cpu->ds.lbr) {
        return X86_MSR_UNKNOWN;
    }
    if (entry) {
        if (!lbr_valid(env, msr, val)) {
            return X86_MSR_GP;
        }
        *entry = val;
        return X86_MSR_DONE;
    }
    switch (msr) {
    case MSR_IA32_PERF_CAPABILITIES:
        return X86_MSR_GP;
    case MSR_LBR_SELECT:
        if (val & ~lbr_select_valid(cpu)) {
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

bool x86_lbr_realize(X86CPU *cpu, Error **errp)
{
    switch (cpu->ds.lbr) {
    case 0:
        return true;
    case 16:
    case 32:
        if (cpu->ds.pmu2) {
            return true;
        }
        error_setg(errp, "x-lbr needs a PMU: add x-pmu2=on");
        return false;
    }
    error_setg(errp, "x-lbr=%u: use 16 or 32, or 0 for none", cpu->ds.lbr);
    return false;
}
