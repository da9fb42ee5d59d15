/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef I386_TCG_SYSEMU_DS_H
#define I386_TCG_SYSEMU_DS_H

/* ds_helper.c */
bool x86_ds_realize(X86CPU *cpu, Error **errp);
X86MSRResult x86_ds_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);
X86MSRResult x86_ds_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val);
target_ulong x86_bts_ip(CPUX86State *env);
bool x86_bts_record(CPUX86State *env, uint32_t before, target_ulong from);
void x86_ds_debug_exception(CPUX86State *env);

/* pmu_helper.c */
X86MSRResult x86_pmu2_rdmsr(CPUX86State *env, uint32_t msr, uint64_t *val);
X86MSRResult x86_pmu2_wrmsr(CPUX86State *env, uint32_t msr, uint64_t val);

#endif
