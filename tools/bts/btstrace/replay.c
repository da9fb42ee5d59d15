// SPDX-License-Identifier: GPL-2.0
/* This file reads recorded traces. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk.h"
#include "kernel.h"
#include "replay.h"

/* Pass at most this many records to bt_session_records() at once. */
#define RECORDS_MAX	1024

static char *copy_text(const u8 *bytes, size_t len)
{
	char *s = bt_alloc(len + 1, 1);

	memcpy(s, bytes, len);
	return s;
}

static void replay_records(struct bt_session *s, pid_t tid, const u8 *bytes, size_t len)
{
	struct x86_bts_record rec[RECORDS_MAX];
	size_t n, left = len / sizeof(*rec);

	for (; left; left -= n, bytes += n * sizeof(*rec)) {
		n = left < RECORDS_MAX ? left : RECORDS_MAX;
		/* The records may be unaligned in the file. */
		memcpy(rec, bytes, n * sizeof(*rec));
		bt_session_records(s, tid, rec, n);
	}
}

static void replay_task(struct bt_session *s, const struct bt_chunk *chunk, const u8 *bytes)
{
	struct bt_chunk_task task;
	char *comm;

	memcpy(&task, bytes, sizeof(task));
	comm = copy_text(bytes + sizeof(task), chunk->len - sizeof(task));
	if (chunk->type == BT_CHUNK_THREAD)
		bt_session_thread(s, chunk->tid, task.id, task.is64, comm);
	else
		bt_session_exec(s, chunk->tid, task.id, task.is64, comm);
	free(comm);
}

static void replay_text(struct bt_session *s, const struct bt_chunk *chunk, const u8 *bytes)
{
	char *text = copy_text(bytes, chunk->len);

	if (chunk->type == BT_CHUNK_NOTE)
		bt_session_note(s, chunk->tid, text);
	else
		bt_session_exit(s, chunk->tid, chunk->len ? text : NULL);
	free(text);
}

static void replay_kernel(const u8 *bytes, size_t len)
{
	char id[64];

	bt_kernel_use(bt_kernel_boot(id, sizeof(id)) && strlen(id) == len &&
		      !memcmp(id, bytes, len));
}

static bool replay_chunk(struct bt_session *s, const struct bt_chunk *chunk, const u8 *bytes)
{
	u64 addr;

	switch (chunk->type) {
	case BT_CHUNK_THREAD:
	case BT_CHUNK_EXEC:
		if (chunk->len < sizeof(struct bt_chunk_task))
			return false;
		replay_task(s, chunk, bytes);
		return true;
	case BT_CHUNK_MAPS:
		bt_session_maps(s, chunk->tid, (const char *)bytes, chunk->len);
		return true;
	case BT_CHUNK_JIT:
		bt_session_jit(s, chunk->tid, (const char *)bytes, chunk->len);
		return true;
	case BT_CHUNK_CODE:
	case BT_CHUNK_ENDED_AT:
		if (chunk->len < sizeof(addr))
			return false;
		memcpy(&addr, bytes, sizeof(addr));
		if (chunk->type == BT_CHUNK_ENDED_AT)
			bt_session_ended_at(s, chunk->tid, addr);
		else
			bt_session_code(s, chunk->tid, addr, bytes + sizeof(addr),
					chunk->len - sizeof(addr));
		return true;
	case BT_CHUNK_RECORDS:
		replay_records(s, chunk->tid, bytes, chunk->len);
		return true;
	case BT_CHUNK_KERNEL:
		replay_kernel(bytes, chunk->len);
		return true;
	case BT_CHUNK_NOTE:
	case BT_CHUNK_EXIT:
		replay_text(s, chunk, bytes);
		return true;
	}
	/* Ignore BT_CHUNK_FILE, which bt_file_check() reads, and chunks of later versions. */
	return true;
}

/*
 * Compare the identity in a BT_CHUNK_FILE with that of the file that has the path now. Call
 * @tell if they differ, or if the file cannot be opened. Returns false only if they differ.
 */
static bool fits(const struct bt_chunk *chunk, const u8 *bytes, bt_misfit *tell)
{
	struct bt_ident then, now = {};
	bool same;
	char *path;
	int fd;

	if (chunk->len < sizeof(then))
		return true;
	memcpy(&then, bytes, sizeof(then));
	if (then.len > BT_IDENT_MAX)
		return true;
	path = copy_text(bytes + sizeof(then), chunk->len - sizeof(then));
	fd = bt_module_open_path(path);
	if (fd >= 0) {
		bt_ident_read(fd, &now);
		close(fd);
	}
	same = fd < 0 || bt_ident_same(&then, &now);
	if (fd < 0 || !same)
		tell(path, &then, fd < 0 ? NULL : &now);
	free(path);
	return same;
}

/*
 * bt_file_check - look for programs and libraries that have changed since they were traced
 * @bytes: the recorded trace
 * @len: the number of bytes
 * @tell: called for each file that has changed, or cannot be opened
 *
 * Returns the number of files that have changed, without those that cannot be opened.
 */
size_t bt_file_check(const u8 *bytes, size_t len, bt_misfit *tell)
{
	size_t at = strlen(BT_FILE_MAGIC), misfits = 0;
	struct bt_chunk chunk;

	if (len < at || memcmp(bytes, BT_FILE_MAGIC, at))
		return 0;
	while (len - at >= sizeof(chunk)) {
		memcpy(&chunk, bytes + at, sizeof(chunk));
		at += sizeof(chunk);
		if (chunk.len > len - at)
			break;
		if (chunk.type == BT_CHUNK_FILE)
			misfits += !fits(&chunk, bytes + at, tell);
		at += chunk.len;
	}
	return misfits;
}

/*
 * bt_file_replay - pass a recorded trace to a session
 * @s: the session, after bt_session_begin()
 * @bytes: the recorded trace
 * @len: the number of bytes
 *
 * Returns NULL, or a message that says what is wrong with the trace. Everything before the
 * error was passed to the session. Also returns NULL, early, if the output cannot be written.
 */
const char *bt_file_replay(struct bt_session *s, const u8 *bytes, size_t len)
{
	size_t at = strlen(BT_FILE_MAGIC);
	struct bt_chunk chunk;

	if (len < at || memcmp(bytes, BT_FILE_MAGIC, at))
		return "it was not written by btstrace -w, or by another version";
	bt_kernel_use(false);
	while (at < len) {
		if (len - at < sizeof(chunk))
			return "it is cut short";
		memcpy(&chunk, bytes + at, sizeof(chunk));
		at += sizeof(chunk);
		if (chunk.len > BT_CHUNK_MAX || chunk.len > len - at)
			return "it is cut short";
		if (!replay_chunk(s, &chunk, bytes + at))
			return "it is damaged";
		at += chunk.len;
		if (s->text.error)
			return NULL;
	}
	return s->nr_threads ? NULL : "it holds the trace of no thread";
}
