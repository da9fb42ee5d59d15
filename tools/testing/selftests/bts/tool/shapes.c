// SPDX-License-Identifier: GPL-2.0
/*
 * Programs of other shapes than walk: shapes WHAT [N]. Position independent, with
 * libraries, some of which come and go; code made at run time; the kernel's own.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NOINLINE	__attribute__((noinline, noclone))

NOINLINE static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* From the program into a library, and from there back into the program */
static int sorts(long n)
{
	int v[64];
	size_t i;

	while (n--) {
		for (i = 0; i < 64; i++)
			v[i] = (i * 37 + n) % 64;
		qsort(v, 64, sizeof(*v), compare);
	}
	return 0;
}

/* A library that was not there before, and all times but the last is not afterwards */
static int opens(long n)
{
	const char *(*version)(void);
	void *lib;

	while (n--) {
		lib = dlopen("libz.so.1", RTLD_NOW);
		version = lib ? (const char *(*)(void))dlsym(lib, "zlibVersion") : NULL;
		if (!version || !*version())
			return 1;
		if (n)
			dlclose(lib);
	}
	return 0;
}

/* Time without a system call */
static int times(long n)
{
	struct timespec ts;

	while (n--)
		clock_gettime(CLOCK_MONOTONIC, &ts);
	return 0;
}

/* Functions that are written, called and written over: mov $n, %eax; ret */
static int writes(long n)
{
	uint8_t *code = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;
	int i;

	if (code == MAP_FAILED)
		return 1;
	for (i = 0; i < n; i++) {
		at = code + (i * 4093) % 65000;
		memcpy(at, (uint8_t []){ 0xb8, i, i >> 8, 0, 0, 0xc3 }, 6);
		if (((int (*)(void))at)() != (i & 0xffff))
			return 1;
		memset(at, 0xcc, 6);
	}
	return 0;
}

static const struct {
	const char *name;
	int (*run)(long n);
} list[] = {
	{ "sorts", sorts }, { "opens", opens }, { "times", times }, { "writes", writes },
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 2 && i < sizeof(list) / sizeof(list[0]); i++)
		if (!strcmp(argv[1], list[i].name))
			return list[i].run(strtol(argv[2], NULL, 0));
	fprintf(stderr, "usage: shapes WHAT N\n");
	return 99;
}
