/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The format of a recorded trace: everything that a session was told, to be told
 * again, on another day or another machine. The file is a line that says what it
 * is, then chunks, in the byte order and alignment of x86.
 */
#ifndef BTSTRACE_CHUNK_H
#define BTSTRACE_CHUNK_H

#include "bt.h"

#define BT_FILE_MAGIC	"btstrace 1\n"

enum bt_chunk_type {
	BT_CHUNK_THREAD = 1,	/* struct bt_chunk_task, name */
	BT_CHUNK_MAPS,		/* text */
	BT_CHUNK_CODE,		/* address, bytes */
	BT_CHUNK_RECORDS,	/* struct x86_bts_record[] */
	BT_CHUNK_EXEC,		/* struct bt_chunk_task, name */
	BT_CHUNK_NOTE,		/* text */
	BT_CHUNK_EXIT,		/* text, or nothing */
	BT_CHUNK_KERNEL,	/* text: which boot of which machine */
	BT_CHUNK_ENDED_AT,	/* address */
	BT_CHUNK_FILE,		/* struct bt_ident, path: before the first that is mapped there */
	BT_CHUNK_JIT,		/* text: lines of /tmp/perf-PID.map */
};

struct bt_chunk {
	u32	type;
	u32	tid;
	u64	len;	/* of what follows */
};

/*
 * struct bt_chunk_task - what a thread is
 * @id: THREAD: of its process; EXEC: the one that it had before
 * @is64: of the program
 */
struct bt_chunk_task {
	u32	id;
	u32	is64;
};

/* No chunk is longer. */
#define BT_CHUNK_MAX	(1024ull * 1024 * 1024)

#endif
