// SPDX-License-Identifier: GPL-2.0
/*
 * Add up gcov's counts of several guests. Counts with the same PATH must be of the same kernel.
 *
 *   counts DIRECTORY FILE...
 *
 * Each FILE is what guest/counts.c has sent: for each file of counts, a line "gcov PATH SIZE" and
 * the content, in the format of gcc 12. Writes the sums of each PATH to a file in DIRECTORY. The
 * name of the file is PATH with '#' for each '/'.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_ARCS	0x01a10000u
#define HEADER		16u	/* bytes: magic, version, stamp, checksum */
#define MAX_FILES	200
#define MAX_SIZE	(1u << 24)

static struct sum {
	char *path;
	unsigned char *data;
	size_t size;
} sums[MAX_FILES];

static void die(const char *what, const char *why)
{
	fprintf(stderr, "counts: %s: %s\n", what, why);
	exit(2);
}

static uint32_t word(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static void add_counter(unsigned char *to, const unsigned char *from)
{
	uint64_t a, b;

	memcpy(&a, to, sizeof(a));
	memcpy(&b, from, sizeof(b));
	a += b;
	memcpy(to, &a, sizeof(a));
}

/* Add the counters. Files of the same object have the same layout. */
static void add(struct sum *sum, const unsigned char *data, size_t size)
{
	size_t at, length, i;

	if (size != sum->size || memcmp(data, sum->data, HEADER))
		die(sum->path, "of another kernel");
	for (at = HEADER; at + 8 <= size; at += 8 + length) {
		length = word(data + at + 4);
		if (length > size - at - 8)
			die(sum->path, "cut off");
		if (word(data + at) != TAG_ARCS)
			continue;
		for (i = 0; i + 8 <= length; i += 8)
			add_counter(sum->data + at + 8 + i, data + at + 8 + i);
	}
}

static void take(const char *path, unsigned char *data, size_t size)
{
	struct sum *sum = sums;

	while (sum < sums + MAX_FILES && sum->path && strcmp(sum->path, path))
		sum++;
	if (sum == sums + MAX_FILES)
		die(path, "too many files");
	if (sum->path) {
		add(sum, data, size);
		free(data);
		return;
	}
	sum->path = strdup(path);
	sum->data = data;
	sum->size = size;
}

static void read_guest(const char *name)
{
	FILE *f = fopen(name, "rb");
	char path[PATH_MAX];
	unsigned char *data;
	size_t size;

	if (!f)
		die(name, strerror(errno));
	while (fscanf(f, "gcov %4095s %zu", path, &size) == 2) {
		if (fgetc(f) != '\n' || size < HEADER || size > MAX_SIZE)
			die(name, "damaged");
		data = malloc(size);
		if (!data)
			die(name, "no memory");
		/* If the guest has ended early, use the files before this one. */
		if (fread(data, 1, size, f) != size) {
			free(data);
			break;
		}
		take(path, data, size);
	}
	fclose(f);
}

static void write_sum(const char *directory, const struct sum *sum)
{
	char name[PATH_MAX];
	FILE *f;
	char *p;
	int n;

	n = snprintf(name, sizeof(name), "%s/", directory);
	snprintf(name + n, sizeof(name) - n, "%s", sum->path);
	for (p = name + n; *p; p++)
		*p = *p == '/' ? '#' : *p;
	f = fopen(name, "wb");
	if (!f || fwrite(sum->data, 1, sum->size, f) != sum->size || fclose(f))
		die(name, strerror(errno));
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2)
		die("usage", "counts DIRECTORY FILE...");
	for (i = 2; i < argc; i++)
		read_guest(argv[i]);
	for (i = 0; i < MAX_FILES && sums[i].path; i++)
		write_sum(argv[1], &sums[i]);
	return 0;
}
