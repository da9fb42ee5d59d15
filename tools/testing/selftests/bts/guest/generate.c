// SPDX-License-Identifier: GPL-2.0
/*
 * Generate programs of random branches. A program consists of blocks, which are shuffled in memory.
 * Each block has a branch of one kind, the branch under test, and goes to the next block by this
 * branch or by a jump after it. But in blocks of the kinds JMP, STRING and SYSCALL, this jump is
 * the only branch within user mode. Conditions in blocks, except in LOOP, depend on a random number
 * generator, which the program steps while it runs. program_replay() steps the same generator in C,
 * so it knows which branches are taken.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "traced.h"

#define SLOT		128
#define NR_LEAVES	3

/* constants of a 64-bit linear congruential generator with full period */
#define STEP_MUL	6364136223846793005ull
#define STEP_ADD	1442695040888963407ull

enum block_kind {
	JMP, JCC_LONG, JCC_SHORT, CALL, CALL_REG, CALL_MEM, JMP_REG, JMP_MEM,
	LOOP, JRCXZ, JMP_NEXT, JCC_NEXT, PUSH_RET, STRING, SYSCALL, HINT,
	NR_KINDS
};

struct block {
	u64 entry;
	u64 site;	/* address of the branch under test */
	u64 to;		/* target of that branch; for a call, its return address */
	u64 leave;	/* address of the jump to the next block; 0 if the block has none */
	u8 kind;
	u8 bit;
	u8 count;
	u8 leaf;
};

/* the argument of the program; its prologue reads these offsets */
struct program_arg {
	u64 seed;
	u64 mul;
	u64 add;
	u64 passes;
	u64 scratch;
};

struct program {
	u8 *code;
	size_t size;
	u8 *at;
	u64 start;
	u64 enter;	/* address of the jump to the first block */
	u64 end;	/* where the last block goes to */
	u64 again;	/* address of the branch back to the first block */
	u64 ret;
	u64 leaf[NR_LEAVES];
	u64 leaf_ret[NR_LEAVES];
	unsigned int nr;
	struct block blocks[];
};

static u64 step(u64 *state)
{
	*state = *state * STEP_MUL + STEP_ADD;
	return *state;
}

static u64 pick(u64 *state, u64 below)
{
	return (step(state) >> 33) % below;
}

static u64 here(const struct program *p)
{
	return (u64)p->at;
}

static void put(struct program *p, u64 val, int bytes)
{
	memcpy(p->at, &val, bytes);
	p->at += bytes;
}

static void put_bytes(struct program *p, const void *bytes, int nr)
{
	memcpy(p->at, bytes, nr);
	p->at += nr;
}

#define put_code(p, str)	put_bytes(p, str, sizeof(str) - 1)

/* Emit the 32-bit displacement to @target. It must be the end of an instruction. */
static void put_rel(struct program *p, u64 target)
{
	put(p, target - (here(p) + 4), 4);
}

static u64 put_jmp(struct program *p, u64 target)
{
	u64 site = here(p);

	put_code(p, "\xe9");
	put_rel(p, target);
	return site;
}

/* Emit code: state = state * mul + add; CF = the selected bit of state */
static void put_step(struct program *p, u8 bit)
{
	put_code(p, "\x4d\x0f\xaf\xc1");	/* imul %r9, %r8 */
	put_code(p, "\x4d\x01\xd0");		/* add %r10, %r8 */
	put_code(p, "\x49\x0f\xba\xe0");	/* bt $bit, %r8 */
	put(p, bit, 1);
}

static void put_mov_rax(struct program *p, u64 val)
{
	put_code(p, "\x48\xb8");
	put(p, val, 8);
}

/* Emit a block whose branch under test always goes to the next block. Returns false for others. */
static bool put_leaving(struct program *p, struct block *b, u64 next)
{
	switch (b->kind) {
	case JMP_REG:
		put_mov_rax(p, next);
		b->site = here(p);
		if (b->count & 1)
			put_code(p, "\x3e");		/* notrack */
		put_code(p, "\xff\xe0");
		break;
	case JMP_MEM:
		b->site = here(p);
		put_code(p, "\xff\x25\0\0\0\0");
		put(p, next, 8);
		break;
	case PUSH_RET:
		put_mov_rax(p, next);
		put_code(p, "\x50");
		b->site = here(p);
		put_code(p, "\xc3");
		break;
	default:
		return false;
	}
	b->to = next;
	return true;
}

static void put_call(struct program *p, struct block *b)
{
	if (b->kind == CALL_REG)
		put_mov_rax(p, p->leaf[b->leaf]);
	b->site = here(p);
	switch (b->kind) {
	case CALL:
		put_code(p, "\xe8");
		put_rel(p, p->leaf[b->leaf]);
		break;
	case CALL_REG:
		put_code(p, "\xff\xd0");
		break;
	case CALL_MEM:
		/* The pointer is after the 5 bytes of the jump that follows the call. */
		put_code(p, "\xff\x15");
		put(p, 5, 4);
		break;
	}
	b->to = here(p);
}

static void put_conditional(struct program *p, struct block *b, u64 next)
{
	switch (b->kind) {
	case JCC_LONG:
	case HINT:
		put_step(p, b->bit);
		b->site = here(p);
		if (b->kind == HINT)
			put_code(p, "\x3e");
		put_code(p, "\x0f\x82");		/* jc next */
		put_rel(p, next);
		b->to = next;
		break;
	case JCC_SHORT:
		put_step(p, b->bit);
		b->site = here(p);
		put_code(p, "\x72\x03\x0f\x1f\0");	/* jc over a nop */
		b->to = here(p);
		break;
	case JCC_NEXT:
		put_step(p, b->bit);
		b->site = here(p);
		put_code(p, "\x72\0");
		b->to = here(p);
		break;
	case JRCXZ:
		put_step(p, b->bit);
		put_code(p, "\x19\xc9\xf7\xd1");	/* sbb %ecx,%ecx; not %ecx */
		b->site = here(p);
		put_code(p, "\xe3\x01\x90");
		b->to = here(p);
		break;
	}
}

static void put_other(struct program *p, struct block *b)
{
	switch (b->kind) {
	case LOOP:
		put_code(p, "\xb9");			/* mov $count, %ecx */
		put(p, b->count, 4);
		b->to = here(p);
		put_code(p, "\x66\x90");
		b->site = here(p);
		put_code(p, "\xe2\xfc");
		break;
	case JMP_NEXT:
		b->site = here(p);
		put_code(p, "\xeb\0");
		b->to = here(p);
		break;
	case STRING:
		put_code(p, "\x4c\x89\xe7\xb9");	/* mov %r12, %rdi; mov $count, %ecx */
		put(p, b->count, 4);
		put_code(p, "\xf3\xaa");		/* rep stosb */
		break;
	case SYSCALL:
		put_code(p, "\xb8");
		put(p, SYS_getpid, 4);
		put_code(p, "\x0f\x05");
		break;
	}
}

static void put_block(struct program *p, struct block *b, u64 next)
{
	p->at = (u8 *)b->entry;
	if (put_leaving(p, b, next))
		return;
	switch (b->kind) {
	case CALL:
	case CALL_REG:
	case CALL_MEM:
		put_call(p, b);
		break;
	case JCC_LONG:
	case JCC_SHORT:
	case JCC_NEXT:
	case JRCXZ:
	case HINT:
		put_conditional(p, b, next);
		break;
	default:
		put_other(p, b);
	}
	b->leave = put_jmp(p, next);
	if (b->kind == CALL_MEM)
		put(p, p->leaf[b->leaf], 8);
}

static u64 block_entry(const struct program *p, unsigned int i)
{
	return i < p->nr ? p->blocks[i].entry : p->end;
}

/* Emit the functions that blocks call: RET, REP RET, and NOP; RET. */
static void put_leaves(struct program *p)
{
	static const char * const rets[NR_LEAVES] = { "\xc3", "\xf3\xc3", "\x90\xc3" };
	int i;

	for (i = 0; i < NR_LEAVES; i++) {
		p->leaf[i] = here(p);
		p->leaf_ret[i] = here(p) + (i == 2);
		put_bytes(p, rets[i], strlen(rets[i]));
		put_code(p, "\xcc");
	}
}

static void put_frame(struct program *p, u64 first)
{
	p->start = here(p);
	put_code(p, "\x41\x54\x41\x55");	/* push %r12; push %r13 */
	put_code(p, "\x4c\x8b\x07");		/* mov seed, %r8 */
	put_code(p, "\x4c\x8b\x4f\x08");	/* mov mul, %r9 */
	put_code(p, "\x4c\x8b\x57\x10");	/* mov add, %r10 */
	put_code(p, "\x4c\x8b\x6f\x18");	/* mov passes, %r13 */
	put_code(p, "\x4c\x8b\x67\x20");	/* mov scratch, %r12 */
	p->enter = put_jmp(p, first);
	p->end = here(p);
	put_code(p, "\x49\xff\xcd");		/* dec %r13 */
	p->again = here(p);
	put_code(p, "\x0f\x85");		/* jnz first */
	put_rel(p, first);
	put_code(p, "\x41\x5d\x41\x5c");	/* pop %r13; pop %r12 */
	p->ret = here(p);
	put_code(p, "\xc3");
}

static void place_blocks(struct program *p, u64 *state)
{
	unsigned int i, j, *slot;

	slot = calloc(p->nr, sizeof(*slot));
	if (!slot)
		abort();
	for (i = 0; i < p->nr; i++) {
		j = pick(state, i + 1);
		slot[i] = slot[j];
		slot[j] = i;
	}
	for (i = 0; i < p->nr; i++) {
		struct block *b = &p->blocks[i];

		b->entry = (u64)p->code + (slot[i] + 2) * SLOT + pick(state, 64);
		b->kind = pick(state, NR_KINDS);
		b->bit = 20 + pick(state, 40);
		b->count = 1 + pick(state, 6);
		b->leaf = pick(state, NR_LEAVES);
	}
	free(slot);
}

struct program *program_new(u64 seed, unsigned int blocks)
{
	struct program *p;
	unsigned int i;

	p = calloc(1, sizeof(*p) + blocks * sizeof(p->blocks[0]));
	if (!p)
		return NULL;
	p->nr = blocks;
	p->size = (blocks + 3) * SLOT;
	p->code = mmap(NULL, p->size, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->code == MAP_FAILED) {
		free(p);
		return NULL;
	}
	memset(p->code, 0xcc, p->size);
	p->at = p->code;
	put_leaves(p);
	place_blocks(p, &seed);
	p->at = p->code + SLOT;
	put_frame(p, p->blocks[0].entry);
	for (i = 0; i < blocks; i++)
		put_block(p, &p->blocks[i],
			  block_entry(p, i + 1));
	return p;
}

void program_free(struct program *p)
{
	munmap(p->code, p->size);
	free(p);
}

void program_run(struct program *p, int fd, u64 seed, unsigned int passes)
{
	static u8 scratch[16];
	struct program_arg arg = {
		.seed = seed,
		.mul = STEP_MUL,
		.add = STEP_ADD,
		.passes = passes,
		.scratch = (u64)scratch,
	};

	traced_call(fd, (void (*)(void *))p->start, &arg);
}

static void replay_block(const struct program *p, const struct block *b,
			 u64 next, u64 *state, struct recs *out)
{
	int i;

	switch (b->kind) {
	case CALL:
	case CALL_REG:
	case CALL_MEM:
		recs_add(out, b->site, p->leaf[b->leaf]);
		recs_add(out, p->leaf_ret[b->leaf], b->to);
		break;
	case JMP_REG:
	case JMP_MEM:
	case PUSH_RET:
		recs_add(out, b->site, b->to);
		return;
	case JCC_LONG:
	case HINT:
		if (!(step(state) >> b->bit & 1))
			break;
		recs_add(out, b->site, b->to);
		return;
	case JCC_SHORT:
	case JCC_NEXT:
	case JRCXZ:
		if (step(state) >> b->bit & 1)
			recs_add(out, b->site, b->to);
		break;
	case LOOP:
		for (i = 1; i < b->count; i++)
			recs_add(out, b->site, b->to);
		break;
	case JMP_NEXT:
		recs_add(out, b->site, b->to);
		break;
	}
	recs_add(out, b->leave, next);
}

void program_replay(const struct program *p, u64 seed, unsigned int passes,
		    struct recs *out)
{
	unsigned int i, pass;
	u64 state = seed;

	recs_add(out, (u64)traced_call_site, p->start);
	recs_add(out, p->enter, p->blocks[0].entry);
	for (pass = 0; pass < passes; pass++) {
		for (i = 0; i < p->nr; i++) {
			replay_block(p, &p->blocks[i], block_entry(p, i + 1),
				     &state, out);
		}
		if (pass + 1 < passes)
			recs_add(out, p->again, p->blocks[0].entry);
	}
	recs_add(out, p->ret, (u64)traced_call_back);
}
