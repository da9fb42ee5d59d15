// SPDX-License-Identifier: GPL-2.0
/* timeline FILE: print a trace of Perfetto as text; see perfetto.h. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "perfetto.h"

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	void *bytes;
	char *text;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "usage: timeline FILE\n");
		return 2;
	}
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		perror(argv[1]);
		return 2;
	}
	text = perfetto_text(bytes, st.st_size);
	fputs(text, stdout);
	free(text);
	return 0;
}
