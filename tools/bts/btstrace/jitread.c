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
 * struct file - a file that a compiler writes
 * @at: the offset up to which the file was read
 * @ino, @mtime: its inode and time of modification when has_more() looked at it last
 * @old: the process has called execve() since: assume that the file is of the old program until
 *	@ino or @mtime changes. Then read the file again from its beginning.
 */
struct file {
	u64		at;
	ino_t		ino;
	struct timespec	mtime;
	bool		old;
};

struct process {
	pid_t		tgid;
	struct file	map;	/* /tmp/perf-PID.map */
	struct file	dump;	/* the jitdump */
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

static struct process *find_process(struct bt_jit_reader *r, pid_t tgid)
{
	struct process *p = r->slot[bt_hash(tgid, PROCESSES_BITS)];

	while (p && p->tgid != tgid)
		p = p->next;
	return p;
}

static struct process *get_process(struct bt_jit_reader *r, pid_t tgid)
{
	struct process **slot = &r->slot[bt_hash(tgid, PROCESSES_BITS)];
	struct process *p = find_process(r, tgid);

	if (p)
		return p;
	p = bt_alloc(1, sizeof(*p));
	p->tgid = tgid;
	p->next = *slot;
	*slot = p;
	return p;
}

/* The process @tgid has called execve(): do not use the files of its old program. */
void bt_jit_exec(struct bt_jit_reader *r, pid_t tgid)
{
	struct process *p = find_process(r, tgid);

	if (!p)
		return;
	p->map.old = true;
	p->dump.old = true;
}

/* Does a file have a part to read? This part begins at @f->at. */
static bool has_more(struct file *f, const struct stat *st)
{
	bool same = f->ino == st->st_ino && f->mtime.tv_sec == st->st_mtim.tv_sec &&
		    f->mtime.tv_nsec == st->st_mtim.tv_nsec;

	if (!S_ISREG(st->st_mode) || (f->old && same))
		return false;
	if (f->old)
		f->at = 0;
	f->old = false;
	f->ino = st->st_ino;
	f->mtime = st->st_mtim;
	return (u64)st->st_size > f->at;
}

/*
 * Read the part of a file that was not read yet, READ_MAX bytes at most. Returns NULL if there
 * is none, or if the file cannot be opened. The caller adds to @f->at the number of bytes that
 * it has used.
 */
static char *read_more(struct file *f, pid_t tgid, const char *path, size_t *len)
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
	if (!fstat(fd, &st) && has_more(f, &st)) {
		*len = st.st_size - f->at < READ_MAX ? st.st_size - f->at : READ_MAX;
		text = bt_alloc(*len + 1, 1);
		n = pread(fd, text, *len, f->at);
		*len = n < 0 ? 0 : n;
	}
	close(fd);
	return text;
}

/*
 * Read new lines of /tmp/perf-PID.map. If the last line has no newline, leave it for the next
 * call: the compiler may not have written all of it yet.
 */
static void read_map(struct bt_text *out, struct process *p)
{
	char *path = bt_print("/tmp/perf-%d.map", p->tgid), *text, *eol;
	size_t len = 0;

	text = read_more(&p->map, p->tgid, path, &len);
	eol = text ? memrchr(text, '\n', len) : NULL;
	if (eol) {
		text_put(out, text, eol + 1 - text);
		p->map.at += eol + 1 - text;
	}
	free(text);
	free(path);
}

/* Add a JIT_CODE_LOAD record of a jitdump to @out, as a line like those of /tmp/perf-PID.map. */
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

	text = read_more(&p->dump, p->tgid, path, &len);
	if (text && !p->dump.at && len >= sizeof(head)) {
		memcpy(&head, text, sizeof(head));
		at = head.magic == DUMP_MAGIC && head.size >= sizeof(head) && head.size <= len ?
		     head.size : len;
	}
	while (text && len - at >= sizeof(rec) && (p->dump.at || at)) {
		memcpy(&rec, text + at, sizeof(rec));
		if (rec.size < sizeof(rec) || rec.size > len - at)
			break;
		if (rec.id == DUMP_CODE_LOAD)
			put_load(out, text + at + sizeof(rec), rec.size - sizeof(rec));
		at += rec.size;
	}
	p->dump.at += at;
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

	/*
	 * Most just-in-time compilers put code into executable memory that no file is mapped
	 * to, and that may have a name by PR_SET_VMA_ANON_NAME: without such memory, do not look
	 * for lists.
	 */
	for (i = 0; i < n && !compiled; i++)
		compiled = maps[i].executable && !maps[i].ino &&
			   (*maps[i].path != '[' || !strncmp(maps[i].path, "[anon:", 6));
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
