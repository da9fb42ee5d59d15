// SPDX-License-Identifier: GPL-2.0
/*
 * This file finds functions that have no symbol. The section .eh_frame_hdr, which is for stack
 * unwinding, has a sorted table of the addresses where functions begin.
 */
#include <string.h>

#include "elfparts.h"

/*
 * The supported encodings (DW_EH_PE_*): a count of 4 bytes; a table of signed numbers of
 * 4 bytes, relative to the section. Tables with another encoding are ignored. The field
 * before the count is taken to have 4 bytes, so that the table begins at offset HEAD.
 */
#define FDE_COUNT_UDATA4	0x03
#define TABLE_DATAREL_SDATA4	0x3b
#define HEAD			12

static const u8 *find_table(Elf *e, u64 *addr, size_t *n)
{
	GElf_Shdr header;
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	const char *name;
	size_t strings;
	const u8 *bytes;
	u32 count;

	if (elf_getshdrstrndx(e, &strings))
		return NULL;
	while ((scn = elf_nextscn(e, scn))) {
		if (!gelf_getshdr(scn, &header))
			continue;
		name = elf_strptr(e, strings, header.sh_name);
		if (name && !strcmp(name, ".eh_frame_hdr"))
			break;
	}
	data = scn ? elf_rawdata(scn, NULL) : NULL;
	bytes = data ? data->d_buf : NULL;
	if (!bytes || data->d_size < HEAD || bytes[2] != FDE_COUNT_UDATA4 ||
	    bytes[3] != TABLE_DATAREL_SDATA4)
		return NULL;
	memcpy(&count, bytes + 8, sizeof(count));
	*n = (data->d_size - HEAD) / 8 < count ? (data->d_size - HEAD) / 8 : count;
	*addr = header.sh_addr;
	return bytes + HEAD;
}

/*
 * Returns the end of the section of code that contains @addr, or 0. A function at @addr ends
 * there at the latest.
 */
static u64 end_of_section(Elf *e, u64 addr)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(e, scn)))
		if (gelf_getshdr(scn, &header) && header.sh_flags & SHF_EXECINSTR &&
		    addr >= header.sh_addr && addr - header.sh_addr < header.sh_size)
			return header.sh_addr + header.sh_size;
	return 0;
}

/*
 * Add the functions that the table lists to @functions, with the name FILE+0xADDRESS, if they
 * are in a section of code. bt_functions_tidy() later drops those that have a symbol.
 */
void elf_add_frames(struct bt_functions *functions, Elf *e, const char *path)
{
	const char *slash = strrchr(path, '/');
	u64 base, start, next, end = 0;
	const u8 *table;
	size_t i, n;
	int distance;

	table = find_table(e, &base, &n);
	for (i = 0; table && i < n; i++, table += 8) {
		memcpy(&distance, table, sizeof(distance));
		start = base + distance;
		if (start >= end)
			end = end_of_section(e, start);
		if (!end)
			continue;
		next = end;
		if (i + 1 < n) {
			memcpy(&distance, table + 8, sizeof(distance));
			next = base + distance;
		}
		bt_functions_add(functions, (struct bt_function){
			.name = bt_print("%.255s+0x%llx", slash ? slash + 1 : path,
					 (unsigned long long)start),
			.start = start, .end = next < end ? next : end, .whole = true,
		});
	}
}
