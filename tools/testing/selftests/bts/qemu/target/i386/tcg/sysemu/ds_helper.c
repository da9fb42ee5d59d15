// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intel's Debug Store, with Branch Trace Store.
 *
 * A transfer is a taken branch, or the delivery of an interrupt or exception.
 * Three hflags are for transfers. HF_BTS_OS_MASK and HF_BTS_USR_MASK tell at
 * which CPL records are wanted. HF_BRANCH_MASK tells whether all transfers must
 * be seen: by LBRs, by counters, or to count the delay of a late PMI. These
 * hflags are derived from DEBUGCTL, from the registers of LBRs and counters,
 * and from pmi_left. Translated code calls helper_bts_branch() after the
 * taken branches that may be wanted, and do_interrupt_all() calls x86_branch()
 * and x86_bts_record() after the deliveries that may be wanted. Code that is
 * translated while all three hflags are 0 does not call helper_bts_branch().
 *
 * A record is stored after the transfer, through the current page tables, and
 * before the next instruction is fetched.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/notify.h"
#include "qapi/error.h"
#include "sysemu/sysemu.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "exec/exec-all.h"
#include "exec/cpu_ldst.h"
#include "monitor/monitor.h"
#include "monitor/hmp-target.h"
#include "tcg/helper-tcg.h"
#include "ds_helper.h"

#define BTS_STATUS_ABORT    3

enum {
    BTS_BASE,
    BTS_INDEX,
    BTS_MAXIMUM,
    BTS_THRESHOLD,
    BTS_FIELDS,
};

enum {
    BTS_FROM,
    BTS_TO,
    BTS_FLAGS,
    BTS_RECORD_FIELDS,
};

/* In BTS_FLAGS: the branch was predicted correctly. */
#define BTS_PREDICTED   (1U << 4)

/* Host pointers to guest memory, which may cross one page boundary. */
typedef struct DSWindow {
    uint8_t *host[2];
    unsigned len[2];
} DSWindow;

static bool has_ds(CPUX86State *env)
{
    return env->features[FEAT_1_EDX] & CPUID_DTS;
}

static bool has_amd_lbr(CPUX86State *env)
{
    X86DSConfig *ds = &env_archcpu(env)->ds;

    return ds->lbr && ds->lbr_kind == X86_LBR_AMD;
}

static unsigned ds_field_size(CPUX86State *env)
{
    return env->features[FEAT_1_ECX] & CPUID_EXT_DTES64 ? 8 : 4;
}

static target_ulong ds_linear(CPUX86State *env, target_ulong addr)
{
    return env->hflags & HF_LMA_MASK ? addr : (uint32_t)addr;
}

/*
 * The processor's accesses to the Debug Store are supervisor accesses at any
 * CPL. They are implicit, so EFLAGS.AC does not override SMAP.
 */
static int ds_mmu_index(CPUX86State *env)
{
    int index = env->hflags & HF_SMAP_MASK ? MMU_KSMAP64_IDX
                                           : MMU_KNOSMAP64_IDX;

    return env->hflags & HF_LMA_MASK ? index : index + 1;
}

/* Returns the host address of @addr, or NULL if @addr is not writable RAM. */
static void *ds_probe(CPUX86State *env, target_ulong addr)
{
    int saved_error_code = env->error_code;
    void *host;
    int flags;

    flags = probe_access_flags(env, ds_linear(env, addr), MMU_DATA_STORE,
                               ds_mmu_index(env), true, &host, 0);
    /* Even a probe that must not fault leaves its error code behind. */
    env->error_code = saved_error_code;

    return flags & (TLB_INVALID_MASK | TLB_MMIO) ? NULL : host;
}

static bool ds_map(CPUX86State *env, target_ulong addr, unsigned len,
                   DSWindow *w)
{
    w->len[0] = MIN(len, -(addr | TARGET_PAGE_MASK));
    w->len[1] = len - w->len[0];

    w->host[0] = ds_probe(env, addr);
    w->host[1] = w->len[1] ? ds_probe(env, addr + w->len[0]) : w->host[0];

    return w->host[0] && w->host[1];
}

static void ds_read(const DSWindow *w, void *buf)
{
    memcpy(buf, w->host[0], w->len[0]);
    memcpy((uint8_t *)buf + w->len[0], w->host[1], w->len[1]);
}

static void ds_write(const DSWindow *w, const void *buf)
{
    memcpy(w->host[0], buf, w->len[0]);
    memcpy(w->host[1], (const uint8_t *)buf + w->len[0], w->len[1]);
}

static uint64_t ds_get(const void *fields, unsigned i, unsigned size)
{
    const uint8_t *p = (const uint8_t *)fields + i * size;

    return size == 8 ? ldq_le_p(p) : (uint32_t)ldl_le_p(p);
}

static void ds_put(void *fields, unsigned i, unsigned size, uint64_t val)
{
    uint8_t *p = (uint8_t *)fields + i * size;

    if (size == 8) {
        stq_le_p(p, val);
    } else {
        stl_le_p(p, val);
    }
}

static void bts_print(GString *out, const char *prefix, const char *name,
                      const X86BTSCounters *c)
{
    g_string_append_printf(out, "%s%s records=%" PRIu64 " wraps=%" PRIu64
                           " pmis=%" PRIu64 " masked=%" PRIu64
                           " full=%" PRIu64 " faults=%" PRIu64,
                           prefix, name, c->records, c->wraps, c->pmis,
                           c->masked, c->full, c->faults);
    if (c->kept) {
        g_string_append_printf(out, " kept=%" PRIu64, c->kept);
    }
    if (c->garbled || c->dropped) {
        g_string_append_printf(out, " garbled=%" PRIu64 " dropped=%" PRIu64,
                               c->garbled, c->dropped);
    }
    g_string_append_c(out, '\n');
}

static GString *bts_summary(const char *prefix)
{
    GString *out = g_string_new(NULL);
    X86BTSCounters total = { 0 };
    CPUState *cs;

    CPU_FOREACH(cs) {
        X86BTSCounters *c = &X86_CPU(cs)->ds.count;
        g_autofree char *name = g_strdup_printf("cpu%d", cs->cpu_index);

        bts_print(out, prefix, name, c);
        total.records += c->records;
        total.wraps += c->wraps;
        total.pmis += c->pmis;
        total.masked += c->masked;
        total.full += c->full;
        total.faults += c->faults;
        total.kept += c->kept;
        total.garbled += c->garbled;
        total.dropped += c->dropped;
    }
    bts_print(out, prefix, "total", &total);
    return out;
}

static void bts_exit(Notifier *n, void *unused)
{
    g_autoptr(GString) out = bts_summary("bts: ");

    fputs(out->str, stderr);
}

void hmp_info_bts(Monitor *mon, const QDict *qdict)
{
    g_autoptr(GString) out = bts_summary("");

    monitor_puts(mon, out->str);
}

static void bts_fault(CPUX86State *env, target_ulong addr)
{
    X86CPU *cpu = env_archcpu(env);
    int index = CPU(cpu)->cpu_index;

    cpu->ds.count.faults++;
    if (cpu->ds.abort_on_fault) {
        error_report("bts: cpu%d: Debug Store not writable at 0x" TARGET_FMT_lx
                     ", fatal on hardware: map it, or turn BTS off before",
                     index, addr);
        bts_exit(NULL, NULL);
        /* Other vCPUs still run, and an exit handler could wait for them. */
        fflush(NULL);
        _exit(BTS_STATUS_ABORT);
    }
    if (!cpu->ds.warned) {
        cpu->ds.warned = true;
        warn_report("bts: cpu%d: Debug Store not writable at 0x" TARGET_FMT_lx
                    ": record dropped, further ones only counted", index, addr);
    }
}

/*
 * If there is no room for a record at *@index, and BTINT is not set, wrap
 * *@index. Returns whether there is room at *@index afterwards.
 */
static bool bts_room(CPUX86State *env, uint64_t *index, const uint8_t *fields,
                     unsigned size)
{
    uint64_t maximum = ds_get(fields, BTS_MAXIMUM, size);
    unsigned len = BTS_RECORD_FIELDS * size;

    if (*index <= maximum && maximum - *index >= len) {
        return true;
    }
    if (env->msr_debugctl & DEBUGCTL_BTINT) {
        return false;
    }
    *index = ds_get(fields, BTS_BASE, size);
    env_archcpu(env)->ds.count.wraps++;
    return *index <= maximum && maximum - *index >= len;
}

/* Store a record. Returns true if a PMI was delivered at once. */
static bool bts_store(CPUX86State *env, target_ulong from, target_ulong to)
{
    uint8_t fields[BTS_FIELDS * 8], record[BTS_RECORD_FIELDS * 8];
    X86CPU *cpu = env_archcpu(env);
    unsigned size = ds_field_size(env);
    DSWindow area, slot;
    uint64_t index, was;

    if (!ds_map(env, env->msr_ds_area, BTS_FIELDS * size, &area)) {
        bts_fault(env, env->msr_ds_area);
        return false;
    }
    ds_read(&area, fields);
    index = ds_get(fields, BTS_INDEX, size);
    if (!bts_room(env, &index, fields, size)) {
        cpu->ds.count.full++;
        return false;
    }
    if (!ds_map(env, index, BTS_RECORD_FIELDS * size, &slot)) {
        bts_fault(env, index);
        return false;
    }
    if (!x86_bts_damage(cpu, &from, &to)) {
        return false;
    }
    ds_put(record, BTS_FROM, size, from);
    ds_put(record, BTS_TO, size, to);
    ds_put(record, BTS_FLAGS, size,
           cpu->ds.predicts && to <= from ? BTS_PREDICTED : 0);
    ds_write(&slot, record);
    cpu->ds.count.records++;
    x86_bts_smi(cpu);

    was = index;
    index += BTS_RECORD_FIELDS * size;
    if (!(env->msr_debugctl & DEBUGCTL_BTINT)) {
        bts_room(env, &index, fields, size);
    }
    ds_put(fields, BTS_INDEX, size, index);
    ds_write(&area, fields);

    return (env->msr_debugctl & DEBUGCTL_BTINT) &&
           x86_bts_pmi_due(cpu, was, index,
                           ds_get(fields, BTS_THRESHOLD, size)) &&
           x86_bts_pmi_raise(cpu);
}

static bool bts_wants(uint32_t on, uint32_t hflags)
{
    return on & (hflags & HF_CPL_MASK ? HF_BTS_USR_MASK : HF_BTS_OS_MASK);
}

static bool bts_filter(CPUX86State *env, uint32_t before)
{
    uint32_t on = env->hflags;

    switch (env_archcpu(env)->ds.cpl_rule) {
    case X86_BTS_RULE_BEFORE:
        return bts_wants(on, before);
    case X86_BTS_RULE_EITHER:
        return bts_wants(on, before) || bts_wants(on, env->hflags);
    default:
        return bts_wants(on, env->hflags);
    }
}

/* Returns the linear address of CS:EIP. */
target_ulong x86_bts_ip(CPUX86State *env)
{
    if (env->hflags & HF_CS64_MASK) {
        return env->eip;
    }
    return (uint32_t)(env->segs[R_CS].base + env->eip);
}

/*
 * Errata AR62 and W125 (x-bts-wrong-from): if DEBUGCTL selects a filter, `from`
 * is wrong in the record of a change of the CPL.
 */
static bool bts_from_wrong(CPUX86State *env, uint32_t before)
{
    return env_archcpu(env)->ds.wrong_from &&
           (before ^ env->hflags) & HF_CPL_MASK &&
           env->msr_debugctl & (DEBUGCTL_BTS_OFF_OS | DEBUGCTL_BTS_OFF_USR);
}

/*
 * Record a transfer that has completed. @before is the hflags before it.
 * Returns true if a PMI was delivered.
 */
bool x86_bts_record(CPUX86State *env, uint32_t before, target_ulong from)
{
    X86CPU *cpu = env_archcpu(env);
    target_ulong to = x86_bts_ip(env);
    bool late;

    /* A PMI may have cleared TR, but hflags are updated later. */
    if ((before | env->hflags) & HF_SMM_MASK ||
        !(env->msr_debugctl & DEBUGCTL_TR)) {
        return false;
    }
    late = x86_bts_pmi_pass(cpu);
    if (bts_filter(env, before) &&
        bts_store(env, bts_from_wrong(env, before) ? to : from, to)) {
        return true;
    }
    return late;
}

/*
 * Record a transfer in the LBRs, and let the counters see it. Returns true if a
 * PMI was delivered.
 */
bool x86_branch(CPUX86State *env, uint32_t before, X86Branch type,
                target_ulong from)
{
    if ((before | env->hflags) & HF_SMM_MASK) {
        return false;
    }
    x86_lbr_record(env, type, from);
    return x86_pmu_branch(env, before, type);
}

void x86_branch_update_hflags(CPUX86State *env)
{
    env->hflags &= ~HF_BRANCH_MASK;
    if (x86_lbr_on(env) ||
        x86_pmu_hooked(env) ||
        env_archcpu(env)->ds.pmi_left) {
        env->hflags |= HF_BRANCH_MASK;
    }
}

void helper_branch_untaken(CPUX86State *env, uint32_t before)
{
    x86_pmu_branch(env, before, X86_BRANCH_UNTAKEN);
}

void helper_bts_branch(CPUX86State *env, uint32_t before, uint32_t type)
{
    target_ulong from = env->bts_from;
    bool pmi;

    if (!(before & HF_CS64_MASK)) {
        from = (uint32_t)from;
    }
    pmi = x86_branch(env, before, type, from);
    /*
     * Leave the block, to take the PMI before the next instruction is fetched:
     * the fetch may fault. Leave it also if a late PMI has changed hflags, so
     * that this block is not chained to one with other hflags. But if TF is
     * set, a single-step trap comes first.
     */
    pmi |= x86_bts_record(env, before, from);
    if ((pmi || (before ^ env->hflags) & HF_BRANCH_MASK) &&
        !(env->eflags & TF_MASK)) {
        cpu_loop_exit_noexc(env_cpu(env));
    }
}

static void bts_update_hflags(CPUX86State *env)
{
    uint64_t ctl = env->msr_debugctl;

    x86_branch_update_hflags(env);
    env->hflags &= ~(HF_BTS_OS_MASK | HF_BTS_USR_MASK);
    if (!(ctl & DEBUGCTL_TR) || !(ctl & DEBUGCTL_BTS)) {
        return;
    }
    if (!(ctl & DEBUGCTL_BTS_OFF_OS)) {
        env->hflags |= HF_BTS_OS_MASK;
    }
    if (!(ctl & DEBUGCTL_BTS_OFF_USR)) {
        env->hflags |= HF_BTS_USR_MASK;
    }
}

/*
 * Call this before an interrupt or exception is delivered. If it is #DB (@db),
 * clear the bits of DEBUGCTL that #DB clears. Then update the hflags.
 */
void x86_ds_event(CPUX86State *env, bool db)
{
    if (db) {
        env->msr_debugctl &= ~(uint64_t)(DEBUGCTL_LBR | DEBUGCTL_BTF);
    }
    if (db && env_archcpu(env)->ds.db_clears_bts) {
        env->msr_debugctl &= ~(uint64_t)(DEBUGCTL_TR | DEBUGCTL_BTS);
    }
    if (env->hflags & (HF_BTS_OS_MASK | HF_BTS_USR_MASK | HF_BRANCH_MASK)) {
        bts_update_hflags(env);
    }
}

static uint64_t debugctl_valid(CPUX86State *env)
{
    uint64_t valid = DEBUGCTL_BTF;

    if (env_archcpu(env)->ds.lbr_kind != X86_LBR_ARCH) {
        valid |= DEBUGCTL_LBR;
    }
    if (has_amd_lbr(env)) {
        valid |= DEBUGCTL_FREEZE_LBRS_ON_PMI;
    }
    if (has_ds(env)) {
        valid |= DEBUGCTL_TR | DEBUGCTL_BTS | DEBUGCTL_BTINT;
    }
    if (env->features[FEAT_1_ECX] & CPUID_EXT_DSCPL) {
        valid |= DEBUGCTL_BTS_OFF_OS | DEBUGCTL_BTS_OFF_USR;
    }
    if (env_archcpu(env)->ds.pmu2) {
        valid |= DEBUGCTL_FREEZE_LBRS_ON_PMI | DEBUGCTL_FREEZE_PERFMON_ON_PMI;
    }
    if (env_archcpu(env)->ds.freeze_smm) {
        valid |= DEBUGCTL_FREEZE_IN_SMM;
    }
    return valid;
}

/*
 * Set DEBUGCTL to what the firmware is to have left there (x-debugctl-reset).
 * Call this at INIT and at a reset.
 */
void x86_ds_reset(X86CPU *cpu)
{
    uint64_t val = cpu->ds.debugctl_reset;

    if (cpu->ds.netburst) {
        x86_netburst_take_debugctl(&val);
    }
    cpu->env.msr_debugctl = val;
    x86_bts_pmi_reset(cpu);
    bts_update_hflags(&cpu->env);
}

static bool debugctl_reset_valid(X86CPU *cpu)
{
    uint64_t val = cpu->ds.debugctl_reset;

    if (cpu->ds.netburst && !x86_netburst_take_debugctl(&val)) {
        return false;
    }
    return !(val & ~debugctl_valid(&cpu->env));
}

bool x86_is_canonical(CPUX86State *env, uint64_t addr)
{
    bool la57 = env->cr[4] & CR4_LA57_MASK;
    int64_t top = (int64_t)addr >> (la57 ? 56 : 47);

    return top == 0 || top == -1;
}

/* Bits 7, 11 and 12 show the features, whatever was written to them. */
static uint64_t misc_enable(CPUX86State *env)
{
    uint64_t val = env->msr_ia32_misc_enable;

    val &= ~(uint64_t)(MISC_ENABLE_PERFMON | MISC_ENABLE_BTS_UNAVAIL |
                       MISC_ENABLE_PEBS_UNAVAIL);
    if (!env_archcpu(env)->ds.pebs) {
        val |= MISC_ENABLE_PEBS_UNAVAIL;
    }
    if (env_archcpu(env)->ds.pmu2 || env_archcpu(env)->ds.netburst) {
        val |= MISC_ENABLE_PERFMON;
    }
    if (!has_ds(env)) {
        val |= MISC_ENABLE_BTS_UNAVAIL;
    }
    return val;
}

X86MSRResult x86_ds_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val)
{
    bool ds = has_ds(env);

    if (!ds && !env_archcpu(env)->ds.pmu2 && !has_amd_lbr(env)) {
        return X86_MSR_UNKNOWN;
    }
    if (x86_lbr_rdmsr(env, msr, val) == X86_MSR_DONE) {
        return X86_MSR_DONE;
    }
    switch (msr) {
    case MSR_IA32_DEBUGCTL:
        *val = env_archcpu(env)->ds.netburst
               ? x86_netburst_show_debugctl(env->msr_debugctl)
               : env->msr_debugctl;
        return X86_MSR_DONE;
    case MSR_IA32_MISC_ENABLE:
        *val = misc_enable(env);
        return X86_MSR_DONE;
    case MSR_IA32_DS_AREA:
        *val = env->msr_ds_area;
        return ds ? X86_MSR_DONE : X86_MSR_UNKNOWN;
    }
    if (has_amd_lbr(env)) {
        return x86_amd_pmu_rdmsr(env, msr, val);
    }
    return env_archcpu(env)->ds.netburst ? x86_netburst_rdmsr(env, msr, val)
                                         : x86_pmu2_rdmsr(env, msr, val);
}

X86MSRResult x86_ds_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val)
{
    bool ds = has_ds(env);
    X86MSRResult lbr;

    if (!ds && !env_archcpu(env)->ds.pmu2 && !has_amd_lbr(env)) {
        return X86_MSR_UNKNOWN;
    }
    lbr = x86_lbr_wrmsr(env, msr, val);
    if (lbr != X86_MSR_UNKNOWN) {
        return lbr;
    }
    switch (msr) {
    case MSR_IA32_DEBUGCTL:
        if (env_archcpu(env)->ds.netburst &&
            !x86_netburst_take_debugctl(&val)) {
            return X86_MSR_GP;
        }
        if (val & ~debugctl_valid(env)) {
            return X86_MSR_GP;
        }
        if (env_archcpu(env)->ds.lbr_ignored) {
            val &= ~(uint64_t)DEBUGCTL_LBR;
        }
        env->msr_debugctl = val;
        bts_update_hflags(env);
        if (!(env->hflags & (HF_BTS_OS_MASK | HF_BTS_USR_MASK))) {
            x86_bts_pmi_stopped(env_archcpu(env));
        }
        return X86_MSR_DONE;
    case MSR_IA32_DS_AREA:
        if (!ds) {
            return X86_MSR_UNKNOWN;
        }
        if (!x86_is_canonical(env, val)) {
            return X86_MSR_GP;
        }
        env->msr_ds_area = val;
        return X86_MSR_DONE;
    }
    if (has_amd_lbr(env)) {
        return x86_amd_pmu_wrmsr(env, msr, val);
    }
    return env_archcpu(env)->ds.netburst ? x86_netburst_wrmsr(env, msr, val)
                                         : x86_pmu2_wrmsr(env, msr, val);
}

bool x86_ds_realize(X86CPU *cpu, Error **errp)
{
    static const char *const rules[] = {
        [X86_BTS_RULE_AFTER] = "after",
        [X86_BTS_RULE_BEFORE] = "before",
        [X86_BTS_RULE_EITHER] = "either",
        NULL,
    };
    static Notifier exit_notifier = { .notify = bts_exit };
    CPUX86State *env = &cpu->env;
    int chosen;

    if (!x86_bts_choose("x-bts-cpl-rule", cpu->ds.cpl_rule_name, rules,
                        ARRAY_SIZE(rules) - 1, &chosen, errp) ||
        !x86_bts_pmi_realize(cpu, errp) || !x86_lbr_realize(cpu, errp)) {
        return false;
    }
    x86_pmu2_realize(cpu);
    cpu->ds.cpl_rule = chosen;
    x86_bts_damage_realize(cpu);

    if (!has_ds(env) && (env->features[FEAT_1_ECX] &
                         (CPUID_EXT_DTES64 | CPUID_EXT_DSCPL))) {
        error_setg(errp, "dtes64 and ds-cpl need the feature ds: add +ds");
        return false;
    }
    if (cpu->ds.netburst && (!has_ds(env) || cpu->ds.pmu2)) {
        error_setg(errp, "x-netburst needs the feature ds, and no x-pmu2: "
                   "add +ds,x-pmu2=off");
        return false;
    }
    if (!debugctl_reset_valid(cpu)) {
        error_setg(errp, "x-debugctl-reset=0x%" PRIx64
                   ": this processor's DEBUGCTL lacks some of these bits",
                   cpu->ds.debugctl_reset);
        return false;
    }
    if (has_ds(env) && !exit_notifier.node.le_prev) {
        qemu_add_exit_notifier(&exit_notifier);
    }
    return true;
}
