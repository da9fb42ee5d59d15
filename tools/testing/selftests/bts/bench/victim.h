/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_BENCH_VICTIM_H
#define BTS_BENCH_VICTIM_H

/* little enough for the default buffer of gdb */
#define VICTIM_ROUNDS		100

/*
 * Of a round: what is taken, and what is executed. The call of work() comes
 * before the first, and the last returns instead of looping.
 */
#define VICTIM_BRANCHES		6
#define VICTIM_INSNS		12

#endif
