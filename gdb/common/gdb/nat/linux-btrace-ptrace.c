/* SPDX-License-Identifier: GPL-3.0-or-later

   Branch tracing by the PTRACE_BTS requests of Linux on x86, for GDB and
   GDBserver.

   This file is part of GDB.  */

/* Newer versions of GDB have the compiler include it.  */
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

/* The requests and structures of <asm/ptrace_bts.h>, which the system's headers
   may not have.  See ptrace_bts(2) and x86_bts(7).  */

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

/* The types of records that matter here.  */
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

/* The largest power of two that the kernel takes for the size of a trace.  */
static const uint32_t MAX_SIZE = 1 << 28;

/* How many records are read by one request.  */
static const size_t READ_CHUNK = 16384;

/* A trace is on in the kernel; or it will be, as soon as the thread has stopped;
   or that has failed.  */
enum trace_state
{
  TRACE_ON,
  TRACE_PENDING,
  TRACE_FAILED
};

/* See linux-btrace-ptrace.h.  */

struct linux_ptrace_bts
{
  ptid_t ptid;
  trace_state state;

  /* What was asked for.  */
  btrace_config_bts conf;
  bool use_ds;

  /* The running number of the next record, and the pc, when the trace was read
     last.  */
  uint64_t last_next = 0;
  CORE_ADDR last_pc = 0;

  /* In lossless mode, the records that the kernel has given away.  The oldest one
     has the number KEPT_FIRST.  */
  std::deque<bts_record> kept;
  uint64_t kept_first = 0;
  bool dropped = false;
};

/* All traces.  */
static std::vector<linux_ptrace_bts *> traces;

/* The threads whose traces are to end when they are resumed next.  */
static std::vector<long> ending;

/* Whether linux_ptrace_bts_prepare_to_resume has anything to do.  */
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

/* Return the number of the oldest record of a trace.  */

static uint64_t
bts_oldest (const bts_status &status)
{
  return status.next - status.held;
}

/* Append to RECORDS what the kernel holds of PTID's trace from the running
   number FIRST on.  Return the number of the first record that was appended.  */

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

/* The size in bytes that perf_event would give for SIZE: pages, to the power of
   two.  */

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

/* Make a trace of as much of what TRACE wants as the kernel gives.  Return false
   and set errno if it gives nothing.  */

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

/* Tell the user, once, if the kernel single-steps the thread.  */

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

/* Make the trace of a stopped thread.  Return false and set errno on failure.  */

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

/* Forget that the trace of the thread LWP is to end.  Return true if it was.  */

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

  /* ENXIO: there is no trace any more, if there ever was.  ESRCH: the thread
     runs, or is gone.  */
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

/* In lossless mode, drop the oldest records that are more than the user wants to
   keep.  */

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

/* Take all records out of the kernel.  */

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

/* The hardware was given to somebody else: say so, and ask for it again.  */

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

/* Makes blocks out of records, from the newest to the oldest.

   A block is what ran without a branch, so it begins where one record leads to
   and ends where the next one comes from.  Where the kernel resumed the thread
   (BTS_LEAVE) nothing is known of where it was interrupted.  Usually that is the
   same place, behind a system call or in the middle of a block, and the record
   tells nothing.  Signal handlers are marked.  Otherwise the thread was made to
   go on elsewhere, by a debugger for instance.  */

class block_builder
{
public:
  block_builder (std::vector<btrace_block> *blocks, CORE_ADDR pc)
    : m_blocks (blocks), m_end (pc)
  {}

  /* Add the record that is next older.  Return false if the trace is
     interrupted there.  */
  bool add (const bts_record &rec);

  /* There is no older record, and the thread was at PC before these.  The
     beginning of the oldest block is left to btrace_fetch.  */
  void finish_delta (CORE_ADDR pc);

  /* There is no older record that is connected with these.  The oldest block is
     only good if the kernel has resumed the thread in it.  If the trace is
     INTERRUPTED, give the current instruction at least, so that btrace_fetch does
     not go on with what it has.  */
  void finish (bool interrupted);

private:
  /* The next older record leads to TARGET.  If the thread cannot have run from
     there to the end of the block by way of where the kernel has resumed it, it
     was made to go on elsewhere, and all that is known of the block before is
     where it begins.  */
  void settle_resumption (CORE_ADDR target);

  /* Complete a block by its BEGIN.  The one before ends at END, by EXIT.  */
  void push (CORE_ADDR begin, CORE_ADDR end, enum btrace_block_exit exit);

  std::vector<btrace_block> *m_blocks;

  /* Where the block ends that is next to be completed, and how.  */
  CORE_ADDR m_end;
  enum btrace_block_exit m_exit = BTRACE_BLOCK_BRANCH;

  /* Where the kernel has resumed the thread in this block, if it has.  */
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
      /* 0 stands for an address of the kernel, as of a vsyscall.  */
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

/* Make blocks of RECORDS from the number WANTED on, when the first one has the
   number FIRST and TRACE's thread is at PC.  If DELTA, they follow what was read
   last; then return nullptr if they do not.  */

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

/* Get the STATUS of TRACE, all 0 if it is not on yet.  Return false if it
   cannot be read.  */

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

  /* The number of the oldest record that is wanted, and of the one that there
     is.  */
  std::deque<bts_record> read;
  const std::deque<bts_record> *records = &read;
  uint64_t wanted, first;

  if (bts_lossless (trace->conf))
    {
      drain (trace);
      records = &trace->kept;
      wanted = first = trace->kept_first;
    }
  else
    wanted = bts_oldest (status);

  /* The number is less than before if the thread is another one now, by
     execve.  */
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
