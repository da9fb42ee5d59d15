// SPDX-License-Identifier: GPL-2.0
/* This file reads the files that just-in-time compilers write: /tmp/perf-PID.map and jitdump. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jitread.h"
#include "text.h"

/*
 * Read at most this much of a file at once. The next call of bt_jit_read() reads what
 * follows.
 */
#define READ_MAX	(64 * 1024 * 1024)

/*
 * struct process - a process, and the offsets up to which its files were read
 * @map: of /tmp/perf-PID.map
 * @dump: of the jitdump
 */
struct process {
	pid_t		tgid;
	u64		map;
	u64		dump;
	struct process	*next;
};

#define PROCESSES_BITS	8

struct bt_jit_reader {
	struct process *slot[1 << PROCESSES_BITS];
};

/* jitdump: see tools/perf/Documentation/jitdump-specification.txt */
#define DUMP_MAGIC	0x4a695444
#define DUMP_CODE_LOAD	0

struct dump_header {
	u32 magic;
	u32 version;
	u32 size;
	u32 machine;
	u32 pad;
	u32 pid;
	u64 timestamp;
	u64 flags;
};

struct dump_record {
	u32 id;
	u32 size;
	u64 timestamp;
};

struct dump_load {
	u32 pid;
	u32 tid;
	u64 vma;
	u64 addr;
	u64 size;
	u64 index;
};

struct bt_jit_reader *bt_jit_reader_new(void)
{
	return bt_alloc(1, sizeof(struct bt_jit_reader));
}

void bt_jit_reader_free(struct bt_jit_reader *r)
{
	struct process *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(r->slot); i++) {
		while ((p = r->slot[i])) {
			r->slot[i] = p->next;
			free(p);
		}
	}
	free(r);
}

static struct process *get_process(struct bt_jit_reader *r, pid_t tgid)
{
	struct process **slot = &r->slot[bt_hash(tgid, PROCESSES_BITS)], *p;

	for (p = *slot; p; p = p->next)
		if (p->tgid == tgid)
			return p;
	p = bt_alloc(1, sizeof(*p));
	p->tgid = tgid;
	p->next = *slot;
	*slot = p;
	return p;
}

/*
 * bt_jit_exec - forget what was read of a process that has called execve()
 * @r: the reader
 * @tgid: the process; the compiler of its new program writes the files anew
 */
void bt_jit_exec(struct bt_jit_reader *r, pid_t tgid)
{
	struct process *p = get_process(r, tgid);

	p->map = 0;
	p->dump = 0;
}

/* Read the part of a file behind the offset @at. Returns NULL if there is none. */
static char *read_more(u64 at, pid_t tgid, const char *path, size_t *len)
{
	char *real = bt_print("/proc/%d/root%s", tgid, path), *text = NULL;
	struct stat st;
	ssize_t n;
	int fd;

	/* Other users may have put a symbolic link or a FIFO there. */
	fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	free(real);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (u64)st.st_size > at) {
		*len = st.st_size - at < READ_MAX ? st.st_size - at : READ_MAX;
		text = bt_alloc(*len + 1, 1);
		n = pread(fd, text, *len, at);
		*len = n < 0 ? 0 : n;
	}
	close(fd);
	return text;
}

/*
 * Read new lines of /tmp/perf-PID.map. Leave a last line without its end: the compiler may
 * not have written all of it yet.
 */
static void read_map(struct bt_text *out, struct process *p)
{
	char *path = bt_print("/tmp/perf-%d.map", p->tgid), *text, *eol;
	size_t len = 0;

	text = read_more(p->map, p->tgid, path, &len);
	eol = text ? memrchr(text, '\n', len) : NULL;
	if (eol) {
		text_put(out, text, eol + 1 - text);
		p->map += eol + 1 - text;
	}
	free(text);
	free(path);
}

/* Write the record of a new function in a jitdump as a line of /tmp/perf-PID.map. */
static void put_load(struct bt_text *out, const char *bytes, size_t len)
{
	struct dump_load load;
	const char *name = bytes + sizeof(load);

	if (len < sizeof(load))
		return;
	memcpy(&load, bytes, sizeof(load));
	len = strnlen(name, len - sizeof(load));
	text_print(out, "%llx %llx %.*s\n", (unsigned long long)load.addr,
		   (unsigned long long)load.size, (int)(len < 1024 ? len : 1024), name);
}

static void read_dump(struct bt_text *out, struct process *p, const char *path)
{
	struct dump_header head;
	struct dump_record rec;
	size_t len = 0, at = 0;
	char *text;

	text = read_more(p->dump, p->tgid, path, &len);
	if (text && !p->dump && len >= sizeof(head)) {
		memcpy(&head, text, sizeof(head));
		at = head.magic == DUMP_MAGIC && head.size >= sizeof(head) && head.size <= len ?
		     head.size : len;
	}
	while (text && len - at >= sizeof(rec) && (p->dump || at)) {
		memcpy(&rec, text + at, sizeof(rec));
		if (rec.size < sizeof(rec) || rec.size > len - at)
			break;
		if (rec.id == DUMP_CODE_LOAD)
			put_load(out, text + at + sizeof(rec), rec.size - sizeof(rec));
		at += rec.size;
	}
	p->dump += at;
	free(text);
}

static bool is_dump(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = strlen(path);

	return slash && !strncmp(slash, "/jit-", 5) && len > 5 && !strcmp(path + len - 5, ".dump");
}

/*
 * bt_jit_read - read functions that a just-in-time compiler has listed since the last call
 * @r: the reader; it remembers how far each file was read
 * @tgid: the process
 * @maps: the lines of /proc/PID/maps
 * @n: the number of lines
 * @len: set to the length of the text
 *
 * Returns lines as in /tmp/perf-PID.map, which the caller frees, or NULL if there are none.
 */
char *bt_jit_read(struct bt_jit_reader *r, pid_t tgid, const struct bt_map *maps, size_t n,
		  size_t *len)
{
	bool compiled = false;
	struct process *p;
	struct bt_text out;
	size_t i;

	for (i = 0; i < n && !compiled; i++)
		compiled = maps[i].executable && !maps[i].ino && *maps[i].path != '[';
	if (!compiled)
		return NULL;
	p = get_process(r, tgid);
	text_open(&out, -1);
	read_map(&out, p);
	for (i = 0; i < n; i++)
		if (is_dump(maps[i].path)) {
			read_dump(&out, p, maps[i].path);
			break;
		}
	*len = out.used;
	if (!out.used)
		text_close(&out);
	return out.used ? out.buf : NULL;
}
