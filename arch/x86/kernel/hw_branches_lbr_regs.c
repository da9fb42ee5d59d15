// SPDX-License-Identifier: GPL-2.0
/*
 * Last branch records as a source of the branch flight recorder: the registers
 *
 * The functions here access the registers without tracepoints, as some of them are called in NMIs
 * and in crashes.
 *
 * The recorder can use three kinds of LBRs, which struct x86_lbr_stack describes:
 *
 *  - the model-specific LBRs of Intel: DEBUGCTL.LBR enables them;
 *  - the architectural LBRs of Intel: MSR_ARCH_LBR_CTL enables them;
 *  - LBRv2 of AMD: MSR_AMD_DBG_EXTN_CFG enables it.
 *
 * For all three kinds, the user of the LBRs owns DEBUGCTL's LBR field: see debugctl_claim().
 */

#include <linux/cache.h>
#include <linux/jump_label.h>
#include <linux/kvm_types.h>
#include <linux/percpu.h>

#include <asm/hw_branches.h>
#include <asm/msr.h>
#include <asm/perf_event.h>

#include "hw_branches_lbr.h"

DEFINE_PER_CPU(bool, hw_branches_lbr_on);
DEFINE_PER_CPU(bool, hw_branches_lbr_records);

/* Exported for KVM, see hw_branches_guest_enter() */
DEFINE_STATIC_KEY_FALSE(hw_branches_lbr_used);
EXPORT_SYMBOL_FOR_KVM(hw_branches_lbr_used);

struct x86_lbr_stack hw_branches_lbr_stack __ro_after_init;
struct hw_branches_lbr_ctl hw_branches_lbr_ctl __ro_after_init;

DEFINE_PER_CPU(struct hw_branches_lbr_cpu, hw_branches_lbr_cpu);

/**
 * hw_branches_lbr_wipe - erase the records in the LBR registers of this CPU
 */
void hw_branches_lbr_wipe(void)
{
	const struct x86_lbr_stack *stack = &hw_branches_lbr_stack;
	u32 i;

	if (stack->depth) {
		native_wrmsrq(stack->depth, stack->nr);
		return;
	}
	for (i = 0; i < stack->nr; i++) {
		native_wrmsrq(stack->from + stack->step * i, 0);
		native_wrmsrq(stack->to + stack->step * i, 0);
	}
}

/**
 * hw_branches_lbr_save - save the LBR registers of this CPU
 * @out: where to save them
 *
 * Called with interrupts off while the CPU does not record.
 */
void notrace hw_branches_lbr_save(struct hw_branches_lbr_saved *out)
{
	const struct x86_lbr_stack *stack = &hw_branches_lbr_stack;
	u32 tos = stack->tos ? __rdmsr(stack->tos) : 0;
	u32 i, nr = 0;

	for (i = 0; i < stack->nr; i++) {
		u32 at = stack->step * (stack->tos ? (tos - i) & (stack->nr - 1) : i);
		u64 from = __rdmsr(stack->from + at);
		u64 to = __rdmsr(stack->to + at);

		if (!from && !to)
			break;
		if (hw_branches_lbr_decode(stack, from, to, &out->raw[nr]))
			nr++;
	}
	out->nr = nr;
}

/**
 * hw_branches_lbr_resume - resume recording on this CPU, unless it is frozen
 *
 * This undoes hw_branches_lbr_hold(). If an NMI freezes the CPU while this function enables the
 * LBRs, the function disables them again.
 */
noinstr void hw_branches_lbr_resume(void)
{
	if (this_cpu_read(hw_branches_lbr_cpu.frozen))
		return;

	hw_branches_lbr_enable(true);
	if (unlikely(this_cpu_read(hw_branches_lbr_cpu.frozen)))
		hw_branches_lbr_enable(false);
}

/**
 * hw_branches_lbr_guest_enter - stop recording before a guest runs, if the LBRs would record it
 *
 * Called with interrupts off. If DEBUGCTL.LBR enables the LBRs, this stops nothing: VM entry
 * loads the DEBUGCTL of the guest. If that has LBR set, the records of the guest replace those of
 * the recorder.
 *
 * Return: true if this call has stopped recording; then the caller must call
 * hw_branches_lbr_guest_exit().
 */
bool hw_branches_lbr_guest_enter(void)
{
	return hw_branches_lbr_ctl.msr && hw_branches_lbr_hold();
}
EXPORT_SYMBOL_FOR_KVM(hw_branches_lbr_guest_enter);

/**
 * hw_branches_lbr_guest_exit - undo hw_branches_lbr_guest_enter()
 */
void hw_branches_lbr_guest_exit(void)
{
	hw_branches_lbr_resume();
}
EXPORT_SYMBOL_FOR_KVM(hw_branches_lbr_guest_exit);
