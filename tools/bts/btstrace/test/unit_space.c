// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of files and memory. This program looks at itself, and at copies of itself that were
 * deleted, truncated or replaced.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "code.h"
#include "debuginfo.h"
#include "jitread.h"
#include "kernel.h"
#include "proc.h"
#include "session.h"
#include "tap.h"

static const int line_of_marked = __LINE__ + 1;
__attribute__((noinline)) int marked(int x) { return x + 1; }

/* A function whose name is longer than NAME_LENGTH in elffile.c */
#define FOUR(s)	s s s s
#define NAME	"name" FOUR(FOUR(FOUR(FOUR(FOUR(FOUR("x"))))))

asm(".pushsection .text\n.type " NAME ", @function\n" NAME ": ret\n"
	".size " NAME ", . - " NAME "\n.popsection\n");
extern const char long_name[] asm(NAME);

static struct bt_buffer maps;

/*
 * If a file was truncated, guarded() in elffile.c ends a call of libdw early: the memory of
 * dwarf_begin_elf() may leak.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:dwarf_begin_elf\n";
}

static struct bt_space *look_at_myself(void)
{
	struct bt_space *space = bt_space_new(true);

	bt_space_attach(space, getpid());
	bt_proc_read(&maps, getpid(), "maps");
	bt_space_update(space, maps.bytes, maps.len);
	return space;
}

static void test_myself(void)
{
	struct bt_space *space = look_at_myself();
	u64 addr = (u64)(uintptr_t)marked;
	struct bt_place *place = bt_space_place(space, addr);
	char want[80];

	ok(place->fn->named && !strcmp(place->fn->name, "marked") && !place->offset,
	   "a function: %s", place->fn->name);
	sprintf(want, "marked+0x0 (unit_space.c:%d)", line_of_marked);
	ok(!strcmp(bt_place_text(place), want), "its line: %s", bt_place_text(place));
	ok(bt_space_place(space, addr) == place, "the same place again");
	place = bt_space_place(space, addr + 1);
	ok(place->offset == 1 && place->fn->named, "one byte further on");
	ok(!bt_space_update(space, maps.bytes, maps.len), "no change");
	place = bt_space_place(space, (u64)(uintptr_t)long_name);
	ok(place->fn->named && strlen(place->fn->name) == 4096, "a name is cut: %zu of %zu",
	   strlen(place->fn->name), strlen(NAME));
	place = bt_space_place(space, 0x10);
	ok(!strcmp(bt_place_text(place), "[unknown]+0x10"), "nowhere: %s", bt_place_text(place));
	place = bt_space_place(space, UINT64_MAX);
	ok(!strncmp(bt_place_text(place), "[kernel]+", 9) || place->fn->named, "the kernel: %s",
	   bt_place_text(place));
	place = bt_space_place(space, (u64)(uintptr_t)dlsym(RTLD_DEFAULT, "strtoull"));
	ok(place->fn->named && !strncmp(place->module->name, "libc.so", 7), "a library: %s",
	   bt_place_text(place));
	bt_space_free(space);
}

static void test_vdso(void)
{
	struct bt_space *space = look_at_myself();
	u64 base = getauxval(AT_SYSINFO_EHDR);
	struct bt_place *place = NULL;
	u64 at;

	for (at = base; at < base + 0x2000; at += 16) {
		place = bt_space_place(space, at);
		if (place->fn->named)
			break;
	}
	ok(place->fn->named && !strcmp(place->module->name, "[vdso]"), "the vdso: %s",
	   bt_place_text(place));
	bt_space_free(space);
}

/* Make a copy of this program, and map it. Sets *@fd to the file. */
static u8 *mapped_copy(const char *name, int *fd)
{
	int self = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	u8 *map;

	*fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (self < 0 || *fd < 0 || fstat(self, &st) ||
	    sendfile(*fd, self, NULL, st.st_size) != st.st_size)
		exit(2);
	close(self);
	map = mmap(NULL, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, *fd, 0);
	if (map == MAP_FAILED)
		exit(2);
	return map;
}

static void test_deleted(void)
{
	struct bt_space *space;
	struct bt_place *place;
	u8 *map;
	int fd;

	map = mapped_copy("./unit-deleted", &fd);
	unlink("./unit-deleted");
	space = look_at_myself();
	place = bt_space_place(space, (u64)(uintptr_t)map + 0x40);
	ok(!strcmp(place->module->name, "unit-deleted") && place->module_offset == 0x40,
	   "a deleted file: %s", bt_place_text(place));
	/* Another file with the same path is not the file that is mapped. */
	close(open("./unit-deleted", O_WRONLY | O_CREAT, 0600));
	bt_space_free(space);
	bt_modules_free();
	space = look_at_myself();
	place = bt_space_place(space, (u64)(uintptr_t)map + 0x40);
	ok(place->module_offset == 0x40, "a replaced file: %s", bt_place_text(place));
	unlink("./unit-deleted");
	bt_space_free(space);
	close(fd);
}

static void test_fifo(void)
{
	struct bt_space *space;
	struct bt_place *place;
	u8 *map;
	int fd;

	map = mapped_copy("./unit-fifo", &fd);
	unlink("./unit-fifo");
	mkfifo("./unit-fifo", 0600);
	space = look_at_myself();
	place = bt_space_place(space, (u64)(uintptr_t)map + 0x40);
	ok(place->module_offset == 0x40, "a FIFO in its place does not hold us up");
	unlink("./unit-fifo");
	bt_space_free(space);
	close(fd);
}

/*
 * There is a FIFO where libdw looks for separate debug information of a program. The program has
 * no sections, so that libdw does look.
 */
static void test_fifo_debug(const char *fifo)
{
	Elf64_Ehdr head;
	struct bt_elf *elf;
	const char *file;
	int fd, line;

	unlink(fifo);
	mapped_copy("./unit-bare", &fd);
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head))
		exit(2);
	head.e_shoff = 0;
	head.e_shnum = 0;
	head.e_shstrndx = 0;
	if (pwrite(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    mkfifo(fifo, 0600))
		exit(2);
	alarm(20);
	elf = bt_elf_open(fd, "./unit-bare");
	ok(elf && !bt_elf_line(elf, elf->base + 0x1000, &file, &line),
	   "nor does one in the place of its debug information: %s", fifo);
	alarm(0);
	bt_elf_close(elf);
	unlink("./unit-bare");
	unlink(fifo);
}

/* A debug link can lead from /usr/lib/debug to any file. */
static void test_fifo_link(void)
{
	char *path = realpath(".", NULL), *link = bt_print("../../..%s/unit-fifo", path);
	char *found = NULL;
	bool harmful = false;
	void *user = &harmful;

	mkdir("/usr", 0755);
	mkdir("/usr/lib", 0755);
	mkdir("/usr/lib/debug", 0755);
	if (mkfifo("./unit-fifo", 0600))
		exit(2);
	ok(elf_find_debuginfo(NULL, &user, NULL, 0, "/bin/true", link, 0, &found) == -1 && harmful,
	   "nor does one that its debug link names");
	unlink("./unit-fifo");
	free(link);
	free(path);
}

/* libelf maps a file. If the file is truncated, reading behind its new end raises SIGBUS. */
static void test_cut_short(void)
{
	struct bt_elf *elf;
	const char *file;
	int fd, line;
	u8 *map;

	map = mapped_copy("./unit-short", &fd);
	(void)map;
	elf = bt_elf_open(fd, "./unit-short");
	ok(elf && elf->functions.nr > 100, "a program has functions");
	if (truncate("./unit-short", 4096))
		exit(2);
	ok(!bt_elf_line(elf, elf->functions.fn[0].start, &file, &line),
	   "a file that was cut short");
	ok(!bt_elf_line(elf, elf->functions.fn[0].start, &file, &line), "and once more");
	bt_elf_close(elf);
	elf = bt_elf_open(open("./unit-short", O_RDONLY), "./unit-short");
	ok(!elf || !elf->functions.nr, "only its beginning is left");
	bt_elf_close(elf);
	unlink("./unit-short");
}

static void test_no_elf(void)
{
	int fd = open("./unit-text", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (write(fd, "no program", 10) != 10)
		exit(2);
	ok(!bt_elf_open(fd, "./unit-text"), "no ELF file");
	unlink("./unit-text");
	fd = open("./unit-text", O_RDWR | O_CREAT | O_TRUNC, 0600);
	ok(!bt_elf_open(fd, "./unit-text"), "an empty file");
	unlink("./unit-text");
}

/* If the program can write its code, the code is read anew for each batch of records. */
static void test_changing(void)
{
	u8 *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bt_space *space = look_at_myself();
	struct bt_place *place = bt_space_place(space, (u64)(uintptr_t)code);
	char want[64];

	sprintf(want, "[anon]+0x%llx", (unsigned long long)place->addr);
	ok(!strcmp(bt_place_text(place), want), "memory without a file: %s", bt_place_text(place));
	*code = 0xc3;
	ok(bt_space_insn(space, place)->kind == BT_RET, "code in it");
	code[0] = 0xeb;
	bt_space_update(space, maps.bytes, maps.len);
	ok(bt_space_insn(space, place)->kind == BT_JMP, "that changed");
	munmap(code, 4096);
	bt_space_update(space, maps.bytes, maps.len);
	ok(bt_space_insn(space, place)->kind == BT_UNKNOWN, "that is gone");
	bt_space_free(space);
}

/* A mapping may be gone when a record with its addresses is read. */
static void test_old_maps(void)
{
	struct bt_space *space = bt_space_new(false);
	const char *before = "1000-2000 r-xp 00000000 00:00 0 [first]\n";
	const char *after = "3000-4000 r-xp 00000000 00:00 0 [second]\n";

	ok(bt_space_update(space, before, strlen(before)), "first maps");
	ok(bt_space_update(space, after, strlen(after)), "other maps");
	ok(!strcmp(bt_space_place(space, 0x1010)->module->name, "[first]"), "what was before");
	ok(!strcmp(bt_space_place(space, 0x3010)->module->name, "[second]"), "what is now");
	bt_space_update(space, before, strlen(before));
	bt_space_update(space, "", 0);
	bt_space_update(space, after, strlen(after));
	ok(!strcmp(bt_space_place(space, 0x1010)->module->name, "[unknown]"), "what was long ago");
	bt_space_free(space);
}

/* Look up the place at @addr, and mark it. The mark is gone after the place was freed. */
static void mark(struct bt_space *space, u64 addr)
{
	bt_space_place(space, addr)->went_as = 1;
}

static bool is_marked(struct bt_space *space, u64 addr)
{
	return bt_space_place(space, addr)->went_as;
}

/*
 * Lists of just-in-time compilers are read if there is anonymous executable memory, with or without
 * a name. The vdso does not count.
 */
static void test_jit_lists(void)
{
	struct bt_map map = { .executable = true };
	char *const paths[] = { "", "[anon:code]", "[vdso]", };
	struct bt_jit_reader *r;
	char path[40], *text;
	size_t i, len;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "w");
	if (!f || fputs("1000 10 compiled\n", f) < 0 || fclose(f))
		exit(2);
	for (i = 0; i < 3; i++) {
		r = bt_jit_reader_new();
		map.path = paths[i];
		text = bt_jit_read(r, getpid(), &map, 1, &len);
		ok(!text == (i == 2), "lists beside memory with the name '%s'", paths[i]);
		free(text);
		bt_jit_reader_free(r);
	}
	unlink(path);
}

static void test_many_places(void)
{
	static const char text[] = "1000-7fffffff0000 rwxp 00000000 00:00 0\n";
	struct bt_space *space = bt_space_new(true), *other = bt_space_new(true);
	size_t i, right = 0, n = 100000;

	bt_space_update(space, text, strlen(text));
	bt_space_update(other, text, strlen(text));
	for (i = 0; i < n; i++)
		mark(space, 0x1000 + i * 3);
	bt_space_limit();
	for (i = 0; i < n; i++)
		right += is_marked(space, 0x1000 + i * 3);
	ok(right == n && !bt_space_is_full(), "%zu places are not too many", right);
	mark(other, 0x1000);
	for (; i < 600000; i++)
		bt_space_place(space, 0x1000 + i * 3);
	ok(bt_space_is_full() && is_marked(space, 0x1000) && is_marked(other, 0x1000),
	   "%zu are, and stay until somebody says so", i);
	bt_space_limit();
	ok(!is_marked(space, 0x1000) && !is_marked(other, 0x1000) && !bt_space_is_full(),
	   "then all are forgotten, of all address spaces");
	/* The limit is for all address spaces together. */
	bt_space_memory(1 << 20);
	for (i = 0; i < 1200; i++) {
		mark(space, 0x1000 + i);
		mark(other, 0x1000 + i);
	}
	bt_space_limit();
	ok(!is_marked(space, 0x1000) && !is_marked(other, 0x1000), "%zu in 1 MiB, in two of them",
	   2 * i);
	for (i = 0; i < 1200; i++)
		mark(space, 0x1000 + i);
	bt_space_limit();
	ok(is_marked(space, 0x1000), "%zu fit", i);
	bt_space_make_room();
	ok(!is_marked(space, 0x1000), "but leave less than half");
	bt_space_memory(256 << 20);
	bt_space_free(space);
	bt_space_free(other);
}

/* Returns how many nanoseconds it takes to find one of @n pages of code; 1e9 if one is wrong. */
static double time_of_pages(size_t n)
{
	struct bt_code *code = bt_code_new();
	size_t i, right = 0, reads = 200000;
	clock_t begin;
	u8 byte;

	for (i = 0; i < n; i++) {
		byte = i;
		bt_code_put(code, i * BT_PAGE, &byte, 1);
	}
	begin = clock();
	for (i = 0; i < reads; i++)
		right += bt_code_read(code, i * 7919 % n * BT_PAGE, &byte, 1) == 1 &&
			 byte == (u8)(i * 7919 % n);
	begin = clock() - begin;
	bt_code_free(code);
	return right == reads ? 1e9 * begin / CLOCKS_PER_SEC / reads : 1e9;
}

static void test_many_pages(void)
{
	double few = time_of_pages(1000), many = time_of_pages(20000);

	ok(many < 20 * few, "to find one of 20000 pages takes %.0f ns, of 1000 %.0f ns", many, few);
}

int main(void)
{
	test_myself();
	test_vdso();
	test_deleted();
	test_fifo();
	test_fifo_debug("./unit-bare.debug");
	mkdir("./.debug", 0700);
	test_fifo_debug("./.debug/unit-bare");
	rmdir("./.debug");
	test_fifo_link();
	test_cut_short();
	test_no_elf();
	test_changing();
	test_old_maps();
	test_jit_lists();
	test_many_places();
	test_many_pages();
	bt_modules_free();
	bt_kernel_free();
	free(maps.bytes);
	return finish();
}
