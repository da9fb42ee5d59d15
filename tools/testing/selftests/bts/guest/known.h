/* SPDX-License-Identifier: GPL-2.0 */
/* One program with known branches, for the whole test. */
#ifndef BTS_GUEST_KNOWN_H
#define BTS_GUEST_KNOWN_H

#include "traced.h"

void known_program(u64 seed, unsigned int blocks);
void known_run(u64 seed, unsigned int passes);
/* Append the branches of a run to @want. */
void known_want(u64 seed, unsigned int passes, struct recs *want);
/* Returns whether a branch is one of the program. */
bool known_branch(u64 from, u64 to);

#endif
