/* SPDX-License-Identifier: GPL-2.0 */
/* Tells what a struct x86_bts_record is about. */
#ifndef BTSTRACE_RECORD_H
#define BTSTRACE_RECORD_H

#include "bt.h"

static inline bool bt_is_branch(const struct x86_bts_record *rec)
{
	return rec->type == X86_BTS_BRANCH || rec->type == X86_BTS_ENTER ||
	       rec->type == X86_BTS_LEAVE;
}

/* Does a signal handler begin or end? */
static inline bool bt_is_signal(const struct x86_bts_record *rec)
{
	return rec->type == X86_BTS_SIGNAL || rec->type == X86_BTS_SIGRETURN;
}

#endif
