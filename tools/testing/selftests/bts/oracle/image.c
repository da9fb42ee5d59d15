// SPDX-License-Identifier: GPL-2.0
/* The known parts of the guest's memory: dumps and ELF segments. */
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

struct segment {
	u32 type;
	u64 addr;
	u64 offset;
	u64 size;
};

/* Read program header @i. Returns false if there is none. 32-bit files have other field offsets. */
static bool get_segment(const struct blob *b, unsigned int i, struct segment *seg)
{
	const Elf64_Ehdr *e64 = (const void *)b->data;
	const Elf32_Ehdr *e32 = (const void *)b->data;
	bool wide = b->data[EI_CLASS] == ELFCLASS64;
	u64 at = wide ? e64->e_phoff : e32->e_phoff;
	u64 size = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	const Elf64_Phdr *p64;
	const Elf32_Phdr *p32;

	if (i >= (wide ? e64->e_phnum : e32->e_phnum))
		return false;
	if (at > b->size || (b->size - at) / size <= i)
		die("broken program headers in an ELF file");
	p64 = (const void *)(b->data + at + i * size);
	p32 = (const void *)p64;
	if (wide)
		*seg = (struct segment){ p64->p_type, p64->p_vaddr,
					 p64->p_offset, p64->p_filesz };
	else
		*seg = (struct segment){ p32->p_type, p32->p_vaddr,
					 p32->p_offset, p32->p_filesz };
	if (seg->offset > b->size || b->size - seg->offset < seg->size)
		die("an ELF file ends within its segments");
	return true;
}

void image_add_elf(struct image *img, const char *spec)
{
	char *path = strdup(spec), *colon;
	struct segment seg;
	unsigned int i;
	struct blob *b;
	u64 bias = 0;

	if (!path)
		die("out of memory");
	colon = strrchr(path, ':');
	if (colon) {
		*colon = '\0';
		bias = strtoull(colon + 1, NULL, 16);
	}
	b = image_blob(img, path);
	if (b->size < sizeof(Elf64_Ehdr) || memcmp(b->data, ELFMAG, SELFMAG))
		die("--elf %s: not an ELF file", path);
	for (i = 0; get_segment(b, i, &seg); i++) {
		if (seg.type == PT_LOAD)
			image_add(img, seg.addr + bias, b->data + seg.offset,
				  seg.size);
	}
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
		/* The rest may be in a previous piece: begin again. */
		i = -1;
	}
	return done;
}
