// SPDX-License-Identifier: GPL-2.0
/* The dump of a crashed kernel, in ELF format: its memory and its VMCOREINFO. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump.h"

static const char *dump_name;
static int dump;
static Elf64_Phdr *segments;
static unsigned int nr_segments;
/* The text of VMCOREINFO. */
static char *info;

static void read_at(off_t at, void *buf, size_t size)
{
	ssize_t n = pread(dump, buf, size, at);

	if (n < 0)
		err(1, "%s", dump_name);
	if (n != (ssize_t)size)
		errx(1, "%s is truncated: it ends at %jd", dump_name, (intmax_t)(at + n));
}

static void read_header(const char *path)
{
	Elf64_Shdr section;
	Elf64_Ehdr header;

	dump_name = path;
	dump = open(path, O_RDONLY);
	if (dump < 0)
		err(1, "%s", path);
	read_at(0, &header, sizeof(header));
	if (!memcmp(&header, "makedumpfile", 12))
		errx(1, "%s was written to a pipe by makedumpfile: copy it with\n"
		     "  makedumpfile -R COPY < %s\nand read the copy", path, path);
	if (!memcmp(&header, "KDUMP   ", 8))
		errx(1, "%s was compressed by makedumpfile: read it with\n"
		     "  hw_branches.py %s\n"
		     "from the same directory of the kernel tree, or write ELF with makedumpfile -E",
		     path, path);
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_phentsize != sizeof(*segments))
		errx(1, "%s is not an ELF dump of a 64-bit kernel: give /proc/vmcore or a copy",
		     path);
	nr_segments = header.e_phnum;
	/* If there are too many segments for this field, the first section has their number. */
	if (nr_segments == PN_XNUM) {
		read_at(header.e_shoff, &section, sizeof(section));
		nr_segments = section.sh_info;
	}
	segments = calloc(nr_segments, sizeof(*segments));
	if (!segments)
		err(1, "cannot read %u segments", nr_segments);
	read_at(header.e_phoff, segments, nr_segments * sizeof(*segments));
}

/* Returns the text of the note @name in a segment of notes; NULL if there is no such note. */
static char *find_note(const Elf64_Phdr *segment, const char *name)
{
	char *notes = calloc(1, segment->p_filesz + 1);
	size_t at = 0;

	if (!notes)
		err(1, "cannot read the notes");
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
		errx(1, "%s has no VMCOREINFO: it is not the dump of a kernel", dump_name);
}

bool find_value(const char *key, int base, uint64_t *value)
{
	size_t len = strlen(key);
	const char *line;
	char *end;

	for (line = info; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == '=') {
			errno = 0;
			*value = strtoull(line + len + 1, &end, base);
			if (errno || end == line + len + 1 || (*end && *end != '\n'))
				errx(1, "VMCOREINFO was overwritten: %s has no number", key);
			return true;
		}
	}
	return false;
}

uint64_t value_of(const char *key, int base)
{
	uint64_t value;

	if (!find_value(key, base, &value))
		errx(1, "no %s in VMCOREINFO: that kernel could not record branches", key);
	return value;
}

bool read_kernel(uint64_t at, void *buf, size_t size)
{
	unsigned int i;

	for (i = 0; i < nr_segments; i++) {
		const Elf64_Phdr *s = &segments[i];

		if (s->p_type == PT_LOAD && at >= s->p_vaddr && size <= s->p_filesz &&
		    at - s->p_vaddr <= s->p_filesz - size)
			return pread(dump, buf, size, s->p_offset + (at - s->p_vaddr)) ==
			       (ssize_t)size;
	}
	return false;
}

void open_dump(const char *path)
{
	read_header(path);
	find_info();
}
