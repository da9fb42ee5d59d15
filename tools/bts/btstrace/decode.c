// SPDX-License-Identifier: GPL-2.0
/* This file finds out which kind of branch an instruction is. */
#include <string.h>
#include <Zydis/Zydis.h>

#include "decode.h"

static const char *const kind_names[BT_KINDS] = {
	[BT_UNKNOWN]	= "?",
	[BT_CALL]	= "call",
	[BT_RET]	= "ret",
	[BT_JMP]	= "jmp",
	[BT_JCC]	= "jcc",
	[BT_SYSCALL]	= "syscall",
	[BT_INTERRUPT]	= "interrupt",
};

const char *bt_kind_name(enum bt_kind kind)
{
	return kind_names[kind];
}

bool bt_kind_parse(const char *name, size_t len, enum bt_kind *kind)
{
	int i;

	for (i = 0; i < BT_KINDS; i++) {
		if (strlen(kind_names[i]) == len && !memcmp(kind_names[i], name, len)) {
			*kind = i;
			return true;
		}
	}
	return false;
}

static enum bt_kind kind_of(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return BT_CALL;
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
		return BT_RET;
	case ZYDIS_MNEMONIC_JMP:
		return BT_JMP;
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
		return BT_SYSCALL;
	case ZYDIS_MNEMONIC_INT:
		/* INT 0x80 is a system call, mostly of 32-bit programs. */
		return zi->raw.imm[0].value.u == 0x80 ? BT_SYSCALL : BT_INTERRUPT;
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
		return BT_INTERRUPT;
	default:
		break;
	}
	/*
	 * COND_BR includes LOOP and JRCXZ. It also includes XBEGIN, which is no branch: only an
	 * abort of the transaction branches.
	 */
	if (zi->meta.category == ZYDIS_CATEGORY_COND_BR && zi->mnemonic != ZYDIS_MNEMONIC_XBEGIN)
		return BT_JCC;
	return BT_UNKNOWN;
}

/*
 * bt_decode - decode an instruction
 * @bytes: the instruction, and maybe more bytes behind it
 * @n: the number of bytes
 * @addr: the address of the instruction
 * @is64: true for 64-bit code, false for 32-bit code
 * @insn: filled in, even if the bytes are no instruction
 */
void bt_decode(const u8 *bytes, size_t n, u64 addr, bool is64, struct bt_insn *insn)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction zi;
	ZydisDecoder decoder;

	memset(insn, 0, sizeof(*insn));
	insn->known = true;
	if (is64)
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	else
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &zi, ops)))
		return;
	insn->length = zi.length;
	insn->kind = kind_of(&zi);
	if (insn->kind == BT_UNKNOWN || !zi.operand_count_visible ||
	    ops[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !ops[0].imm.is_relative)
		return;
	insn->direct = ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&zi, &ops[0], addr, &insn->target));
	if (!is64)
		insn->target = (u32)insn->target;
}

/*
 * Is the last instruction in @bytes a system call? This is a guess: code cannot be decoded
 * backwards reliably. Other instructions seldom end in the two bytes of a system call.
 */
bool bt_ends_in_syscall(const u8 *bytes, size_t n)
{
	static const u8 ends[][2] = { { 0x0f, 0x05 }, { 0x0f, 0x34 }, { 0xcd, 0x80 } };
	size_t i;

	for (i = 0; n >= 2 && i < ARRAY_SIZE(ends); i++)
		if (!memcmp(bytes + n - 2, ends[i], 2))
			return true;
	return false;
}

/*
 * Is the last instruction in @bytes a call? This is a guess, too. A direct call is e8 and a
 * distance of 4 bytes. An indirect call without its prefixes has 2 to 7 bytes: ff, a ModRM byte
 * with 2 in its reg field, and up to 5 more.
 */
bool bt_ends_in_call(const u8 *bytes, size_t n)
{
	size_t len;

	if (n >= 5 && bytes[n - 5] == 0xe8)
		return true;
	for (len = 2; len <= 7 && len <= n; len++)
		if (bytes[n - len] == 0xff && (bytes[n - len + 1] >> 3 & 7) == 2)
			return true;
	return false;
}
