/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A recorded trace: everything that a session was told, to be told again, on
 * another day or another machine. The file is a line that says what it is, then
 * chunks, in the byte order and alignment of x86.
 */
#ifndef BTSTRACE_FILE_H
#define BTSTRACE_FILE_H

#include "ident.h"
#include "session.h"

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

struct bt_writer *bt_writer_open(int fd);
int bt_writer_error(const struct bt_writer *w);
int bt_writer_close(struct bt_writer *w);
void bt_writer_drop(struct bt_writer *w);
void bt_write_thread(struct bt_writer *w, pid_t tid, pid_t tgid, bool is64, const char *comm);
void bt_write_maps(struct bt_writer *w, pid_t tid, const char *maps, size_t len,
		   struct bt_space *space);
void bt_write_records(struct bt_writer *w, pid_t tid, const struct x86_bts_record *rec, size_t n,
		      struct bt_space *space);
void bt_write_jit(struct bt_writer *w, pid_t tid, const char *text, size_t len);
void bt_write_exec(struct bt_writer *w, pid_t tid, pid_t old, bool is64, const char *comm);
void bt_write_note(struct bt_writer *w, pid_t tid, const char *what);
void bt_write_ended_at(struct bt_writer *w, pid_t tid, u64 addr);
void bt_write_exit(struct bt_writer *w, pid_t tid, const char *how);

/* Says that a file is another than it was, or that it is gone: then @now is NULL. */
typedef void bt_misfit(const char *path, const struct bt_ident *then, const struct bt_ident *now);

size_t bt_file_check(const u8 *bytes, size_t len, bt_misfit *tell);
const char *bt_file_replay(struct bt_session *s, const u8 *bytes, size_t len);

#endif
