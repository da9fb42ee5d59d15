// SPDX-License-Identifier: GPL-2.0
/* This file keeps all modules. Modules with the same file and path share its functions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module.h"

#define DELETED		" (deleted)"

#define MODULES_BITS		12

static struct bt_module *modules, **last = &modules;
/* Hash tables of modules: @by_base by file and base address, @by_file by file only */
static struct bt_module *by_base[1 << MODULES_BITS], *by_file[1 << MODULES_BITS];
static u32 next_id;

static struct bt_module **slot_of(struct bt_module **table, u64 dev, u64 ino, u64 base)
{
	return &table[bt_hash(dev ^ ino << 20 ^ base >> 12, MODULES_BITS)];
}

const struct bt_module *bt_modules(void)
{
	return modules;
}

/*
 * Open @path if it is a regular file with the inode @ino, or with any inode if @ino is 0.
 * Returns -1 and sets errno on failure.
 */
static int open_same(const char *path, u64 ino)
{
	struct stat st;
	int fd;

	/* Check the type first: opening a device or a FIFO may have side effects. */
	if (stat(path, &st))
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = ENOENT;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!ino || st.st_ino == ino))
		return fd;
	close(fd);
	errno = ENOENT;
	return -1;
}

/*
 * Open the mapped file. If a file with another inode has its path now, do not open that one. Try
 * several paths: which path works depends on privileges, and on whether the file was deleted.
 * Returns -1 on failure.
 */
static int open_live(const struct bt_map *map, pid_t pid)
{
	char * const paths[] = {
		bt_print("/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)map->start,
			 (unsigned long long)map->end),
		bt_print("/proc/%d/root%s", pid, map->path),
		bt_print("/proc/%d/exe", pid),
	};
	size_t i;
	int fd = -1;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		if (fd < 0)
			fd = open_same(paths[i], map->ino);
		free(paths[i]);
	}
	return fd;
}

/*
 * Open the file that the thread @pid has mapped. If @pid is 0, open the file that has the path now.
 * Returns -1 on failure.
 */
int bt_module_open(const struct bt_map *map, pid_t pid)
{
	return pid ? open_live(map, pid) : open_same(map->path, 0);
}

/* Open the regular file that has this path now. Returns -1 and sets errno on failure. */
int bt_module_open_path(const char *path)
{
	return open_same(path, 0);
}

/* Returns the length of @path without " (deleted)", which marks the path of a deleted file. */
size_t bt_module_path_len(const char *path)
{
	size_t len = strlen(path), cut = strlen(DELETED);

	return len > cut && !strcmp(path + len - cut, DELETED) ? len - cut : len;
}

/*
 * Make a file in memory with the bytes of @image. Returns its descriptor, or -1 on failure. Set
 * *@sum to a checksum. The caller uses it as the inode: the vdso of 32-bit programs must differ
 * from that of 64-bit programs.
 */
static int open_image(const u8 *image, size_t len, u64 *sum)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	size_t i;

	if (fd >= 0 && write(fd, image, len) != (ssize_t)len) {
		close(fd);
		fd = -1;
	}
	for (*sum = len, i = 0; i < len; i++)
		*sum = (*sum ^ image[i]) * 0x100000001b3ull;
	return fd;
}

static char *module_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!*path)
		return bt_copy("[anon]");
	return bt_copy(*path == '/' && slash[1] ? slash + 1 : path);
}

static struct bt_module *add_module(const char *path, u64 dev, u64 ino, u64 base)
{
	struct bt_module *m = bt_alloc(1, sizeof(*m)), **slot;

	m->path = bt_copy(path);
	m->name = module_name(path);
	m->dev = dev;
	m->ino = ino;
	m->base = base;
	m->all.name = m->name;
	m->all.end = UINT64_MAX;
	*last = m;
	last = &m->next;
	slot = slot_of(by_base, dev, ino, base);
	m->same_base = *slot;
	*slot = m;
	return m;
}

/* Returns the module of addresses of user mode for which no mapping is known. */
struct bt_module *bt_module_none(void)
{
	static struct bt_module none = {
		.name = "[unknown]", .path = "", .id = UINT32_MAX, .end = UINT64_MAX,
		.all = { .name = "[unknown]", .end = UINT64_MAX },
	};

	return &none;
}

struct bt_module *bt_module_kernel(void)
{
	static struct bt_module kernel = {
		.name = "[kernel]", .path = "", .id = UINT32_MAX, .end = UINT64_MAX,
		.all = { .name = "[kernel]", .end = UINT64_MAX },
	};

	return &kernel;
}

static bool same_file(const struct bt_map *a, const struct bt_map *b)
{
	return a->ino == b->ino && a->dev == b->dev && !strcmp(a->path, b->path);
}

/*
 * Set *@base and *@end to those of the module that the line with the index @first is part of;
 * see struct bt_module. A mapped file may have several lines, one after the other. A line of
 * another file or of no file begins another module, and so does a line whose offset is not greater
 * than that of the line before.
 */
static void find_extent(const struct bt_map *maps, size_t n, size_t first, u64 *base, u64 *end)
{
	size_t i = first;

	while (i && same_file(&maps[i - 1], &maps[first]) && maps[i - 1].offset < maps[i].offset)
		i--;
	*base = maps[i].start;
	if (maps[first].ino && maps[i].offset <= maps[i].start)
		*base -= maps[i].offset;
	i = first;
	while (i + 1 < n && same_file(&maps[i + 1], &maps[first]) &&
	       maps[i + 1].offset > maps[i].offset)
		i++;
	*end = maps[i].end;
}

static void open_elf(struct bt_module *m, const struct bt_map *map, pid_t pid, int fd)
{
	struct bt_module **slot = slot_of(by_file, m->dev, m->ino, 0);
	const struct bt_module *other;

	for (other = *slot; other; other = other->same_file)
		if (other->ino == m->ino && other->dev == m->dev && !strcmp(other->path, m->path))
			break;
	m->same_file = *slot;
	*slot = m;
	if (other) {
		m->elf = other->elf;
		m->id = other->id;
		if (fd >= 0)
			close(fd);
		return;
	}
	m->id = next_id++;
	if (fd < 0 && *m->path == '/')
		fd = pid ? open_live(map, pid) : open_same(m->path, 0);
	if (fd >= 0)
		m->elf = bt_elf_open(fd, m->path);
	m->opened = m->elf;
}

/*
 * bt_module_of - find or make the module of a mapping
 * @maps: all lines of /proc/PID/maps
 * @n: the number of lines
 * @first: the index of the line of the mapping
 * @pid: a thread of the process, to open the file that it has mapped; 0 to open the file that has
 *	the path now
 * @image: the bytes of this mapping if it is the vdso; or NULL
 * @len: the number of bytes of @image
 */
struct bt_module *bt_module_of(const struct bt_map *maps, size_t n, size_t first, pid_t pid,
			       const u8 *image, size_t len)
{
	const struct bt_map *map = &maps[first];
	u64 base = 0, end = UINT64_MAX, ino = map->ino;
	struct bt_module *m;
	char *path;
	int fd = -1;

	if (*map->path)
		find_extent(maps, n, first, &base, &end);
	if (image)
		fd = open_image(image, len, &ino);
	path = bt_copy(map->path);
	path[bt_module_path_len(path)] = '\0';
	for (m = *slot_of(by_base, map->dev, ino, base); m; m = m->same_base)
		if (m->base == base && m->ino == ino && m->dev == map->dev &&
		    !strcmp(m->path, path))
			break;
	if (!m) {
		m = add_module(path, map->dev, ino, base);
		open_elf(m, map, pid, fd);
	} else if (fd >= 0) {
		close(fd);
	}
	if (m->end < end)
		m->end = end;
	free(path);
	return m;
}

void bt_modules_free(void)
{
	struct bt_module *m, *next;

	for (m = modules; m; m = next) {
		next = m->next;
		/* Several modules may share @elf: close it once. */
		bt_elf_close(m->opened);
		free(m->path);
		free(m->name);
		free(m);
	}
	modules = NULL;
	last = &modules;
	next_id = 0;
	memset(by_base, 0, sizeof(by_base));
	memset(by_file, 0, sizeof(by_file));
}
