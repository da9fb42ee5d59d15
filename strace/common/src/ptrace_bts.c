/*
 * Decoders of branch traces on x86: PTRACE_BTS_* and ARCH_GET_PTRACE_BTS.
 *
 * Copyright (c) 2026 The strace developers.
 * All rights reserved.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "defs.h"

#if defined I386 || defined X86_64 || defined X32

# include "ptrace.h"
# include "ptrace_bts.h"

# define XLAT_MACROS_ONLY
#  include "xlat/ptrace_cmds.h"
# undef XLAT_MACROS_ONLY
# include "xlat/ptrace_bts_flags.h"
# include "xlat/ptrace_bts_sources.h"
# include "xlat/ptrace_bts_source_bits.h"
# include "xlat/ptrace_bts_clocks.h"
# include "xlat/ptrace_bts_clock_bits.h"
# include "xlat/ptrace_bts_states.h"
# include "xlat/ptrace_bts_read_flags.h"
# include "xlat/x86_bts_types.h"
# include "xlat/x86_bts_flags.h"

# define NEXT_FIELD_LEN(where_, field_, len_, print_func_, ...)		\
	MAYBE_PRINT_FIELD_LEN(tprint_struct_next(), where_, field_,	\
			      len_, print_func_, ##__VA_ARGS__)

static void
print_x86_bts_branch(const struct_x86_bts_record *const rec)
{
	tprint_struct_next();
	tprints_field_name("branch");
	tprint_struct_begin();
	PRINT_FIELD_X(rec->branch, from);
	tprint_struct_next();
	PRINT_FIELD_X(rec->branch, to);
	tprint_struct_end();
}

static void
print_x86_bts_event(struct tcb *const tcp,
		    const struct_x86_bts_record *const rec)
{
	tprint_struct_next();
	tprints_field_name("event");
	tprint_struct_begin();
	PRINT_FIELD_U(rec->event, clock);
	tprint_struct_next();
	tprints_field_name("pid");
	printpid(tcp, rec->event.pid, PT_TID);
	tprint_struct_next();
	PRINT_FIELD_U(rec->event, cpu);
	tprint_struct_end();
}

static void
print_x86_bts_lost(const struct_x86_bts_record *const rec)
{
	tprint_struct_next();
	tprints_field_name("lost");
	tprint_struct_begin();
	PRINT_FIELD_U(rec->lost, clock);
	tprint_struct_next();
	PRINT_FIELD_U(rec->lost, count);
	tprint_struct_end();
}

static bool
print_x86_bts_record(struct tcb *const tcp, void *const elem_buf,
		     const size_t elem_size, void *const data)
{
	const struct_x86_bts_record *const rec = elem_buf;

	tprint_struct_begin();
	PRINT_FIELD_XVAL(*rec, type, x86_bts_types, "X86_BTS_???");
	tprint_struct_next();
	PRINT_FIELD_FLAGS(*rec, flags, x86_bts_flags, "X86_BTS_F_???");

	if (rec->type == X86_BTS_SIGNAL) {
		tprint_struct_next();
		PRINT_FIELD_OBJ_VAL(*rec, info, printsignal);
	} else if (rec->info) {
		tprint_struct_next();
		PRINT_FIELD_X(*rec, info);
	}

	switch (rec->type) {
	case X86_BTS_INVALID:
		break;
	case X86_BTS_BRANCH:
	case X86_BTS_ENTER:
	case X86_BTS_LEAVE:
	case X86_BTS_SIGNAL:
	case X86_BTS_SIGRETURN:
		print_x86_bts_branch(rec);
		break;
	case X86_BTS_TASK_ARRIVES:
	case X86_BTS_TASK_DEPARTS:
	case X86_BTS_EXEC:
		print_x86_bts_event(tcp, rec);
		break;
	case X86_BTS_LOST:
		print_x86_bts_lost(rec);
		break;
	default:
		tprint_struct_next();
		tprint_more_data_follows();
	}

	tprint_struct_end();

	return true;
}

static void
print_x86_bts_records(struct tcb *const tcp, const kernel_ulong_t addr,
		      const kernel_ulong_t count)
{
	struct_x86_bts_record rec;

	print_array(tcp, addr, count, &rec, sizeof(rec),
		    tfetch_mem, print_x86_bts_record, NULL);
}

static void
print_ptrace_bts_config(struct tcb *const tcp, const kernel_ulong_t addr,
			const kernel_ulong_t size)
{
	struct_ptrace_bts_config config = { 0 };
	const unsigned int len = MIN(size, sizeof(config));

	if (len < sizeof(config.size)) {
		printaddr(addr);
		return;
	}
	if (umoven_or_printaddr(tcp, addr, len, &config))
		return;

	tprint_struct_begin();
	PRINT_FIELD_U(config, size);
	NEXT_FIELD_LEN(config, flags, len, PRINT_FIELD_FLAGS,
		       ptrace_bts_flags, "PTRACE_BTS_F_???");
	NEXT_FIELD_LEN(config, signal, len, PRINT_FIELD_OBJ_VAL, printsignal);
	NEXT_FIELD_LEN(config, bts_size, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(config, source, len, PRINT_FIELD_XVAL,
		       ptrace_bts_sources, "PTRACE_BTS_SOURCE_???");
	NEXT_FIELD_LEN(config, clock, len, PRINT_FIELD_XVAL,
		       ptrace_bts_clocks, "PTRACE_BTS_CLOCK_???");
	if (size > sizeof(config))
		print_nonzero_bytes(tcp, tprint_struct_next, addr,
				    sizeof(config), MIN(size, get_pagesize()),
				    QUOTE_FORCE_HEX);
	tprint_struct_end();
}

static void
print_ptrace_bts_status(struct tcb *const tcp, const kernel_ulong_t addr,
			const kernel_ulong_t size)
{
	/* On success, the kernel returns the size of its structure.  */
	const kernel_ulong_t stored =
		syserror(tcp) ? 0 : MIN(size, (kernel_ulong_t) tcp->u_rval);
	struct_ptrace_bts_status status = { 0 };
	const unsigned int len = MIN(stored, sizeof(status));

	if (!len) {
		printaddr(addr);
		return;
	}
	if (umoven_or_printaddr(tcp, addr, len, &status))
		return;

	MAYBE_PRINT_FIELD_LEN(tprint_struct_begin(), status, size, len,
			      PRINT_FIELD_U);
	NEXT_FIELD_LEN(status, flags, len, PRINT_FIELD_FLAGS,
		       ptrace_bts_flags, "PTRACE_BTS_F_???");
	NEXT_FIELD_LEN(status, signal, len, PRINT_FIELD_OBJ_VAL, printsignal);
	NEXT_FIELD_LEN(status, bts_size, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(status, held, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(status, lost, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(status, overwritten, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(status, gaps, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(status, source, len, PRINT_FIELD_XVAL,
		       ptrace_bts_sources, "PTRACE_BTS_SOURCE_???");
	NEXT_FIELD_LEN(status, clock, len, PRINT_FIELD_XVAL,
		       ptrace_bts_clocks, "PTRACE_BTS_CLOCK_???");
	NEXT_FIELD_LEN(status, not_inherited, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(status, next, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(status, record_flags, len, PRINT_FIELD_FLAGS,
		       x86_bts_flags, "X86_BTS_F_???");
	NEXT_FIELD_LEN(status, state, len, PRINT_FIELD_FLAGS,
		       ptrace_bts_states, "PTRACE_BTS_S_???");
	if (stored > sizeof(status)) {
		tprint_struct_next();
		tprint_more_data_follows();
	}
	tprint_struct_end();
}

/* Print the structure as the caller has filled it in: the kernel may change it. */
static int
print_ptrace_bts_read_entering(struct tcb *const tcp, const kernel_ulong_t addr,
			       const kernel_ulong_t size)
{
	struct_ptrace_bts_read rd;

	if (size < sizeof(rd)) {
		printaddr(addr);
		return RVAL_DECODED;
	}
	if (umove_or_printaddr(tcp, addr, &rd))
		return RVAL_DECODED;

	tprint_struct_begin();
	PRINT_FIELD_U(rd, first);
	tprint_struct_next();
	PRINT_FIELD_ADDR64(rd, records);
	tprint_struct_next();
	PRINT_FIELD_U(rd, count);
	tprint_struct_next();
	PRINT_FIELD_FLAGS(rd, flags, ptrace_bts_read_flags,
			  "PTRACE_BTS_READ_???");
	print_nonzero_bytes(tcp, tprint_struct_next, addr, sizeof(rd),
			    MIN(size, get_pagesize()), QUOTE_FORCE_HEX);
	tprint_struct_end();

	return 0;
}

static void
print_ptrace_bts_read_exiting(struct tcb *const tcp, const kernel_ulong_t addr)
{
	struct_ptrace_bts_read rd;

	if (syserror(tcp))
		return;

	tprint_value_changed();
	if (umove_or_printaddr(tcp, addr, &rd))
		return;

	tprint_struct_begin();
	PRINT_FIELD_U(rd, first);
	tprint_struct_next();
	tprints_field_name("records");
	print_x86_bts_records(tcp, rd.records, tcp->u_rval);
	tprint_struct_end();
}

/*
 * Print the structure or the records to which the argument addr of a
 * PTRACE_BTS_* request points.  On entering, return RVAL_DECODED if nothing of
 * that has to be printed on exiting.
 */
int
decode_ptrace_bts_addr(struct tcb *const tcp)
{
	const kernel_ulong_t request = tcp->u_arg[0];
	const kernel_ulong_t addr = tcp->u_arg[2];
	const kernel_ulong_t data = tcp->u_arg[3];

	switch (request) {
	case PTRACE_BTS_CONFIG:
		print_ptrace_bts_config(tcp, addr, data);
		return RVAL_DECODED;
	case PTRACE_BTS_READ:
		if (entering(tcp))
			return print_ptrace_bts_read_entering(tcp, addr, data);
		print_ptrace_bts_read_exiting(tcp, addr);
		break;
	case PTRACE_BTS_STATUS:
		if (exiting(tcp))
			print_ptrace_bts_status(tcp, addr, data);
		break;
	case PTRACE_BTS_GET:
		if (exiting(tcp)) {
			struct_x86_bts_record rec;

			if (!umove_or_printaddr(tcp, addr, &rec))
				print_x86_bts_record(tcp, &rec, sizeof(rec),
						     NULL);
		}
		break;
	case PTRACE_BTS_DRAIN:
		if (exiting(tcp))
			print_x86_bts_records(tcp, addr, tcp->u_rval);
		break;
	}

	return 0;
}

static void
print_ptrace_bts_info_exiting(struct tcb *const tcp, const kernel_ulong_t addr)
{
	struct_ptrace_bts_info info = { 0 };
	const unsigned int room = get_tcb_priv_ulong(tcp);
	const unsigned int read_len = MIN(room, sizeof(info));

	if (syserror(tcp))
		return;

	tprint_value_changed();
	if (umoven_or_printaddr(tcp, addr, read_len, &info))
		return;

	/* On success, info.size is the size of the kernel's structure.  */
	const unsigned int len = MIN(read_len, info.size);

	tprint_struct_begin();
	PRINT_FIELD_U(info, size);
	NEXT_FIELD_LEN(info, source, len, PRINT_FIELD_XVAL,
		       ptrace_bts_sources, "PTRACE_BTS_SOURCE_???");
	NEXT_FIELD_LEN(info, sources, len, PRINT_FIELD_FLAGS,
		       ptrace_bts_source_bits, "1<<PTRACE_BTS_SOURCE_???");
	NEXT_FIELD_LEN(info, flags, len, PRINT_FIELD_FLAGS,
		       ptrace_bts_flags, "PTRACE_BTS_F_???");
	NEXT_FIELD_LEN(info, record_flags, len, PRINT_FIELD_FLAGS,
		       x86_bts_flags, "X86_BTS_F_???");
	NEXT_FIELD_LEN(info, bts_size, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(info, max_records, len, PRINT_FIELD_U);
	NEXT_FIELD_LEN(info, clocks, len, PRINT_FIELD_FLAGS,
		       ptrace_bts_clock_bits, "1<<PTRACE_BTS_CLOCK_???");
	if (MIN(room, info.size) > sizeof(info)) {
		tprint_struct_next();
		tprint_more_data_follows();
	}
	tprint_struct_end();
}

/* Print the argument of arch_prctl(ARCH_GET_PTRACE_BTS). */
int
decode_ptrace_bts_info(struct tcb *const tcp, const kernel_ulong_t addr)
{
	struct_ptrace_bts_info info;
	const unsigned int len = offsetofend(struct_ptrace_bts_info, source);

	if (exiting(tcp)) {
		print_ptrace_bts_info_exiting(tcp, addr);
		return 0;
	}

	if (umoven_or_printaddr(tcp, addr, len, &info))
		return RVAL_DECODED;

	tprint_struct_begin();
	PRINT_FIELD_U(info, size);
	tprint_struct_next();
	PRINT_FIELD_XVAL(info, source, ptrace_bts_sources,
			 "PTRACE_BTS_SOURCE_???");
	tprint_struct_end();

	if (info.size < len)
		return RVAL_DECODED;
	set_tcb_priv_ulong(tcp, info.size);

	return 0;
}

#endif /* I386 || X86_64 || X32 */
