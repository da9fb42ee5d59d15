// SPDX-License-Identifier: GPL-2.0
/*
 * hw-branches - print the last branches of a kernel that crashed, from its dump
 *
 *   hw-branches [-n NR] [-m MAP] DUMP
 *
 * DUMP is /proc/vmcore of the crash kernel, or a copy of it that is still ELF.
 * What is needed to find the buffers stands in the dump's VMCOREINFO, so no debug
 * information is. MAP, the crashed kernel's System.map or a copy of its
 * /proc/kallsyms, gives the addresses names.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The fields of the branch half of the Debug Store. */
enum { BASE, INDEX, MAXIMUM, NR_FIELDS };

struct symbol {
	uint64_t at;
	char name[64];
};

static const char *dump_name;
static int dump;
static Elf64_Phdr *segments;
static unsigned int nr_segments;
static char *info;		/* VMCOREINFO */

static struct symbol *symbols;
static size_t nr_symbols;

static void read_at(off_t at, void *buf, size_t size)
{
	ssize_t n = pread(dump, buf, size, at);

	if (n < 0)
		err(1, "%s", dump_name);
	if (n != (ssize_t)size)
		errx(1, "%s ends at %jd", dump_name, (intmax_t)(at + n));
}

static void read_header(const char *path)
{
	Elf64_Ehdr header;

	dump_name = path;
	dump = open(path, O_RDONLY);
	if (dump < 0)
		err(1, "%s", path);
	read_at(0, &header, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(*segments))
		errx(1, "%s is no ELF dump of a 64-bit kernel: give /proc/vmcore or a copy", path);
	nr_segments = header.e_phnum;
	segments = calloc(nr_segments, sizeof(*segments));
	if (!segments)
		err(1, "%u segments", nr_segments);
	read_at(header.e_phoff, segments, nr_segments * sizeof(*segments));
}

/* The note by that name in a segment of notes, its end marked by a 0. */
static char *find_note(const Elf64_Phdr *segment, const char *name)
{
	char *notes = calloc(1, segment->p_filesz + 1);
	size_t at = 0;

	if (!notes)
		err(1, "notes");
	read_at(segment->p_offset, notes, segment->p_filesz);
	while (at + sizeof(Elf64_Nhdr) < segment->p_filesz) {
		Elf64_Nhdr *note = (Elf64_Nhdr *)(notes + at);
		char *owner = notes + at + sizeof(*note);
		char *text = owner + ((note->n_namesz + 3) & ~3u);

		at = text + ((note->n_descsz + 3) & ~3u) - notes;
		if (at <= segment->p_filesz && note->n_namesz == strlen(name) + 1 &&
		    !strcmp(owner, name))
			return strndup(text, note->n_descsz);
	}
	free(notes);
	return NULL;
}

static void find_info(void)
{
	unsigned int i;

	for (i = 0; i < nr_segments && !info; i++) {
		if (segments[i].p_type == PT_NOTE)
			info = find_note(&segments[i], "VMCOREINFO");
	}
	if (!info)
		errx(1, "no VMCOREINFO: this ELF file is no dump of a kernel");
}

/* The value behind "KEY=" at the beginning of a line. */
static bool has_value(const char *key, int base, uint64_t *value)
{
	size_t len = strlen(key);
	const char *line;

	for (line = info; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == '=') {
			*value = strtoull(line + len + 1, NULL, base);
			return true;
		}
	}
	return false;
}

static uint64_t value_of(const char *key, int base)
{
	uint64_t value;

	if (!has_value(key, base, &value))
		errx(1, "no %s in VMCOREINFO: that kernel could not record branches", key);
	return value;
}

/* Memory of the dead kernel, at an address of its own. */
static void read_kernel(uint64_t at, void *buf, size_t size)
{
	unsigned int i;

	for (i = 0; i < nr_segments; i++) {
		const Elf64_Phdr *s = &segments[i];

		if (s->p_type == PT_LOAD && at >= s->p_vaddr &&
		    at + size <= s->p_vaddr + s->p_filesz) {
			read_at(s->p_offset + (at - s->p_vaddr), buf, size);
			return;
		}
	}
	errx(1, "no %zu bytes at %#" PRIx64 " in the dump", size, at);
}

static uint64_t read_word(uint64_t at)
{
	uint64_t word;

	read_kernel(at, &word, sizeof(word));
	return word;
}

/*
 * Names
 */

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void read_map(const char *path)
{
	FILE *map = fopen(path, "r");
	struct symbol s;
	size_t room = 0;
	char line[512];

	if (!map)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), map)) {
		if (sscanf(line, "%" SCNx64 " %*c %63s", &s.at, s.name) != 2)
			continue;
		if (nr_symbols == room) {
			room = room ? 2 * room : 4096;
			symbols = reallocarray(symbols, room, sizeof(*symbols));
			if (!symbols)
				err(1, "%s", path);
		}
		symbols[nr_symbols++] = s;
	}
	fclose(map);
	if (!nr_symbols)
		errx(1, "%s: no symbols, as System.map has them", path);
}

/* Sorted. A System.map has the addresses of the kernel as it was linked. */
static void place_symbols(void)
{
	uint64_t ran_at, moved = 0;
	size_t i;

	for (i = 0; i < nr_symbols && has_value("SYMBOL(_stext)", 16, &ran_at); i++) {
		if (!strcmp(symbols[i].name, "_stext"))
			moved = ran_at - symbols[i].at;
	}
	for (i = 0; i < nr_symbols; i++)
		symbols[i].at += moved;
	if (nr_symbols)
		qsort(symbols, nr_symbols, sizeof(*symbols), compare_symbols);
}

static bool is_user(uint64_t at)
{
	return !(at >> 63);
}

static void print_address(uint64_t at)
{
	size_t low = 0, high = is_user(at) ? 0 : nr_symbols;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (symbols[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	/* Behind the last symbol are modules, which the map may not have. */
	if (low && low < nr_symbols)
		printf("%s+%#" PRIx64, symbols[low - 1].name, at - symbols[low - 1].at);
	else
		printf("%#" PRIx64, at);
}

/*
 * Branches
 */

/* The kernel may have jumped there itself, as @older tells: through a bad pointer. */
static void print_branch(const uint64_t *record, const uint64_t *older)
{
	bool astray = older[1] == record[0] && !is_user(older[0]);

	printf(" ");
	print_address(record[1]);
	printf(" <- ");
	if (is_user(record[0]) && !astray)
		printf("user mode");
	else
		print_address(record[0]);
	printf("\n");
}

/* The hardware has come round if there is something at the very end. */
static bool has_wrapped(const uint64_t *record, size_t size)
{
	return record[3 * (size - 1)] || record[3 * (size - 1) + 1];
}

/* The newest first, out of a buffer that is filled over and over again. */
static void print_cpu(unsigned int cpu, uint64_t offset, unsigned long nr)
{
	uint64_t store[NR_FIELDS], *record, *last, *older, buffer, todo;
	uint64_t pages = value_of("SYMBOL(ds_cpu)", 16) + value_of("OFFSET(ds_cpu.pages)", 10);
	size_t size, at, i;

	read_kernel(offset + value_of("SYMBOL(cpu_debug_store)", 16), store, sizeof(store));
	buffer = read_word(offset + pages);
	size = (store[MAXIMUM] - store[BASE]) / 24;
	if (!buffer || !size || store[INDEX] < store[BASE] || store[INDEX] > store[MAXIMUM])
		return;

	record = calloc(size, 24);
	if (!record)
		err(1, "%zu records", size);
	read_kernel(buffer, record, size * 24);
	at = (store[INDEX] - store[BASE]) / 24;

	printf("Last branches of CPU %u, newest first:\n", cpu);
	for (i = 0, todo = nr; i < size && todo; i++) {
		if (!at && !has_wrapped(record, size))
			break;
		at = at ? at - 1 : size - 1;
		last = record + 3 * at;
		older = record + 3 * (at ? at - 1 : size - 1);
		if (is_user(last[0]) && is_user(last[1]))
			continue;
		print_branch(last, older);
		todo--;
	}
	free(record);
}

static void print_all(unsigned long nr)
{
	uint64_t cpus = value_of("NUMBER(nr_cpu_ids)", 10), cpu, offsets;
	/* Not where one CPU is all that the kernel was made for. */
	bool many = has_value("SYMBOL(__per_cpu_offset)", 16, &offsets);

	if (value_of("NUMBER(ds_field)", 10) != sizeof(uint64_t))
		errx(1, "that kernel's processor has no 64-bit Debug Store");
	for (cpu = 0; cpu < cpus; cpu++)
		print_cpu(cpu, many ? read_word(offsets + 8 * cpu) : 0, nr);
}

static void say_usage(FILE *out)
{
	fprintf(out,
		"usage: hw-branches [-n NR] [-m MAP] DUMP\n\n"
		"  -n NR   branches of each CPU [32]\n"
		"  -m MAP  System.map, or a copy of /proc/kallsyms, of the kernel that crashed\n"
		"  DUMP    /proc/vmcore, or a copy of it in ELF\n");
}

static unsigned long parse_nr(const char *text)
{
	unsigned long nr;
	char *end;

	errno = 0;
	nr = strtoul(text, &end, 0);
	if (errno || *end || !nr || *text == '-')
		errx(2, "-n %s: give a number of branches, 1 or more", text);
	return nr;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { } };
	unsigned long nr = 32;
	int option;

	while ((option = getopt_long(argc, argv, "n:m:h", options, NULL)) != -1) {
		switch (option) {
		case 'n':
			nr = parse_nr(optarg);
			break;
		case 'm':
			read_map(optarg);
			break;
		case 'h':
			say_usage(stdout);
			return 0;
		default:
			say_usage(stderr);
			return 2;
		}
	}
	if (optind != argc - 1) {
		say_usage(stderr);
		return 2;
	}
	read_header(argv[optind]);
	find_info();
	place_symbols();
	print_all(nr);
	return 0;
}
