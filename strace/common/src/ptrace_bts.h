/*
 * Copyright (c) 2026 The strace developers.
 * All rights reserved.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#ifndef STRACE_PTRACE_BTS_H
# define STRACE_PTRACE_BTS_H

# include <stdint.h>

/*
 * The structures of <asm/ptrace_bts.h> and <asm/bts.h>.  They are the same
 * for all x86 ABIs.
 */

typedef struct {
	uint32_t size;
	uint32_t flags;
	uint32_t signal;
	uint32_t bts_size;
	uint32_t source;
	uint32_t clock;
} struct_ptrace_bts_config;

typedef struct {
	uint32_t size;
	uint32_t flags;
	uint32_t signal;
	uint32_t bts_size;
	uint64_t held;
	uint64_t lost;
	uint64_t overwritten;
	uint32_t gaps;
	uint32_t source;
	uint32_t clock;
	uint32_t not_inherited;
	uint64_t next;
	uint32_t record_flags;
	uint32_t state;
} struct_ptrace_bts_status;

typedef struct {
	uint64_t first;
	uint64_t records;
	uint32_t count;
	uint32_t flags;
} struct_ptrace_bts_read;

typedef struct {
	uint32_t size;
	uint32_t source;
	uint32_t sources;
	uint32_t flags;
	uint32_t record_flags;
	uint32_t bts_size;
	uint32_t max_records;
	uint32_t clocks;
} struct_ptrace_bts_info;

typedef struct {
	uint16_t type;
	uint16_t flags;
	uint32_t info;
	union {
		struct {
			uint64_t from;
			uint64_t to;
		} branch;
		struct {
			uint64_t clock;
			int32_t pid;
			uint32_t cpu;
		} event;
		struct {
			uint64_t clock;
			uint64_t count;
		} lost;
	};
} struct_x86_bts_record;

#endif /* !STRACE_PTRACE_BTS_H */
