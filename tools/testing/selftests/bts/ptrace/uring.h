/* SPDX-License-Identifier: GPL-2.0 */
/* An io_uring for one request at a time, done by a worker of the kernel */
#ifndef BTS_PTRACE_URING_H
#define BTS_PTRACE_URING_H

struct io_uring_sqe;

/*
 * Of this process; it stays. With IORING_SETUP_SQPOLL a thread polls it, and sleeps
 * after @idle milliseconds without a request.
 */
void uring_new(unsigned int flags, unsigned int idle);
/* In a worker: the answer */
int uring_ask(const struct io_uring_sqe *what);

#endif /* BTS_PTRACE_URING_H */
