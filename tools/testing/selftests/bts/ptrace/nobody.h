/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A user without rights who may lock a few pages, to whose account traces go:
 * what is charged and not given back, or given back twice, he notices.
 */
#ifndef BTS_PTRACE_NOBODY_H
#define BTS_PTRACE_NOBODY_H

#include "common.h"

#define NOBODY	65534
#define PAGE	4096u

/* How many; to be set before the others are called */
extern unsigned int nobody_pages;

/* From now on this process is that user's. */
void become_nobody(void);
/* In a process of that user: its exit status, -1 if it was killed */
int as_nobody(int (*what)(void *arg), void *arg);
/* A trace of all these pages: 0 or an errno */
int configure_all(void *unused);
/* Is nothing charged any more, at the latest after a while? */
bool all_given_back(void);

#endif /* BTS_PTRACE_NOBODY_H */
