// SPDX-License-Identifier: GPL-2.0
/*
 * This file reads the build ID of a file, or computes a checksum. It looks for the build ID
 * without libelf, so that it reads only the headers and the notes.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ident.h"
#include "text.h"

/*
 * Limits that files from usual linkers do not reach. A file with more than HEADERS_MAX program
 * headers counts as a file without a build ID. Of each PT_NOTE segment, at most NOTES_BYTES are
 * read.
 */
#define HEADERS_MAX	64
#define NOTES_BYTES	4096

/* struct notes - the part of the file that a PT_NOTE segment is in */
struct notes {
	u64 offset;
	u64 size;
};

static size_t find_notes64(int fd, const Elf64_Ehdr *head, struct notes *notes)
{
	Elf64_Phdr ph[HEADERS_MAX];
	size_t i, n = 0, size = sizeof(*ph) * head->e_phnum;

	if (head->e_phnum > HEADERS_MAX || pread(fd, ph, size, head->e_phoff) != (ssize_t)size)
		return 0;
	for (i = 0; i < head->e_phnum; i++)
		if (ph[i].p_type == PT_NOTE)
			notes[n++] = (struct notes){ ph[i].p_offset, ph[i].p_filesz };
	return n;
}

static size_t find_notes32(int fd, const Elf32_Ehdr *head, struct notes *notes)
{
	Elf32_Phdr ph[HEADERS_MAX];
	size_t i, n = 0, size = sizeof(*ph) * head->e_phnum;

	if (head->e_phnum > HEADERS_MAX || pread(fd, ph, size, head->e_phoff) != (ssize_t)size)
		return 0;
	for (i = 0; i < head->e_phnum; i++)
		if (ph[i].p_type == PT_NOTE)
			notes[n++] = (struct notes){ ph[i].p_offset, ph[i].p_filesz };
	return n;
}

/*
 * Look for the build ID in @len bytes of notes. Name and description of a note begin at
 * multiples of 4. Elf64_Nhdr is the same as Elf32_Nhdr.
 */
static bool find_build_id(const u8 *bytes, size_t len, struct bt_ident *id)
{
	size_t at = 0, name, desc;
	Elf64_Nhdr head;

	while (at + sizeof(head) <= len) {
		memcpy(&head, bytes + at, sizeof(head));
		name = at + sizeof(head);
		desc = name + (((size_t)head.n_namesz + 3) & ~(size_t)3);
		if (desc > len || head.n_descsz > len - desc)
			return false;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
		    !memcmp(bytes + name, "GNU", 4) && head.n_descsz) {
			id->kind = BT_IDENT_BUILD;
			id->len = head.n_descsz < BT_IDENT_MAX ? head.n_descsz : BT_IDENT_MAX;
			memcpy(id->bytes, bytes + desc, id->len);
			return true;
		}
		at = desc + (((size_t)head.n_descsz + 3) & ~(size_t)3);
	}
	return false;
}

static bool read_build_id(int fd, struct bt_ident *id)
{
	struct notes notes[HEADERS_MAX];
	u8 bytes[NOTES_BYTES];
	Elf64_Ehdr head;
	size_t i, n;
	ssize_t got;

	if (pread(fd, &head, sizeof(head), 0) < (ssize_t)sizeof(Elf32_Ehdr) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG))
		return false;
	n = head.e_ident[EI_CLASS] == ELFCLASS64 ? find_notes64(fd, &head, notes) :
	    find_notes32(fd, (const Elf32_Ehdr *)&head, notes);
	for (i = 0; i < n; i++) {
		got = pread(fd, bytes, notes[i].size < NOTES_BYTES ? notes[i].size : NOTES_BYTES,
			    notes[i].offset);
		if (got > 0 && find_build_id(bytes, got, id))
			return true;
	}
	return false;
}

/*
 * Fill in @id: the build ID or, if the file has none, a checksum of all bytes. @id->kind is
 * BT_IDENT_NONE if the file is empty or cannot be read.
 */
void bt_ident_read(int fd, struct bt_ident *id)
{
	u64 sum = 0xcbf29ce484222325ull, at = 0;
	u8 bytes[65536];
	ssize_t n, i;

	*id = (struct bt_ident){};
	if (read_build_id(fd, id))
		return;
	for (; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
		for (i = 0; i < n; i++)
			sum = (sum ^ bytes[i]) * 0x100000001b3ull;
	if (n < 0 || !at)
		return;
	id->kind = BT_IDENT_SUM;
	id->len = sizeof(sum);
	memcpy(id->bytes, &sum, sizeof(sum));
}

bool bt_ident_same(const struct bt_ident *a, const struct bt_ident *b)
{
	return a->kind == b->kind && a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* Returns the build ID or the checksum as text. The caller frees the text. */
char *bt_ident_text(const struct bt_ident *id)
{
	struct bt_text t;
	size_t i;

	text_open(&t, -1);
	text_str(&t, id->kind == BT_IDENT_BUILD ? "build ID " : "sum ");
	for (i = 0; i < id->len; i++)
		text_print(&t, "%02x", id->bytes[i]);
	text_char(&t, '\0');
	return t.buf;
}
