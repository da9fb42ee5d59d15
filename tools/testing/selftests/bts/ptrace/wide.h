/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs of group ptracewide share: a tracee that runs chain().
 */
#ifndef BTS_PTRACE_WIDE_H
#define BTS_PTRACE_WIDE_H

#include "chain.h"
#include "common.h"

/* PTRACE_BTS_CONFIG of a new trace, which must succeed. */
void must_trace(pid_t pid, uint32_t flags, unsigned int records, uint32_t signal);
/* Drains all there is, at most @room records. */
size_t must_drain(pid_t pid, struct x86_bts_record *rec, size_t room);

/* Waits for a stop of @pid by @signal, or by the event in its upper half. */
void wait_stop(pid_t pid, int signal);
/* Lets @pid go until that stop. */
void go_on(pid_t pid, int signal);
/* A child that has stopped at the beginning of chain(). */
pid_t start_chain(void);
/* Lets it take @passes * CHAIN_LENGTH branches. */
void run_chain(pid_t pid, unsigned int passes);
void end_chain(pid_t pid);

/*
 * Are the @nr records those of the last branches of a run of @passes, with
 * nothing between them but returns from interrupts? @whole: of all of them.
 */
bool is_chain(const struct x86_bts_record *rec, size_t nr, unsigned int passes, bool whole);

/* How many of the @nr records are branches of known_work(). */
size_t known_count(const struct x86_bts_record *rec, size_t nr);

#endif /* BTS_PTRACE_WIDE_H */
