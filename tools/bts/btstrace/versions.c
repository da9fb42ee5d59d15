// SPDX-License-Identifier: GPL-2.0
/*
 * A library may keep old versions of functions for programs that were linked long ago. A
 * section of type SHT_GNU_versym marks the names of old versions as hidden. This file finds
 * hidden names, so that elffile.c can prefer the names that people use.
 */
#include <stdlib.h>
#include <string.h>

#include "elfparts.h"

#define HIDDEN	0x8000

struct hidden {
	u64 addr;
	const char *name;
};

struct elf_hidden {
	struct hidden *list;
	size_t nr;
	size_t room;
};

static int compare(const void *va, const void *vb)
{
	const struct hidden *a = va, *b = vb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void read_table(struct elf_hidden *h, Elf *e, Elf_Scn *scn, const GElf_Shdr *header)
{
	Elf_Scn *symtab = elf_getscn(e, header->sh_link);
	Elf_Data *versions = elf_getdata(scn, NULL);
	Elf_Data *symbols = symtab ? elf_getdata(symtab, NULL) : NULL;
	GElf_Versym version;
	const char *name;
	GElf_Shdr head;
	GElf_Sym sym;
	int i;

	if (!versions || !symbols || !gelf_getshdr(symtab, &head))
		return;
	for (i = 0; gelf_getsym(symbols, i, &sym) && gelf_getversym(versions, i, &version); i++) {
		if (!(version & HIDDEN) || sym.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(e, head.sh_link, sym.st_name);
		if (!name)
			continue;
		h->list = bt_grow(h->list, &h->room, h->nr + 1, sizeof(*h->list));
		h->list[h->nr++] = (struct hidden){ sym.st_value, name };
	}
}

/*
 * Returns the hidden names of @e. The names are valid until @e is closed. The caller frees
 * the result with elf_hidden_free().
 */
struct elf_hidden *elf_hidden_read(Elf *e)
{
	struct elf_hidden *h = bt_alloc(1, sizeof(*h));
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(e, scn)))
		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_GNU_versym)
			read_table(h, e, scn, &header);
	if (h->nr)
		qsort(h->list, h->nr, sizeof(*h->list), compare);
	return h;
}

bool elf_hidden_has(const struct elf_hidden *h, u64 addr, const char *name)
{
	struct hidden key = { addr, name };

	return h->nr && bsearch(&key, h->list, h->nr, sizeof(key), compare);
}

void elf_hidden_free(struct elf_hidden *h)
{
	free(h->list);
	free(h);
}
