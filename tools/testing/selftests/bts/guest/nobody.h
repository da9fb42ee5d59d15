/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An unprivileged user who may lock only a few pages. The memory of traces is charged to
 * this user, who notices a charge that is not given back, or given back twice.
 */
#ifndef BTS_GUEST_NOBODY_H
#define BTS_GUEST_NOBODY_H

#include "tracee.h"

#define NOBODY	65534
#define PAGE	4096u

/* The number of pages that the user may lock. Set it before calling the functions below. */
extern unsigned int nobody_pages;

/* Turn this process into one of that user. */
void become_nobody(void);
/* Run @what in a process of that user. Returns its exit status, or -1 if it was killed. */
int as_nobody(int (*what)(void *arg), void *arg);
/* Make a trace that takes all nobody_pages. Returns 0 or an errno. */
int configure_all(void *unused);
/*
 * Wait a while until nothing is charged to the user any more. Returns whether that is so.
 */
bool all_given_back(void);

#endif /* BTS_GUEST_NOBODY_H */
