// SPDX-License-Identifier: GPL-2.0
/* loop TRACE: print the number of branches in a trace, and the ns that it takes to read them. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "records.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	unsigned long branches;
	unsigned char *bytes;
	struct stat st;
	double begin;

	if (fd < 0 || fstat(fd, &st)) {
		perror("loop");
		return 2;
	}
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (bytes == MAP_FAILED) {
		perror("loop");
		return 2;
	}
	begin = now();
	branches = look_at_records(bytes, st.st_size);
	printf("%lu %.0f\n", branches, now() - begin);
	return 0;
}
