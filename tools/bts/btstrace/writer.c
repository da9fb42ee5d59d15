// SPDX-License-Identifier: GPL-2.0
/* This file writes recorded traces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk.h"
#include "ident.h"
#include "kernel.h"
#include "record.h"
#include "text.h"
#include "writer.h"

#define FILE_BITS	8

/* struct known - a file whose struct bt_ident was written, or could not be read */
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

/* Write the boot ID: the addresses of kernel functions are valid until the next boot only. */
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
	w->text.truncate = true;
	text_str(&w->text, BT_FILE_MAGIC);
	write_kernel(w);
	return w;
}

/* Returns errno of the first write or truncation that failed, or 0. */
int bt_writer_error(const struct bt_writer *w)
{
	return w->text.error;
}

/* Nothing was traced: write nothing to the file, and do not truncate it. */
void bt_writer_drop(struct bt_writer *w)
{
	text_drop(&w->text);
}

/*
 * Close the file, and free @w. Returns errno of the first write or truncation that failed, or of
 * close(), or 0.
 */
int bt_writer_close(struct bt_writer *w)
{
	struct known *k;
	int error;
	size_t i;

	text_close(&w->text);
	error = w->text.error;
	if (close(w->text.fd) && !error)
		error = errno;
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

/*
 * If a file is mapped as executable code, write its identity, once: when the trace is shown,
 * another file may have the same path.
 */
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

/*
 * Write the mappings, the identity of each file with code, unless it was written before, and the
 * vdso, which contains its symbols. Leave out what cannot be read.
 */
void bt_write_maps(struct bt_writer *w, pid_t tid, const char *text, size_t len,
		   struct bt_space *space)
{
	size_t n, got;
	const struct bt_map *map = bt_space_maps(space, &n);
	u8 *bytes;

	write_chunk(w, BT_CHUNK_MAPS, tid, "", 0, text, len);
	for (; n; n--, map++) {
		write_file_of(w, tid, map, bt_space_pid(space));
		if (strcmp(map->path, BT_VDSO) || map->end - map->start > BT_VDSO_MAX)
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

/*
 * Write records. Before them, write the code around the source and the target of each branch, as
 * far as bt_space_new_code() returns it.
 */
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
