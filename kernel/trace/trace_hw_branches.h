/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TRACE_HW_BRANCHES_H
#define _TRACE_HW_BRANCHES_H

#include <linux/hw_branches.h>

struct cpumask;
struct dentry;
struct seq_file;

/* seq_printf(), or what prints elsewhere and ignores its first argument */
typedef void (*hw_branches_printf)(struct seq_file *m, const char *fmt, ...) __printf(2, 3);

extern u64 hw_branches_nr;
extern struct dentry *hw_branches_dir;

void hw_branches_print(hw_branches_printf print, struct seq_file *m,
		       const struct hw_branch *branch);

int hw_branches_enable(bool on);
int hw_branches_set_cpus(const struct cpumask *cpus);
const struct cpumask *hw_branches_cpus(void);
int hw_branches_copy(int cpu, struct hw_branch *out, u32 n);

int hw_branches_freeze(bool freeze);
void hw_branches_keep(void);
bool hw_branches_kept(void);

void hw_branches_bug(void);
void hw_branches_keep_dying(void);
int hw_branches_doomed_cpu(void);
unsigned int hw_branches_crashing(int cpu);
unsigned long hw_branches_thawed(void);

enum hw_branches_looker {
	HW_BRANCHES_SYSRQ,
	HW_BRANCHES_TRIGGER,
	HW_BRANCHES_WATCH,
};

void hw_branches_look(enum hw_branches_looker who);
void hw_branches_looked(enum hw_branches_looker who);
void hw_branches_show(enum hw_branches_looker who, void (*show)(void));

void hw_branches_debug(void);
void hw_branches_debug_over(void);

/* How many branches are on the stack at a time. */
#define HW_BRANCHES_CHUNK	8

/**
 * struct hw_branches_top - the newest branch that is worth printing
 * @any:	any exception or interrupt
 * @to:		or, if not 0, a branch to this address
 * @from:	or an exception at or right before this one
 */
struct hw_branches_top {
	bool		any;
	unsigned long	to;
	unsigned long	from;
};

int hw_branches_since(int cpu, struct hw_branches_top top);
int hw_branches_since_stop(int cpu);
void hw_branches_dump(int cpu, int since);

#endif /* _TRACE_HW_BRANCHES_H */
