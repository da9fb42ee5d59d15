// SPDX-License-Identifier: GPL-2.0
/* Decode how an instruction can change the flow of control. */
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "oracle.h"

#define CACHE_BITS	18
#define CACHE_SIZE	(1u << CACHE_BITS)

#define FLAG_CF		0x001
#define FLAG_PF		0x004
#define FLAG_ZF		0x040
#define FLAG_SF		0x080
#define FLAG_OF		0x800

/* Conditions in addition to the sixteen of Jcc. */
enum { COND_CXZ = 16, COND_LOOP, COND_LOOPE, COND_LOOPNE };

struct decoder {
	const struct image *img;
	ZydisDecoder zydis[3];
	ZydisFormatter formatter;
	struct insn cache[CACHE_SIZE];
};

static ZydisDecoder *zydis_for(struct decoder *d, int mode)
{
	return &d->zydis[mode == 64 ? 0 : mode == 32 ? 1 : 2];
}

struct decoder *decoder_new(const struct image *img)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (!d)
		die("out of memory");
	d->img = img;
	ZydisDecoderInit(zydis_for(d, 64), ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	ZydisDecoderInit(zydis_for(d, 32), ZYDIS_MACHINE_MODE_LEGACY_32,
			 ZYDIS_STACK_WIDTH_32);
	ZydisDecoderInit(zydis_for(d, 16), ZYDIS_MACHINE_MODE_LEGACY_16,
			 ZYDIS_STACK_WIDTH_16);
	ZydisFormatterInit(&d->formatter, ZYDIS_FORMATTER_STYLE_ATT);
	return d;
}

void decoder_free(struct decoder *d)
{
	free(d);
}

static enum insn_kind kind_of(const ZydisDecodedInstruction *zi, bool relative)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return INSN_LOOP;
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_CALL:
		if (zi->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return INSN_FAR;
		if (!relative)
			return INSN_INDIRECT;
		return zi->mnemonic == ZYDIS_MNEMONIC_JMP ? INSN_JMP : INSN_CALL;
	case ZYDIS_MNEMONIC_RET:
		if (zi->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return INSN_FAR;
		return INSN_RET;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return INSN_IRET;
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
		return INSN_SYSCALL;
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
		return INSN_SYSRET;
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
		return INSN_INT;
	default:
		break;
	}
	if (zi->meta.category == ZYDIS_CATEGORY_COND_BR)
		return INSN_JCC;
	return INSN_PLAIN;
}

static u8 cond_of(const ZydisDecodedInstruction *zi)
{
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_LOOP:
		return COND_LOOP;
	case ZYDIS_MNEMONIC_LOOPE:
		return COND_LOOPE;
	case ZYDIS_MNEMONIC_LOOPNE:
		return COND_LOOPNE;
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		return COND_CXZ;
	default:
		return zi->opcode & 0xf;
	}
}

static bool fill_insn(struct decoder *d, struct insn *insn, u64 pc, int mode)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction zi;
	bool relative;
	u8 bytes[15];
	size_t n;

	n = image_read(d->img, pc, bytes, sizeof(bytes));
	if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(zydis_for(d, mode), bytes,
						       n, &zi, ops)))
		return false;
	relative = zi.operand_count_visible &&
		   ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		   ops[0].imm.is_relative;
	*insn = (struct insn){
		.pc = pc,
		.next = mode == 64 ? pc + zi.length : (u32)(pc + zi.length),
		.kind = kind_of(&zi, relative),
		.mode = mode,
	};
	if (insn->kind == INSN_JCC || insn->kind == INSN_LOOP)
		insn->cond = cond_of(&zi);
	if (relative) {
		ZydisCalcAbsoluteAddress(&zi, &ops[0], pc, &insn->target);
		insn->has_target = true;
	}
	return true;
}

const struct insn *decode(struct decoder *d, u64 pc, int mode)
{
	u32 slot = (u32)((pc * 0x9e3779b97f4a7c15ull) >> (64 - CACHE_BITS));
	struct insn *insn = &d->cache[slot];

	if (insn->pc == pc && insn->mode == mode)
		return insn;
	if (!fill_insn(d, insn, pc, mode)) {
		insn->mode = 0;
		return NULL;
	}
	return insn;
}

bool insn_would_branch(const struct insn *insn, u64 eflags, u64 rcx)
{
	bool cf = eflags & FLAG_CF, zf = eflags & FLAG_ZF;
	bool sf = eflags & FLAG_SF, of = eflags & FLAG_OF;
	bool yes = false;

	switch (insn->cond) {
	case COND_CXZ:
		return !rcx;
	case COND_LOOP:
		return rcx != 1;
	case COND_LOOPE:
		return rcx != 1 && zf;
	case COND_LOOPNE:
		return rcx != 1 && !zf;
	}
	switch (insn->cond >> 1) {
	case 0:
		yes = of;
		break;
	case 1:
		yes = cf;
		break;
	case 2:
		yes = zf;
		break;
	case 3:
		yes = cf || zf;
		break;
	case 4:
		yes = sf;
		break;
	case 5:
		yes = eflags & FLAG_PF;
		break;
	case 6:
		yes = sf != of;
		break;
	case 7:
		yes = zf || sf != of;
		break;
	}
	return yes != (insn->cond & 1);
}

void disassemble(struct decoder *d, u64 pc, int mode, char *buf, size_t len)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction zi;
	u8 bytes[15];
	size_t n;

	n = image_read(d->img, pc, bytes, sizeof(bytes));
	if (!n || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(zydis_for(d, mode), bytes,
						       n, &zi, ops))) {
		snprintf(buf, len, "(no bytes)");
		return;
	}
	ZydisFormatterFormatInstruction(&d->formatter, &zi, ops,
					zi.operand_count_visible, buf, len, pc,
					NULL);
}

const char *insn_kind_name(int kind)
{
	static const char * const names[NR_INSN_KINDS] = {
		[INSN_UNKNOWN] = "unknown",
		[INSN_PLAIN] = "plain",
		[INSN_JCC] = "jcc",
		[INSN_LOOP] = "loop",
		[INSN_JMP] = "jmp",
		[INSN_CALL] = "call",
		[INSN_INDIRECT] = "indirect",
		[INSN_RET] = "ret",
		[INSN_FAR] = "far",
		[INSN_IRET] = "iret",
		[INSN_SYSCALL] = "syscall",
		[INSN_SYSRET] = "sysret",
		[INSN_INT] = "int",
	};

	return names[kind];
}
