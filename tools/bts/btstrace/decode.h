/* SPDX-License-Identifier: GPL-2.0 */
/* Decodes an instruction, with Zydis: is it a branch, and of which kind? */
#ifndef BTSTRACE_DECODE_H
#define BTSTRACE_DECODE_H

#include "bt.h"

/* The longest instruction has this many bytes. */
#define BT_INSN_MAX	15

enum bt_kind {
	BT_UNKNOWN,	/* no known branch; or the instruction cannot be read, or was overwritten */
	BT_CALL,
	BT_RET,
	BT_JMP,
	BT_JCC,
	BT_SYSCALL,
	BT_INTERRUPT,	/* an interrupt, a fault, a signal; or INT, except INT 0x80 */
	BT_KINDS,
};

/*
 * struct bt_insn - a decoded instruction
 * @target:	the target of the branch, if @direct
 * @kind:	enum bt_kind
 * @length:	in bytes; 0 if the bytes are no instruction
 * @direct:	the target is part of the instruction
 * @known:	bt_decode() has filled in this structure
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

/* bt_ends_in_syscall() and bt_ends_in_call() need at most this many bytes. */
#define BT_BEFORE	7

#endif
