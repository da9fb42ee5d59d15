// SPDX-License-Identifier: GPL-2.0
#include "stress.h"

static uint64_t state;

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

void rng_seed(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
	state = mix(mix(mix(mix(seed + 1) + a) + b) + c);
}

uint64_t rng_next(void)
{
	state += 0x9e3779b97f4a7c15ull;
	return mix(state);
}

uint32_t rng(uint32_t n)
{
	return rng_next() % n;
}

bool chance(uint32_t n)
{
	return !rng(n);
}
