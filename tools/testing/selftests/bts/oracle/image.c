// SPDX-License-Identifier: GPL-2.0
/* The guest's memory, as far as it is known: dumps and ELF segments. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oracle.h"

#define MAX_PIECES	64

struct piece {
	u64 addr;
	const u8 *data;
	size_t size;
};

struct image {
	unsigned int nr;
	unsigned int nr_blobs;
	struct piece pieces[MAX_PIECES];
	struct blob blobs[MAX_PIECES];
};

void blob_open(struct blob *b, const char *path)
{
	struct stat st;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	b->size = st.st_size;
	b->data = NULL;
	if (b->size) {
		b->data = mmap(NULL, b->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (b->data == MAP_FAILED)
			die("%s: cannot map it: %s", path, strerror(errno));
	}
	close(fd);
}

void blob_close(struct blob *b)
{
	if (b->size)
		munmap((void *)b->data, b->size);
	b->data = NULL;
	b->size = 0;
}

struct image *image_new(void)
{
	struct image *img = calloc(1, sizeof(*img));

	if (!img)
		die("out of memory");
	return img;
}

void image_free(struct image *img)
{
	while (img->nr_blobs)
		blob_close(&img->blobs[--img->nr_blobs]);
	free(img);
}

void image_add(struct image *img, u64 addr, const u8 *data, size_t size)
{
	if (img->nr == MAX_PIECES)
		die("more than %d pieces of memory; dump larger ones", MAX_PIECES);
	img->pieces[img->nr++] = (struct piece){
		.addr = addr,
		.data = data,
		.size = size,
	};
}

static struct blob *image_blob(struct image *img, const char *path)
{
	struct blob *b = &img->blobs[img->nr_blobs];

	if (img->nr_blobs == MAX_PIECES)
		die("more than %d files of memory; dump larger ones", MAX_PIECES);
	blob_open(b, path);
	img->nr_blobs++;
	return b;
}

void image_add_mem(struct image *img, const char *spec)
{
	struct blob *b;
	char *end;
	u64 addr;

	addr = strtoull(spec, &end, 16);
	if (end == spec || *end != ':' || !end[1])
		die("--mem %s: not ADDRESS:FILE with a hexadecimal address", spec);
	b = image_blob(img, end + 1);
	image_add(img, addr, b->data, b->size);
}

/* Both classes differ only in the widths, so one body serves them. */
#define DEFINE_ADD_SEGMENTS(name, ehdr_t, phdr_t)			\
static bool name(struct image *img, const struct blob *b, u64 bias)	\
{									\
	const ehdr_t *eh = (const void *)b->data;			\
	const phdr_t *ph;						\
	unsigned int i;							\
									\
	if (b->size < sizeof(*eh) || eh->e_phentsize != sizeof(*ph) ||	\
	    eh->e_phoff > b->size ||					\
	    (b->size - eh->e_phoff) / sizeof(*ph) < eh->e_phnum)	\
		return false;						\
	ph = (const void *)(b->data + eh->e_phoff);			\
	for (i = 0; i < eh->e_phnum; i++, ph++) {			\
		if (ph->p_type != PT_LOAD)				\
			continue;					\
		if (ph->p_offset > b->size ||				\
		    b->size - ph->p_offset < ph->p_filesz)		\
			return false;					\
		image_add(img, ph->p_vaddr + bias,			\
			  b->data + ph->p_offset, ph->p_filesz);	\
	}								\
	return true;							\
}

DEFINE_ADD_SEGMENTS(add_segments_64, Elf64_Ehdr, Elf64_Phdr)
DEFINE_ADD_SEGMENTS(add_segments_32, Elf32_Ehdr, Elf32_Phdr)

void image_add_elf(struct image *img, const char *spec)
{
	char *path = strdup(spec), *colon;
	struct blob *b;
	u64 bias = 0;
	bool ok;

	if (!path)
		die("out of memory");
	colon = strrchr(path, ':');
	if (colon) {
		*colon = '\0';
		bias = strtoull(colon + 1, NULL, 16);
	}
	b = image_blob(img, path);
	if (b->size < EI_NIDENT || memcmp(b->data, ELFMAG, SELFMAG))
		die("--elf %s: not an ELF file", path);
	if (b->data[EI_CLASS] == ELFCLASS64)
		ok = add_segments_64(img, b, bias);
	else
		ok = add_segments_32(img, b, bias);
	if (!ok)
		die("--elf %s: broken program headers", path);
	free(path);
}

size_t image_read(const struct image *img, u64 addr, u8 *buf, size_t size)
{
	const struct piece *p;
	size_t done = 0, n;
	unsigned int i;

	for (i = 0; i < img->nr && done < size; i++) {
		p = &img->pieces[i];
		if (addr + done - p->addr >= p->size)
			continue;
		n = p->size - (addr + done - p->addr);
		if (n > size - done)
			n = size - done;
		memcpy(buf + done, p->data + (addr + done - p->addr), n);
		done += n;
		/* the rest may lie in a piece already passed */
		i = -1;
	}
	return done;
}
