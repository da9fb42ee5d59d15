// SPDX-License-Identifier: GPL-2.0
/*
 * Collect what the result of a request depends on besides the tracer and the tracee: two sysctls,
 * whether perf has the hardware, and the pages charged to the user. If the sysctls or perf may have
 * changed since views_begin(), views_end() returns all combinations of their values.
 */
#include "tracer.h"

static struct globals before;
static unsigned long used_before[2];

static bool pays(const struct tracee_shared *t, bool most)
{
	uint32_t pid = __atomic_load_n(&t->pid, __ATOMIC_SEQ_CST);
	uint32_t killed = __atomic_load_n(&t->killed, __ATOMIC_SEQ_CST);

	return most || !killed || killed != pid;
}

/*
 * Returns the number of pages charged to the user of @me. Pages of killed tasks may be uncharged
 * already: count those only if @most.
 */
unsigned long pages_used(struct tracer *me, bool most)
{
	unsigned long sum = 0;
	unsigned int i, j;

	for (i = 0; i < NR_TRACERS; i++) {
		struct tracer_shared *other = &shared->tracers[i];
		bool dying = __atomic_load_n(&other->dying, __ATOMIC_SEQ_CST);

		if (other->uid != me->role->uid || (dying && !most))
			continue;
		for (j = 0; j < NR_TRACEES; j++) {
			if (pays(&other->tracees[j], most))
				sum += other->tracees[j].pages;
		}
	}
	return sum;
}

void views_begin(struct tracer *me)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	before.seq = __atomic_load_n(&shared->globals.seq, __ATOMIC_SEQ_CST);
	before.sysctl = shared->globals.sysctl;
	before.paranoid = shared->globals.paranoid;
	before.perf = shared->globals.perf;
	used_before[0] = pages_used(me, false);
	used_before[1] = pages_used(me, true);
}

static void add_view(struct views *out, uint32_t sysctl, int32_t paranoid, bool perf,
		     const unsigned long *used)
{
	int i;

	for (i = 0; i < (used[0] == used[1] ? 1 : 2); i++) {
		out->view[out->nr++] = (struct view){
			.sysctl = sysctl, .paranoid = paranoid, .perf = perf, .used = used[i],
		};
	}
}

void views_end(struct tracer *me, struct views *out)
{
	unsigned long used[2] = { pages_used(me, false), pages_used(me, true) };
	uint32_t seq = __atomic_load_n(&shared->globals.seq, __ATOMIC_SEQ_CST);
	int i;

	if (used_before[0] < used[0])
		used[0] = used_before[0];
	if (used_before[1] > used[1])
		used[1] = used_before[1];

	out->nr = 0;
	if (seq == before.seq && !(seq & 1)) {
		add_view(out, before.sysctl, before.paranoid, before.perf, used);
		return;
	}
	/* The state may have changed since views_begin(): add all combinations. */
	for (i = 0; i < 12; i++)
		add_view(out, i % 3, i / 3 % 2 ? 2 : 1, i / 6, used);
}
