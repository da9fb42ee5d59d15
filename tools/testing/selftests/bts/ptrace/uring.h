/* SPDX-License-Identifier: GPL-2.0 */
/* An io_uring for one request at a time, which a kernel worker executes. */
#ifndef BTS_PTRACE_URING_H
#define BTS_PTRACE_URING_H

struct io_uring_sqe;

/*
 * Set up the io_uring of this process, with @flags (IORING_SETUP_*). It is never closed. With
 * IORING_SETUP_SQPOLL, a kernel thread polls it, and sleeps after @idle milliseconds without a
 * request.
 */
void uring_new(unsigned int flags, unsigned int idle);
/* Have a kernel worker execute @what, and wait. Returns the result of the request. */
int uring_ask(const struct io_uring_sqe *what);

#endif /* BTS_PTRACE_URING_H */
