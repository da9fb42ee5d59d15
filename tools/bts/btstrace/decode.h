/* SPDX-License-Identifier: GPL-2.0 */
/* This header is for the kind of branch that an instruction is. It needs only Zydis. */
#ifndef BTSTRACE_DECODE_H
#define BTSTRACE_DECODE_H

#include "bt.h"

/* No instruction has more bytes. */
#define BT_INSN_MAX	15

enum bt_kind {
	BT_UNKNOWN,	/* the instruction cannot be read, or is no branch any more */
	BT_CALL,
	BT_RET,
	BT_JMP,
	BT_JCC,
	BT_SYSCALL,
	BT_INTERRUPT,	/* or fault, or signal: not asked for by an instruction */
	BT_KINDS,
};

/*
 * struct bt_insn - what an instruction does to the flow of control
 * @target:	where it goes, if @direct
 * @kind:	how
 * @length:	in bytes; 0 if nothing could be decoded
 * @direct:	the target is part of the instruction
 * @known:	it was decoded
 */
struct bt_insn {
	u64	target;
	u8	kind;
	u8	length;
	bool	direct;
	bool	known;
};

const char *bt_kind_name(enum bt_kind kind);
bool bt_kind_parse(const char *name, size_t len, enum bt_kind *kind);
void bt_decode(const u8 *bytes, size_t n, u64 addr, bool is64, struct bt_insn *insn);
bool bt_ends_in_syscall(const u8 *bytes, size_t n);
bool bt_ends_in_call(const u8 *bytes, size_t n);

/* The two functions above look at so many bytes before a place. */
#define BT_BEFORE	7

#endif
