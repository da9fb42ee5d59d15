// SPDX-License-Identifier: GPL-2.0
/*
 * Write a crash dump of four CPUs. The Debug Store of CPU 0 was overwritten, the buffer of
 * CPU 1 is missing, the memory that CPU 3 needs is missing, and CPU 2 is intact.
 *
 *   damaged FILE
 */
#include <elf.h>
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define OFFSETS		0xffffffff82000000ull	/* __per_cpu_offset */
#define STORE		0x1000ull		/* offset in the per-CPU memory */
#define PAGES		0x2000ull
#define CPU(nr)		(0xffff888000000000ull + (nr) * 0x100000ull)
#define BUFFER(nr)	(CPU(nr) + 0x10000)
#define SIZE		65536ull

enum { SEGMENTS = 16 };

static Elf64_Phdr segment[SEGMENTS];
static int nr_segments;
static FILE *dump;

static void put(uint64_t at, const void *data, size_t size, uint32_t type)
{
	segment[nr_segments++] = (Elf64_Phdr){
		.p_type = type, .p_offset = ftell(dump), .p_vaddr = at, .p_filesz = size,
	};
	fwrite(data, size, 1, dump);
}

static void put_info(void)
{
	static struct {
		Elf64_Nhdr head;
		char name[12];
		char text[512];
	} note = { .head = { .n_namesz = 11, .n_type = 0 }, .name = "VMCOREINFO" };

	snprintf(note.text, sizeof(note.text),
		 "NUMBER(nr_cpu_ids)=4\n"
		 "NUMBER(ds_field)=8\n"
		 "SYMBOL(__per_cpu_offset)=%" PRIx64 "\n"
		 "SYMBOL(cpu_debug_store)=%" PRIx64 "\n"
		 "SYMBOL(ds_cpu)=%" PRIx64 "\n"
		 "OFFSET(ds_cpu.pages)=0\n", (uint64_t)OFFSETS, (uint64_t)STORE, (uint64_t)PAGES);
	note.head.n_descsz = sizeof(note.text);
	put(0, &note, sizeof(note), PT_NOTE);
}

static void put_cpu(int nr, bool good_store, bool buffer)
{
	static uint64_t records[SIZE / 8];
	uint64_t base = 0xfffffe0000010000, pages = BUFFER(nr);
	uint64_t store[3] = { base, good_store ? base + 48 : 0x6b6b6b6b6b6b6b6b, base + SIZE };

	records[0] = 0xffffffff81000010;
	records[1] = 0xffffffff81000100;
	records[3] = 0xffffffff81000110;
	records[4] = 0xffffffff81000200;
	put(CPU(nr) + STORE, store, sizeof(store), PT_LOAD);
	put(CPU(nr) + PAGES, &pages, sizeof(pages), PT_LOAD);
	if (buffer)
		put(BUFFER(nr), records, SIZE, PT_LOAD);
}

int main(int argc, char **argv)
{
	uint64_t offsets[3] = { CPU(0), CPU(1), CPU(2) };
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 },
		.e_phoff = sizeof(head), .e_phentsize = sizeof(*segment),
	};

	if (argc != 2)
		errx(2, "usage: damaged FILE");
	dump = fopen(argv[1], "w");
	if (!dump)
		err(2, "%s", argv[1]);
	fseek(dump, sizeof(head) + sizeof(segment), SEEK_SET);
	put_info();
	put(OFFSETS, offsets, sizeof(offsets), PT_LOAD);
	put_cpu(0, false, true);
	put_cpu(1, true, false);
	put_cpu(2, true, true);
	head.e_phnum = nr_segments;
	rewind(dump);
	fwrite(&head, sizeof(head), 1, dump);
	fwrite(segment, sizeof(*segment), nr_segments, dump);
	return !!fclose(dump);
}
