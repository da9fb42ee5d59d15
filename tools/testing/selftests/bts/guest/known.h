/* SPDX-License-Identifier: GPL-2.0 */
/* One generated program (generate.c) for the whole test. known_program() generates it. */
#ifndef BTS_GUEST_KNOWN_H
#define BTS_GUEST_KNOWN_H

#include "traced.h"

void known_program(u64 seed, unsigned int blocks);
void known_run(u64 seed, unsigned int passes);
/* Append to @want the branches that known_run(@seed, @passes) takes from the program's code. */
void known_want(u64 seed, unsigned int passes, struct recs *want);
/* Returns whether @from is in the program's code, and @to in user space. */
bool known_branch(u64 from, u64 to);

#endif
