/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The format of the file of a recorded trace (btstrace -w). The file contains what is needed to
 * pass the trace to a session again (see session.h), so that btstrace -r can show it later, or
 * on another machine. The file begins with the line BT_FILE_MAGIC. Chunks follow: each is a
 * struct bt_chunk and its contents, in the byte order of x86.
 */
#ifndef BTSTRACE_CHUNK_H
#define BTSTRACE_CHUNK_H

#include "bt.h"

#define BT_FILE_MAGIC	"btstrace 1\n"

/* The types of chunks, and the contents of each */
enum bt_chunk_type {
	BT_CHUNK_THREAD = 1,	/* struct bt_chunk_task, name */
	BT_CHUNK_MAPS,		/* text of /proc/PID/maps */
	BT_CHUNK_CODE,		/* address, bytes */
	BT_CHUNK_RECORDS,	/* struct x86_bts_record[] */
	BT_CHUNK_EXEC,		/* struct bt_chunk_task, name */
	BT_CHUNK_NOTE,		/* text: a message about the thread */
	BT_CHUNK_EXIT,		/* text: how the thread ended, or nothing */
	BT_CHUNK_KERNEL,	/* text: the boot ID, see write_kernel() */
	BT_CHUNK_ENDED_AT,	/* address that the thread would have executed next, or 0 */
	BT_CHUNK_FILE,		/* struct bt_ident, path: of a file whose code is mapped */
	BT_CHUNK_JIT,		/* text: lines as in /tmp/perf-PID.map */
};

struct bt_chunk {
	u32	type;
	u32	tid;
	u64	len;	/* of the contents that follow, in bytes */
};

/*
 * struct bt_chunk_task - the beginning of BT_CHUNK_THREAD and BT_CHUNK_EXEC
 * @id: THREAD: the ID of the process; EXEC: the ID that the thread had before execve()
 * @is64: the program is 64-bit
 */
struct bt_chunk_task {
	u32	id;
	u32	is64;
};

/* A chunk with more contents than this is damaged. */
#define BT_CHUNK_MAX	(1024ull * 1024 * 1024)

#endif
