/* SPDX-License-Identifier: GPL-2.0 */
/* perf's event intel_bts on the current task, as another user of the hardware. */
#ifndef BTS_PTRACE_INTELBTS_H
#define BTS_PTRACE_INTELBTS_H

/* Let all users open intel_bts. Gives up if it does not exist, as with page-table isolation. */
void intel_bts_for_all(void);
/* Returns a file descriptor, or -errno. */
int intel_bts_open(void);
/* For as_nobody() of guest/nobody.h: open the event. Returns 0 or a positive errno. */
int intel_bts_errno(void *unused);

#endif /* BTS_PTRACE_INTELBTS_H */
