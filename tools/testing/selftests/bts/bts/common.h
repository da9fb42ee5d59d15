/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the programs in this directory. */
#ifndef BTS_LAYER_COMMON_H
#define BTS_LAYER_COMMON_H

#include <sys/types.h>

#include "../guest/known.h"
#include "../guest/labs/bts/lab.h"

/* Types of records, as in <asm/bts.h> of the kernel under test. */
enum {
	Q_INVALID, Q_BRANCH, Q_ARRIVES, Q_DEPARTS, Q_ENTER, Q_LEAVE, Q_LOST, Q_EXEC,
	Q_SIGNAL, Q_SIGRETURN,
	NR_QUALIFIERS
};

#define DEBUGCTL_TR	(1ul << 6)
#define DEBUGCTL_BTS	(1ul << 7)
#define DEBUGCTL_BTINT	(1ul << 8)
#define DEBUGCTL_OFF_OS	(1ul << 9)
#define DEBUGCTL_OFF_USR (1ul << 10)

struct records {
	struct lab_record *rec;
	size_t nr;
	size_t room;
};

void load_lab(const char *path);
int nr_cpus(void);

/* Open the laboratory (see guest/labs/bts/lab.h), configure the new file, and return it. */
int lab_open(int target, int id, u32 flags, u32 nr);
void lab_config(int fd, const struct lab_config *config);
/* Returns 0 or -errno. */
int lab_do(int fd, unsigned long request, void *arg);
void lab_must(int fd, unsigned long request, void *arg);
struct lab_status lab_status(int fd);
u64 lab_debugctl(void);
/* Returns @nr, or a multiple if this kernel takes more branches due to debugging options. */
u32 kernel_records(u32 nr);

/* Append records to @out until a read is short. Returns the number of appended records. */
size_t lab_read(int fd, struct records *out);
/* Append at most @nr records to @out, for a trace that records the read and never gets empty. */
void lab_take(int fd, struct records *out, size_t nr);
void records_free(struct records *r);
size_t count_of(const struct records *r, u64 type);

/* Append to @out the branches of @in within user mode. */
void user_branches(const struct records *in, struct recs *out);
/* Returns the index of the first record that has a kernel address or is not valid, or -1. */
ssize_t find_leak(const struct records *r);
/*
 * Returns the index of the first branch that cannot follow the branch before it, or -1. The trace
 * must include user mode and the kernel, or have a Q_LOST wherever it leaves out branches.
 */
ssize_t find_break(const struct records *r);
void print_around(const struct records *r, size_t at);

/* Returns the number of branches of the known program (guest/known.h) in @got. */
size_t known_count(const struct records *got);
/* Returns whether @got has exactly the branches @want of the known program, in this order. */
bool known_same(const struct records *got, const struct recs *want);

void ptrace_cont(pid_t pid);
/* Continue @pid until it ends or stops, except by SIGCHLD. Returns the status from waitpid(). */
int let_run(pid_t pid);
void end_child(pid_t pid);

#endif
