// SPDX-License-Identifier: GPL-2.0
#include "guest.h"
#include "known.h"

static struct program *known;
static u64 known_low, known_high;

void known_program(u64 seed, unsigned int blocks)
{
	struct recs all = { };
	size_t i;

	known = program_new(seed, blocks);
	if (!known)
		give_up("no program");
	/* 50 passes are enough to take the branches with the lowest and the highest address. */
	program_replay(known, seed, 50, &all);
	known_low = ~0ull;
	for (i = 1; i < all.nr; i++) {
		known_low = all.rec[i].from < known_low ? all.rec[i].from : known_low;
		known_high = all.rec[i].from > known_high ? all.rec[i].from : known_high;
	}
	recs_free(&all);
}

void known_run(u64 seed, unsigned int passes)
{
	program_run(known, -1, seed, passes);
}

void known_want(u64 seed, unsigned int passes, struct recs *want)
{
	struct recs one = { };
	size_t i;

	program_replay(known, seed, passes, &one);
	/* Skip the call into the program, which is not in the program's code. */
	for (i = 1; i < one.nr; i++)
		recs_add(want, one.rec[i].from, one.rec[i].to);
	recs_free(&one);
}

bool known_branch(u64 from, u64 to)
{
	return from >= known_low && from <= known_high && to < USER_END;
}
