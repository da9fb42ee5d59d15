/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The requests of ptrace_bts(2) that btstrace makes, for a thread in a ptrace stop. Each returns
 * -errno on failure. This part needs only bt.h of the rest of btstrace.
 */
#ifndef BTSTRACE_READ_H
#define BTSTRACE_READ_H

#include <asm/ptrace_bts.h>

#include "bt.h"

int bt_configure(pid_t tid, const struct ptrace_bts_config *config);
int bt_status(pid_t tid, struct ptrace_bts_status *status);
int bt_drain(pid_t tid, struct x86_bts_record *rec, size_t n);

#endif
