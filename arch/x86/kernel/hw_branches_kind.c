// SPDX-License-Identifier: GPL-2.0
/*
 * Find the kind of a branch from its instruction
 *
 * This file is also a part of the user-space program in tools/tracing/hw-branches.
 */

#include "hw_branches_kind.h"

#define MODRM_MOD(modrm)	((modrm) >> 6)
#define MODRM_REG(modrm)	((modrm) >> 3 & 7)
#define MODRM_RM(modrm)		((modrm) & 7)

/* Tell whether a byte is one of the prefixes that branch instructions of the kernel may have. */
static bool hw_branches_is_prefix(u8 byte, bool wide)
{
	switch (byte) {
	case 0x2e:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return wide && (byte & 0xf0) == 0x40;
	}
}

/* Return the length of a ModRM byte with the SIB byte and the displacement that follow it. */
static u32 hw_branches_modrm_len(const u8 *at, u32 n)
{
	u8 mod = MODRM_MOD(at[0]), rm = MODRM_RM(at[0]);
	u32 len = 1;

	if (mod == 3)
		return len;
	if (rm == 4) {
		len++;
		if (!mod && n > 1 && MODRM_RM(at[1]) == 5)
			len += 4;
	} else if (!mod && rm == 5) {
		len += 4;
	}
	if (mod == 1)
		len++;
	else if (mod == 2)
		len += 4;

	return len;
}

static s32 hw_branches_rel32(const u8 *at)
{
	return (s32)(at[0] | at[1] << 8 | at[2] << 16 | (u32)at[3] << 24);
}

/*
 * Tell whether @insn, a direct branch whose displacement has @size bytes at @at, goes to insn->to.
 * It may not go there: @insn may have been interrupted, or changed since the branch.
 */
static bool hw_branches_goes(const struct hw_branches_insn *insn, u32 at, u32 size)
{
	s32 rel;

	if (at + size > insn->n)
		return false;
	rel = size == 1 ? (signed char)insn->byte[at] : hw_branches_rel32(insn->byte + at);

	return insn->from + at + size + rel == insn->to;
}

/*
 * Called if the instruction is not known to branch to insn->to. If insn->to is in entry code and is
 * not a return address, assume that an exception or interrupt has interrupted the code at
 * insn->from. Otherwise the kind is unknown.
 */
static enum hw_branch_kind hw_branches_entry_or_other(const struct hw_branches_insn *insn,
						      u64 *back)
{
	if (!insn->entry || insn->after_call)
		return HW_BRANCH_OTHER;
	*back = insn->from;

	return HW_BRANCH_ENTRY;
}

/*
 * Tell whether a call instruction only skips a few bytes, and no return goes back to it. There are
 * three kinds of such calls: "call 1f; int3; 1:" fills the return stack buffer, or is in a thunk of
 * a retpoline. "call 1f; 1:" gets its own address. In CALL_NOSPEC of a 32-bit kernel, PAUSE follows
 * the call.
 */
static bool hw_branches_skips(const struct hw_branches_insn *insn, u32 len)
{
	u64 skipped = insn->to - insn->from - len;

	if (skipped <= 1)
		return true;

	return skipped < 16 && len + 1 < insn->n && insn->byte[len] == 0xf3 &&
	       insn->byte[len + 1] == 0x90;
}

static enum hw_branch_kind hw_branches_direct(const struct hw_branches_insn *insn, u32 at,
					      u32 size, enum hw_branch_kind kind, u64 *back)
{
	if (!hw_branches_goes(insn, at, size))
		return hw_branches_entry_or_other(insn, back);
	if (kind != HW_BRANCH_CALL)
		return kind;
	if (hw_branches_skips(insn, at + size))
		return HW_BRANCH_OTHER;
	*back = insn->from + at + size;

	return HW_BRANCH_CALL;
}

static enum hw_branch_kind hw_branches_indirect(const struct hw_branches_insn *insn, u32 at,
						u64 *back)
{
	u8 reg;

	if (at >= insn->n || insn->entry)
		return hw_branches_entry_or_other(insn, back);
	reg = MODRM_REG(insn->byte[at]);
	if (reg == 4)
		return HW_BRANCH_JUMP;
	if (reg != 2)
		return HW_BRANCH_OTHER;
	*back = insn->from + at + hw_branches_modrm_len(insn->byte + at, insn->n - at);

	return HW_BRANCH_CALL;
}

static enum hw_branch_kind hw_branches_two_bytes(const struct hw_branches_insn *insn, u32 at,
						 u64 *back)
{
	if (at >= insn->n)
		return hw_branches_entry_or_other(insn, back);
	if ((insn->byte[at] & 0xf0) == 0x80)
		return hw_branches_direct(insn, at + 1, 4, HW_BRANCH_OTHER, back);
	/* ERETS */
	if (insn->byte[at] == 0x01 && at + 1 < insn->n && insn->byte[at + 1] == 0xca &&
	    insn->byte[0] == 0xf2)
		return HW_BRANCH_EXIT;

	return hw_branches_entry_or_other(insn, back);
}

/**
 * hw_branches_kind_of - tell the kind of a branch from the instruction at its source
 * @insn: the instruction and the branch
 * @back: where to store the address that a call returns to, or that an exception or interrupt has
 *	interrupted; 0 for other kinds
 *
 * Any context: this reads only @insn.
 *
 * Return: the kind; never HW_BRANCH_FROM_USER or HW_BRANCH_BREAK.
 */
enum hw_branch_kind hw_branches_kind_of(const struct hw_branches_insn *insn, u64 *back)
{
	u32 at = 0;

	*back = 0;
	while (at < insn->n && hw_branches_is_prefix(insn->byte[at], insn->wide))
		at++;
	if (at >= insn->n)
		return hw_branches_entry_or_other(insn, back);

	switch (insn->byte[at]) {
	case 0x0f:
		return hw_branches_two_bytes(insn, at + 1, back);
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		return hw_branches_direct(insn, at + 1, 1, HW_BRANCH_OTHER, back);
	case 0xeb:
		return hw_branches_direct(insn, at + 1, 1, HW_BRANCH_JUMP, back);
	case 0xe9:
		return hw_branches_direct(insn, at + 1, 4, HW_BRANCH_JUMP, back);
	case 0xe8:
		return hw_branches_direct(insn, at + 1, 4, HW_BRANCH_CALL, back);
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
		return insn->entry && !insn->after_call ?
		       hw_branches_entry_or_other(insn, back) : HW_BRANCH_RETURN;
	case 0xcf:
		/* sync_core() executes an IRET to the next instruction to serialize. */
		return insn->to == insn->from + at + 1 ? HW_BRANCH_OTHER : HW_BRANCH_EXIT;
	case 0xff:
		return hw_branches_indirect(insn, at + 1, back);
	default:
		return hw_branches_entry_or_other(insn, back);
	}
}
