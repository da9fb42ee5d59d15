/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef I386_TCG_SYSEMU_DS_H
#define I386_TCG_SYSEMU_DS_H

/* netburst.c */
uint64_t x86_netburst_show_debugctl(uint64_t ctl);
bool x86_netburst_take_debugctl(uint64_t *ctl);
X86MSRResult x86_netburst_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);
X86MSRResult x86_netburst_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val);
bool x86_netburst_rdpmc(CPUX86State *env, uint32_t index, uint64_t *val);

/* ds_helper.c */
bool x86_ds_realize(X86CPU *cpu, Error **errp);
X86MSRResult x86_ds_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);
X86MSRResult x86_ds_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val);
target_ulong x86_bts_ip(CPUX86State *env);
bool x86_bts_record(CPUX86State *env, uint32_t before, target_ulong from);
void x86_ds_event(CPUX86State *env, bool db);
bool x86_is_canonical(CPUX86State *env, uint64_t addr);
bool x86_branch(CPUX86State *env, uint32_t before, X86Branch type,
                target_ulong from);
void x86_branch_update_hflags(CPUX86State *env);

/* bts_pmi.c */
bool x86_bts_pmi_realize(X86CPU *cpu, Error **errp);
bool x86_bts_choose(const char *property, const char *value,
                    const char *const *values, unsigned n, int *chosen,
                    Error **errp);
bool x86_bts_pmi_due(const X86CPU *cpu, uint64_t before, uint64_t index,
                     uint64_t threshold);
bool x86_bts_pmi_raise(X86CPU *cpu);
bool x86_bts_pmi_pass(X86CPU *cpu);
void x86_bts_pmi_stopped(X86CPU *cpu);
void x86_bts_pmi_reset(X86CPU *cpu);

/* bts_damage.c */
uint32_t x86_bts_random(X86CPU *cpu, uint32_t n);
bool x86_bts_damage(X86CPU *cpu, target_ulong *from, target_ulong *to);
void x86_bts_smi(X86CPU *cpu);
void x86_bts_damage_realize(X86CPU *cpu);

/* amd_pmu.c */
X86MSRResult x86_amd_pmu_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);
X86MSRResult x86_amd_pmu_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val);
bool x86_amd_pmu_rdpmc(CPUX86State *env, uint32_t index, uint64_t *val);

/* lbr_helper.c */
bool x86_lbr_realize(X86CPU *cpu, Error **errp);
bool x86_lbr_on(CPUX86State *env);
void x86_lbr_freeze(CPUX86State *env);
void x86_lbr_record(CPUX86State *env, X86Branch type, target_ulong from);
X86MSRResult x86_lbr_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);
X86MSRResult x86_lbr_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val);

/* pmu_helper.c */
bool x86_pmu_hooked(CPUX86State *env);
bool x86_pmu_branch(CPUX86State *env, uint32_t before, X86Branch type);
void x86_pmu_freeze(X86CPU *cpu);
uint64_t x86_pmu_clock(X86CPU *cpu);
void x86_pmu2_realize(X86CPU *cpu);
X86MSRResult x86_pmu2_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);
X86MSRResult x86_pmu2_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val);

#endif
