// SPDX-License-Identifier: GPL-2.0
/*
 * Print the frequency in kHz of the host's time stamp counter. Without -icount, the guest's counter
 * has the same frequency. On a busy host, the guest may measure a wrong one.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES	100

struct moment {
	uint64_t tsc;
	uint64_t ns;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Read both clocks at the same time: repeat, and use the reading that took the least time. */
static struct moment look(void)
{
	uint64_t least = -1ull, before, ns, took;
	struct moment best = { };
	int i;

	for (i = 0; i < TRIES; i++) {
		before = __rdtsc();
		ns = now_ns();
		took = __rdtsc() - before;
		if (took < least) {
			least = took;
			best = (struct moment){ .tsc = before + took / 2, .ns = ns };
		}
	}
	return best;
}

int main(void)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	struct moment first = look(), last;

	nanosleep(&pause, NULL);
	last = look();
	printf("%llu\n", (unsigned long long)((last.tsc - first.tsc) * 1000000 /
						(last.ns - first.ns)));
	return 0;
}
