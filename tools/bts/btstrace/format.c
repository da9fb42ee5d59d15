// SPDX-License-Identifier: GPL-2.0
/* This file disassembles instructions in AT&T syntax, as gdb and objdump do. */
#include <stdio.h>
#include <Zydis/Zydis.h>

#include "format.h"

/*
 * Write the instruction at @addr into @buf as text. @bytes are the code from @addr on.
 * Returns the length of the instruction, or 0 if these bytes are no instruction.
 */
size_t bt_format(const u8 *bytes, size_t n, u64 addr, bool is64, char *buf, size_t len)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction zi;
	ZydisFormatter formatter;
	ZydisDecoder decoder;

	if (is64)
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	else
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
	if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &zi, ops)))
		return 0;
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
	if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &zi, ops,
							  zi.operand_count_visible, buf, len,
							  addr, NULL)))
		snprintf(buf, len, "?");
	return zi.length;
}
