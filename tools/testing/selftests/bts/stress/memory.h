/* SPDX-License-Identifier: GPL-2.0 */
/* Check that all memory of traces is given back. */
#ifndef BTS_STRESS_MEMORY_H
#define BTS_STRESS_MEMORY_H

#include "../guest/tracee.h"

/* memory_slabs() may grow by less than this without a leak: allocators keep objects in reserve. */
#define SLAB_MARGIN	600

/*
 * Returns 0 if nothing is charged to a user, 1 if something is or if the probe failed, 2 if too
 * much was uncharged, -1 if a signal ended the probe.
 */
int memory_probe(uint32_t uid);
/* Returns the number of rings: the buffers of traces and of the flight recorder. */
int memory_ring_count(void);
/* Count rings: at present, and while one more trace exists. */
void memory_rings(int *now, int *with_one);
/*
 * Returns the number of objects in slab caches whose objects traces allocate or reference, without
 * the caches of small objects: see matters().
 */
long memory_slabs(void);
/*
 * Returns at how many places functions of traces, or of the flight recorder, have allocated objects
 * that still exist, or -1 if the kernel does not track callers. Print these places if @tell.
 */
int memory_owned(bool tell);
/* Returns the number of lines that kmemleak reports, at most 60, or -1 without kmemleak. */
int memory_leaks(void);
/* Wait for RCU grace periods, after which the kernel has freed most objects that it frees late. */
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
	/* Retry, as kfree_rcu() may free objects only after five seconds. */
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
