/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs of group bts share. */
#ifndef BTS_LAYER_COMMON_H
#define BTS_LAYER_COMMON_H

#include <sys/types.h>

#include "../bench/traced.h"
#include "lab/lab.h"

/* Qualifiers, as in <asm/bts.h> of the kernel under test. */
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

/* The last page that user mode may have ends here, without 5 levels. */
#define USER_END	0x7ffffffff000ull

struct records {
	struct lab_record *rec;
	size_t nr;
	size_t room;
};

void load_lab(const char *path);
int nr_cpus(void);

/* A new file of the laboratory, configured. */
int lab_open(int target, int id, u32 flags, u32 nr);
void lab_config(int fd, const struct lab_config *config);
/* 0 or -errno */
int lab_do(int fd, unsigned long request, void *arg);
void lab_must(int fd, unsigned long request, void *arg);
struct lab_status lab_status(int fd);
u64 lab_debugctl(void);
/* How many records this kernel makes where a plain one makes @nr. */
u32 kernel_records(u32 nr);

/* Appends all there is; returns how many. */
size_t lab_read(int fd, struct records *out);
/* The same, but at most @nr: the trace of the reader itself has no end. */
void lab_take(int fd, struct records *out, size_t nr);
void records_free(struct records *r);
size_t count_of(const struct records *r, u64 type);

/* Only what a user's trace says of its branches, without the ways back in. */
void user_branches(const struct records *in, struct recs *out);
/* An address, type or field that must not be in a user's trace: its index, or -1 */
ssize_t find_leak(const struct records *r);
/* Control flow that cannot be, in a trace of user and kernel: its index, or -1 */
ssize_t find_break(const struct records *r);
void print_around(const struct records *r, size_t at);

/*
 * One program whose branches are known: its runs are appended to @want, and
 * looked for in a trace, where nothing else of the program may be.
 */
void known_program(u64 seed, unsigned int blocks);
void known_run(u64 seed, unsigned int passes);
void known_want(u64 seed, unsigned int passes, struct recs *want);
size_t known_count(const struct records *got);
bool known_same(const struct records *got, const struct recs *want);

/* A child that stops, traced, then calls run(arg), and exits. */
pid_t start_stopped(void (*run)(void *), void *arg);
void ptrace_cont(pid_t pid);
int let_run(pid_t pid);		/* until it stops or ends; waitpid()'s status */
void end_child(pid_t pid);

#endif
