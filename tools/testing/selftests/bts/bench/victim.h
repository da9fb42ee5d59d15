/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_BENCH_VICTIM_H
#define BTS_BENCH_VICTIM_H

/* Few enough that all records fit into gdb's default buffer. */
#define VICTIM_ROUNDS		100

/*
 * Taken branches and executed instructions in a round. The call of work() comes before the first
 * round. The last round executes one more instruction: it returns instead of looping.
 */
#define VICTIM_BRANCHES		6
#define VICTIM_INSNS		12

#endif
