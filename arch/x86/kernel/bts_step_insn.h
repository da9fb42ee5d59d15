/* SPDX-License-Identifier: GPL-2.0 */
/* Instructions, as far as bts_step.c distinguishes them */
#ifndef _X86_KERNEL_BTS_STEP_INSN_H
#define _X86_KERNEL_BTS_STEP_INSN_H

#include <linux/types.h>

enum bts_step_kind {
	BTS_STEP_OTHER,		/* does not branch, with few exceptions: XBEGIN, for example */
	BTS_STEP_JUMP,		/* always branches */
	BTS_STEP_FAR,		/* always branches, perhaps to another segment */
	BTS_STEP_JCC,		/* branches depending on flags */
	BTS_STEP_LOOP,		/* branches depending on CX, and perhaps on ZF */
	BTS_STEP_PUSHF,
	BTS_STEP_POPF,
	BTS_STEP_IRET,
	BTS_STEP_SS,		/* loads SS: the #DB may come only after a later instruction */
	BTS_STEP_PREFIX,
	BTS_STEP_REX,		/* a prefix in 64-bit code */
	BTS_STEP_REX2,		/* a prefix of two bytes in 64-bit code */
	BTS_STEP_0F,		/* an opcode of two or more bytes */
	BTS_STEP_SREG,		/* the segment register is in ModRM */
	BTS_STEP_FF,		/* the operation is in ModRM */
	BTS_STEP_UNKNOWN,	/* more bytes are needed, or too many instructions load SS */
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

/* With REX2, a bit of its second byte replaces 0F, and the opcode A1 is JMPABS. */
#define BTS_STEP_REX2_0F	0x80
#define BTS_STEP_JMPABS		0xa1

/**
 * struct bts_step_insn - an instruction
 * @kind:	what it does
 * @op:		the last byte of its opcode; valid for BTS_STEP_JCC and BTS_STEP_LOOP
 * @length:	its bytes; valid for BTS_STEP_PUSHF and BTS_STEP_POPF
 * @resized:	it has a prefix that changes the size of addresses
 */
struct bts_step_insn {
	enum bts_step_kind	kind;
	u8			op;
	u8			length;
	bool			resized;
};

#endif /* _X86_KERNEL_BTS_STEP_INSN_H */
