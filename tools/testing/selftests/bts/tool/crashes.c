// SPDX-License-Identifier: GPL-2.0
/*
 * crashes WHAT: crash in the way WHAT. The comment "cause WHAT" marks the line that causes
 * the crash. The crash view of btstrace has to show that line.
 */
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE	__attribute__((noinline, noclone))

struct item {
	int value;
	struct item *next;
};

static volatile int zero;
static char *volatile nowhere;

/* Some work before the crash: loops, branches that alternate, calls */
NOINLINE static int mix(int x)
{
	return x & 1 ? x * 3 + 1 : x / 2;
}

NOINLINE static int work(int rounds)
{
	int i, sum = 0;

	for (i = 0; i < rounds; i++) {
		if (mix(i) % 3)
			sum += mix(sum + i);
		else
			sum -= i;
	}
	return sum;
}

NOINLINE static void aborts(void)
{
	if (work(50) != 12345)
		abort();	/* cause abort */
}

NOINLINE static void asserts(void)
{
	int sum = work(50);

	assert(sum == 12345);	/* cause assert */
}

NOINLINE static void release(char *p)
{
	free(p);	/* cause double-free */
}

NOINLINE static void frees_twice(void)
{
	char *p = malloc(100);

	memcpy(p, "text", 5);
	release(p);
	printf("%d\n", work(20));
	release(p);
}

NOINLINE static void walks_list(void)
{
	struct item last = { 3, NULL }, middle = { 2, &last }, first = { 1, &middle };
	struct item *item = &first;
	int i, sum = 0;

	for (i = 0; i < 10; i++) {
		sum += mix(item->value);	/* cause segv */
		item = item->next;
	}
	printf("%d\n", sum);
}

NOINLINE static void smashes(void)
{
	volatile char small[8];
	int i;

	for (i = 0; i < 64 + zero; i++)
		small[i] = work(2);	/* cause smash */
	if (zero)
		puts((char *)small);
}

NOINLINE static void divides(void)
{
	printf("%d\n", work(30) / zero);	/* cause divide */
}

NOINLINE static int recurses(int n)
{
	volatile char big[4096];

	if (n < zero)
		return 0;
	big[n % 4096] = n;
	return recurses(n + 1) + big[n % 4096];	/* cause recursion */
}

NOINLINE static void calls_null(void)
{
	void (*volatile handler)(void) = NULL;

	work(10);
	handler();	/* cause call-null */
}

NOINLINE static void copies(void)
{
	char buf[64];

	work(10);
	memcpy(buf, nowhere, sizeof(buf) - zero);	/* cause memcpy */
	puts(buf);
}

/* qsort() calls this function. */
static int compares(const void *a, const void *b)
{
	const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;

	return x->value - y->value;	/* cause callback */
}

NOINLINE static void sorts(void)
{
	struct item one = { 1, NULL }, two = { 2, NULL };
	struct item *list[] = { &one, &two, &one, &two, NULL, &one };

	qsort(list, 6, sizeof(*list), compares);
}

static jmp_buf back;

NOINLINE static void jumps_back(int deep)
{
	if (!deep)
		longjmp(back, 1);
	if (deep > zero)
		jumps_back(deep - 1);
}

NOINLINE static void crashes_after_longjmp(void)
{
	if (!setjmp(back))
		jumps_back(5);
	work(5);
	*nowhere = 1;	/* cause longjmp */
}

NOINLINE static void *thread(void *arg)
{
	work(20);
	*(volatile char *)arg = 1;	/* cause thread */
	return NULL;
}

NOINLINE static void threads(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, thread, nowhere))
		return;
	pthread_join(t, NULL);
}

NOINLINE static void loops(void)
{
	volatile int i = 0;

	alarm(1);
	while (i >= 0)	/* cause endless */
		i = mix(i) & 0xff;
}

NOINLINE static void frees_wrong(void)
{
	char *text = strdup("some text");

	while (*text != ' ')
		text++;
	free(text);	/* cause free-inside */
}

NOINLINE static void overflows_heap(void)
{
	volatile char *p = malloc(24);
	char *volatile q;
	int i;

	for (i = 0; i < 48 + zero; i++)
		p[i] = 'A' + i % 26;	/* cause heap */
	q = malloc(5000);
	free(q);
	free((void *)p);
}

NOINLINE static void writes_constant(void)
{
	char *text = (char *)(uintptr_t)"constant";

	work(5);
	text[0] = 'C';	/* cause read-only */
}

static const struct {
	const char *name;
	void (*run)(void);
} list[] = {
	{ "abort", aborts }, { "assert", asserts }, { "double-free", frees_twice },
	{ "segv", walks_list }, { "smash", smashes }, { "divide", divides },
	{ "call-null", calls_null }, { "memcpy", copies }, { "callback", sorts },
	{ "longjmp", crashes_after_longjmp }, { "thread", threads }, { "endless", loops },
	{ "free-inside", frees_wrong }, { "heap", overflows_heap },
	{ "read-only", writes_constant },
};

int main(int argc, char **argv)
{
	size_t i;

	if (argc == 2 && !strcmp(argv[1], "recursion"))
		return recurses(0);
	for (i = 0; argc == 2 && i < sizeof(list) / sizeof(list[0]); i++) {
		if (!strcmp(argv[1], list[i].name)) {
			list[i].run();
			return 0;
		}
	}
	fprintf(stderr, "usage: crashes WHAT\n");
	return 99;
}
