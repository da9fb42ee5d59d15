/* SPDX-License-Identifier: GPL-2.0 */
/* Somebody else who wants the hardware: perf's event intel_bts, on current */
#ifndef BTS_PTRACE_INTELBTS_H
#define BTS_PTRACE_INTELBTS_H

/*
 * Let any user have the event. Give up where it is not there: page-table isolation
 * must be off.
 */
void intel_bts_for_all(void);
/* A file descriptor, or -errno */
int intel_bts_open(void);
/* For as_nobody(): 0 or an errno */
int intel_bts_errno(void *unused);

#endif /* BTS_PTRACE_INTELBTS_H */
