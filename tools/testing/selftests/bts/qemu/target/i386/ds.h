/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug Store with Branch Trace Store (BTS), last branch records (LBRs), and
 * simple PMUs, for TCG.
 */
#ifndef I386_DS_H
#define I386_DS_H

#define MSR_IA32_DEBUGCTL               0x1d9
#define MSR_IA32_DS_AREA                0x600

#define DEBUGCTL_LBR                    (1U << 0)
#define DEBUGCTL_BTF                    (1U << 1)
#define DEBUGCTL_TR                     (1U << 6)
#define DEBUGCTL_BTS                    (1U << 7)
#define DEBUGCTL_BTINT                  (1U << 8)
#define DEBUGCTL_BTS_OFF_OS             (1U << 9)
#define DEBUGCTL_BTS_OFF_USR            (1U << 10)
#define DEBUGCTL_FREEZE_LBRS_ON_PMI     (1U << 11)
#define DEBUGCTL_FREEZE_PERFMON_ON_PMI  (1U << 12)
#define DEBUGCTL_FREEZE_IN_SMM          (1U << 14)

#define MSR_LBR_SELECT                  0x1c8
#define MSR_LBR_TOS                     0x1c9
#define MSR_LBR_SHORT_FROM              0x40
#define MSR_LBR_SHORT_TO                0x60
#define MSR_LBR_FROM                    0x680
#define MSR_LBR_TO                      0x6c0
#define MSR_LBR_INFO                    0xdc0

#define LBR_MAX_DEPTH                   32

/* AMD's last branch stack; FROM and TO of a record are adjacent */
#define MSR_AMD_LBR_SELECT              0xc000010e
#define MSR_AMD_DBG_EXTN_CFG            0xc000010f
#define MSR_AMD_LBR_FROM                0xc0010300

#define PERF_STATUS_LBR_FROZEN          (1ULL << 58)

#define MISC_ENABLE_PERFMON             (1U << 7)
#define MISC_ENABLE_BTS_UNAVAIL         (1U << 11)
#define MISC_ENABLE_PEBS_UNAVAIL        (1U << 12)

#define PMU_GP_COUNTERS                 4
#define PMU_FIXED_COUNTERS              3
#define PMU_WIDTH                       48
#define PMU_EVENTS                      7

#define AMD_PMU_COUNTERS                6

#define NETBURST_PMU_FIRST              0x300
#define NETBURST_PMU_LAST               0x3f2

/*
 * BTS has a filter by CPL. If a branch, interrupt or exception changes the CPL,
 * the filter tests the CPL after it, the CPL before it, or both. With both, it
 * is enough if one of them passes.
 */
typedef enum X86BTSRule {
    X86_BTS_RULE_AFTER,
    X86_BTS_RULE_BEFORE,
    X86_BTS_RULE_EITHER,
} X86BTSRule;

/* The records that raise the interrupt of BTS, a PMI. */
typedef enum X86BTSPmi {
    X86_BTS_PMI_EACH,       /* each at or past the threshold, unless one is late */
    X86_BTS_PMI_CROSSED,    /* only the record that reaches or crosses it */
    X86_BTS_PMI_EQUAL,      /* only a record that ends exactly at it */
} X86BTSPmi;

/* The registers in which a guest finds the last branch records. */
typedef enum X86LBRKind {
    X86_LBR_MODEL,          /* of Intel's models, enabled by DEBUGCTL */
    X86_LBR_ARCH,           /* architectural, with registers of their own */
    X86_LBR_AMD,            /* AMD's last branch stack */
} X86LBRKind;

/* Types of branches. Up to FAR, they are bit numbers in LBR_SELECT. */
typedef enum X86Branch {
    X86_BRANCH_JCC = 2,
    X86_BRANCH_CALL_REL,
    X86_BRANCH_CALL_IND,
    X86_BRANCH_RET,
    X86_BRANCH_JMP_IND,
    X86_BRANCH_JMP_REL,
    X86_BRANCH_FAR,
    X86_BRANCH_EVENT,       /* interrupt or exception, not INT n, INT3, INTO */
    X86_BRANCH_UNTAKEN,     /* a branch that is not taken */
} X86Branch;

/* The last branch records. */
typedef struct X86LBR {
    uint64_t from[LBR_MAX_DEPTH];
    uint64_t to[LBR_MAX_DEPTH];
    uint64_t info[LBR_MAX_DEPTH];
    uint64_t select;
    uint64_t ctl;           /* the register to enable them, if not DEBUGCTL */
    uint32_t depth;         /* written to IA32_LBR_DEPTH; 0: use ds.lbr */
    uint32_t tos;           /* index of the newest record */
    uint64_t since;         /* x86_pmu_clock() at the last lbr_cycles() */
} X86LBR;

/* Only written by the thread of the vCPU, and not cleared by a reset. */
typedef struct X86BTSCounters {
    uint64_t records;   /* stored */
    uint64_t wraps;     /* times bts_room() set the index to the base */
    uint64_t pmis;      /* PMIs of BTS that the APIC delivered when raised */
    uint64_t masked;    /* other PMIs of BTS: LVTPC masked, APIC off or missing */
    uint64_t kept;      /* those of masked that wait until LVTPC is unmasked */
    uint64_t full;      /* records lost for lack of room: see bts_room() */
    uint64_t faults;    /* records lost as the store is inaccessible */
    uint64_t garbled;   /* stored, but wrong: see x86_bts_damage() */
    uint64_t dropped;   /* records lost by x-bts-damage */
} X86BTSCounters;

typedef struct X86DSConfig {
    char *cpl_rule_name;
    X86BTSRule cpl_rule;
    char *pmi_name;
    X86BTSPmi pmi;
    bool pmi_kept;      /* a PMI is kept while LVTPC is masked */
    uint32_t pmi_delay; /* calls of x86_bts_pmi_pass() before a PMI of BTS */
    bool pmi_jitter;    /* each delay is random, from 1 to pmi_delay */
    uint32_t pmi_left;  /* such calls to a late PMI; 0: none, or by timer */
    struct QEMUTimer *pmi_timer;
    bool wrong_from;    /* see bts_from_wrong() */
    uint32_t smi_every; /* average distance of SMIs, in records; 0: no SMI */
    uint32_t damage_every; /* records between two damages; 0: no damage */
    uint32_t to_smi;    /* records to store before the one that raises an SMI */
    uint32_t to_damage;
    uint32_t seed;      /* of the random numbers of x86_bts_damage_realize() */
    uint32_t random;    /* the last such number */
    bool after_smi;     /* set by x86_bts_smi(): see x86_bts_damage() */
    bool damage_loses;  /* the last damage has lost a record, not garbled it */
    uint64_t debugctl_reset; /* DEBUGCTL after INIT or a reset */
    bool db_clears_bts; /* #DB clears TR and BTS as well */
    bool freeze_clears_tr; /* with FREEZE_LBRS_ON_PMI, PMIs clear TR */
    bool netburst;      /* registers like a Pentium 4's */
    uint64_t netburst_pmu[NETBURST_PMU_LAST - NETBURST_PMU_FIRST + 1];
    uint64_t amd_pmu[2 * AMD_PMU_COUNTERS];
    uint64_t amd_pmu_global[3];
    bool abort_on_fault;
    bool freeze_smm;
    bool pebs;          /* IA32_MISC_ENABLE shows PEBS (there is none) */
    bool predicts;      /* BTS_PREDICTED is set for backward branches */
    bool pmu2;
    bool pmu_counts;    /* the counters of pmu2 count */
    bool pmu_stuck;     /* GLOBAL_STATUS is writable, acks are ignored */
    uint64_t pmu_since; /* time up to which counters have counted */
    uint32_t lbr;       /* number of LBRs, 0 for none */
    char *lbr_kind_name;
    X86LBRKind lbr_kind;
    bool lbr_ignored;   /* enable bits stay 0, as in some virtual machines */
    struct QEMUTimer *pmu_timer;
    bool warned;
    X86BTSCounters count;
} X86DSConfig;

/* Called by files of QEMU */
bool x86_pmi_deliver(X86CPU *cpu);
void x86_ds_reset(X86CPU *cpu);

typedef enum X86MSRResult {
    X86_MSR_UNKNOWN,    /* not an MSR of this device */
    X86_MSR_DONE,
    X86_MSR_GP,
} X86MSRResult;

/*
 * CPUID 0x1c: each multiple of 8 up to @ds->lbr as the depth, all filters, call
 * stacks, all fields of a record
 */
static inline void x86_lbr_arch_cpuid(const X86DSConfig *ds, uint32_t *eax,
                                      uint32_t *ebx, uint32_t *ecx,
                                      uint32_t *edx)
{
    *eax = (2U << (ds->lbr / 8 - 1)) - 1;
    *ebx = 7;
    *ecx = 7;
    *edx = 0;
}

/*
 * CPUID 0x80000022: PMU version 2, the LBR stack, and its freeze by a PMI. The
 * freeze is not emulated.
 */
static inline void x86_lbr_amd_cpuid(const X86DSConfig *ds, uint32_t *eax,
                                     uint32_t *ebx)
{
    *eax = 7;
    *ebx = AMD_PMU_COUNTERS | ds->lbr << 4;
}

static inline void x86_pmu2_cpuid(uint32_t *eax, uint32_t *ebx,
                                  uint32_t *ecx, uint32_t *edx)
{
    *eax = 2 | PMU_GP_COUNTERS << 8 | PMU_WIDTH << 16 | PMU_EVENTS << 24;
    *ebx = 0;
    *ecx = 0;
    *edx = PMU_FIXED_COUNTERS | PMU_WIDTH << 5;
}

#endif
