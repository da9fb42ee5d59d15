// SPDX-License-Identifier: GPL-2.0
/*
 * The partition that this system was booted from. It is found by its serial number, which
 * "vmtest.sh image" has written into it and into the kernel's command line. The kit mounts no other
 * partition. Of other disks and partitions, it reads only the first sector, but the kernel may read
 * more.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit.h"

#define STICK		"/stick"
#define WAIT_SECONDS	30

#define MOST_KEPT	99	/* earlier reports that are kept */

/* The reason why the stick is not mounted; NULL if it is mounted. */
static const char *problem = "the kernel was not told which disk is the stick";

/* Returns whether a boot sector is that of a FAT16 or FAT32 file system with the number @id. */
static bool has_id(const uint8_t *sector, uint32_t id)
{
	static const struct {
		const char *type;
		int type_at, id_at;
	} kinds[] = {
		{ "FAT16", 54, 39, },
		{ "FAT32", 82, 67, },
	};
	uint32_t found;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		memcpy(&found, sector + kinds[i].id_at, sizeof(found));
		if (found == id &&
		    !memcmp(sector + kinds[i].type_at, kinds[i].type, strlen(kinds[i].type)))
			return true;
	}
	return false;
}

static bool is_stick(const char *device, uint32_t id)
{
	uint8_t sector[512];
	int fd = open(device, O_RDONLY | O_CLOEXEC);
	bool is;

	if (fd < 0)
		return false;
	is = read(fd, sector, sizeof(sector)) == sizeof(sector) && has_id(sector, id);
	close(fd);
	return is;
}

static bool find_stick(uint32_t id, char *device, size_t size)
{
	glob_t all = { };
	bool found = false;
	size_t i;

	if (glob("/sys/class/block/*", 0, NULL, &all))
		return false;
	for (i = 0; i < all.gl_pathc && !found; i++) {
		snprintf(device, size, "/dev/%s", strrchr(all.gl_pathv[i], '/') + 1);
		found = is_stick(device, id);
	}
	globfree(&all);
	return found;
}

void stick_mount(const char *id)
{
	uint32_t serial = strtoul(id, NULL, 16);
	char device[64];
	int i;

	for (i = 0; i < WAIT_SECONDS; i++) {
		if (find_stick(serial, device, sizeof(device)))
			break;
		show_progress("waiting for the stick, %d s", i);
		poll(NULL, 0, 1000);
	}
	if (i == WAIT_SECONDS) {
		problem = "the stick was not found";
		return;
	}
	mkdir(STICK, 0700);
	if (mount(device, STICK, "vfat", MS_SYNCHRONOUS | MS_NOATIME | MS_NOEXEC, NULL)) {
		problem = errno == EROFS ? "the stick is write-protected" : strerror(errno);
		return;
	}
	problem = NULL;
}

void stick_unmount(void)
{
	if (!problem)
		umount(STICK);
	problem = "the stick is unmounted";
}

static void path_of(char *path, size_t size, const char *name)
{
	snprintf(path, size, STICK "/%s", name);
}

bool stick_read(const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	path_of(path, sizeof(path), name);
	fd = problem ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

/* Write before truncating: a crash in between must not leave an empty file. */
bool stick_write(const char *name, const char *text)
{
	size_t len = strlen(text);
	char path[64];
	bool good;
	int fd;

	path_of(path, sizeof(path), name);
	fd = problem ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	good = write(fd, text, len) == (ssize_t)len && !ftruncate(fd, len) && !fsync(fd);
	close(fd);
	return good;
}

const char *stick_problem(void)
{
	return problem;
}

void stick_keep(const char *name, const char *format)
{
	char old[64], new[64], free[32];
	int i;

	path_of(old, sizeof(old), name);
	for (i = 1; i <= MOST_KEPT; i++) {
		snprintf(free, sizeof(free), format, i);
		path_of(new, sizeof(new), free);
		if (access(new, F_OK))
			break;
	}
	if (!problem)
		rename(old, new);
}
