// SPDX-License-Identifier: GPL-2.0
/* This file finds the module, function and instruction of an address in an address space. */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "code.h"
#include "jit.h"
#include "kernel.h"
#include "space.h"

/*
 * struct mapped - the mappings of a process at one time
 * @map: the lines of /proc/PID/maps
 * @module: the module of each line; NULL if it was not looked up yet
 * @nr: the number of lines
 */
struct mapped {
	struct bt_map		*map;
	struct bt_module	**module;
	size_t			nr;
};

/*
 * struct bt_space - an address space
 * @is64: the program is 64-bit; used for code of user mode if its ELF file is not known
 * @pid: the thread to read memory of, or 0
 * @text: /proc/PID/maps as it was read last, to detect a change
 * @now: the current mappings
 * @old: the mappings before the last change: a record may be older than the change
 * @code: code of the recorded trace that is read or written
 * @jit: functions of a just-in-time compiler
 * @places: the places that were looked up and not freed, a hash table of 2^bits slots
 * @batch: counts the calls of bt_space_update() and bt_space_add_code(): after such a call,
 *	bt_space_insn() reads a place again if its @changeable is true
 * @next: the next address space in the list of all
 * @at: the pointer in this list that points to this address space
 */
struct bt_space {
	bool		is64;
	pid_t		pid;
	char		*text;
	size_t		text_len;
	struct mapped	now, old;
	struct bt_code	*code;
	struct bt_jit	*jit;
	struct bt_place	**places;
	int		bits;
	size_t		nr_places;
	u32		batch;
	struct bt_space	*next, **at;
};

#define PLACES_BITS	6
/* A place takes about this many bytes, with @words and its slots in the hash table. */
#define PLACE_BYTES	512

static struct bt_space *spaces;
/* The number of places of all address spaces together, and its limit */
static size_t all_places, places_max = 500000;

/* Use no more than about @bytes for the places of all address spaces. */
void bt_space_memory(u64 bytes)
{
	places_max = bytes / PLACE_BYTES;
}

struct bt_space *bt_space_new(bool is64)
{
	struct bt_space *space = bt_alloc(1, sizeof(*space));

	space->is64 = is64;
	space->bits = PLACES_BITS;
	space->code = bt_code_new();
	space->places = bt_alloc((size_t)1 << space->bits, sizeof(*space->places));
	space->next = spaces;
	if (spaces)
		spaces->at = &space->next;
	space->at = &spaces;
	spaces = space;
	return space;
}

static const struct bt_map *find_map(const struct mapped *m, u64 addr)
{
	return bt_maps_find(m->map, m->nr, addr);
}

static void forget_places(struct bt_space *space)
{
	size_t i;

	all_places -= space->nr_places;
	for (i = 0; i < (size_t)1 << space->bits && space->nr_places; i++) {
		if (!space->places[i])
			continue;
		free(space->places[i]->text);
		free(space->places[i]->words);
		free(space->places[i]);
		space->places[i] = NULL;
		space->nr_places--;
	}
}

/* Free all places of all address spaces, and shrink the hash tables. */
static void forget_all(void)
{
	struct bt_space *space;

	for (space = spaces; space; space = space->next) {
		forget_places(space);
		if (space->bits == PLACES_BITS)
			continue;
		free(space->places);
		space->bits = PLACES_BITS;
		space->places = bt_alloc((size_t)1 << space->bits, sizeof(*space->places));
	}
}

static void free_mapped(struct mapped *m)
{
	bt_maps_free(m->map, m->nr);
	free(m->module);
}

void bt_space_free(struct bt_space *space)
{
	if (!space)
		return;
	forget_places(space);
	*space->at = space->next;
	if (space->next)
		space->next->at = space->at;
	bt_code_free(space->code);
	free_mapped(&space->now);
	free_mapped(&space->old);
	free(space->places);
	free(space->text);
	free(space);
}

/* From now on, read the memory of @pid; of no process if @pid is 0. */
void bt_space_attach(struct bt_space *space, pid_t pid)
{
	space->pid = pid;
}

/*
 * bt_space_update - tell an address space its current mappings
 * @space: the address space
 * @maps: the text of /proc/PID/maps
 * @len: the length of the text
 *
 * Call this also if only code of a live thread may have changed. If the mappings have changed,
 * frees all places of @space, and returns true.
 */
bool bt_space_update(struct bt_space *space, const char *maps, size_t len)
{
	space->batch++;
	if (len == space->text_len && (!len || !memcmp(maps, space->text, len)))
		return false;
	free(space->text);
	space->text = bt_alloc(len, 1);
	memcpy(space->text, maps, len);
	space->text_len = len;
	forget_places(space);
	free_mapped(&space->old);
	space->old = space->now;
	space->now.nr = bt_maps_parse(maps, len, &space->now.map);
	space->now.module = bt_alloc(space->now.nr, sizeof(*space->now.module));
	return true;
}

/*
 * Free all places if they take more memory than bt_space_memory() allows. Do not use a place
 * from before this call.
 */
void bt_space_limit(void)
{
	if (all_places > places_max)
		forget_all();
}

/*
 * Free all places if they take more than half of the memory that bt_space_memory() allows,
 * for a caller that is going to need many places at the same time.
 */
void bt_space_make_room(void)
{
	if (all_places > places_max / 2)
		forget_all();
}

/*
 * Is the memory that bt_space_memory() allows used up? With a few more places,
 * bt_space_limit() would free all of them.
 */
bool bt_space_is_full(void)
{
	return all_places + 1 >= places_max;
}

/* Returns the thread to read memory of, or 0. */
pid_t bt_space_pid(const struct bt_space *space)
{
	return space->pid;
}

const struct bt_map *bt_space_maps(const struct bt_space *space, size_t *n)
{
	*n = space->now.nr;
	return space->now.map;
}

/* Add code of a recorded trace. It is valid for the records that follow. */
void bt_space_add_code(struct bt_space *space, u64 addr, const void *bytes, size_t len)
{
	bt_code_put(space->code, addr, bytes, len);
	space->batch++;
}

/*
 * Add functions of a just-in-time compiler, and free all places of @space. @text has lines as in
 * /tmp/perf-PID.map.
 */
void bt_space_add_jit(struct bt_space *space, const char *text, size_t len)
{
	bt_jit_add(&space->jit, text, len);
	forget_places(space);
}

static size_t read_process(pid_t pid, u64 addr, void *buf, size_t n)
{
	struct iovec here = { buf, n }, there = { (void *)(uintptr_t)addr, n };
	size_t whole = BT_PAGE - addr % BT_PAGE;
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

	/* The call may fail if a later page is not mapped: read from the first page only. */
	if (got < 0 && whole < n) {
		here.iov_len = whole;
		there.iov_len = whole;
		got = process_vm_readv(pid, &here, 1, &there, 1, 0);
	}
	return got < 0 ? 0 : got;
}

/* Read the memory of the process or of the running kernel. Returns the number of bytes, or 0. */
static size_t read_memory(struct bt_space *space, u64 addr, void *buf, size_t n)
{
	if (BT_IS_KERNEL(addr))
		return bt_kernel_read(addr, buf, n);
	return space->pid ? read_process(space->pid, addr, buf, n) : 0;
}

/*
 * Read up to @n bytes at @addr: from memory, else from the recorded trace, else from the file
 * of the module. For code of the kernel, see below. Returns the number of bytes, or 0.
 */
size_t bt_space_read(struct bt_space *space, u64 addr, void *buf, size_t n)
{
	const struct bt_place *place;
	size_t got;

	/*
	 * If @space->pid is 0, as while a recorded trace is shown, prefer the recorded code of
	 * the kernel: the memory of the running kernel may differ.
	 */
	got = space->pid ? read_memory(space, addr, buf, n) : 0;
	if (!got)
		got = bt_code_read(space->code, addr, buf, n);
	if (!got && BT_IS_KERNEL(addr))
		return read_memory(space, addr, buf, n);
	if (got)
		return got;
	place = bt_space_place(space, addr);
	return place->elf ? bt_elf_read(place->elf, place->file_offset, buf, n) : 0;
}

/*
 * Read the page of @addr into @buf of BT_PAGE bytes, to record it. Returns the number of
 * bytes. Returns 0 if a file contains the code and the mapping is not writable, if nothing is
 * mapped there, if the page was read for this batch of records already, if it has not changed, or
 * if it cannot be read.
 */
size_t bt_space_new_code(struct bt_space *space, u64 addr, u8 *buf)
{
	const struct bt_map *map = find_map(&space->now, addr);
	size_t n;

	if ((map ? map->ino && !map->writable : !BT_IS_KERNEL(addr)) ||
	    !bt_code_first_in_batch(space->code, addr, space->batch))
		return 0;
	n = read_memory(space, addr - addr % BT_PAGE, buf, BT_PAGE);
	return bt_code_put(space->code, addr - addr % BT_PAGE, buf, n) ? n : 0;
}

/* Read the whole vdso. Returns NULL if it is too large or cannot be read. The caller frees it. */
static u8 *read_vdso(struct bt_space *space, const struct bt_map *map)
{
	size_t n, got, len = map->end - map->start;
	u8 *bytes;

	if (len > BT_VDSO_MAX)
		return NULL;
	bytes = bt_alloc(len, 1);
	for (n = 0; n < len; n += got) {
		got = bt_space_read(space, map->start + n, bytes + n, len - n);
		if (!got) {
			free(bytes);
			return NULL;
		}
	}
	return bytes;
}

static struct bt_module *module_at(struct bt_space *space, struct mapped *m,
				   const struct bt_map *map)
{
	struct bt_module **module = &m->module[map - m->map];
	u8 *image = NULL;

	if (*module)
		return *module;
	if (!strcmp(map->path, BT_VDSO))
		image = read_vdso(space, map);
	/* A file of @space->old may not be mapped any more: open the file that has its path now. */
	*module = bt_module_of(m->map, m->nr, map - m->map, m == &space->now ? space->pid : 0,
			       image, map->end - map->start);
	free(image);
	return *module;
}

static void look_up_kernel(struct bt_place *place)
{
	const struct bt_function *fn = bt_kernel_function(place->addr);

	place->module = bt_module_kernel();
	place->fn = fn ? fn : &place->module->all;
	place->offset = place->addr - place->fn->start;
	place->module_offset = place->addr;
}

static bool look_up_jit(const struct bt_space *space, struct bt_place *place)
{
	const struct bt_function *fn = bt_jit_function(space->jit, place->addr);

	if (!fn)
		return false;
	place->fn = fn;
	place->offset = place->addr - fn->start;
	return true;
}

static void look_up(struct bt_space *space, struct bt_place *place)
{
	struct mapped *mapped = &space->now;
	const struct bt_map *map = find_map(mapped, place->addr);
	u64 addr;

	if (!map) {
		mapped = &space->old;
		map = find_map(mapped, place->addr);
	}
	if (!map && BT_IS_KERNEL(place->addr)) {
		look_up_kernel(place);
		return;
	}
	place->module = map ? module_at(space, mapped, map) : bt_module_none();
	place->fn = &place->module->all;
	place->module_offset = place->addr - place->module->base;
	place->offset = place->module_offset;
	place->changeable = !map || map->writable || !map->ino;
	if (map && !map->ino && look_up_jit(space, place))
		return;
	if (!map || !place->module->elf)
		return;
	place->file_offset = place->addr - map->start + map->offset;
	if (!bt_elf_address(place->module->elf, place->file_offset, &addr))
		return;
	place->elf = place->module->elf;
	place->elf_addr = addr;
	place->module_offset = addr - place->elf->base;
	place->offset = place->module_offset;
	place->fn = bt_elf_function(place->elf, addr);
	if (place->fn)
		place->offset = addr - place->fn->start;
	else
		place->fn = &place->module->all;
}

static void more_places(struct bt_space *space)
{
	size_t i, at, n = (size_t)1 << space->bits;
	struct bt_place **old = space->places;

	space->bits++;
	space->places = bt_alloc(n * 2, sizeof(*space->places));
	for (i = 0; i < n; i++) {
		if (!old[i])
			continue;
		for (at = bt_hash(old[i]->addr, space->bits); space->places[at]; )
			at = (at + 1) & (n * 2 - 1);
		space->places[at] = old[i];
	}
	free(old);
}

/*
 * Look up @addr. Never returns NULL. The place is valid until bt_space_update() sees a change, or
 * until bt_space_limit(), bt_space_make_room(), bt_space_add_jit() or bt_space_free() is called.
 */
struct bt_place *bt_space_place(struct bt_space *space, u64 addr)
{
	size_t at = bt_hash(addr, space->bits);
	struct bt_place *place;

	while ((place = space->places[at])) {
		if (place->addr == addr)
			return place;
		at = (at + 1) & (((size_t)1 << space->bits) - 1);
	}
	place = bt_alloc(1, sizeof(*place));
	place->addr = addr;
	/* Insert the place first: look_up() may call read_vdso(), which may look up this place. */
	space->places[at] = place;
	place->module = bt_module_none();
	place->fn = &place->module->all;
	look_up(space, place);
	all_places++;
	if (++space->nr_places > (size_t)1 << (space->bits - 1))
		more_places(space);
	return place;
}

/* Is the code at @place 64-bit code? */
bool bt_space_is64(const struct bt_space *space, const struct bt_place *place)
{
	if (BT_IS_KERNEL(place->addr))
		return true;
	return place->elf ? place->elf->is64 : space->is64;
}

/* Read the instruction at a place, even if it was read before. */
const struct bt_insn *bt_space_insn_again(struct bt_space *space, struct bt_place *place)
{
	u8 bytes[BT_INSN_MAX];
	bool is64 = bt_space_is64(space, place);
	size_t n = bt_space_read(space, place->addr, bytes, sizeof(bytes));

	bt_decode(bytes, n, place->addr, is64, &place->insn);
	place->batch = space->batch;
	n = place->addr < BT_BEFORE ? 0 :
	    bt_space_read(space, place->addr - BT_BEFORE, bytes, BT_BEFORE);
	/* @n is less than BT_BEFORE if the bytes before @place cannot be read. */
	place->follows_syscall = n == BT_BEFORE && bt_ends_in_syscall(bytes, n);
	place->follows_call = n == BT_BEFORE && bt_ends_in_call(bytes, n);
	return &place->insn;
}

/*
 * Returns the instruction at a place. If @place->changeable is true, reads it again when
 * @space->batch has changed.
 */
const struct bt_insn *bt_space_insn(struct bt_space *space, struct bt_place *place)
{
	if (!place->insn.known || (place->changeable && place->batch != space->batch))
		bt_space_insn_again(space, place);
	return &place->insn;
}
