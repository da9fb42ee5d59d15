/* SPDX-License-Identifier: GPL-2.0 */
/* perf's event intel_bts on the current task, as another user of the hardware. */
#ifndef BTS_PTRACE_INTELBTS_H
#define BTS_PTRACE_INTELBTS_H

/*
 * Allow intel_bts for all users. Give up without the event: it needs page-table isolation
 * to be off.
 */
void intel_bts_for_all(void);
/* Returns a file descriptor, or -errno. */
int intel_bts_open(void);
/* For as_nobody(): returns 0 or an errno. */
int intel_bts_errno(void *unused);

#endif /* BTS_PTRACE_INTELBTS_H */
