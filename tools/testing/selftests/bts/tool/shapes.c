// SPDX-License-Identifier: GPL-2.0
/*
 * shapes WHAT N: unlike walk, this program is position independent and uses shared libraries.
 * Depending on WHAT, a library calls it back, or it loads and unloads a library, executes code that
 * it makes at run time, or calls the vDSO.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE	__attribute__((noinline, noclone))

NOINLINE static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Call a library, which calls a function of the program. */
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

/* Load a library @n times, and unload it each time but the last. */
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

/* Read the clock by the vDSO. */
static int times(long n)
{
	struct timespec ts;

	while (n--)
		clock_gettime(CLOCK_MONOTONIC, &ts);
	return 0;
}

/* Make @n functions (mov $i, %eax; ret) at run time. Call each, and then overwrite it. */
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

static const uint8_t returns[] = { 0xb8, 7, 0, 0, 0, 0xc3 };

/* Make two functions at run time, describe them to tracers by @tell, and call them. */
static int compiles(long n, int (*tell)(const void *first, const void *second))
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	memcpy(code, returns, sizeof(returns));
	memcpy(code + 64, returns, sizeof(returns));
	if (tell(code, code + 64))
		return 1;
	while (n--)
		if (((int (*)(void))code)() + ((int (*)(void))(code + 64))() != 14)
			return 1;
	getppid();
	return 0;
}

static int write_map(const void *first, const void *second, const char *name)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "w");
	if (!f)
		return 1;
	fprintf(f, "%lx %zx %s\n%lx %zx _ZN4jits3twoEv\n", (long)first, sizeof(returns), name,
		(long)second, sizeof(returns));
	return fclose(f);
}

static int tell_map(const void *first, const void *second)
{
	return write_map(first, second, "compiled one");
}

static int tell_longer_map(const void *first, const void *second)
{
	return write_map(first, second, "compiled before execve()");
}

static int maps(long n)
{
	return compiles(n, tell_map);
}

/* Make code and describe it, then execute maps(), which writes a shorter map to the same file. */
static int remaps(long n)
{
	if (compiles(n, tell_longer_map))
		return 1;
	/* At a signal, btstrace --full reads the trace and the map. execve() removes the code. */
	raise(SIGURG);
	execl("/proc/self/exe", "shapes", "maps", "3", NULL);
	return 1;
}

static void put_load(FILE *f, const void *code, const char *name)
{
	uint32_t record[] = { 0, 16 + 40 + strlen(name) + 1 + sizeof(returns), 0, 0 };
	uint32_t ids[] = { getpid(), getpid() };
	uint64_t load[] = { (long)code, (long)code, sizeof(returns), 0 };

	fwrite(record, sizeof(record), 1, f);
	fwrite(ids, sizeof(ids), 1, f);
	fwrite(load, sizeof(load), 1, f);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(code, sizeof(returns), 1, f);
}

static int tell_dump(const void *first, const void *second)
{
	uint32_t head[] = { 0x4a695444, 1, 40, 62, 0, getpid(), 0, 0, 0, 0 };
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
	f = fopen(path, "w+");
	if (!f)
		return 1;
	fwrite(head, sizeof(head), 1, f);
	put_load(f, first, "dumped one");
	put_load(f, second, "_ZN4jits3twoEv");
	if (fflush(f))
		return 1;
	/* Tracers find the file by this mapping, as perf does. */
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED;
}

static int dumps(long n)
{
	return compiles(n, tell_dump);
}

static const struct {
	const char *name;
	int (*run)(long n);
} list[] = {
	{ "sorts", sorts }, { "opens", opens }, { "times", times }, { "writes", writes },
	{ "maps", maps }, { "remaps", remaps }, { "dumps", dumps },
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
