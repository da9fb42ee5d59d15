/* SPDX-License-Identifier: GPL-3.0-or-later

   Branch tracing by the PTRACE_BTS requests of Linux on x86, for GDB and
   GDBserver.

   This file is part of GDB.  */

#ifndef GDB_NAT_LINUX_BTRACE_PTRACE_H
#define GDB_NAT_LINUX_BTRACE_PTRACE_H

#include "gdbsupport/btrace-common.h"

struct lwp_info;

/* The branch trace of one thread.  */
struct linux_ptrace_bts;

/* The stop of a thread whose trace is full.  Like PTRACE_EVENT_STOP it has no
   PTRACE_O_* option.  */
#ifndef PTRACE_EVENT_BTS
# define PTRACE_EVENT_BTS 129
#endif

/* Ask the kernel to record the branches of thread PTID as *CONF says, and store
   in CONF->size how much the kernel grants.  USE_DS says whether this processor's
   Debug Store may be used.  A thread that runs is stopped, and gets its trace
   when it is resumed.  Return nullptr and set errno if that is impossible.  */

extern linux_ptrace_bts *linux_ptrace_bts_enable (ptid_t ptid,
						  btrace_config_bts *conf,
						  bool use_ds);

/* Say what errno ERR of linux_ptrace_bts_enable means, and what to do.  */

extern const char *linux_ptrace_bts_strerror (int err);

/* End TRACE.  A thread that runs is stopped for it and resumed.  */

extern void linux_ptrace_bts_disable (linux_ptrace_bts *trace);

/* Read TRACE into BLOCKS, which is set to nullptr if TYPE asks for nothing but
   new branches and there are none.  */

extern enum btrace_error linux_ptrace_bts_read
  (linux_ptrace_bts *trace, std::vector<btrace_block> **blocks,
   enum btrace_read_type type);

/* Return the LWP of PTID if it is not stopped.  This is in x86-linux.c.  */

extern lwp_info *linux_find_running_lwp (ptid_t ptid);

/* LWP is stopped and about to be resumed: do what had to wait for that.  */

extern void linux_ptrace_bts_prepare_to_resume (lwp_info *lwp);

/* LWP has stopped by PTRACE_EVENT_BTS: take the records out of the kernel.  */

extern void linux_ptrace_bts_handle_full (lwp_info *lwp);

#endif /* GDB_NAT_LINUX_BTRACE_PTRACE_H */
