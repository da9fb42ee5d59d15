/* SPDX-License-Identifier: GPL-2.0 */
/* An io_uring for one request at a time, done by a worker of the kernel */
#ifndef BTS_PTRACE_URING_H
#define BTS_PTRACE_URING_H

struct io_uring_sqe;

/* Of this process; it stays. */
void uring_new(void);
/* In a worker: the answer */
int uring_ask(const struct io_uring_sqe *what);

#endif /* BTS_PTRACE_URING_H */
