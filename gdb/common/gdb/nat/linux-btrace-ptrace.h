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

/* The ptrace event by which the kernel stops a thread whose trace is full.  Like
   PTRACE_EVENT_STOP, it is not enabled by a PTRACE_O_* option.  */
#ifndef PTRACE_EVENT_BTS
# define PTRACE_EVENT_BTS 129
#endif

/* Ask the kernel to record the branches of thread PTID as *CONF says, and store
   in CONF->size the size of the buffer that the kernel grants.  If USE_DS is false
   and the kernel uses this processor's Debug Store, the hardware that records
   branches, fail with EOPNOTSUPP.  If the thread is running, stop it; its trace is
   made when it is resumed, and CONF->size is the size that the kernel is then asked
   for.
   Return nullptr and set errno on failure.  */

extern linux_ptrace_bts *linux_ptrace_bts_enable (ptid_t ptid,
						  btrace_config_bts *conf,
						  bool use_ds);

/* Return a message for the user that explains ERR, the errno with which a trace could
   not be made or resumed, and for some errors what the user can do.  */

extern const char *linux_ptrace_bts_strerror (int err);

/* End TRACE and free it.  If the thread is running, stop it; its trace in the
   kernel ends when it is resumed.  */

extern void linux_ptrace_bts_disable (linux_ptrace_bts *trace);

/* Read the branches of TRACE that TYPE asks for, and store them as blocks in *BLOCKS.
   Set *BLOCKS to nullptr on failure, and if TYPE is BTRACE_READ_NEW and there are no
   new records.  */

extern enum btrace_error linux_ptrace_bts_read
  (linux_ptrace_bts *trace, std::vector<btrace_block> **blocks,
   enum btrace_read_type type);

/* Return the LWP of thread PTID if it is running, and nullptr otherwise.  Defined
   in x86-linux.c.  */

extern lwp_info *linux_find_running_lwp (ptid_t ptid);

/* Make or end the trace of LWP, if linux_ptrace_bts_enable or
   linux_ptrace_bts_disable could not do so because LWP was running.  Called
   before LWP is resumed.  */

extern void linux_ptrace_bts_prepare_to_resume (lwp_info *lwp);

/* In lossless mode (LOSSLESS_SIZE of btrace_config_bts is not zero), read the records
   of LWP and remove them from its trace in the kernel.  Called when LWP has stopped by
   PTRACE_EVENT_BTS.  */

extern void linux_ptrace_bts_handle_full (lwp_info *lwp);

#endif /* GDB_NAT_LINUX_BTRACE_PTRACE_H */
