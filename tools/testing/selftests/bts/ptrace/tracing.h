/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by programs that test the PTRACE_BTS_* requests. Most have a tracee that runs chain(). */
#ifndef BTS_PTRACE_TRACING_H
#define BTS_PTRACE_TRACING_H

#include "../guest/system.h"
#include "../guest/tracee.h"
#include "chain.h"

/* Configure a new trace. Gives up if that fails. */
void must_trace(pid_t pid, uint32_t flags, unsigned int records, uint32_t signal);
/* Drain up to @room records. Returns their number. */
size_t must_drain(pid_t pid, struct x86_bts_record *rec, size_t room);

/*
 * Continue @pid until it stops by @signal (see wait_stop()). Discards SIGCHLD. Gives up if @pid
 * stops by something else, or ends.
 */
void go_on(pid_t pid, int signal);
/* Start a child that has stopped at the beginning of chain(). */
pid_t start_chain(void);
/* Continue the child up to its next stop: it takes @passes * CHAIN_LENGTH branches. */
void run_chain(pid_t pid, unsigned int passes);
void end_chain(pid_t pid);

/*
 * Returns whether the @nr records are the last branches of run_chain(@passes). If @whole, all of
 * its branches must be there. Skips the records of returns from the kernel to chain().
 */
bool is_chain(const struct x86_bts_record *rec, size_t nr, unsigned int passes, bool whole);

/* Returns how many of the @nr records are branches of known_work(). */
size_t known_count(const struct x86_bts_record *rec, size_t nr);

#endif /* BTS_PTRACE_TRACING_H */
