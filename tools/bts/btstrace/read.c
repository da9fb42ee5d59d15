// SPDX-License-Identifier: GPL-2.0
/* The requests of ptrace_bts(2) that btstrace makes: CONFIG, STATUS and DRAIN */
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "read.h"

/* ptrace() of the C library takes an enum that does not have these requests. */
static int request(long what, pid_t tid, void *addr, unsigned long data)
{
	long ret = syscall(SYS_ptrace, what, tid, addr, data);

	return ret < 0 ? -errno : ret;
}

int bt_configure(pid_t tid, const struct ptrace_bts_config *config)
{
	return request(PTRACE_BTS_CONFIG, tid, (void *)config, sizeof(*config));
}

int bt_status(pid_t tid, struct ptrace_bts_status *status)
{
	int ret = request(PTRACE_BTS_STATUS, tid, status, sizeof(*status));

	return ret < 0 ? ret : 0;
}

/* Read the oldest records, at most @n, and remove them. Returns their number, or -errno. */
int bt_drain(pid_t tid, struct x86_bts_record *rec, size_t n)
{
	return request(PTRACE_BTS_DRAIN, tid, rec, n * sizeof(*rec));
}
