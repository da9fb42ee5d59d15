// SPDX-License-Identifier: GPL-2.0
/*
 * Write a crash dump of eight CPUs. The Debug Store of CPU 0 was overwritten, the buffer of CPU 1
 * is missing, the last branch records of CPU 4 were overwritten, CPU 6's per-CPU memory is missing,
 * and so is the offset of CPU 7's. CPU 3, with last branch records, is intact, and so is the buffer
 * of CPU 2, but whether it has last branch records is missing. CPU 5 has a buffer that the recorder
 * did not use.
 *
 *   damaged FILE
 */
#include <elf.h>
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define OFFSETS		0xffffffff82000000ull	/* __per_cpu_offset */
/*
 * STORE, PAGES and LBR are offsets in the per-CPU memory, which begins at CPU(nr). At PAGES is the
 * address of the buffer, and then a word that is 0 if the recorder did not use the buffer.
 */
#define STORE		0x1000ull
#define PAGES		0x2000ull
#define LBR		0x3000ull
#define CPU(nr)		(0xffff888000000000ull + (nr) * 0x100000ull)
#define BUFFER(nr)	(CPU(nr) + 0x10000)
#define SIZE		65536ull

enum { SEGMENTS = 24 };

/*
 * The last branch records of a CPU. The layout is not the kernel's: put_info() tells the reader the
 * offsets of @saved and @kept, and the offset of @record from @nr.
 */
struct lbr {
	uint8_t saved;
	uint8_t unused[7];
	uint64_t kept;
	uint32_t nr;
	uint32_t unused_too;
	uint64_t record[2 * 3];
};

static Elf64_Phdr segment[SEGMENTS];
static int nr_segments;
static FILE *dump;

static void put(uint64_t at, const void *data, size_t size, uint32_t type)
{
	segment[nr_segments++] = (Elf64_Phdr){
		.p_type = type, .p_offset = ftell(dump), .p_vaddr = at, .p_filesz = size,
		.p_memsz = size,
	};
	fwrite(data, size, 1, dump);
}

static void put_info(void)
{
	static struct {
		Elf64_Nhdr head;
		char name[12];
		char text[1024];
	} note = { .head = { .n_namesz = 11, .n_type = 0 }, .name = "VMCOREINFO" };

	snprintf(note.text, sizeof(note.text),
		 "OSRELEASE=6.12.0\n"
		 "PAGESIZE=4096\n"
		 "KERNELOFFSET=0\n"
		 "NUMBER(pgtable_l5_enabled)=0\n"
		 "SYMBOL(init_uts_ns)=0\n"
		 "SYMBOL(swapper_pg_dir)=ffffffff82800000\n"
		 "NUMBER(nr_cpu_ids)=8\n"
		 "NUMBER(ds_field)=8\n"
		 "NUMBER(hw_branches_unreliable)=0\n"
		 "SYMBOL(__per_cpu_offset)=%" PRIx64 "\n"
		 "SYMBOL(cpu_debug_store)=%" PRIx64 "\n"
		 "SYMBOL(ds_cpu)=%" PRIx64 "\n"
		 "OFFSET(ds_cpu.pages)=0\n"
		 "SYMBOL(hw_branches_readable)=%" PRIx64 "\n"
		 "SYMBOL(hw_branches_lbr_cpu)=%" PRIx64 "\n"
		 "OFFSET(hw_branches_lbr_cpu.saved)=0\n"
		 "OFFSET(hw_branches_lbr_cpu.kept)=8\n"
		 "OFFSET(hw_branches_lbr_saved.raw)=8\n",
		 (uint64_t)OFFSETS, (uint64_t)STORE, (uint64_t)PAGES, (uint64_t)PAGES + 8,
		 (uint64_t)LBR);
	note.head.n_descsz = sizeof(note.text);
	put(0, &note, sizeof(note), PT_NOTE);
}

static void put_lbr(int nr, bool saved, uint32_t records)
{
	struct lbr lbr = {
		.saved = saved,
		.kept = CPU(nr) + LBR + offsetof(struct lbr, nr),
		.nr = records,
		.record = {
			0xffffffff81000310, 0xffffffff81000400, 0,
			0xffffffff81000210, 0xffffffff81000300, 0,
		},
	};

	put(CPU(nr) + LBR, &lbr, sizeof(lbr), PT_LOAD);
}

static void put_cpu(int nr, bool good_store, bool buffer, bool used)
{
	static uint64_t records[SIZE / 8];
	uint64_t base = 0xfffffe0000010000, pages[2] = { BUFFER(nr), used };
	uint64_t store[3] = { base, good_store ? base + 72 : 0x6b6b6b6b6b6b6b6b, base + SIZE };

	records[0] = 0x401000;
	records[1] = 0xffffffff81000100;
	records[3] = 0xffffffff82000110;
	records[4] = 0xffffffff81000200;
	records[6] = 0xffffffff81000210;
	records[7] = 0xffffffff81000300;
	if (nr != 2)
		put_lbr(nr, false, 0);
	put(CPU(nr) + STORE, store, sizeof(store), PT_LOAD);
	put(CPU(nr) + PAGES, pages, sizeof(pages), PT_LOAD);
	if (buffer)
		put(BUFFER(nr), records, SIZE, PT_LOAD);
}

int main(int argc, char **argv)
{
	uint64_t offsets[] = { CPU(0), CPU(1), CPU(2), CPU(3), CPU(4), CPU(5), CPU(6) };
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_CORE, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_ehsize = sizeof(head), .e_phoff = sizeof(head), .e_phentsize = sizeof(*segment),
	};

	if (argc != 2)
		errx(2, "usage: damaged FILE");
	dump = fopen(argv[1], "w");
	if (!dump)
		err(2, "%s", argv[1]);
	fseek(dump, sizeof(head) + sizeof(segment), SEEK_SET);
	put_info();
	put(OFFSETS, offsets, sizeof(offsets), PT_LOAD);
	put_cpu(0, false, true, true);
	put_cpu(1, true, false, true);
	put_cpu(2, true, true, true);
	put_lbr(3, true, 2);
	put_lbr(4, true, 2000);
	put_cpu(5, true, true, false);
	head.e_phnum = nr_segments;
	rewind(dump);
	fwrite(&head, sizeof(head), 1, dump);
	fwrite(segment, sizeof(*segment), nr_segments, dump);
	return !!fclose(dump);
}
