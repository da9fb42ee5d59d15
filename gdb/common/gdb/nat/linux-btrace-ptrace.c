/* SPDX-License-Identifier: GPL-3.0-or-later

   Branch tracing by the PTRACE_BTS requests of Linux on x86, for GDB and
   GDBserver.

   This file is part of GDB.  */

/* Newer versions of GDB include common-defs.h by an option of the compiler.  */
#ifndef GDBSUPPORT_COMMON_DEFS_H
# include "gdbsupport/common-defs.h"
#endif
#include "nat/linux-btrace-ptrace.h"
#include "nat/linux-nat.h"
#include "nat/gdb_ptrace.h"
#include "gdbsupport/common-regcache.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

/* The requests, flags and structures of <asm/ptrace_bts.h> that this file uses.  The
   system may not have this header.  See ptrace_bts(2) and x86_bts(7).  */

#define BTS_REQUEST_CONFIG	40
#define BTS_REQUEST_STATUS	41
#define BTS_REQUEST_READ	46

#define BTS_F_TRACE		0x001
#define BTS_F_SIGNAL		0x004
#define BTS_F_ALLOC		0x008
#define BTS_F_STOP_FULL		0x020
#define BTS_F_END		0x100

#define BTS_SOURCE_DS		1
#define BTS_STATE_REVOKED	0x1
#define BTS_READ_CONSUME	0x1

struct bts_config
{
  uint32_t size, flags, signal, bts_size, source, clock;
};

struct bts_status
{
  uint32_t size, flags, signal, bts_size;
  uint64_t held, lost, overwritten;
  uint32_t gaps, source, clock, not_inherited;
  uint64_t next;
  uint32_t record_flags, state;
};

struct bts_read
{
  uint64_t first, records;
  uint32_t count, flags;
};

/* The types of records that this file uses.  */
enum bts_record_type : uint16_t
{
  BTS_BRANCH = 1,
  BTS_LEAVE = 5,
  BTS_LOST = 6,
  BTS_EXEC = 7,
  BTS_SIGNAL = 8,
  BTS_SIGRETURN = 9
};

struct bts_record
{
  uint16_t type, flags;
  uint32_t info;
  uint64_t from, to;
};

/* The largest power of two that the kernel accepts as the size of a trace.  */
static const uint32_t MAX_SIZE = 1 << 28;

/* The largest number of records to read by one request.  */
static const size_t READ_CHUNK = 16384;

/* The state of a trace.  */
enum trace_state
{
  /* The kernel has made a trace of the thread.  */
  TRACE_ON,

  /* The thread was running, so linux_ptrace_bts_enable has called linux_stop_lwp.  The
     trace is made when the thread has stopped and is resumed.  */
  TRACE_PENDING,

  /* The trace could not be made when the thread was resumed.  */
  TRACE_FAILED
};

/* See linux-btrace-ptrace.h.  */

struct linux_ptrace_bts
{
  ptid_t ptid;
  trace_state state;

  /* The arguments of linux_ptrace_bts_enable.  CONF.size is the rounded size, or the
     smaller size that the kernel has granted.  */
  btrace_config_bts conf;
  bool use_ds;

  /* The sequence number of the next record when the trace was made or last
     read, and the pc of the thread when it was last read.  Both are 0 before
     that.  */
  uint64_t last_next = 0;
  CORE_ADDR last_pc = 0;

  /* In lossless mode, the records that were read and removed from the kernel,
     oldest first.  The oldest one has the sequence number KEPT_FIRST.  */
  std::deque<bts_record> kept;
  uint64_t kept_first = 0;

  /* Whether the user was told that the oldest records of KEPT were dropped.  */
  bool dropped = false;
};

/* All traces.  */
static std::vector<linux_ptrace_bts *> traces;

/* The LWPs of the threads whose traces end when the threads are resumed.  */
static std::vector<long> ending;

/* If this is false, linux_ptrace_bts_prepare_to_resume has nothing to do.  */
static bool changes_pending;

static long
lwp_of (ptid_t ptid)
{
  return ptid.lwp () != 0 ? ptid.lwp () : ptid.pid ();
}

static long
bts_request (int request, ptid_t ptid, void *addr, size_t size)
{
  errno = 0;
  return ptrace ((enum __ptrace_request) request, lwp_of (ptid), addr, size);
}

static bool
bts_configure (ptid_t ptid, uint32_t flags, uint32_t size)
{
  bts_config config {};

  config.flags = flags;
  config.size = size;
  return bts_request (BTS_REQUEST_CONFIG, ptid, &config, sizeof (config)) == 0;
}

static bool
bts_get_status (ptid_t ptid, bts_status *status)
{
  return bts_request (BTS_REQUEST_STATUS, ptid, status, sizeof (*status)) >= 0;
}

/* Return the sequence number of the oldest record that the kernel has.  */

static uint64_t
bts_oldest (const bts_status &status)
{
  return status.next - status.held;
}

/* Append to RECORDS all records of PTID's trace that the kernel has, from the
   sequence number FIRST on.  FLAGS is 0 or BTS_READ_CONSUME.  Return the sequence
   number of the first record that was appended, or FIRST if there is none.  */

static uint64_t
bts_get_records (ptid_t ptid, uint64_t first, uint32_t flags,
		 std::deque<bts_record> *records)
{
  std::vector<bts_record> chunk (READ_CHUNK);
  uint64_t next = first;
  bool begun = false;

  for (;;)
    {
      bts_read read {};

      read.first = next;
      read.records = (uintptr_t) chunk.data ();
      read.count = chunk.size ();
      read.flags = flags;

      long n = bts_request (BTS_REQUEST_READ, ptid, &read, sizeof (read));
      if (n <= 0)
	return first;

      if (!begun)
	first = read.first;
      begun = true;
      records->insert (records->end (), chunk.begin (), chunk.begin () + n);
      next = read.first + n;
    }
}

/* Round SIZE up to a power of two and at least a page, as linux_enable_bts does for
   perf_event.  The result is at most MAX_SIZE.  */

static uint32_t
bts_round_size (unsigned int size)
{
  uint32_t rounded = sysconf (_SC_PAGESIZE);

  while (rounded < size && rounded < MAX_SIZE)
    rounded *= 2;
  return rounded;
}

static bool
bts_lossless (const btrace_config_bts &conf)
{
  return conf.lossless_size != 0;
}

/* Make a trace in the kernel with a buffer of TRACE's size.  If there is not enough
   memory, try smaller buffers.  Store the size in TRACE.  Return false and set
   errno on failure.  */

static bool
bts_allocate (linux_ptrace_bts *trace)
{
  uint32_t flags = BTS_F_ALLOC | BTS_F_TRACE;
  uint32_t size = trace->conf.size;

  if (bts_lossless (trace->conf))
    flags |= BTS_F_STOP_FULL | BTS_F_SIGNAL;

  while (!bts_configure (trace->ptid, flags, size))
    {
      if (errno != ENOMEM || size <= 4096)
	return false;
      size /= 2;
    }
  trace->conf.size = size;
  return true;
}

/* If the kernel records branches by single-stepping the thread, warn the user.  Do
   so only once.  */

static void
warn_if_slow (const bts_status &status)
{
  static bool warned;

  if (status.source == BTS_SOURCE_DS || warned)
    return;
  warned = true;
  warning (_("This machine has no Branch Trace Store that can be used: the "
	     "kernel steps\nthrough the program, which runs much slower."));
}

/* Make TRACE in the kernel, if its thread is stopped.  Return false and set errno
   on failure: to ESRCH if the thread is running or has exited.  */

static bool
bts_start (linux_ptrace_bts *trace)
{
  bts_status status {};

  if (!bts_allocate (trace) || !bts_get_status (trace->ptid, &status))
    return false;

  if (status.source == BTS_SOURCE_DS && !trace->use_ds)
    {
      bts_configure (trace->ptid, BTS_F_END, 0);
      errno = EOPNOTSUPP;
      return false;
    }

  warn_if_slow (status);
  trace->state = TRACE_ON;
  trace->last_next = trace->kept_first = status.next;
  return true;
}

/* Remove LWP from ENDING.  Return false if it was not there.  */

static bool
cancel_ending (long lwp)
{
  auto it = std::find (ending.begin (), ending.end (), lwp);

  if (it == ending.end ())
    return false;
  ending.erase (it);
  return true;
}

/* See linux-btrace-ptrace.h.  */

linux_ptrace_bts *
linux_ptrace_bts_enable (ptid_t ptid, btrace_config_bts *conf, bool use_ds)
{
  std::unique_ptr<linux_ptrace_bts> trace (new linux_ptrace_bts);

  trace->ptid = ptid;
  trace->conf = *conf;
  trace->conf.size = bts_round_size (conf->size);
  trace->use_ds = use_ds;

  if (!bts_start (trace.get ()))
    {
      lwp_info *lwp = errno == ESRCH ? linux_find_running_lwp (ptid) : nullptr;

      if (lwp == nullptr)
	return nullptr;
      trace->state = TRACE_PENDING;
      changes_pending = true;
      linux_stop_lwp (lwp);
    }
  else
    cancel_ending (lwp_of (ptid));

  conf->size = trace->conf.size;
  traces.push_back (trace.get ());
  return trace.release ();
}

/* See linux-btrace-ptrace.h.  */

const char *
linux_ptrace_bts_strerror (int err)
{
  switch (err)
    {
    case EIO:
      return _("This kernel has no PTRACE_BTS requests.  Use one with "
	       "CONFIG_X86_PTRACE_BTS.");

    case EOPNOTSUPP:
      return _("This machine has no Branch Trace Store, or hides it, as virtual "
	       "machines do.");

    case EBUSY:
      return _("Others use the processor's branch tracing.  End them and try "
	       "again; see /sys/kernel/debug/x86/bts and the kernel log.");

    case EPERM:
      return _("PTRACE_BTS is not permitted.  See /proc/sys/kernel/ptrace_bts, "
	       "which should be 0, and whether you may read the program's file.");

    case EACCES:
      return _("PTRACE_BTS is not permitted by a security module, by kernel "
	       "lockdown,\nor as this processor cannot leave out the kernel.  "
	       "Try again with CAP_PERFMON.");

    case ENOMEM:
      return _("There is no memory for the trace.  Try a higher limit on locked "
	       "memory\n(ulimit -l), or a lower \"set record btrace bts "
	       "buffer-size\".");

    default:
      return safe_strerror (err);
    }
}

/* See linux-btrace-ptrace.h.  */

void
linux_ptrace_bts_disable (linux_ptrace_bts *trace)
{
  const ptid_t ptid = trace->ptid;

  traces.erase (std::find (traces.begin (), traces.end (), trace));
  delete trace;

  /* ESRCH says that the thread is running or has exited.  After any other error,
     the kernel has no trace of the thread.  */
  if (bts_configure (ptid, BTS_F_END, 0) || errno != ESRCH)
    return;

  lwp_info *lwp = linux_find_running_lwp (ptid);
  if (lwp == nullptr)
    return;
  cancel_ending (lwp_of (ptid));
  ending.push_back (lwp_of (ptid));
  changes_pending = true;
  linux_stop_lwp (lwp);
}

static linux_ptrace_bts *
find_trace (ptid_t ptid)
{
  for (linux_ptrace_bts *trace : traces)
    if (lwp_of (trace->ptid) == lwp_of (ptid))
      return trace;
  return nullptr;
}

/* See linux-btrace-ptrace.h.  */

void
linux_ptrace_bts_prepare_to_resume (lwp_info *lwp)
{
  if (!changes_pending)
    return;

  const ptid_t ptid = ptid_of_lwp (lwp);
  if (cancel_ending (lwp_of (ptid)))
    bts_configure (ptid, BTS_F_END, 0);

  linux_ptrace_bts *trace = find_trace (ptid);
  if (trace != nullptr && trace->state == TRACE_PENDING && !bts_start (trace))
    {
      trace->state = TRACE_FAILED;
      warning (_("Branches of LWP %ld are not recorded: %s"), lwp_of (ptid),
	       linux_ptrace_bts_strerror (errno));
    }

  changes_pending = !ending.empty ();
  for (const linux_ptrace_bts *other : traces)
    changes_pending |= other->state == TRACE_PENDING;
}

/* In lossless mode, drop the oldest records if there are more records than the
   user wants to keep.  */

static void
limit_kept (linux_ptrace_bts *trace)
{
  /* Unlimited.  */
  if (trace->conf.lossless_size < 0)
    return;

  const size_t limit
    = std::max<size_t> (trace->conf.lossless_size / sizeof (bts_record), 1);
  if (trace->kept.size () <= limit)
    return;

  const size_t excess = trace->kept.size () - limit;
  trace->kept.erase (trace->kept.begin (), trace->kept.begin () + excess);
  trace->kept_first += excess;
  if (!trace->dropped)
    warning (_("The branches of LWP %ld are more than \"record btrace bts "
	       "lossless-size\" keeps:\nthe oldest are dropped."),
	     lwp_of (trace->ptid));
  trace->dropped = true;
}

/* In lossless mode, move all records from the kernel to TRACE->kept.  */

static void
drain (linux_ptrace_bts *trace)
{
  uint64_t next = trace->kept_first + trace->kept.size ();

  bts_get_records (trace->ptid, next, BTS_READ_CONSUME, &trace->kept);
  limit_kept (trace);
}

/* See linux-btrace-ptrace.h.  */

void
linux_ptrace_bts_handle_full (lwp_info *lwp)
{
  linux_ptrace_bts *trace = find_trace (ptid_of_lwp (lwp));

  if (trace != nullptr && bts_lossless (trace->conf))
    drain (trace);
}

/* The kernel has taken the hardware from TRACE for another user.  Warn the user of
   GDB, and ask for the hardware again.  */

static void
handle_revoked (const linux_ptrace_bts *trace)
{
  uint32_t flags = BTS_F_TRACE;

  if (bts_lossless (trace->conf))
    flags |= BTS_F_STOP_FULL | BTS_F_SIGNAL;
  warning (_("Another user has taken the processor's branch tracing: branches of "
	     "LWP %ld are missing."), lwp_of (trace->ptid));
  if (!bts_configure (trace->ptid, flags, 0))
    warning (_("Branches are not recorded any more: %s"),
	     linux_ptrace_bts_strerror (errno));
}

/* Makes blocks out of records, from the newest record to the oldest.

   A block is a sequence of instructions of which at most the last one has branched.
   It begins at the target of one record and ends at the source of the next newer
   record.  The newest block ends at the pc of the thread.

   BTS_LEAVE says at which address the kernel resumed the thread, but not where the
   thread was interrupted.  Usually the thread was interrupted at the same address:
   after a system call, or within a block.  Then the record does not end a block.
   Signal handlers have records of their own, BTS_SIGNAL and BTS_SIGRETURN.  In the
   remaining cases, the thread was resumed at another address, for example by a
   debugger.  */

class block_builder
{
public:
  block_builder (std::vector<btrace_block> *blocks, CORE_ADDR pc)
    : m_blocks (blocks), m_end (pc)
  {}

  /* Add the next older record.  Return false if older records are not connected
     with this one.  */
  bool add (const bts_record &rec);

  /* Complete the oldest block of a delta.  The thread was at PC before the oldest
     record.  The block begins at 0: btrace_fetch replaces that by the pc of the
     last instruction that it has already, or drops the block.  */
  void finish_delta (CORE_ADDR pc);

  /* Complete the oldest block, which no older record is connected with.  If the
     kernel has resumed the thread in this block, let the block begin at that
     address.  Otherwise its beginning is not known: drop the block.  INTERRUPTED
     says that add has returned false.  Then, if there is no block, make one of the
     current instruction, so that btrace_fetch does not append to the old history.  */
  void finish (bool interrupted);

private:
  /* TARGET is the target of the next older record, or the argument of finish_delta.
     If the address at which the kernel has resumed the thread is not between TARGET
     and the end of the current block, the thread was interrupted at another address.
     Then complete the block that begins at the address of the resumption, or at the
     end of the current block if that is lower.  The end of the next older block is
     not known: assume that the older block ends at TARGET.  */
  void settle_resumption (CORE_ADDR target);

  /* Complete the current block, which begins at BEGIN.  The next older block ends
     at END, and the thread left it by EXIT.  */
  void push (CORE_ADDR begin, CORE_ADDR end, enum btrace_block_exit exit);

  std::vector<btrace_block> *m_blocks;

  /* The end of the current block, and how the thread left it, if known.  */
  CORE_ADDR m_end;
  enum btrace_block_exit m_exit = BTRACE_BLOCK_BRANCH;

  /* Whether the kernel has resumed the thread in the current block, and at which
     address.  */
  CORE_ADDR m_resumed = 0;
  bool m_resumed_p = false;
};

void
block_builder::push (CORE_ADDR begin, CORE_ADDR end, enum btrace_block_exit exit)
{
  m_blocks->emplace_back (begin, m_end, m_exit);
  m_end = end;
  m_exit = exit;
}

void
block_builder::settle_resumption (CORE_ADDR target)
{
  if (m_resumed_p && (m_resumed < target || m_end < m_resumed))
    push (std::min (m_resumed, m_end), target, BTRACE_BLOCK_BRANCH);
  m_resumed_p = false;
}

bool
block_builder::add (const bts_record &rec)
{
  switch (rec.type)
    {
    case BTS_BRANCH:
      settle_resumption (rec.to);
      push (rec.to, rec.from, BTRACE_BLOCK_BRANCH);
      break;

    case BTS_LEAVE:
      settle_resumption (rec.to);
      m_resumed = rec.to;
      m_resumed_p = true;
      break;

    case BTS_SIGNAL:
    case BTS_SIGRETURN:
      m_resumed_p = false;
      push (rec.to, rec.from, (rec.type == BTS_SIGNAL
			       ? BTRACE_BLOCK_SIGNAL
			       : BTRACE_BLOCK_SIGRETURN));
      /* The kernel stores 0 instead of a kernel address, such as that of a
	 vsyscall: the older block has no known end.  */
      return rec.from != 0;

    case BTS_LOST:
    case BTS_EXEC:
      return false;
    }

  return true;
}

void
block_builder::finish_delta (CORE_ADDR pc)
{
  settle_resumption (pc);
  push (0, 0, BTRACE_BLOCK_BRANCH);
}

void
block_builder::finish (bool interrupted)
{
  if (m_resumed_p && m_resumed <= m_end)
    push (m_resumed, 0, BTRACE_BLOCK_BRANCH);
  else if (interrupted && m_blocks->empty ())
    push (m_end, 0, BTRACE_BLOCK_BRANCH);
}

/* Make blocks of the records with sequence numbers from WANTED on.  FIRST is the
   sequence number of the first element of RECORDS.  PC is the current pc of TRACE's
   thread.  If DELTA, the blocks continue those that were read last; return nullptr
   if one of the records is not connected with the older ones.  */

static std::vector<btrace_block> *
make_blocks (const linux_ptrace_bts *trace, const std::deque<bts_record> &records,
	     uint64_t first, uint64_t wanted, CORE_ADDR pc, bool delta)
{
  std::unique_ptr<std::vector<btrace_block>> blocks
    (new std::vector<btrace_block>);
  block_builder builder (blocks.get (), pc);
  bool connected = true;

  for (size_t i = records.size (); connected && first + i > wanted; --i)
    connected = builder.add (records[i - 1]);

  if (!delta)
    builder.finish (!connected);
  else if (connected)
    builder.finish_delta (trace->last_pc);
  else
    return nullptr;

  return blocks.release ();
}

/* Store the status of TRACE in *STATUS, which the caller has set to all 0.  For a
   pending trace, *STATUS stays all 0.  If the kernel has taken the hardware from
   TRACE, call handle_revoked.  Return false if the trace cannot be read.  */

static bool
trace_status (const linux_ptrace_bts *trace, bts_status *status)
{
  if (trace->state == TRACE_FAILED)
    return false;
  if (trace->state == TRACE_ON && !bts_get_status (trace->ptid, status))
    return false;

  if ((status->state & BTS_STATE_REVOKED) != 0)
    handle_revoked (trace);
  return true;
}

/* See linux-btrace-ptrace.h.  */

enum btrace_error
linux_ptrace_bts_read (linux_ptrace_bts *trace,
		       std::vector<btrace_block> **blocks,
		       enum btrace_read_type type)
{
  bts_status status {};

  *blocks = nullptr;
  if (!trace_status (trace, &status))
    return BTRACE_ERR_UNKNOWN;

  if (type == BTRACE_READ_NEW && status.next == trace->last_next)
    return BTRACE_ERR_NONE;

  std::deque<bts_record> read;
  const std::deque<bts_record> *records = &read;

  /* The sequence numbers of the oldest record to make blocks of, and of the first
     element of *RECORDS.  */
  uint64_t wanted, first;

  if (bts_lossless (trace->conf))
    {
      drain (trace);
      records = &trace->kept;
      wanted = first = trace->kept_first;
    }
  else
    wanted = bts_oldest (status);

  /* After an execve by another thread of the process, a different trace may belong
     to this LWP: then STATUS.next may be less than LAST_NEXT.  */
  const bool delta = type == BTRACE_READ_DELTA;
  if (delta)
    {
      if (status.next < trace->last_next || trace->last_next < wanted)
	return BTRACE_ERR_OVERFLOW;
      wanted = trace->last_next;
    }

  if (!bts_lossless (trace->conf))
    first = bts_get_records (trace->ptid, wanted, 0, &read);

  const CORE_ADDR pc
    = regcache_read_pc (get_thread_regcache_for_ptid (trace->ptid));
  *blocks = make_blocks (trace, *records, first, wanted, pc, delta);
  if (*blocks == nullptr)
    return BTRACE_ERR_OVERFLOW;

  trace->last_next = status.next;
  trace->last_pc = pc;
  return BTRACE_ERR_NONE;
}
