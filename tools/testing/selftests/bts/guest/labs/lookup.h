/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Find kallsyms_lookup_name(), which the kernel does not export. vm/lab.sh copies this file to each
 * lab.
 */
#ifndef BTS_LABS_LOOKUP_H
#define BTS_LABS_LOOKUP_H

#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/sprintf.h>

typedef unsigned long (*lookup_func)(const char *name);

/* Return kallsyms_lookup_name(), or NULL. */
static inline lookup_func find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	char place[KSYM_SYMBOL_LEN];
	unsigned int offset = 0;

	if (register_kprobe(&probe))
		return NULL;
	unregister_kprobe(&probe);
	/* With indirect branch tracking, the kprobe is behind the ENDBR of the function. */
	sprint_symbol(place, (unsigned long)probe.addr);
	if (sscanf(place, "kallsyms_lookup_name+0x%x", &offset) != 1)
		return NULL;

	return (lookup_func)((unsigned long)probe.addr - offset);
}

#endif
