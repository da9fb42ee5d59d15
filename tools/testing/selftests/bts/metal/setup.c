// SPDX-License-Identifier: GPL-2.0
/* The functions that cases name as their setup and check. */
#include "metal.h"

#define DR7_L0		1
#define DR7_WRITE_4	0xd0000
#define DR6_BS		0x4000

void setup_call_gate_0(void)
{
	set_call_gate((u64)call_gate_target, 0);
}

void setup_call_gate_3(void)
{
	set_call_gate((u64)user_gate_target, 3);
}

void setup_ist(void)
{
	set_ist(VEC_PF);
}

void setup_absent_gate(void)
{
	clear_gate(0x61);
}

void setup_ipi(void)
{
	self_ipi(VEC_IPI);
}

void setup_timer(void)
{
	apic_write(APIC_LVTT, VEC_TIMER);
	apic_write(APIC_TMICT, 1);
}

void setup_timer_later(void)
{
	apic_write(APIC_LVTT, VEC_TIMER);
	apic_write(APIC_TMICT, 1000000);
}

void setup_watch(void)
{
	asm volatile("mov %0, %%dr0; mov %1, %%dr7" : :
		     "r"(&seen[4]), "r"((u64)(DR7_L0 | DR7_WRITE_4)));
}

void setup_break(void)
{
	asm volatile("mov %0, %%dr0; mov %1, %%dr7" : : "r"(break_here), "r"((u64)DR7_L0));
}

void clear_dr7(void)
{
	asm volatile("mov %0, %%dr7" : : "r"(0ul));
}

void setup_syscall(void)
{
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | 1);
	wrmsr(MSR_STAR, (u64)SEL_UCODE32 << 48 | (u64)SEL_KCODE << 32);
	wrmsr(MSR_LSTAR, (u64)syscall_entry);
	wrmsr(MSR_FMASK, 0);
}

static void sysenter_to(const u8 *entry)
{
	wrmsr(MSR_SYSENTER_CS, SEL_KCODE);
	wrmsr(MSR_SYSENTER_ESP, (u64)spare_stack_top);
	wrmsr(MSR_SYSENTER_EIP, (u64)entry);
}

void setup_sysenter(void)
{
	sysenter_to(sysenter_entry);
}

void setup_sysenter_compat(void)
{
	sysenter_to(sysenter_entry_compat);
}

void setup_task_end(void)
{
	tss32_b((u64)task_end, (u64)pd32);
}

void setup_task_iret(void)
{
	tss32_b((u64)task_iret, (u64)pd32);
}

void setup_task_iret_int(void)
{
	setup_task_iret();
	set_task_gate32(VEC_TASK, SEL_TSS32_B);
}

void setup_v86(void)
{
	setup_task_end();
	copy((void *)LOW_CODE, v86_code, v86_code_end - v86_code);
}

void check_fault_pf(void)
{
	expect(seen[0] == HOLE, "cr2 0x%x, expected 0x%x", seen[0], (u64)HOLE);
	expect(seen[1] == 0, "error code 0x%x, expected 0", seen[1]);
}

void check_unmapped(void)
{
	expect(seen[0] == HOLE + 8, "cr2 0x%x, expected 0x%x", seen[0], (u64)HOLE + 8);
}

void setup_btf(void)
{
	asm volatile("mov %0, %%dr6" : : "r"(0xffff0ff0ul));
}

static void expect_debugctl(u64 debugctl)
{
	expect((debugctl & (DBG_STEP | DBG_ON)) == DBG_ON, "DEBUGCTL 0x%x in the handler",
	       debugctl);
}

void check_db_watch(void)
{
	clear_dr7();
	expect_debugctl(seen[0]);
	expect(seen[3] == 1, "%u traps, expected 1", seen[3]);
}

/* The handler btf_note stored DEBUGCTL, DR6, RIP and the number of traps in seen[]. */
void check_btf(void)
{
	expect_debugctl(seen[0]);
	expect(seen[1] & DR6_BS, "DR6 0x%x", seen[1]);
	expect(seen[2] == (u64)btf_step_to, "trap at 0x%x, expected 0x%x", seen[2],
	       (u64)btf_step_to);
	expect(seen[3] == 1, "%u traps, expected 1", seen[3]);
}

static void pmi_after_3(u32 lvt)
{
	ds_set(DS_THRESHOLD, BUF + 3 * rec_size());
	apic_write(APIC_LVTPC, lvt);
}

void setup_pmi_fixed(void)
{
	pmi_after_3(VEC_PMI);
}

void setup_pmi_nmi(void)
{
	pmi_after_3(LVT_NMI);
}

void setup_pmi_ipi(void)
{
	setup_pmi_nmi();
	self_ipi(VEC_IPI);
}

void setup_pmi_timer(void)
{
	setup_pmi_nmi();
	setup_timer();
}

/*
 * The third record raises a PMI, whose delivery masks the vector. With PMI_EACH, each later record
 * raises a PMI that finds the vector masked.
 */
void check_pmi(void)
{
	u32 lvt = apic_read(APIC_LVTPC);

	expect(lvt & LVT_MASKED, "LVTPC 0x%x, expected masked", (u64)lvt);
	tally.pmis++;
	if (machine.pmi == PMI_EACH)
		tally_masked(want_count() - 3);
}

/* The case raises an SMI by port 0xb2. SMRAM must be open while the handler is copied there. */
#define PCI_ADDRESS	0xcf8
#define PCI_SMRAM	0x80000070
#define PCI_SMRAM_DATA	0xcfe
#define SMRAM_OPEN	0x4a
#define SMRAM_CLOSED	0x0a
#define SMM_ENTRY	0xa8000
#define SMI_COUNT	((volatile u32 *)(LOW_VARS + 16))

void setup_smi(void)
{
	outl(PCI_ADDRESS, PCI_SMRAM);
	outb(PCI_SMRAM_DATA, SMRAM_OPEN);
	copy((void *)SMM_ENTRY, smm_code, smm_code_end - smm_code);
	outb(PCI_SMRAM_DATA, SMRAM_CLOSED);
	*SMI_COUNT = 0;
	/*
	 * SMM has no paging. LOW_DS is mapped to the same physical address, so that expect_store()
	 * also finds records that the emulator wrongly stores in SMM.
	 */
	ds_place(LOW_DS, LOW_DS + 0x100, 64 * rec_size());
}

u32 smi_count(void)
{
	return *SMI_COUNT;
}

void check_smi(void)
{
	expect(smi_count() == 1, "%u SMIs, expected 1", (u64)smi_count());
}
