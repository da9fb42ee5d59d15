// SPDX-License-Identifier: GPL-2.0
/*
 * This file names the stubs of a procedure linkage table (PLT). They have no symbols. Most stubs
 * jump to the address in a slot of the global offset table. The relocation of this slot tells which
 * function that is. The slot of the first stub mostly has no relocation: it leads to the dynamic
 * linker.
 */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "elfparts.h"

/* The size of a stub in bytes. A stub in .plt.got has half of that, unless it has an ENDBR. */
#define STUB	16

struct slot {
	u64 addr;
	const char *name;	/* NULL if no symbol of the relocation is known */
	u64 resolver;		/* if @name is NULL: the function, or its selector (IFUNC); or 0 */
};

struct slots {
	struct slot *slot;
	size_t nr;
	size_t room;
	struct bt_functions own; /* the functions with symbols, sorted */
	u64 got;	/* %ebx in a 32-bit PIC stub: the address of .got.plt, else of .got */
};

static const char *symbol_name(Elf *e, const GElf_Shdr *rel, size_t index)
{
	Elf_Scn *symtab = elf_getscn(e, rel->sh_link);
	Elf_Data *data = symtab ? elf_getdata(symtab, NULL) : NULL;
	GElf_Shdr header;
	GElf_Sym sym;

	if (!data || !gelf_getshdr(symtab, &header) || !gelf_getsym(data, index, &sym))
		return NULL;
	return elf_strptr(e, header.sh_link, sym.st_name);
}

static void add_slot(struct slots *s, Elf *e, const GElf_Shdr *rel, const GElf_Rela *rela)
{
	size_t index = GELF_R_SYM(rela->r_info);
	struct slot slot = { .addr = rela->r_offset, .resolver = rela->r_addend };

	if (index)
		slot.name = symbol_name(e, rel, index);
	s->slot = bt_grow(s->slot, &s->room, s->nr + 1, sizeof(slot));
	s->slot[s->nr++] = slot;
}

static void read_relocations(struct slots *s, Elf *e, Elf_Scn *scn, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t i, n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Rela rela;
	GElf_Rel rel;

	for (i = 0; data && i < n; i++) {
		if (header->sh_type == SHT_RELA) {
			if (!gelf_getrela(data, i, &rela))
				return;
		} else {
			if (!gelf_getrel(data, i, &rel))
				return;
			rela = (GElf_Rela){ .r_offset = rel.r_offset, .r_info = rel.r_info };
		}
		add_slot(s, e, header, &rela);
	}
}

static int compare_slots(const void *va, const void *vb)
{
	const struct slot *a = va, *b = vb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/*
 * Find the slot of the stub at @addr. The stub has a jmp *disp32 in one of three forms:
 * relative to %rip in 64-bit code; absolute, or relative to %ebx, in 32-bit code. Returns false
 * if there is no such jmp.
 */
static bool stub_slot(const struct slots *s, bool is64, const u8 *stub, size_t n, u64 addr,
		      u64 *slot)
{
	size_t i;
	int disp;

	for (i = 0; i + 6 <= n; i++) {
		if (stub[i] != 0xff || (stub[i + 1] != 0x25 && stub[i + 1] != 0xa3))
			continue;
		memcpy(&disp, stub + i + 2, sizeof(disp));
		if (stub[i + 1] == 0xa3)
			*slot = (u32)(s->got + disp);
		else
			*slot = is64 ? addr + i + 6 + disp : (u32)disp;
		return true;
	}
	return false;
}

/* Returns the name of the function that the slot at @addr leads to, or NULL. */
static const char *slot_name(const struct slots *s, u64 addr)
{
	struct slot key = { .addr = addr }, *slot;
	const struct bt_function *fn;

	slot = s->nr ? bsearch(&key, s->slot, s->nr, sizeof(key), compare_slots) : NULL;
	if (slot && slot->name && *slot->name)
		return slot->name;
	fn = slot && !slot->name ? bt_functions_at(&s->own, slot->resolver) : NULL;
	return fn ? fn->name : NULL;
}

/* Add a stub that leads to the function @name. @name is NULL if the function is not known. */
static void add_stub(struct bt_functions *functions, const char *name, u64 addr, size_t n)
{
	struct bt_function stub = { .start = addr, .end = addr + n, .named = true, .plt = true };

	stub.name = bt_print("%.4096s@plt", name ? name : "[plt]");
	if (name)
		bt_function_alias(&stub, name);
	bt_functions_add(functions, stub);
}

static void name_stubs(struct bt_functions *functions, bool is64, const struct slots *s,
		       Elf_Scn *scn, const GElf_Shdr *header, size_t size)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t at, n;
	u64 addr, slot;

	if (!data || !data->d_buf)
		return;
	for (at = 0; at < data->d_size; at += size) {
		n = data->d_size - at < size ? data->d_size - at : size;
		addr = header->sh_addr + at;
		if (stub_slot(s, is64, (u8 *)data->d_buf + at, n, addr, &slot))
			add_stub(functions, slot_name(s, slot), addr, n);
	}
}

/*
 * Add the stubs of @e to the end of @functions. The caller has sorted @functions, and has to
 * sort them again.
 */
void elf_add_plt(struct bt_functions *functions, Elf *e, bool is64)
{
	struct slots s = {};
	Elf_Scn *scn = NULL;
	GElf_Shdr header;
	const char *name;
	struct bt_functions stubs = {};
	size_t strings, i;

	s.own = *functions;
	if (elf_getshdrstrndx(e, &strings))
		return;
	while ((scn = elf_nextscn(e, scn))) {
		if (!gelf_getshdr(scn, &header))
			continue;
		name = elf_strptr(e, strings, header.sh_name);
		if (name && (!strcmp(name, ".got.plt") || (!s.got && !strcmp(name, ".got"))))
			s.got = header.sh_addr;
		if (header.sh_type == SHT_RELA || header.sh_type == SHT_REL)
			read_relocations(&s, e, scn, &header);
	}
	if (s.nr)
		qsort(s.slot, s.nr, sizeof(*s.slot), compare_slots);
	while ((scn = elf_nextscn(e, scn))) {
		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_PROGBITS)
			continue;
		name = elf_strptr(e, strings, header.sh_name);
		if (name && (!strncmp(name, ".plt", 4) || !strcmp(name, ".iplt")))
			name_stubs(&stubs, is64, &s, scn, &header,
				   !strcmp(name, ".plt.got") && header.sh_entsize != STUB ?
				   STUB / 2 : STUB);
	}
	free(s.slot);
	for (i = 0; i < stubs.nr; i++)
		bt_functions_add(functions, stubs.fn[i]);
	free(stubs.fn);
}
