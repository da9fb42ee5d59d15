// SPDX-License-Identifier: GPL-2.0
/* Recorded traces */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

#define VDSO_MAX	(256 * 1024)

#define FILE_BITS	8

/* A file of which was written which it is */
struct known {
	u64		dev;
	u64		ino;
	struct known	*next;
};

struct bt_writer {
	struct bt_text text;
	struct known *known[1 << FILE_BITS];
};

static void write_chunk(struct bt_writer *w, enum bt_chunk_type type, pid_t tid,
			const void *head, size_t head_len, const void *body, size_t body_len)
{
	struct bt_chunk chunk = { .type = type, .tid = tid, .len = head_len + body_len };

	text_put(&w->text, &chunk, sizeof(chunk));
	text_put(&w->text, head, head_len);
	text_put(&w->text, body, body_len);
}

/* The names of its functions can be had in this boot only. */
static void write_kernel(struct bt_writer *w)
{
	char id[64];

	if (bt_kernel_boot(id, sizeof(id)))
		write_chunk(w, BT_CHUNK_KERNEL, 0, "", 0, id, strlen(id));
}

struct bt_writer *bt_writer_open(int fd)
{
	struct bt_writer *w = bt_alloc(1, sizeof(*w));

	text_open(&w->text, fd);
	w->text.old = true;
	text_str(&w->text, BT_FILE_MAGIC);
	write_kernel(w);
	return w;
}

/* Returns errno of the first write that failed, or 0. */
int bt_writer_error(const struct bt_writer *w)
{
	return w->text.error;
}

/* There is no trace: the file stays as it was. */
void bt_writer_drop(struct bt_writer *w)
{
	text_drop(&w->text);
}

/* The same */
int bt_writer_close(struct bt_writer *w)
{
	int error;

	struct known *k;
	size_t i;

	text_close(&w->text);
	error = w->text.error;
	for (i = 0; i < ARRAY_SIZE(w->known); i++) {
		while ((k = w->known[i])) {
			w->known[i] = k->next;
			free(k);
		}
	}
	free(w);
	return error;
}

void bt_write_thread(struct bt_writer *w, pid_t tid, pid_t tgid, bool is64, const char *comm)
{
	struct bt_chunk_task task = { .id = tgid, .is64 = is64 };

	write_chunk(w, BT_CHUNK_THREAD, tid, &task, sizeof(task), comm, strlen(comm));
}

static bool is_known(struct bt_writer *w, const struct bt_map *map)
{
	struct known **slot = &w->known[bt_hash(map->dev ^ map->ino << 20, FILE_BITS)], *k;

	for (k = *slot; k; k = k->next)
		if (k->dev == map->dev && k->ino == map->ino)
			return true;
	k = bt_alloc(1, sizeof(*k));
	*k = (struct known){ map->dev, map->ino, *slot };
	*slot = k;
	return false;
}

/* Which file that is, by what is in it: later there may be another by its name. */
static void write_file_of(struct bt_writer *w, pid_t tid, const struct bt_map *map, pid_t pid)
{
	struct bt_ident id;
	int fd;

	if (!map->ino || !map->executable || is_known(w, map))
		return;
	fd = bt_module_open(map, pid);
	if (fd < 0)
		return;
	bt_ident_read(fd, &id);
	close(fd);
	if (id.kind != BT_IDENT_NONE)
		write_chunk(w, BT_CHUNK_FILE, tid, &id, sizeof(id), map->path,
			    bt_module_path_len(map->path));
}

/* The maps, and the kernel's page of code, which is needed whole for its symbols. */
void bt_write_maps(struct bt_writer *w, pid_t tid, const char *text, size_t len,
		   struct bt_space *space)
{
	size_t n, got;
	const struct bt_map *map = bt_space_maps(space, &n);
	u8 *bytes;

	write_chunk(w, BT_CHUNK_MAPS, tid, "", 0, text, len);
	for (; n; n--, map++) {
		write_file_of(w, tid, map, bt_space_pid(space));
		if (strcmp(map->path, "[vdso]") || map->end - map->start > VDSO_MAX)
			continue;
		bytes = bt_alloc(map->end - map->start, 1);
		got = bt_space_read(space, map->start, bytes, map->end - map->start);
		if (got)
			write_chunk(w, BT_CHUNK_CODE, tid, &map->start, sizeof(map->start),
				    bytes, got);
		free(bytes);
	}
}

static void write_code(struct bt_writer *w, pid_t tid, struct bt_space *space, u64 addr)
{
	u8 bytes[BT_PAGE];
	size_t n = bt_space_new_code(space, addr, bytes);

	addr -= addr % BT_PAGE;
	if (n)
		write_chunk(w, BT_CHUNK_CODE, tid, &addr, sizeof(addr), bytes, n);
}

/* Records, and before them the code that no file holds, around both ends. */
void bt_write_records(struct bt_writer *w, pid_t tid, const struct x86_bts_record *rec, size_t n,
		      struct bt_space *space)
{
	u64 last[2] = {}, addr;
	size_t i, end;

	for (i = 0; i < n * 2; i++) {
		end = i % 2;
		addr = end ? rec[i / 2].branch.to : rec[i / 2].branch.from;
		if (!bt_is_branch(&rec[i / 2]) || addr < BT_INSN_MAX || addr == last[end])
			continue;
		last[end] = addr;
		write_code(w, tid, space, addr - BT_BEFORE);
		write_code(w, tid, space, addr + BT_INSN_MAX - 1);
	}
	write_chunk(w, BT_CHUNK_RECORDS, tid, "", 0, rec, n * sizeof(*rec));
}

void bt_write_jit(struct bt_writer *w, pid_t tid, const char *text, size_t len)
{
	write_chunk(w, BT_CHUNK_JIT, tid, "", 0, text, len);
}

void bt_write_exec(struct bt_writer *w, pid_t tid, pid_t old, bool is64, const char *comm)
{
	struct bt_chunk_task task = { .id = old, .is64 = is64 };

	write_chunk(w, BT_CHUNK_EXEC, tid, &task, sizeof(task), comm, strlen(comm));
}

void bt_write_note(struct bt_writer *w, pid_t tid, const char *what)
{
	write_chunk(w, BT_CHUNK_NOTE, tid, "", 0, what, strlen(what));
}

void bt_write_ended_at(struct bt_writer *w, pid_t tid, u64 addr)
{
	write_chunk(w, BT_CHUNK_ENDED_AT, tid, "", 0, &addr, sizeof(addr));
}

void bt_write_exit(struct bt_writer *w, pid_t tid, const char *how)
{
	write_chunk(w, BT_CHUNK_EXIT, tid, "", 0, how ? how : "", how ? strlen(how) : 0);
}

static char *copy_text(const u8 *bytes, size_t len)
{
	char *s = bt_alloc(len + 1, 1);

	memcpy(s, bytes, len);
	return s;
}

static void replay_records(struct bt_session *s, pid_t tid, const u8 *bytes, size_t len)
{
	size_t n = len / sizeof(struct x86_bts_record);
	struct x86_bts_record *rec = bt_alloc(n, sizeof(*rec));

	/* In the file they stand anywhere. */
	memcpy(rec, bytes, n * sizeof(*rec));
	bt_session_records(s, tid, rec, n);
	free(rec);
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
	/* Something that a later version writes. */
	return true;
}

/* Is the file that a chunk tells of still the same? */
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
 * bt_file_check - are the programs and libraries still those that were traced?
 * @bytes: the file
 * @len: its length
 * @tell: called for each that is not
 *
 * Returns how many are others now.
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
 * bt_file_replay - tell a session what a recorded trace holds
 * @s: the session, begun
 * @bytes: the file
 * @len: its length
 *
 * Returns NULL, or what is wrong with the file; all before that was told.
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
