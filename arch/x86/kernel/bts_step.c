// SPDX-License-Identifier: GPL-2.0
/*
 * The trap flag as a source of branch traces
 *
 * Any x86 processor raises #DB after each instruction of user mode if TF is set. For
 * tasks that are traced by this source, TF is set in the last step to user mode,
 * bts_step_exit(), and taken back in the first step from there, bts_step_enter(). All
 * of the kernel in between, such as signal frames, ptrace() and fork(), therefore sees
 * the flags of the program as they are without a trace. The #DB of a step ends in
 * bts_step_debug(): it tells whether the instruction has branched, makes a record if so,
 * and goes back.
 *
 * TF that is set becomes visible to the program in what PUSHF stores and in the R11 of
 * SYSCALL, and it is taken out there. POPF and IRET are the only instructions after
 * which TF is what the program wants, and so its own. If it is set, the program or its
 * debugger is to get the #DB, too.
 *
 * The instruction is read after it was executed. A program that changes its own
 * instructions may be misread, but only where the next instruction starts at most 15
 * bytes behind it: anywhere else, there was a branch whatever the bytes say.
 *
 * NMIs leave TF alone, as they go back to user mode directly. So the registers of user
 * mode that perf samples in an NMI show TF set, although the program does not have it.
 */

#include <linux/cache.h>
#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/hw_breakpoint.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include <asm/bts.h>
#include <asm/bts_step.h>
#include <asm/cpufeature.h>
#include <asm/debugctl.h>
#include <asm/debugreg.h>
#include <asm/desc.h>
#include <asm/insn.h>
#include <asm/mmu_context.h>
#include <asm/msr.h>
#include <asm/ptrace.h>
#include <asm/segment.h>

/* Stands for any address of the kernel. */
#define BTS_STEP_KERNEL		((u64)~0UL)

DEFINE_PER_CPU(struct bts_step, bts_step);
DEFINE_PER_CPU(u8, bts_step_state);

static const struct bts_told bts_step_told;

/* Block-step (BTF) works here. Hypervisors drop it: there, each instruction stops. */
static bool bts_step_has_btf __ro_after_init;

/*
 * Segments. Interrupts are off, and an LDT is freed after an interrupt to each CPU that
 * uses it only.
 */

static bool bts_step_descriptor(u16 selector, struct desc_struct *desc)
{
	unsigned int nr = selector >> 3;

#ifdef CONFIG_MODIFY_LDT_SYSCALL
	if (selector & SEGMENT_TI_MASK) {
		const struct ldt_struct *ldt = READ_ONCE(current->active_mm->context.ldt);

		if (!ldt || nr >= ldt->nr_entries)
			return false;
		*desc = ldt->entries[array_index_nospec(nr, ldt->nr_entries)];
		return true;
	}
#endif
	nr -= GDT_ENTRY_TLS_MIN;
	if (nr >= GDT_ENTRY_TLS_ENTRIES)
		return false;
	*desc = current->thread.tls_array[array_index_nospec(nr, GDT_ENTRY_TLS_ENTRIES)];

	return true;
}

static unsigned long bts_step_base(const struct pt_regs *regs, u16 selector)
{
	struct desc_struct desc;

	if (v8086_mode((struct pt_regs *)regs))
		return (unsigned long)selector << 4;

	return bts_step_descriptor(selector, &desc) ? get_desc_base(&desc) : 0;
}

/* How many bits an address has there */
static int bts_step_bits(const struct pt_regs *regs, u16 selector)
{
	struct desc_struct desc;

	if (v8086_mode((struct pt_regs *)regs))
		return 16;
	if (bts_step_descriptor(selector, &desc))
		return desc.d ? 32 : 16;

	return 32;
}

static bool bts_step_is_flat(const struct pt_regs *regs)
{
	return !(regs->cs & SEGMENT_TI_MASK) && !v8086_mode((struct pt_regs *)regs);
}

/* An address without a segment. Only 64-bit code, whose @base is 0, has more than 32 bits. */
static unsigned long bts_step_add(unsigned long base, unsigned long offset)
{
	return base ? (u32)(base + offset) : offset;
}

/* Where user mode is, likewise */
static unsigned long bts_step_linear(const struct pt_regs *regs)
{
	if (likely(bts_step_is_flat(regs)))
		return regs->ip;

	return bts_step_add(bts_step_base(regs, regs->cs), regs->ip);
}

/*
 * The memory of current. What the processor watches must not be touched for this, or a
 * debugger would see that.
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

/* This may sleep. With FOLL_FORCE it also reads what can only be executed. */
static int bts_step_access(unsigned long at, void *buf, int n, unsigned int flags)
{
	local_irq_enable();
	n = access_process_vm(current, at, buf, n, flags);
	local_irq_disable();

	return n;
}

static bool bts_step_clear_bit(unsigned long at)
{
	bool done = false;
	u8 byte;

	if (unlikely(hw_breakpoint_active()))
		return false;

	pagefault_disable();
	if (user_access_begin((void __user *)at, 1)) {
		unsafe_get_user(byte, (u8 __user *)at, fault);
		byte &= ~(X86_EFLAGS_TF >> 8);
		unsafe_put_user(byte, (u8 __user *)at, fault);
		done = true;
fault:
		user_access_end();
	}
	pagefault_enable();

	return done;
}

/* Take TF out of what PUSHF has stored. */
static void bts_step_clear_pushed(const struct pt_regs *regs)
{
	unsigned long at = regs->sp + 1;
	u8 byte;

	if (!user_64bit_mode((struct pt_regs *)regs)) {
		if (bts_step_bits(regs, regs->ss) == 16)
			at &= U16_MAX;
		at = (u32)(bts_step_base(regs, regs->ss) + at);
	}
	if (likely(bts_step_clear_bit(at)))
		return;
	if (bts_step_access(at, &byte, 1, 0) != 1)
		return;
	byte &= ~(X86_EFLAGS_TF >> 8);
	bts_step_access(at, &byte, 1, FOLL_WRITE);
}

/*
 * Instructions
 */

enum bts_step_kind {
	BTS_STEP_OTHER,		/* goes on behind it */
	BTS_STEP_JUMP,		/* branches */
	BTS_STEP_FAR,		/* branches to another segment, perhaps */
	BTS_STEP_JCC,		/* branches if flags say so */
	BTS_STEP_LOOP,		/* branches if flags and CX say so */
	BTS_STEP_PUSHF,
	BTS_STEP_POPF,
	BTS_STEP_IRET,
	BTS_STEP_SS,		/* no #DB comes behind it, but behind the next one */
	BTS_STEP_PREFIX,
	BTS_STEP_REX,		/* a prefix in 64-bit code */
	BTS_STEP_REX2,		/* the same, of two bytes */
	BTS_STEP_0F,		/* two bytes */
	BTS_STEP_SREG,		/* ModRM tells which segment */
	BTS_STEP_FF,		/* ModRM tells what it is */
	BTS_STEP_UNKNOWN,	/* more bytes are needed */
};

static const u8 bts_step_kinds[256] = {
	[0x0f]		= BTS_STEP_0F,
	[0x17]		= BTS_STEP_SS,		/* POP SS */
	[0x26]		= BTS_STEP_PREFIX,
	[0x2e]		= BTS_STEP_PREFIX,
	[0x36]		= BTS_STEP_PREFIX,
	[0x3e]		= BTS_STEP_PREFIX,
	[0x40 ... 0x4f]	= BTS_STEP_REX,
	[0x64 ... 0x67]	= BTS_STEP_PREFIX,
	[0x70 ... 0x7f]	= BTS_STEP_JCC,
	[0x8e]		= BTS_STEP_SREG,
	[0x9a]		= BTS_STEP_FAR,		/* CALL far */
	[0x9c]		= BTS_STEP_PUSHF,
	[0x9d]		= BTS_STEP_POPF,
	[0xc2 ... 0xc3]	= BTS_STEP_JUMP,	/* RET */
	[0xca ... 0xcb]	= BTS_STEP_FAR,		/* RET far */
	[0xcf]		= BTS_STEP_IRET,
	[0xd5]		= BTS_STEP_REX2,
	[0xe0 ... 0xe3]	= BTS_STEP_LOOP,
	[0xe8 ... 0xe9]	= BTS_STEP_JUMP,	/* CALL, JMP */
	[0xea]		= BTS_STEP_FAR,		/* JMP far */
	[0xeb]		= BTS_STEP_JUMP,	/* JMP short */
	[0xf0]		= BTS_STEP_PREFIX,
	[0xf2 ... 0xf3]	= BTS_STEP_PREFIX,
	[0xff]		= BTS_STEP_FF,
};

#define BTS_STEP_ADDRESS_SIZE	0x67

/* REX2: a bit of its second byte stands for 0F, and one instruction is another one. */
#define BTS_STEP_REX2_0F	0x80
#define BTS_STEP_JMPABS		0xa1

/**
 * struct bts_step_insn - an instruction
 * @kind:	what it does
 * @op:		its last byte of opcode
 * @resized:	it has a prefix that changes the size of addresses
 */
struct bts_step_insn {
	enum bts_step_kind	kind;
	u8			op;
	bool			resized;
};

static __always_inline enum bts_step_kind bts_step_ff(u8 modrm)
{
	unsigned int reg = X86_MODRM_REG(modrm);

	/* CALL, CALL far, JMP, JMP far */
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

/* Look at the first @n bytes of an instruction. */
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
			insn->kind = rex2 && insn->op == BTS_STEP_JMPABS ? BTS_STEP_JUMP : kind;
			return;
		}
	}
}

/* How long it is, or 0 if nobody can say */
static int bts_step_length(const struct pt_regs *regs, const u8 *bytes, int n)
{
	struct insn insn;

	insn_init(&insn, bytes, n, user_64bit_mode((struct pt_regs *)regs));
	if (!user_64bit_mode((struct pt_regs *)regs)) {
		insn.addr_bytes = bts_step_bits(regs, regs->cs) / 8;
		insn.opnd_bytes = insn.addr_bytes;
	}

	return insn_get_length(&insn) ? 0 : insn.length;
}

/* Was the condition of Jcc true? No Jcc changes flags. */
static __always_inline bool bts_step_condition(unsigned long flags, u8 op)
{
	/* L and LE, the last two, are also met if SF is not OF. */
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

/* CX as LOOP and JCXZ see it; LOOP has decremented it already. */
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

/* Read the instruction at @at. Interrupts may have been on. */
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
 * How many instructions that set SS are looked at, each behind the one before. An emulator
 * may put the #DB off behind all of them.
 */
#define BTS_STEP_SS_MOST	32

/*
 * Find the instruction that ended with this #DB: the one at @at, or what follows it if
 * that has set SS. Its address is returned. The program may have overwritten it since,
 * so that it cannot be found.
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
		/* Of several in a row, only the first one is sure to put the #DB off. */
		if (!length || (i && at + length == bts_step_linear(regs))) {
			insn->kind = BTS_STEP_OTHER;
			return at;
		}
		at += length;
	}
	insn->kind = BTS_STEP_UNKNOWN;

	return at;
}

/*
 * User mode and the kernel
 */

/* Record that user mode was left, if that is wanted and not done. */
static void bts_step_record_leave(const struct bts_step *s)
{
	u8 state = this_cpu_read(bts_step_state);

	if (state != BTS_STEP_LEFT && state != BTS_STEP_FOLLOWS)
		return;
	if (bts_wanted_steps() & BTS_ENTRY)
		bts_deliver_step(bts_step_add(s->base, s->ip), BTS_STEP_KERNEL);
}

static bool bts_step_pause(void)
{
	bts_step_record_leave(this_cpu_ptr(&bts_step));
	this_cpu_write(bts_step_state, BTS_STEP_OFF);
	/* bts_step_arrive() may have cleared it, and may not come again. */
	if (unlikely(test_thread_flag(TIF_BLOCKSTEP)))
		debugctl_write_field(DEBUGCTL_STEP, DEBUGCTLMSR_BTF);

	return true;
}

static bool bts_step_resume(void)
{
	if (bts_wanted_steps() & BTS_USER)
		this_cpu_write(bts_step_state, BTS_STEP_AWAY);

	return true;
}

/* After something else than a step */
static void bts_step_arrive(const struct bts_step *s, const struct pt_regs *regs)
{
	bts_step_record_leave(s);
	bts_deliver_step(BTS_STEP_KERNEL, bts_step_linear(regs));
	/* The task may be block-stepped, and each instruction has to end with a #DB. */
	if (debugctl_get() & DEBUGCTLMSR_BTF)
		debugctl_write_field(DEBUGCTL_STEP, 0);
}

/*
 * With FRED, a return from SYSCALL or INT with TF raises #DB before the first
 * instruction, unless the event is said to have been none of software.
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

/* Everything but a step of a program without a TF of its own, in a flat segment */
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
 * bts_step_exit - let user mode run for one instruction
 * @regs: of user mode, which is traced
 *
 * Called with interrupts off when nothing else is left to be done.
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
 * What the step has done: a record, and the program's own TF from here on. Returns
 * whether it has branched.
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

	/* Nothing else than POPF or IRET clears TF. */
	if (insn.kind == BTS_STEP_POPF || insn.kind == BTS_STEP_IRET || !raw)
		regs->flags = (regs->flags & ~X86_EFLAGS_TF) | raw;
	else if (insn.kind == BTS_STEP_PUSHF && !step->tf)
		bts_step_clear_pushed(regs);

	return branch;
}

/* Is the program, or its debugger, to get this #DB as well? */
static bool bts_step_is_wanted(const struct bts_step *step, bool branch)
{
	return step->tf && (branch || !test_thread_flag(TIF_BLOCKSTEP) || !bts_step_has_btf);
}

static noinline bool bts_step_debug_odd(struct pt_regs *regs, unsigned long *dr6)
{
	struct bts_step step = *this_cpu_ptr(&bts_step), *s;
	bool branch = false;
	u8 state;

	/* Before interrupts are on: a switch changes it. */
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
		/* A switch, or a #DB that is somebody else's as well, has a record of its own. */
		state = state == BTS_STEP_READS && !*dr6 ? BTS_STEP_FOLLOWS : BTS_STEP_LEFT;
		this_cpu_write(bts_step_state, state);
	}

	return !*dr6;
}

/* Is the next instruction the one behind @ip, as far as anybody can tell? */
static __always_inline bool bts_step_goes_on(const struct pt_regs *regs, unsigned long ip)
{
	return regs->ip - ip <= BTS_STEP_LONGEST;
}

/* An instruction whose first byte does not say that it is no branch */
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

/* The first bytes of most instructions tell what they do. Returns false if not. */
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
 * bts_step_debug - take note of a step
 * @regs: of user mode, behind the instruction
 * @dr6: the reasons of the #DB; the step is taken out if nobody else wants it
 *
 * Called with interrupts off, which may be on in between.
 *
 * Return: whether nothing is left to be done.
 */
bool notrace bts_step_debug(struct pt_regs *regs, unsigned long *dr6)
{
	/* Only a #DB from user mode that ran under our TF can be ours. */
	if (this_cpu_read(bts_step_state) != BTS_STEP_LEFT)
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
	.told		= &bts_step_told,
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
	/* Not tried there */
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
