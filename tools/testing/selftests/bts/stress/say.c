// SPDX-License-Identifier: GPL-2.0
/* The format of a violation. */
#include "stress.h"

void say_violation(const char *head, const char *fmt, va_list ap)
{
	char text[1600];
	int n;

	n = snprintf(text, sizeof(text), "# VIOLATION %s", head);
	n += vsnprintf(text + n, sizeof(text) - n - 1, fmt, ap);
	if (n > (int)sizeof(text) - 2)
		n = sizeof(text) - 2;
	text[n++] = '\n';
	if (write(STDOUT_FILENO, text, n) != n)
		_exit(98);
}
