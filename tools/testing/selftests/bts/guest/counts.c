// SPDX-License-Identifier: GPL-2.0
/*
 * If the kernel counts how often lines of some of its files run (gcov), send the files with the
 * counts to the host: for each file a line "gcov PATH SIZE", then the file's content.
 */
#include <ftw.h>
#include <sys/stat.h>

#include "guest.h"

#define COUNTS	"/sys/kernel/debug/gcov"

static int port = -1;

static char *read_all(const char *path, size_t *size)
{
	size_t room = 1 << 16, n = 0;
	char *text = malloc(room);
	int fd = open(path, O_RDONLY);
	ssize_t got;

	while (text && fd >= 0 && (got = read(fd, text + n, room - n)) > 0) {
		n += got;
		if (n == room)
			text = realloc(text, room *= 2);
	}
	close(fd);
	*size = n;
	return text;
}

static int save(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *end = strrchr(path, '.');
	size_t size, done = 0;
	char *text;
	ssize_t n;

	(void)st;
	(void)ftw;
	if (type != FTW_F || !end || strcmp(end, ".gcda"))
		return 0;
	text = read_all(path, &size);
	if (!text)
		return 1;
	dprintf(port, "gcov %s %zu\n", path + strlen(COUNTS), size);
	while (done < size && (n = write(port, text + done, size - done)) > 0)
		done += n;
	free(text);
	return done < size;
}

void save_counts(void)
{
	if (access(COUNTS, R_OK))
		return;
	port = open_port(DATA_PORT);
	if (port < 0 || nftw(COUNTS, save, 16, FTW_PHYS))
		printf("init: cannot save %s\n", COUNTS);
	tcdrain(port);
}
