// SPDX-License-Identifier: GPL-2.0
/* Functions and lines of an ELF file, through libdw */
#include <gelf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debuginfo.h"
#include "elffile.h"

#define NAME_LENGTH	4096

/*
 * libelf maps files, and a map of a file that somebody cuts short gives SIGBUS.
 * That happens in the library's reading only, which holds nothing but memory.
 */
static sigjmp_buf cut_short;

static void on_bus_error(int sig)
{
	siglongjmp(cut_short, sig);
}

/* Run @what(@elf, @arg) as far as the file goes. */
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

/* Takes its name, which was allocated. */
void elf_add(struct bt_elf *elf, struct bt_function fn)
{
	fn.named = true;
	if (fn.end < fn.start)
		fn.end = fn.start;
	elf->fn = bt_grow(elf->fn, &elf->room_fn, elf->nr_fn + 1, sizeof(fn));
	elf->fn[elf->nr_fn++] = fn;
}

static int underscores(const char *s)
{
	return strspn(s, "_");
}

/* By address; of several names for one the one that says most comes first. */
static int compare_functions(const void *va, const void *vb)
{
	const struct bt_function *a = va, *b = vb;
	bool a_sized = a->end > a->start, b_sized = b->end > b->start;
	int diff;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a_sized != b_sized)
		return a_sized ? -1 : 1;
	diff = underscores(a->name) - underscores(b->name);
	return diff ? diff : strcmp(a->name, b->name);
}

/* What has no size ends where @next begins, or earlier. */
static void end_before(struct bt_function *fn, u64 next)
{
	if (fn->end == fn->start)
		fn->end = fn->limit > fn->start && fn->limit < next ? fn->limit : next;
}

/*
 * Put functions in order: one for each address, no labels within functions.
 * Returns how many are left.
 */
size_t bt_function_tidy(struct bt_function *fn, size_t n)
{
	size_t in, out = 0;
	u64 covered = 0;

	if (n)
		qsort(fn, n, sizeof(*fn), compare_functions);
	for (in = 0; in < n; in++) {
		bool sized = fn[in].end > fn[in].start;

		if ((out && fn[out - 1].start == fn[in].start) ||
		    (!sized && fn[in].start < covered)) {
			free((void *)fn[in].name);
			continue;
		}
		if (sized && fn[in].end > covered)
			covered = fn[in].end;
		if (out)
			end_before(&fn[out - 1], fn[in].start);
		fn[out++] = fn[in];
	}
	if (out && fn[out - 1].limit)
		end_before(&fn[out - 1], UINT64_MAX);
	/* Where the last one ends nobody knows: it is no more than its name. */
	if (out && fn[out - 1].end == fn[out - 1].start)
		free((void *)fn[--out].name);
	return out;
}

/* The innermost of the functions @fn that @addr is in. */
const struct bt_function *bt_function_at(const struct bt_function *fn, size_t n, u64 addr)
{
	size_t low = 0, high = n, middle;
	int back;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (fn[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	/* Functions within functions are rare, and few. */
	for (back = 0; low && back < 16; back++)
		if (addr < fn[--low].end)
			return &fn[low];
	return NULL;
}

const struct bt_function *bt_elf_function(const struct bt_elf *elf, u64 addr)
{
	return bt_function_at(elf->fn, elf->nr_fn, addr);
}

/* Is it in code? Sets @limit to where that ends. */
static bool names_code(const GElf_Sym *sym, Elf *e, u64 *limit)
{
	int type = GELF_ST_TYPE(sym->st_info);
	GElf_Shdr header;

	*limit = 0;
	if (sym->st_shndx == SHN_UNDEF)
		return false;
	/* STT_NOTYPE: a label in assembly */
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (sym->st_shndx >= SHN_LORESERVE ||
	    !gelf_getshdr(elf_getscn(e, sym->st_shndx), &header))
		return type != STT_NOTYPE;
	*limit = header.sh_addr + header.sh_size;
	return header.sh_flags & SHF_EXECINSTR;
}

/* Without the version: name@@VERSION; and no more than anybody reads. */
static int name_length(const char *name)
{
	int n = 1;

	while (n < NAME_LENGTH && name[n] && name[n] != '@')
		n++;
	return n;
}

static void read_symbols(struct bt_elf *elf, Elf *e)
{
	int i, n = dwfl_module_getsymtab(elf->mod);
	const char *name;
	GElf_Addr addr;
	GElf_Sym sym;
	u64 limit;

	for (i = 1; i < n; i++) {
		name = dwfl_module_getsym_info(elf->mod, i, &sym, &addr, NULL, NULL, NULL);
		if (!name || !*name || !names_code(&sym, e, &limit))
			continue;
		elf_add(elf, (struct bt_function){
			.name = bt_print("%.*s", name_length(name), name),
			.start = addr, .end = addr + sym.st_size, .limit = limit,
		});
	}
	elf->nr_fn = bt_function_tidy(elf->fn, elf->nr_fn);
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
	/* Takes the descriptor if it succeeds. */
	elf->mod = dwfl_report_elf(elf->dwfl, path, path, fd, 0, true);
	dwfl_report_end(elf->dwfl, NULL, NULL);
	if (!elf->mod) {
		close(fd);
		return;
	}
	dwfl_module_info(elf->mod, &user, NULL, NULL, NULL, NULL, NULL, NULL);
	*user = elf;
	e = dwfl_module_getelf(elf->mod, &bias);
	if (!e || !gelf_getehdr(e, &header) || bias)
		return;
	elf->is64 = header.e_machine != EM_386;
	read_segments(elf, e);
	read_symbols(elf, e);
	elf_add_plt(elf, e);
}

/*
 * bt_elf_open - read the symbols of a file
 * @fd: the file; closed with the rest, or on failure
 * @path: what to look for separate debug information by
 *
 * Returns NULL if it is no ELF file.
 */
struct bt_elf *bt_elf_open(int fd, const char *path)
{
	struct bt_elf *elf = bt_alloc(1, sizeof(*elf));

	elf->fd = fd;
	guarded(read_file, elf, (void *)path);
	if (!elf->mod) {
		bt_elf_close(elf);
		return NULL;
	}
	elf->nr_fn = bt_function_tidy(elf->fn, elf->nr_fn);
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
	size_t i;

	if (!elf)
		return;
	guarded(end_dwfl, elf, NULL);
	for (i = 0; i < elf->nr_fn; i++)
		free((void *)elf->fn[i].name);
	free(elf->fn);
	free(elf->segment);
	free(elf->range);
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
	/* Finds what there is. */
	Dwarf *dwarf = dwfl_module_getdwarf(elf->mod, &bias);
	Dwfl_Line *line;

	if (!dwarf || elf->no_lines)
		return;
	line = dwfl_module_getsrc(elf->mod, q->addr);
	if (line)
		q->file = dwfl_lineinfo(line, NULL, &q->line, NULL, NULL, NULL);
	else
		elf_find_line(elf, dwarf, q->addr - bias, &q->file, &q->line);
}

/* Find file and line of @addr. @file stays as long as @elf does. */
bool bt_elf_line(struct bt_elf *elf, u64 addr, const char **file, int *line)
{
	struct line_query q = { .addr = addr };

	if (!elf->mod)
		return false;
	if (!guarded(find_line, elf, &q))
		elf->mod = NULL;	/* left in disorder; ended with the rest */
	if (!q.file || q.line <= 0)
		return false;
	*file = q.file;
	*line = q.line;
	return true;
}

/* To which address a byte of the file is linked. */
bool bt_elf_address(const struct bt_elf *elf, u64 offset, u64 *addr)
{
	size_t i;

	for (i = 0; i < elf->nr_segments; i++) {
		const struct bt_segment *s = &elf->segment[i];
		/* Maps are of whole pages. */
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
