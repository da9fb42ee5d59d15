/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TRACE_HW_BRANCHES_H
#define _TRACE_HW_BRANCHES_H

#include <linux/hw_branches.h>
#include <linux/jump_label.h>

#include "trace_hw_branches_fold.h"

struct cpumask;
struct dentry;
struct mutex;
struct seq_file;
struct task_struct;

/* The type of seq_printf(), and of functions that print elsewhere and ignore the first argument */
typedef void (*hw_branches_printf)(struct seq_file *m, const char *fmt, ...) __printf(2, 3);

/* The limit for hw_branches_nr, hw_branches_crash_nr and the second argument of kdb's 'branches' */
#define HW_BRANCHES_MAX_NR	10000

extern struct mutex hw_branches_mutex;
DECLARE_STATIC_KEY_FALSE(hw_branches_claimed);

extern u64 hw_branches_nr;
extern u64 hw_branches_crash_nr;
extern bool hw_branches_crash_all;
extern u64 hw_branches_thaw_after;
extern struct dentry *hw_branches_dir;

extern bool hw_branches_plain;

/* Members of a struct hw_branches_reader that reads branches of the running kernel */
static inline enum hw_branch_kind
hw_branches_kind_of_branch(void *unused, const struct hw_branch *branch, u64 *back)
{
	return arch_hw_branches_kind(branch, back);
}

static inline bool hw_branches_thunk(void *unused, u64 address)
{
	return arch_hw_branches_is_thunk(address);
}

static inline bool hw_branches_return(void *unused, u64 address)
{
	return arch_hw_branches_is_return(address);
}

/* Return what a headline adds to the name of a source: " (unreliable)" or nothing. */
static inline const char *hw_branches_source_mark(const char *source)
{
	return arch_hw_branches_unreliable(source) ? " (unreliable)" : "";
}

void hw_branches_print(hw_branches_printf print, struct seq_file *m, int cpu, int depth,
		       const struct hw_branches_line *line);

/* Arguments of hw_branches_enable(), besides the number of a source */
#define HW_BRANCHES_OFF		(-1)
#define HW_BRANCHES_AUTO	(-2)

int hw_branches_parse_source(const char *word, int *source);
int hw_branches_enable(int source);
int hw_branches_set_cpus(const struct cpumask *cpus);
const struct cpumask *hw_branches_cpus(void);
int hw_branches_copy(int cpu, struct hw_branch *out, u32 n);

int hw_branches_freeze(bool freeze);
void hw_branches_thaw(void);
void hw_branches_keep_frozen(bool fresh);
bool hw_branches_is_kept_frozen(void);

/**
 * struct hw_branches_crash_info - the first crash since the last hw_branches_thaw()
 * @cpu:	the CPU that crashed, or that found another CPU locked up; -1 if there was no crash
 * @task:	the value of current on @cpu in the crash; NULL after hw_branches_disown_crash() or
 *		hw_branches_thaw()
 * @started:	when @task was started: tells it from a later task at the same address
 * @old:	@cpu was frozen before this crash
 * @ip:		the address of the instruction that crashed; 0 if it is not known
 * @thaw_at:	when the recorder thaws by itself at the earliest, in jiffies; 0 for never
 */
struct hw_branches_crash_info {
	int			cpu;
	bool			old;
	struct task_struct	*task;
	u64			started;
	unsigned long		ip;
	unsigned long		thaw_at;
};

const struct hw_branches_crash_info *hw_branches_first_crash(void);
bool hw_branches_crash_is_mine(void);
void hw_branches_disown_crash(void);
bool hw_branches_claim_dump(int cpu);

void hw_branches_freeze_to_read(void);
void hw_branches_thaw_after_read(void);
void hw_branches_show(void (*show)(void));

/* The size of an array on the stack into which branches are copied */
#define HW_BRANCHES_CHUNK	8

/**
 * struct hw_branches_match - describes the branch that hw_branches_count_newer() searches for
 * @any:	if @to is 0: any branch to the entry code from other code, by an exception, an
 *		interrupt or a system call
 * @to:		if not 0: a branch to this address, or to the padding before it
 * @from:	if @to is 0 and @any is false: a branch to the entry code from this address, or from
 *		at most HW_BRANCHES_INSN bytes before it
 */
struct hw_branches_match {
	bool		any;
	unsigned long	to;
	unsigned long	from;
};

int hw_branches_count_newer(int cpu, struct hw_branches_match top);
int hw_branches_newer_than_stop(int cpu);
void hw_branches_print_given_up(hw_branches_printf print);
void hw_branches_dump(hw_branches_printf print, int cpu, int since);
void hw_branches_print_cpus(hw_branches_printf print, const struct cpumask *cpus, int self,
			    bool crash, u32 nr);
void hw_branches_dump_cpu(hw_branches_printf print, int cpu, int since, u32 nr);
void hw_branches_log(struct seq_file *unused, const char *fmt, ...) __printf(2, 3);

#endif /* _TRACE_HW_BRANCHES_H */
