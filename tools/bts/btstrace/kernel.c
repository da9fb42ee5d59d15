// SPDX-License-Identifier: GPL-2.0
/*
 * This file reads functions of the running kernel from /proc/kallsyms and its code from
 * /proc/kcore, if the user may read them.
 */
#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel.h"

static struct bt_functions functions;
static bool kallsyms_read;
/* If false, look nothing up: the records may be from another boot, with other addresses. */
static bool same_kernel = true;
static int kcore = -1;
static Elf64_Phdr *segments;
static size_t nr_segments;
static bool kcore_tried;

void bt_kernel_use(bool same)
{
	same_kernel = same;
}

/* Read the unique ID of this boot into @id. Returns @id, or NULL on failure. */
const char *bt_kernel_boot(char *id, size_t len)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f)
		return NULL;
	if (!fgets(id, len, f))
		id = NULL;
	fclose(f);
	return id;
}

/* /proc/kcore is an ELF file of the kernel's memory. */
static void open_kcore(void)
{
	Elf64_Ehdr head;
	size_t size;

	kcore = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (kcore < 0)
		return;
	if (pread(kcore, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(*segments))
		return;
	size = head.e_phnum * sizeof(*segments);
	segments = bt_alloc(head.e_phnum, sizeof(*segments));
	if (pread(kcore, segments, size, head.e_phoff) == (ssize_t)size)
		nr_segments = head.e_phnum;
}

/* Read up to @n bytes of the kernel's memory at @addr. Returns the number of bytes, or 0. */
size_t bt_kernel_read(u64 addr, void *buf, size_t n)
{
	const Elf64_Phdr *s;
	ssize_t got;
	size_t i;

	if (!same_kernel)
		return 0;
	if (!kcore_tried)
		open_kcore();
	kcore_tried = true;
	for (i = 0; i < nr_segments; i++) {
		s = &segments[i];
		if (s->p_type != PT_LOAD || addr < s->p_vaddr || addr - s->p_vaddr >= s->p_memsz)
			continue;
		if (n > s->p_memsz - (addr - s->p_vaddr))
			n = s->p_memsz - (addr - s->p_vaddr);
		got = pread(kcore, buf, n, s->p_offset + (addr - s->p_vaddr));
		return got < 0 ? 0 : got;
	}
	return 0;
}

static void read_kallsyms(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr;
	char type, name[512];

	if (!f)
		return;
	while (fscanf(f, "%llx %c %511s%*[^\n]", &addr, &type, name) == 3) {
		if (!addr || tolower(type) != 't')
			continue;
		bt_functions_add(&functions, (struct bt_function){
			.name = bt_copy(name), .start = addr, .end = addr, .named = true,
		});
	}
	fclose(f);
	bt_functions_tidy(&functions);
}

const struct bt_function *bt_kernel_function(u64 addr)
{
	if (!same_kernel)
		return NULL;
	if (!kallsyms_read)
		read_kallsyms();
	kallsyms_read = true;
	return bt_functions_at(&functions, addr);
}

void bt_kernel_free(void)
{
	bt_functions_free(&functions);
	kallsyms_read = false;
	free(segments);
	segments = NULL;
	nr_segments = 0;
	if (kcore >= 0)
		close(kcore);
	kcore = -1;
	kcore_tried = false;
	same_kernel = true;
}
