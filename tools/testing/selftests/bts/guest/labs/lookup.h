/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find kallsyms_lookup_name(), which the kernel does not export. vm/lab.sh copies this file to each
 * lab.
 */
#ifndef BTS_LABS_LOOKUP_H
#define BTS_LABS_LOOKUP_H

#include <linux/kprobes.h>

typedef unsigned long (*lookup_func)(const char *name);

/* Return kallsyms_lookup_name(), or NULL. */
static inline lookup_func find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };

	if (register_kprobe(&probe))
		return NULL;
	unregister_kprobe(&probe);

	return (lookup_func)probe.addr;
}

#endif
