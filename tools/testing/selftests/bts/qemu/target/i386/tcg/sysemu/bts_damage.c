// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errata of the Branch Trace Store: the first record after an SMI is garbage
 * (x-bts-smi), and some records are garbage or lost (x-bts-damage). Also the
 * random numbers for these, and for delays of the PMI.
 *
 * Random numbers are computed from the number of the CPU, from x-bts-seed, and
 * from how often this was done before. So with -icount, a guest that does
 * the same again has the same records damaged again.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "ds_helper.h"

/* SMBASE after a reset, and for a CPU that the firmware has left there. */
#define SMBASE_RESET    0x30000
#define SMBASE_OF(cpu)  (0xa8000 + (cpu) * 0x400)
#define SMM_ENTRY       0x8000

/* Returns a number from 0 to @n - 1. */
uint32_t x86_bts_random(X86CPU *cpu, uint32_t n)
{
    cpu->ds.random = cpu->ds.random * 1664525 + 1013904223;
    return ((uint64_t)cpu->ds.random * n) >> 32;
}

/* Returns an address other than @right, of user mode, of a kernel, or none. */
static target_ulong bts_garbage(X86CPU *cpu, target_ulong right)
{
    static const uint64_t some[] = {
        0,
        0x38000,                /* in SMM */
        0xffffffff81000000,     /* in a kernel */
        0xffff888000000000,
        0x0000800000000000,     /* not canonical */
        UINT64_MAX,
    };
    uint64_t high = x86_bts_random(cpu, UINT32_MAX);
    uint64_t any = high << 32 | x86_bts_random(cpu, UINT32_MAX);

    if (x86_bts_random(cpu, 2)) {
        any = (int64_t)any >> x86_bts_random(cpu, 48);
    } else {
        any = some[x86_bts_random(cpu, ARRAY_SIZE(some))];
    }
    return any == right ? ~any : any;
}

/*
 * Unless damage_every is 0, lose or garble a record, by turns, and then spare
 * the next damage_every records. Also garble the first record after an SMI,
 * unless it is lost. To garble a record is to change *@from, and the *@to of
 * one in four. Returns false if the record is lost.
 */
bool x86_bts_damage(X86CPU *cpu, target_ulong *from, target_ulong *to)
{
    X86DSConfig *ds = &cpu->ds;
    bool garbled = ds->after_smi;

    ds->after_smi = false;
    if (ds->damage_every && !ds->to_damage--) {
        ds->to_damage = ds->damage_every;
        ds->damage_loses = !ds->damage_loses;
        if (ds->damage_loses) {
            ds->count.dropped++;
            return false;
        }
        garbled = true;
    }
    if (garbled) {
        ds->count.garbled++;
        *from = bts_garbage(cpu, *from);
        if (!x86_bts_random(cpu, 4)) {
            *to = bts_garbage(cpu, *to);
        }
    }
    return true;
}

/*
 * Firmware must set SMBASE of each CPU, but SeaBIOS does that for CPU 0 only.
 * Do it for another CPU. Its handler of SMIs only returns.
 */
static void bts_set_smbase(X86CPU *cpu)
{
    static const uint8_t rsm[] = { 0x0f, 0xaa };
    AddressSpace *as = cpu_addressspace(CPU(cpu), (MemTxAttrs) { .secure = 1 });
    int index = CPU(cpu)->cpu_index;

    if (index && cpu->env.smbase == SMBASE_RESET) {
        cpu->env.smbase = SMBASE_OF(index);
        address_space_write(as, SMBASE_OF(index) + SMM_ENTRY,
                            MEMTXATTRS_UNSPECIFIED, rsm, sizeof(rsm));
    }
}

/*
 * Unless smi_every is 0, raise an SMI after the record that was just stored, if
 * to_smi records without an SMI came before it. There are smi_every records
 * from one SMI to the next on average, and at most twice as many.
 */
void x86_bts_smi(X86CPU *cpu)
{
    X86DSConfig *ds = &cpu->ds;
    bool locked = qemu_mutex_iothread_locked();

    if (!ds->smi_every || ds->to_smi--) {
        return;
    }
    ds->to_smi = x86_bts_random(cpu, 2 * ds->smi_every);
    ds->after_smi = true;
    if (!locked) {
        qemu_mutex_lock_iothread();
    }
    bts_set_smbase(cpu);
    cpu_interrupt(CPU(cpu), CPU_INTERRUPT_SMI);
    if (!locked) {
        qemu_mutex_unlock_iothread();
    }
}

void x86_bts_damage_realize(X86CPU *cpu)
{
    X86DSConfig *ds = &cpu->ds;

    /* Numbers of CPUs next to each other must not make similar sequences. */
    ds->random = (ds->seed * 64 + CPU(cpu)->cpu_index + 1) * 0x9e3779b9;
    ds->to_smi = x86_bts_random(cpu, 2 * ds->smi_every);
    ds->to_damage = ds->damage_every;
}
