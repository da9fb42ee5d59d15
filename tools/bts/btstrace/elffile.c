// SPDX-License-Identifier: GPL-2.0
/* This file reads functions and lines of an ELF file, through libdw. */
#include <gelf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debuginfo.h"
#include "elffile.h"
#include "elfparts.h"

#define NAME_LENGTH	4096

/*
 * libelf maps files. If another process truncates such a file, reading the mapping raises
 * SIGBUS. All calls of libdw run in guarded(). On SIGBUS, on_bus_error() ends the call by
 * siglongjmp(). The memory that the call has allocated may leak.
 */
static sigjmp_buf cut_short;

static void on_bus_error(int sig)
{
	siglongjmp(cut_short, sig);
}

/*
 * Call @what(@elf, @arg). Returns false if SIGBUS has ended the call, mostly as the file was
 * truncated.
 */
static bool guarded(void (*what)(struct bt_elf *elf, void *arg), struct bt_elf *elf, void *arg)
{
	struct sigaction act = { .sa_handler = on_bus_error }, old;
	bool whole = false;

	sigaction(SIGBUS, &act, &old);
	if (!sigsetjmp(cut_short, 1)) {
		what(elf, arg);
		whole = true;
	}
	sigaction(SIGBUS, &old, NULL);
	return whole;
}

const struct bt_function *bt_elf_function(const struct bt_elf *elf, u64 addr)
{
	return bt_functions_at(&elf->functions, addr);
}

/*
 * Is the symbol a function, or a label in code? Sets *@limit to the end of its section, or
 * to 0 if the section is not known.
 */
static bool names_code(const GElf_Sym *sym, Elf *e, u64 *limit)
{
	int type = GELF_ST_TYPE(sym->st_info);
	GElf_Shdr header;

	*limit = 0;
	if (sym->st_shndx == SHN_UNDEF)
		return false;
	/* STT_NOTYPE may be a label in assembly. */
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (sym->st_shndx >= SHN_LORESERVE ||
	    !gelf_getshdr(elf_getscn(e, sym->st_shndx), &header))
		return type != STT_NOTYPE;
	*limit = header.sh_addr + header.sh_size;
	return header.sh_flags & SHF_EXECINSTR;
}

/* Returns the length of a name without @VERSION or @@VERSION: at most NAME_LENGTH. */
static int name_length(const char *name)
{
	int n = 1;

	while (n < NAME_LENGTH && name[n] && name[n] != '@')
		n++;
	return n;
}

/* Returns the BT_RANK_* of a symbol. */
static u8 rank_of(const struct elf_hidden *hidden, const GElf_Sym *sym, const char *name)
{
	static const u8 ranks[] = {
		[STB_LOCAL] = BT_RANK_LOCAL, [STB_GLOBAL] = BT_RANK_GLOBAL,
		[STB_WEAK] = BT_RANK_WEAK,
	};
	u8 bind = GELF_ST_BIND(sym->st_info);
	const char *version = strchr(name + 1, '@');

	/* name@@VERSION is the default. name@VERSION is for programs that were linked long ago. */
	if ((version && version[1] != '@') || elf_hidden_has(hidden, sym->st_value, name))
		return BT_RANK_OLD;
	return bind < ARRAY_SIZE(ranks) ? ranks[bind] : BT_RANK_OTHER;
}

static void read_symbols(struct bt_elf *elf, Elf *e)
{
	int i, n = dwfl_module_getsymtab(elf->mod);
	const char *name;
	GElf_Addr addr;
	GElf_Sym sym;
	struct elf_hidden *hidden = elf_hidden_read(e);
	u64 limit;

	for (i = 1; i < n; i++) {
		name = dwfl_module_getsym_info(elf->mod, i, &sym, &addr, NULL, NULL, NULL);
		if (!name || !*name || !names_code(&sym, e, &limit))
			continue;
		bt_functions_add(&elf->functions, (struct bt_function){
			.name = bt_print("%.*s", name_length(name), name), .named = true,
			.start = addr, .end = addr + sym.st_size, .limit = limit,
			.rank = rank_of(hidden, &sym, name),
		});
	}
	elf_hidden_free(hidden);
	bt_functions_tidy(&elf->functions);
}

static void read_segments(struct bt_elf *elf, Elf *e)
{
	size_t i, n;
	GElf_Phdr ph;

	if (elf_getphdrnum(e, &n))
		return;
	elf->base = UINT64_MAX;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(e, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		elf->segment = bt_grow(elf->segment, &elf->room_segments, elf->nr_segments + 1,
				       sizeof(*elf->segment));
		elf->segment[elf->nr_segments++] = (struct bt_segment){
			.addr = ph.p_vaddr, .offset = ph.p_offset, .size = ph.p_filesz,
		};
		if ((ph.p_vaddr & ~0xfffull) < elf->base)
			elf->base = ph.p_vaddr & ~0xfffull;
	}
	if (!elf->nr_segments)
		elf->base = 0;
}

static void read_file(struct bt_elf *elf, void *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = elf_find_debuginfo,
	};
	GElf_Addr bias;
	GElf_Ehdr header;
	int fd = dup(elf->fd);
	void **user;
	Elf *e;

	elf->dwfl = dwfl_begin(&callbacks);
	if (!elf->dwfl || fd < 0)
		return;
	/* If dwfl_report_elf() succeeds, libdw closes @fd later. */
	elf->mod = dwfl_report_elf(elf->dwfl, path, path, fd, 0, true);
	dwfl_report_end(elf->dwfl, NULL, NULL);
	if (!elf->mod) {
		close(fd);
		return;
	}
	dwfl_module_info(elf->mod, &user, NULL, NULL, NULL, NULL, NULL, NULL);
	*user = &elf->no_lines;
	e = dwfl_module_getelf(elf->mod, &bias);
	if (!e || !gelf_getehdr(e, &header) || bias)
		return;
	elf->is64 = header.e_machine != EM_386;
	read_segments(elf, e);
	read_symbols(elf, e);
	elf_add_plt(&elf->functions, e, elf->is64);
	elf_add_frames(&elf->functions, e, path);
}

/*
 * bt_elf_open - open an ELF file, and read its symbols
 * @fd: the file; bt_elf_close() closes it, and so does bt_elf_open() if it fails
 * @path: the path of the file, to find separate debug information, and to name functions that
 *	have no symbol
 *
 * Returns NULL if libdw cannot read the file, for example because it is no ELF file.
 */
struct bt_elf *bt_elf_open(int fd, const char *path)
{
	struct bt_elf *elf = bt_alloc(1, sizeof(*elf));

	elf->fd = fd;
	elf->units = elf_units_new();
	guarded(read_file, elf, (void *)path);
	if (!elf->mod) {
		bt_elf_close(elf);
		return NULL;
	}
	bt_functions_tidy(&elf->functions);
	return elf;
}

static void end_dwfl(struct bt_elf *elf, void *unused)
{
	(void)unused;
	if (elf->dwfl)
		dwfl_end(elf->dwfl);
}

void bt_elf_close(struct bt_elf *elf)
{
	if (!elf)
		return;
	guarded(end_dwfl, elf, NULL);
	bt_functions_free(&elf->functions);
	free(elf->segment);
	elf_units_free(elf->units);
	close(elf->fd);
	free(elf);
}

struct line_query {
	u64 addr;
	const char *file;
	int line;
};

static void find_line(struct bt_elf *elf, void *arg)
{
	struct line_query *q = arg;
	Dwarf_Addr bias;
	/*
	 * This call opens the debug information, which is in the file itself or in a
	 * separate file.
	 */
	Dwarf *dwarf = dwfl_module_getdwarf(elf->mod, &bias);
	Dwfl_Line *line;

	if (!dwarf || elf->no_lines)
		return;
	line = dwfl_module_getsrc(elf->mod, q->addr);
	if (line)
		q->file = dwfl_lineinfo(line, NULL, &q->line, NULL, NULL, NULL);
	else
		elf_find_line(elf->units, dwarf, q->addr - bias, &q->file, &q->line);
}

/*
 * Find the source file and the line of @addr. *@file is valid as long as @elf is. Returns
 * false if they are not known.
 */
bool bt_elf_line(struct bt_elf *elf, u64 addr, const char **file, int *line)
{
	struct line_query q = { .addr = addr };

	if (!elf->mod)
		return false;
	/* After SIGBUS, do not use libdw for this file again, until bt_elf_close(). */
	if (!guarded(find_line, elf, &q))
		elf->mod = NULL;
	if (!q.file || q.line <= 0)
		return false;
	*file = q.file;
	*line = q.line;
	return true;
}

struct view_query {
	u64 addr;
	struct bt_view *view;
};

static void find_view(struct bt_elf *elf, void *arg)
{
	struct view_query *q = arg;
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(elf->mod, &bias);
	Dwarf_Die unit;

	if (dwarf && !elf->no_lines && elf_find_unit(elf->units, dwarf, q->addr - bias, &unit))
		elf_find_view(&unit, q->addr - bias, q->view);
}

/*
 * Find the source line to show for @addr: see struct bt_view. The names in *@view are valid
 * as long as @elf is. Returns false if the line is not known.
 */
bool bt_elf_view(struct bt_elf *elf, u64 addr, struct bt_view *view)
{
	struct view_query q = { .addr = addr, .view = view };

	*view = (struct bt_view){};
	if (!bt_elf_line(elf, addr, &view->file, &view->line))
		return false;
	if (!guarded(find_view, elf, &q))
		elf->mod = NULL;
	return true;
}

struct lines_query {
	bt_take_line *take;
	void *arg;
};

static void find_all_lines(struct bt_elf *elf, void *arg)
{
	struct lines_query *q = arg;
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(elf->mod, &bias);

	/* Ignore the bias: read_file() tells libdw that the file is at its link-time addresses. */
	if (dwarf && !elf->no_lines)
		elf_find_lines(dwarf, q->take, q->arg);
}

/* Call @take for each address where the code of a source line begins. */
void bt_elf_lines(struct bt_elf *elf, bt_take_line *take, void *arg)
{
	struct lines_query q = { take, arg };

	if (elf->mod && !guarded(find_all_lines, elf, &q))
		elf->mod = NULL;
}

static void find_any_unit(struct bt_elf *elf, void *arg)
{
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(elf->mod, &bias);
	Dwarf_Off next;
	size_t head;

	*(bool *)arg = dwarf && !elf->no_lines &&
		       !dwarf_nextcu(dwarf, 0, &next, &head, NULL, NULL, NULL);
}

/* Is there debug information that may be read, in the file itself or in a separate file? */
bool bt_elf_has_lines(struct bt_elf *elf)
{
	bool found = false;

	if (!elf->has_lines && elf->mod) {
		if (!guarded(find_any_unit, elf, &found))
			elf->mod = NULL;
		elf->has_lines = found ? 1 : 2;
	}
	return elf->has_lines == 1;
}

/*
 * Find the link-time address of the byte at @offset of the file. Returns false if the byte is
 * in no segment.
 */
bool bt_elf_address(const struct bt_elf *elf, u64 offset, u64 *addr)
{
	size_t i;

	for (i = 0; i < elf->nr_segments; i++) {
		const struct bt_segment *s = &elf->segment[i];
		/*
		 * The kernel maps whole pages: bytes before a segment in its first page are
		 * mapped, too.
		 */
		u64 slack = s->offset & 0xfff, first = s->offset - slack;

		if (offset >= first && offset - first < s->size + slack) {
			*addr = s->addr - slack + (offset - first);
			return true;
		}
	}
	return false;
}

size_t bt_elf_read(const struct bt_elf *elf, u64 offset, void *buf, size_t n)
{
	ssize_t got = pread(elf->fd, buf, n, offset);

	return got < 0 ? 0 : got;
}
