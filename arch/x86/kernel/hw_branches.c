// SPDX-License-Identifier: GPL-2.0
/*
 * The branch flight recorder on x86: its sources, and the kinds of branches
 *
 * The recorder uses one of two sources: the Branch Trace Store (BTS), through one context with
 * BTS_FLIGHT for each CPU that records, see asm/bts.h; or last branch records (LBR), see
 * hw_branches_lbr.c.
 */

#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/hw_branches.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmcore_info.h>

#include <asm/bts.h>
#include <asm/hw_branches.h>
#include <asm/intel_ds.h>
#include <asm/nospec-branch.h>
#include <asm/pgtable_areas.h>
#include <asm/sections.h>
#include <asm/switch_to.h>
#include <asm/text-patching.h>

#include "hw_branches_kind.h"
#include "hw_branches_lbr.h"
#include "hw_branches_source.h"

/*
 * The number of records in the ring of a context. Records stay in the hardware's buffer until the
 * buffer has to be drained, for example for a traced task. Then they are moved to the ring. The
 * ring has room for a full buffer of records with fields of 64 bits.
 */
#define HW_BRANCHES_DEPTH	(BTS_BUFFER_SIZE / sizeof(struct bts_raw))

/*
 * The context of each CPU, from hw_branches_bts_start() to hw_branches_bts_stop().
 * hw_branches_readable is for readers, and is NULL before and after. hw_branches_context is for
 * destroying the context.
 */
static DEFINE_PER_CPU(struct bts_context *, hw_branches_readable);
static DEFINE_PER_CPU(struct bts_context *, hw_branches_context);

/* See hw_branches_bts_use_memory(). */
static DEFINE_PER_CPU(u32 *, hw_branches_bts_note);

/**
 * hw_branches_bts_use_memory - note in this memory whether the recorder uses BTS
 * @cpu: any possible CPU
 * @note: the memory, which is kept over a reboot; it is 1 while the recorder uses BTS of this CPU,
 *	  and 0 otherwise
 *
 * Called at boot, before the recorder starts.
 */
void __init hw_branches_bts_use_memory(unsigned int cpu, u32 *note)
{
	*note = 0;
	per_cpu(hw_branches_bts_note, cpu) = note;
}

static void hw_branches_bts_write_note(unsigned int cpu, u32 used)
{
	u32 *note = per_cpu(hw_branches_bts_note, cpu);

	if (note)
		WRITE_ONCE(*note, used);
}

/*
 * Return the largest number of branches that bts_flight_last() copies: those in the ring, one mark
 * for missing branches, and those in the hardware's buffer. With fields of 64 bits, the buffer
 * holds only half as many records as are counted here.
 */
static u32 hw_branches_bts_depth(void)
{
	return HW_BRANCHES_DEPTH + 1 + BTS_BUFFER_SIZE / (3 * sizeof(u32));
}

static int hw_branches_bts_start(int cpu)
{
	static const struct bts_attr attr = {
		.flags	= BTS_KERNEL | BTS_FLIGHT,
		.nr	= HW_BRANCHES_DEPTH,
	};
	struct bts_context *ctx;
	int err;

	err = bts_create_cpu(cpu, &attr, &ctx);
	if (err)
		return err;

	hw_branches_bts_write_note(cpu, 1);
	per_cpu(hw_branches_context, cpu) = ctx;
	/* Pairs with hw_branches_bts_last(). */
	smp_store_release(per_cpu_ptr(&hw_branches_readable, cpu), ctx);

	return 0;
}

static void hw_branches_bts_stop(const struct cpumask *cpus)
{
	int cpu;

	if (cpumask_empty(cpus))
		return;

	for_each_cpu(cpu, cpus)
		WRITE_ONCE(per_cpu(hw_branches_readable, cpu), NULL);
	/* Readers without hw_branches_mutex have preemption off: wait until they have finished. */
	synchronize_rcu();
	for_each_cpu(cpu, cpus) {
		hw_branches_bts_write_note(cpu, 0);
		bts_destroy(per_cpu(hw_branches_context, cpu));
	}
}

static int hw_branches_bts_copy(int cpu, struct hw_branch *out, u32 n)
{
	struct bts_context *ctx = per_cpu(hw_branches_readable, cpu);

	return ctx ? bts_flight_copy(ctx, out, n) : 0;
}

static u32 hw_branches_bts_last(int cpu, struct hw_branches_cursor *cursor, u32 newer,
				struct hw_branch *out, u32 n)
{
	/* Pairs with hw_branches_bts_start(). */
	struct bts_context *ctx = smp_load_acquire(per_cpu_ptr(&hw_branches_readable, cpu));

	return ctx ? bts_flight_last(ctx, cpu, cursor, newer, out, n) : 0;
}

static const struct hw_branches_source hw_branches_bts = {
	.name		= "bts",
	.depth		= hw_branches_bts_depth,
	.start		= hw_branches_bts_start,
	.stop		= hw_branches_bts_stop,
	.thaw		= bts_unfreeze_all,
	.copy		= hw_branches_bts_copy,
	.freeze		= bts_freeze_all,
	.freezes	= bts_freezes,
	.frozen		= bts_frozen,
	.frozen_at	= bts_frozen_at,
	.outdated	= bts_outdated,
	.last		= hw_branches_bts_last,
};

/* The best source comes first. */
static const struct hw_branches_source *const hw_branches_sources[] = {
	&hw_branches_bts,
	&hw_branches_lbr,
};

/* The source that is used. It changes only while no CPU records. */
static const struct hw_branches_source *hw_branches_source __read_mostly = &hw_branches_bts;

const char *arch_hw_branches_name(unsigned int source)
{
	return source < ARRAY_SIZE(hw_branches_sources) ? hw_branches_sources[source]->name : NULL;
}

void arch_hw_branches_choose(unsigned int source)
{
	const struct hw_branches_source *old = hw_branches_source;

	if (old == hw_branches_sources[source])
		return;

	WRITE_ONCE(hw_branches_source, hw_branches_sources[source]);
	/*
	 * A reader may still have the old source frozen, and will thaw the new source. So thaw the
	 * old one here. First wait for code that has read the old value of hw_branches_source, and
	 * is about to freeze the old source. Unless such code holds hw_branches_mutex, like this
	 * caller, it has preemption off.
	 */
	synchronize_rcu();
	old->thaw(old->freezes());
}

const char *arch_hw_branches_source(void)
{
	return READ_ONCE(hw_branches_source)->name;
}

bool arch_hw_branches_unreliable(const char *source)
{
	struct bts_source_info info;

	return !strcmp(source, hw_branches_bts.name) && !bts_source_info(BTS_SOURCE_DS, &info) &&
	       info.record_flags & X86_BTS_F_UNRELIABLE;
}

u32 arch_hw_branches_depth(void)
{
	return READ_ONCE(hw_branches_source)->depth();
}

int arch_hw_branches_start(int cpu)
{
	return hw_branches_source->start(cpu);
}

void arch_hw_branches_stop(const struct cpumask *cpus)
{
	hw_branches_source->stop(cpus);
}

u32 arch_hw_branches_freezes(void)
{
	return hw_branches_source->freezes();
}

void arch_hw_branches_thaw(u32 freezes)
{
	hw_branches_source->thaw(freezes);
}

int arch_hw_branches_copy(int cpu, struct hw_branch *out, u32 n)
{
	return hw_branches_source->copy(cpu, out, n);
}

void notrace arch_hw_branches_freeze(bool fresh)
{
	READ_ONCE(hw_branches_source)->freeze(fresh);
}

bool notrace arch_hw_branches_frozen(int cpu)
{
	return READ_ONCE(hw_branches_source)->frozen(cpu);
}

u64 arch_hw_branches_frozen_at(int cpu)
{
	return READ_ONCE(hw_branches_source)->frozen_at(cpu);
}

bool arch_hw_branches_outdated(int cpu)
{
	return READ_ONCE(hw_branches_source)->outdated(cpu);
}

u32 arch_hw_branches_last(int cpu, struct hw_branches_cursor *cursor, u32 newer,
			  struct hw_branch *out, u32 n)
{
	return READ_ONCE(hw_branches_source)->last(cpu, cursor, newer, out, n);
}

/* No indirect call by hw_branches_source here: see struct hw_branches_source. */
bool notrace arch_hw_branches_hold(void)
{
	if (static_branch_unlikely(&hw_branches_lbr_used))
		return hw_branches_lbr_hold();

	return bts_hold();
}

bool notrace arch_hw_branches_hold_early(void)
{
	return static_branch_unlikely(&hw_branches_lbr_used) && hw_branches_lbr_hold();
}

void notrace arch_hw_branches_release(bool stopped)
{
	if (static_branch_unlikely(&hw_branches_lbr_used))
		hw_branches_lbr_release(stopped);
	else
		bts_release(stopped);
}

bool arch_hw_branches_is_entry(u64 to)
{
	return bts_is_entry(to);
}

/*
 * Tell whether an address is in the text of the kernel, in its init text before that is freed, or
 * in the area of modules. Only such addresses may be read: user code can get any address into a
 * record.
 */
static bool hw_branches_is_code(u64 address)
{
#ifdef CONFIG_EXECMEM
	if (address >= MODULES_VADDR && address < MODULES_END)
		return true;
#endif
	if (system_state < SYSTEM_FREEING_INITMEM && address >= (unsigned long)_sinittext &&
	    address < (unsigned long)_einittext)
		return true;

	return address >= (unsigned long)_stext && address < (unsigned long)_etext;
}

static u32 hw_branches_read_code(u64 address, u8 *buf, u32 n)
{
	const void *at = (const void *)(unsigned long)address;

	if (!hw_branches_is_code(address))
		return 0;
	if (!copy_from_kernel_nofault(buf, at, n))
		return n;
	/* If the next page is after the end of a module, it cannot be read: read only this page. */
	n = min_t(u32, n, PAGE_SIZE - offset_in_page(at));

	return copy_from_kernel_nofault(buf, at, n) ? 0 : n;
}

/*
 * @to is in entry code. Tell whether the instruction before @to is a call: of 5 bytes if direct, of
 * 2 bytes if indirect. The indirect calls of entry code have no memory operand.
 */
static bool hw_branches_after_call(u64 to)
{
	u8 code[5];

	return hw_branches_read_code(to - sizeof(code), code, sizeof(code)) == sizeof(code) &&
	       (code[0] == CALL_INSN_OPCODE || (code[3] == 0xff && (code[4] & 0xf8) == 0xd0));
}

enum hw_branch_kind arch_hw_branches_kind(const struct hw_branch *branch, u64 *back)
{
	struct hw_branches_insn insn = {
		.from	= branch->from,
		.to	= branch->to,
		.wide	= IS_ENABLED(CONFIG_X86_64),
	};

	*back = 0;
	/* This is a jump through a bad pointer, or the mark for missing branches. */
	if (branch->to < TASK_SIZE_MAX)
		return HW_BRANCH_BREAK;
	/* __switch_to_asm() changes the stack. */
	if (branch->to == (unsigned long)__switch_to_asm)
		return HW_BRANCH_BREAK;

	insn.entry = bts_is_entry(insn.to);
	insn.after_call = insn.entry && hw_branches_after_call(insn.to);
	insn.n = hw_branches_read_code(insn.from, insn.byte, sizeof(insn.byte));

	return hw_branches_kind_of(&insn, back);
}

/*
 * Tell whether an address is in a thunk in the area of modules. As a mitigation of ITS, the kernel
 * and its modules may have thunks in pages of this area: JMP *reg; INT3. An indirect jump of a
 * module may look the same, and is taken for a thunk.
 */
static bool hw_branches_is_module_thunk(u64 address)
{
#ifdef CONFIG_MITIGATION_ITS
	u8 code[6], *jmp = code;

	if (address < MODULES_VADDR || address >= MODULES_END ||
	    hw_branches_read_code(address, code, sizeof(code)) != sizeof(code))
		return false;
	/* If FineIBT is in paranoid mode, a JNE is before the JMP. */
	if (jmp[0] == 0x75 && jmp[1] == 0xfd)
		jmp += 2;
	jmp += *jmp == 0x41;

	return jmp[0] == 0xff && (jmp[1] & 0xf8) == 0xe0 && jmp[2] == INT3_INSN_OPCODE;
#else
	return false;
#endif
}

/*
 * Tell whether an address is in srso_alias_return_thunk(), or in srso_alias_safe_ret() before it.
 * As a mitigation of SRSO, returns of Zen 3 and Zen 4 may run these two, which are apart from the
 * other thunks.
 */
static bool hw_branches_is_srso_alias(u64 address)
{
#ifdef CONFIG_MITIGATION_SRSO
	return address >= (unsigned long)srso_alias_safe_ret &&
	       address < (unsigned long)srso_alias_return_thunk + CALL_INSN_SIZE;
#else
	return false;
#endif
}

bool arch_hw_branches_is_thunk(u64 address)
{
	if (hw_branches_is_module_thunk(address) || hw_branches_is_srso_alias(address))
		return true;

#if defined(CONFIG_MITIGATION_RETHUNK)
	/* The other thunks are contiguous. The last one is __x86_return_thunk. */
	return address >= (unsigned long)__x86_indirect_thunk_array &&
	       address < (unsigned long)__x86_return_thunk + 32;
#elif defined(CONFIG_MITIGATION_RETPOLINE)
	/* A thunk for each register */
	return address - (unsigned long)__x86_indirect_thunk_array <
	       RETPOLINE_THUNK_SIZE * (IS_ENABLED(CONFIG_X86_64) ? 16 : 8);
#else
	return false;
#endif
}

bool arch_hw_branches_is_return(u64 address)
{
#ifdef CONFIG_MITIGATION_RETHUNK
	return address == (unsigned long)x86_return_thunk ||
	       address == (unsigned long)__x86_return_thunk;
#else
	return false;
#endif
}

#ifdef CONFIG_VMCORE_INFO
/**
 * hw_branches_save_vmcoreinfo - add to vmcoreinfo where a crash dump has the LBRs of frozen CPUs
 *
 * ds_save_vmcoreinfo() does the same for the buffers of BTS. hw_branches_readable tells a reader
 * whether the branches in a buffer are the recorder's. hw_branches_unreliable tells whether an
 * erratum may make branches in these buffers wrong.
 *
 * crash_save_vmcoreinfo_init(), a subsys_initcall, calls this. bts_ds_init(), an arch_initcall, has
 * registered BTS by then.
 */
void hw_branches_save_vmcoreinfo(void)
{
	vmcoreinfo_append_str("NUMBER(hw_branches_unreliable)=%d\n",
			      arch_hw_branches_unreliable(hw_branches_bts.name));
	VMCOREINFO_SYMBOL(hw_branches_readable);
	VMCOREINFO_SYMBOL(hw_branches_lbr_cpu);
	VMCOREINFO_OFFSET(hw_branches_lbr_cpu, saved);
	VMCOREINFO_OFFSET(hw_branches_lbr_cpu, kept);
	VMCOREINFO_OFFSET(hw_branches_lbr_saved, raw);
}
#endif
