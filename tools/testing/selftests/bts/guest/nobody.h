/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An unprivileged user with a small RLIMIT_MEMLOCK, to whom the kernel charges the memory of
 * traces. If a trace does not give its charge back, the next traces of this user may fail.
 */
#ifndef BTS_GUEST_NOBODY_H
#define BTS_GUEST_NOBODY_H

#include "tracee.h"

#define NOBODY	65534
#define PAGE	4096u

/* The number of pages that the user may lock. Change it before calling the functions below. */
extern unsigned int nobody_pages;

/* Give this process the IDs and the limit of that user, and keep it dumpable. */
void become_nobody(void);
/* Run @what in a new process of that user. Returns its exit status, or -1 if it was killed. */
int as_nobody(int (*what)(void *arg), void *arg);
/* Trace a new tracee with a ring of nobody_pages, then end both. Returns 0 or an errno. */
int configure_all(void *unused);
/*
 * Returns whether that user may trace at the default perf_event_paranoid. On a processor with
 * Meltdown whose Debug Store records the kernel, too (see uses_cpl_filter()), that user may not.
 */
bool nobody_may_trace(void);
/* If that user may not trace, set perf_event_paranoid to 1, until the guest ends. */
void let_nobody_trace(void);
/* Wait until nothing is charged to the user. Returns false if that takes some seconds. */
bool all_given_back(void);

#endif /* BTS_GUEST_NOBODY_H */
