/* SPDX-License-Identifier: GPL-2.0 */
/* Is all memory of traces given back? */
#ifndef BTS_STRESS_MEMORY_H
#define BTS_STRESS_MEMORY_H

#include "../ptrace/common.h"

/* More than allocators keep in reserve; the exact count is memory_owned(). */
#define SLAB_MARGIN	600

/* Is anything charged to a user? 0, or 1; 2 if more was given back than taken */
int memory_probe(uint32_t uid);
int memory_ring_count(void);
/* How many rings there are, and when there is one trace more */
void memory_rings(int *now, int *with_one);
/* Objects of the kinds that traces need */
long memory_slabs(void);
/* The same, but only of traces, where the kernel knows whose; or -1 */
int memory_owned(bool tell);
/* What nobody points to, or -1 where nobody looks */
int memory_leaks(void);
/* Waits for what is freed after a grace period. */
void memory_settle(void);

static inline long memory_begin(void)
{
	memory_settle();
	return memory_slabs();
}

static inline void memory_end(long slabs, const uint32_t *uids, int nr)
{
	int i, rings, with_one, owned, leaks;
	long more;

	for (i = 0; i < nr; i++) {
		int charged = memory_probe(uids[i]);

		ok(!charged, "user %u: nothing is charged any more: %d", uids[i], charged);
	}
	memory_settle();
	memory_rings(&rings, &with_one);
	ok(!rings && with_one == 1, "no ring is left: %d, with one trace %d", rings, with_one);
	/* kfree_rcu() collects for five seconds. */
	for (i = 0; i < 20; i++) {
		memory_settle();
		more = memory_slabs() - slabs;
		owned = memory_owned(i == 19);
		if (more < SLAB_MARGIN && owned <= 0)
			break;
	}
	ok(more < SLAB_MARGIN, "slabs are as they were: %ld more", more);
	ok(!owned, "no structure of a trace is left: %d", owned);
	leaks = memory_leaks();
	if (leaks < 0)
		printf("# this kernel has no kmemleak\n");
	else
		ok(!leaks, "kmemleak finds nothing: %d lines", leaks);
}

#endif /* BTS_STRESS_MEMORY_H */
