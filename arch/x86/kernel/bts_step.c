// SPDX-License-Identifier: GPL-2.0
/*
 * The trap flag as a source of branch traces
 *
 * If TF is set, any x86 processor raises #DB after an instruction of user mode. A few instructions
 * raise none, for example SYSCALL, or delay it, for example MOV SS. For tasks that are traced by
 * this source, bts_step_exit() sets TF shortly before the return to user mode. At the next entry
 * into the kernel, bts_step_enter() first restores the TF that the program has without a trace. So
 * kernel code such as that of signal frames, ptrace() and fork() sees the flags that the program
 * has without a trace. bts_step_debug() handles the #DB of a step: it finds out whether the
 * instruction has branched, and if so makes a record.
 *
 * The program could see the TF of the trace in the flags that PUSHF stores, and in R11 after
 * SYSCALL. This TF is cleared there. POPF and IRET load TF as the program wants it, and no other
 * instruction of user mode does. So after POPF or IRET, TF is the program's own. If its own TF is
 * set, the program or its debugger gets the #DB, too, as it would without a trace.
 *
 * The instruction is read after it was executed. If it was overwritten meanwhile, it may be
 * misread. But if the next instruction starts before the start of this one, or more than 15 bytes
 * after it, there was a branch, whatever the bytes say. Exception: instructions that load SS, see
 * bts_step_find(). PUSHF and POPF never branch: if the next instruction does not follow them, they
 * were written over the instruction that was executed.
 *
 * The entry code of NMIs calls neither bts_step_enter() nor bts_step_exit(). So if an NMI
 * interrupts user mode, the user registers that perf samples in the NMI have TF set, although the
 * program has not set it.
 */

#include <linux/cache.h>
#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/hw_breakpoint.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include <asm/bts.h>
#include <asm/bts_step.h>
#include <asm/cpufeature.h>
#include <asm/debugctl.h>
#include <asm/debugreg.h>
#include <asm/insn.h>
#include <asm/msr.h>
#include <asm/ptrace.h>

#include "bts_step_insn.h"
#include "bts_step_memory.h"

/* This stands for any address of the kernel. */
#define BTS_STEP_KERNEL		((u64)~0UL)

DEFINE_PER_CPU(struct bts_step, bts_step);
DEFINE_PER_CPU(u8, bts_step_state);

static const struct bts_record_props bts_step_props;

/* Block-step (BTF) works. Many hypervisors ignore it: then each instruction raises #DB. */
static bool bts_step_has_btf __ro_after_init;

/*
 * Read eight bytes at the user address @at. Return false if that would fault, or if hardware
 * breakpoints are active: the access could trigger a breakpoint of the debugger.
 */
static __always_inline bool bts_step_peek(unsigned long at, u64 *bytes)
{
	if (unlikely(hw_breakpoint_active()))
		return false;

	pagefault_disable();
	if (unlikely(!user_access_begin((void __user *)at, sizeof(*bytes))))
		goto refused;
	unsafe_get_user(*bytes, (u64 __user *)at, fault);
	user_access_end();
	pagefault_enable();

	return true;

fault:
	user_access_end();
refused:
	pagefault_enable();

	return false;
}

static __always_inline enum bts_step_kind bts_step_ff(u8 modrm)
{
	unsigned int reg = X86_MODRM_REG(modrm);

	/* 2 to 5 are CALL, CALL far, JMP, and JMP far. */
	if (reg - 2 >= 4)
		return BTS_STEP_OTHER;

	return reg & 1 ? BTS_STEP_FAR : BTS_STEP_JUMP;
}

static __always_inline enum bts_step_kind bts_step_long(struct bts_step_insn *insn, u8 next,
							enum bts_step_kind kind)
{
	switch (kind) {
	case BTS_STEP_0F:
		insn->op = next;
		return (next & 0xf0) == 0x80 ? BTS_STEP_JCC : BTS_STEP_OTHER;
	case BTS_STEP_SREG:
		return X86_MODRM_REG(next) == 2 ? BTS_STEP_SS : BTS_STEP_OTHER;
	default:
		return bts_step_ff(next);
	}
}

/* Decode the first @n bytes of an instruction. @wide is true in 64-bit code. */
static void bts_step_decode(struct bts_step_insn *insn, const u8 *bytes, int n, bool wide)
{
	enum bts_step_kind kind;
	bool rex2 = false;
	int i;

	insn->kind = BTS_STEP_UNKNOWN;
	insn->resized = false;
	for (i = 0; i < n; i++) {
		kind = bts_step_kinds[bytes[i]];
		insn->op = bytes[i];
		switch (kind) {
		case BTS_STEP_PREFIX:
			insn->resized |= bytes[i] == BTS_STEP_ADDRESS_SIZE;
			continue;
		case BTS_STEP_REX:
		case BTS_STEP_REX2:
			if (!wide) {
				insn->kind = BTS_STEP_OTHER;
				return;
			}
			rex2 = kind == BTS_STEP_REX2;
			if (!rex2 || ++i == n || !(bytes[i] & BTS_STEP_REX2_0F))
				continue;
			kind = BTS_STEP_0F;
			fallthrough;
		case BTS_STEP_0F:
		case BTS_STEP_SREG:
		case BTS_STEP_FF:
			if (i + 1 < n)
				insn->kind = bts_step_long(insn, bytes[i + 1], kind);
			return;
		default:
			insn->length = i + 1;
			insn->kind = rex2 && insn->op == BTS_STEP_JMPABS ? BTS_STEP_JUMP : kind;
			return;
		}
	}
}

/* Tell whether the condition of Jcc was true. No Jcc changes the flags. */
static __always_inline bool bts_step_condition(unsigned long flags, u8 op)
{
	/* L and LE, the last two, are also true if SF differs from OF. */
	static const u16 any_of[8] = {
		X86_EFLAGS_OF, X86_EFLAGS_CF, X86_EFLAGS_ZF, X86_EFLAGS_CF | X86_EFLAGS_ZF,
		X86_EFLAGS_SF, X86_EFLAGS_PF, 0, X86_EFLAGS_ZF,
	};
	unsigned int nr = op >> 1 & 7;
	bool met = flags & any_of[nr];

	if (nr >= 6)
		met |= !(flags & X86_EFLAGS_SF) != !(flags & X86_EFLAGS_OF);

	return met != (op & 1);
}

/* Return CX in the size that LOOP and JCXZ use. LOOP has decremented it already. */
static unsigned long bts_step_counter(const struct pt_regs *regs, bool resized)
{
	if (user_64bit_mode((struct pt_regs *)regs))
		return resized ? (u32)regs->cx : regs->cx;
	if ((bts_step_bits(regs, regs->cs) == 32) != resized)
		return (u32)regs->cx;

	return (u16)regs->cx;
}

static bool bts_step_loops(const struct pt_regs *regs, const struct bts_step_insn *insn)
{
	unsigned long count = bts_step_counter(regs, insn->resized);
	bool zero = regs->flags & X86_EFLAGS_ZF;

	switch (insn->op) {
	case 0xe0:
		return count && !zero;
	case 0xe1:
		return count && zero;
	case 0xe2:
		return count;
	}

	return !count;
}

static bool bts_step_taken(const struct pt_regs *regs, const struct bts_step_insn *insn)
{
	switch (insn->kind) {
	case BTS_STEP_JUMP:
	case BTS_STEP_FAR:
	case BTS_STEP_IRET:
		return true;
	case BTS_STEP_JCC:
		return bts_step_condition(regs->flags, insn->op);
	case BTS_STEP_LOOP:
		return bts_step_loops(regs, insn);
	default:
		return false;
	}
}

/*
 * Decode the instruction at @at. Return the number of bytes read. Interrupts, which are off, may be
 * enabled meanwhile.
 */
static int bts_step_read(struct bts_step_insn *insn, unsigned long at, u8 *bytes, bool wide)
{
	int n = 0;

	if (likely(bts_step_peek(at, (u64 *)bytes))) {
		n = sizeof(u64);
		bts_step_decode(insn, bytes, n, wide);
		if (likely(insn->kind != BTS_STEP_UNKNOWN && insn->kind != BTS_STEP_SS))
			return n;
	}
	n = bts_step_access(at, bytes, BTS_STEP_LONGEST, FOLL_FORCE);
	bts_step_decode(insn, bytes, n, wide);

	return n;
}

/*
 * At most this many consecutive instructions that load SS are decoded. An emulator may delay the
 * #DB until after all of them.
 */
#define BTS_STEP_SS_MOST	32

/*
 * Find the instruction after which this #DB was raised: the one at @at or, if that loads SS,
 * a later one. Return its address. If the program has overwritten these instructions since
 * they were executed, the result may be wrong.
 */
static unsigned long bts_step_find(const struct pt_regs *regs, struct bts_step_insn *insn,
				   unsigned long at)
{
	u8 bytes[BTS_STEP_LONGEST + 1] __aligned(sizeof(u64));
	bool wide = user_64bit_mode((struct pt_regs *)regs);
	int i, n, length;

	for (i = 0; i < BTS_STEP_SS_MOST; i++) {
		n = bts_step_read(insn, at, bytes, wide);
		if (likely(insn->kind != BTS_STEP_SS))
			return at;
		length = bts_step_length(regs, bytes, n);
		/* If several in a row load SS, only the first one is certain to delay the #DB. */
		if (!length || (i && at + length == bts_step_linear(regs))) {
			insn->kind = BTS_STEP_OTHER;
			return at;
		}
		at += length;
	}
	insn->kind = BTS_STEP_UNKNOWN;

	return at;
}

/* Record the entry into the kernel, if that is wanted and has not been recorded. */
static void bts_step_record_entry(const struct bts_step *s)
{
	u8 state = this_cpu_read(bts_step_state);

	if (state != BTS_STEP_ENTERED && state != BTS_STEP_FOLLOWS)
		return;
	if (bts_wanted_steps() & BTS_ENTRY)
		bts_deliver_step(bts_step_add(s->base, s->ip), BTS_STEP_KERNEL);
}

static bool bts_step_pause(void)
{
	bts_step_record_entry(this_cpu_ptr(&bts_step));
	this_cpu_write(bts_step_state, BTS_STEP_OFF);
	/*
	 * Set BTF again, which bts_step_arrive() may have cleared for the single steps. In a task
	 * switch, current may already be the next task, but __switch_to_xtra() then writes BTF.
	 */
	if (unlikely(test_thread_flag(TIF_BLOCKSTEP)))
		debugctl_write_field(DEBUGCTL_STEP, DEBUGCTLMSR_BTF);

	return true;
}

static bool bts_step_resume(void)
{
	if (bts_wanted_steps() & BTS_USER)
		this_cpu_write(bts_step_state, BTS_STEP_IN_KERNEL);

	return true;
}

/*
 * Record the entry into the kernel if that is still to be recorded, and then the return to user
 * mode. Called if bts_step_state is not BTS_STEP_FOLLOWS.
 */
static void bts_step_arrive(const struct bts_step *s, const struct pt_regs *regs)
{
	bts_step_record_entry(s);
	bts_deliver_step(BTS_STEP_KERNEL, bts_step_linear(regs));
	/* Clear BTF, even if the task is block-stepped: each instruction has to raise #DB. */
	if (debugctl_get() & DEBUGCTLMSR_BTF)
		debugctl_write_field(DEBUGCTL_STEP, 0);
}

/*
 * With FRED, a return with TF set raises #DB before the first instruction if fred_ss.swevent is
 * set, as it is for SYSCALL, SYSENTER and INT. If the program or its debugger has set TF, it has to
 * get this #DB.
 */
static void bts_step_exit_fred(struct bts_step *s, struct pt_regs *regs)
{
#ifdef CONFIG_X86_FRED
	if (!cpu_feature_enabled(X86_FEATURE_FRED) || likely(!regs->fred_ss.swevent))
		return;
	if (s->tf)
		s->blind = true;
	else
		regs->fred_ss.swevent = 0;
#endif
}

static __always_inline void bts_step_run(struct pt_regs *regs)
{
	this_cpu_write(bts_step.ip, regs->ip);
	regs->flags |= X86_EFLAGS_TF;
	this_cpu_write(bts_step_state, BTS_STEP_RUNS);
}

/*
 * The slow path of bts_step_exit(): bts_step_state is not BTS_STEP_FOLLOWS, or bts_step.plain_cs is
 * not the code segment, or the program or its debugger has set TF.
 */
static noinline void bts_step_exit_odd(struct pt_regs *regs)
{
	struct bts_step *s = this_cpu_ptr(&bts_step);

	if (this_cpu_read(bts_step_state) != BTS_STEP_FOLLOWS)
		bts_step_arrive(s, regs);

	*s = (struct bts_step) {
		.tf	= regs->flags & X86_EFLAGS_TF,
		.base	= bts_step_base(regs, regs->cs),
		.cs	= regs->cs,
	};
	if (!s->tf && bts_step_is_flat(regs))
		s->plain_cs = regs->cs;
	bts_step_exit_fred(s, regs);
	bts_step_run(regs);
}

/**
 * bts_step_exit - set TF, so that user mode runs for one step, usually one instruction
 * @regs: the registers of user mode, which is traced
 *
 * Called with interrupts off, shortly before the return to user mode.
 */
void notrace bts_step_exit(struct pt_regs *regs)
{
	if (unlikely(this_cpu_read(bts_step_state) != BTS_STEP_FOLLOWS ||
		     this_cpu_read(bts_step.plain_cs) != regs->cs ||
		     regs->flags & X86_EFLAGS_TF)) {
		bts_step_exit_odd(regs);
		return;
	}
	bts_step_run(regs);
}

/*
 * Record the step if it was a branch, or mark a gap if that is unknown. Find out the program's own
 * TF, and clear the TF of the trace in flags that PUSHF has stored. Return whether the instruction
 * has branched.
 */
static noinline bool bts_step_account(struct pt_regs *regs, const struct bts_step *step)
{
	unsigned long raw = step->raw & X86_EFLAGS_TF, to, at;
	struct bts_step_insn insn;
	bool near, branch;

	at = bts_step_find(regs, &insn, bts_step_add(step->base, step->ip));
	to = bts_step_linear(regs);
	near = step->cs == regs->cs && to - at <= BTS_STEP_LONGEST;
	branch = !near || bts_step_taken(regs, &insn);
	if (branch)
		bts_deliver_step(at, to);
	else if (insn.kind == BTS_STEP_UNKNOWN)
		bts_deliver_steps_gap();

	/*
	 * Only POPF and IRET load TF. If TF was clear at the entry into the kernel, the instruction
	 * was one of them, even if it was not recognized. If the next instruction does not follow
	 * PUSHF or POPF, these bytes were not executed: see above.
	 */
	if ((insn.kind == BTS_STEP_POPF && to - at == insn.length) ||
	    insn.kind == BTS_STEP_IRET || !raw)
		regs->flags = (regs->flags & ~X86_EFLAGS_TF) | raw;
	else if (insn.kind == BTS_STEP_PUSHF && to - at == insn.length && !step->tf)
		bts_step_clear_pushed(regs);

	return branch;
}

/* Tell whether the program or its debugger gets this #DB as well. */
static bool bts_step_is_wanted(const struct bts_step *step, bool branch)
{
	return step->tf && (branch || !test_thread_flag(TIF_BLOCKSTEP) || !bts_step_has_btf);
}

static noinline bool bts_step_debug_odd(struct pt_regs *regs, unsigned long *dr6)
{
	struct bts_step step = *this_cpu_ptr(&bts_step), *s;
	bool branch = false;
	u8 state;

	/* Set this before interrupts may be enabled, as a task switch then changes the state. */
	this_cpu_write(bts_step_state, BTS_STEP_READS);
#ifdef CONFIG_X86_64
	if (step.r11)
		regs->r11 = step.r11;
#endif
	if (!step.blind)
		branch = bts_step_account(regs, &step);
	if (!bts_step_is_wanted(&step, branch))
		*dr6 &= ~DR_STEP;
	state = this_cpu_read(bts_step_state);
	if (state != BTS_STEP_OFF) {
		s = this_cpu_ptr(&bts_step);
		s->ip = regs->ip;
		s->base = regs->cs == step.cs ? step.base : bts_step_base(regs, regs->cs);
		/*
		 * BTS_STEP_ENTERED makes bts_step_exit() record the return to user mode. This is
		 * needed if the state has changed, for example in a task switch, or if a reason of
		 * the #DB is left to be handled.
		 */
		state = state == BTS_STEP_READS && !*dr6 ? BTS_STEP_FOLLOWS : BTS_STEP_ENTERED;
		this_cpu_write(bts_step_state, state);
	}

	return !*dr6;
}

/* Tell whether RIP is as close to @ip as after an instruction that does not branch. */
static __always_inline bool bts_step_goes_on(const struct pt_regs *regs, unsigned long ip)
{
	return regs->ip - ip <= BTS_STEP_LONGEST;
}

/*
 * Handle a step whose first byte does not rule out a branch. Return false if it needs
 * bts_step_debug_odd().
 */
static __always_inline bool bts_step_is_short(const struct pt_regs *regs, unsigned long ip,
					      u64 bytes)
{
	struct bts_step_insn insn = { .kind = bts_step_kinds[(u8)bytes] };

	if (insn.kind == BTS_STEP_REX && user_64bit_mode((struct pt_regs *)regs)) {
		bytes >>= 8;
		insn.kind = bts_step_kinds[(u8)bytes];
	}
	insn.op = bytes;
	if (insn.kind == BTS_STEP_0F || insn.kind == BTS_STEP_FF)
		insn.kind = bts_step_long(&insn, bytes >> 8, insn.kind);

	if (insn.kind == BTS_STEP_OTHER ||
	    (insn.kind == BTS_STEP_JCC && !bts_step_condition(regs->flags, insn.op)))
		return bts_step_goes_on(regs, ip);
	if (insn.kind != BTS_STEP_JUMP && insn.kind != BTS_STEP_JCC)
		return false;
	bts_deliver_step(ip, regs->ip);

	return true;
}

/* Handle the step if the first bytes of the instruction suffice. Return false if not. */
static __always_inline bool bts_step_is_simple(const struct pt_regs *regs)
{
	unsigned long ip = this_cpu_read(bts_step.ip);
	u64 bytes;

	if (!this_cpu_read(bts_step.plain_cs) || !bts_step_peek(ip, &bytes))
		return false;
	if (likely(bts_step_kinds[(u8)bytes] == BTS_STEP_OTHER))
		return bts_step_goes_on(regs, ip);

	return bts_step_is_short(regs, ip, bytes);
}

/**
 * bts_step_debug - handle the #DB of a step
 * @regs: the registers of user mode after the instruction
 * @dr6: the reasons of the #DB. This function clears DR_STEP if neither the program nor its
 *	debugger has asked for the step. The value is valid only if this returns false
 *
 * Called with interrupts off. May enable interrupts, but disables them before it returns.
 *
 * Return: true if no reason of the #DB is left to be handled.
 */
bool notrace bts_step_debug(struct pt_regs *regs, unsigned long *dr6)
{
	/* Only a #DB from user mode that ran with TF set by bts_step_run() is handled here. */
	if (this_cpu_read(bts_step_state) != BTS_STEP_ENTERED)
		return false;

	if (likely(*dr6 == DR_STEP && bts_step_is_simple(regs))) {
		this_cpu_write(bts_step.ip, regs->ip);
		this_cpu_write(bts_step_state, BTS_STEP_FOLLOWS);
		return true;
	}

	return *dr6 & DR_STEP && bts_step_debug_odd(regs, dr6);
}

static const struct bts_source bts_step_source = {
	.id		= BTS_SOURCE_STEP,
	.props		= &bts_step_props,
	.software	= true,
	.pause		= bts_step_pause,
	.resume		= bts_step_resume,
};

static bool __init bts_step_try_btf(void)
{
	u64 msr;

	if (!debugctl_exists())
		return false;

	guard(irqsave)();
	debugctl_write_field(DEBUGCTL_STEP, DEBUGCTLMSR_BTF);
	rdmsrq(MSR_IA32_DEBUGCTLMSR, msr);
	debugctl_write_field(DEBUGCTL_STEP, 0);

	return msr & DEBUGCTLMSR_BTF;
}

static int __init bts_step_init(void)
{
	/* This has not been tested on Xen PV. */
	if (boot_cpu_has(X86_FEATURE_XENPV))
		return 0;

	bts_step_has_btf = bts_step_try_btf();
	bts_register_source(&bts_step_source);

	return 0;
}
arch_initcall(bts_step_init);

#ifdef CONFIG_X86_BTS_KUNIT_TEST
#include "bts_step_test.c"
#endif
