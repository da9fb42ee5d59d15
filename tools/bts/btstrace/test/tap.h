/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTSTRACE_TAP_H
#define BTSTRACE_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tests, failures;

__attribute__((format(printf, 2, 3)))
static inline bool ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", cond ? "" : "not ", ++tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	failures += !cond;
	return cond;
}

static inline int finish(void)
{
	printf("1..%d\n", tests);
	return failures || !tests;
}

#endif
