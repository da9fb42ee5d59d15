/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All parts of the core of btstrace include this header. Each part can be used without the
 * parts that are listed after it:
 *
 *	read.h		the requests of ptrace_bts(2)
 *	decode.h	the kind of branch that an instruction is
 *	elffile.h, module.h, space.h	the function, line and module of an address
 *	writer.h	writes a recorded trace
 *	session.h	turns records into branches, and passes them to an output
 *	replay.h	reads a recorded trace, and passes it to a session
 *	calls.h, tree.h	find the calls in a list of branches
 *	output.h	the output formats
 *
 * bt_alloc(), bt_grow(), bt_copy() and bt_print() end the program if there is no memory left.
 */
#ifndef BTSTRACE_BT_H
#define BTSTRACE_BT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <asm/bts.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define BT_PRINTF(f, a)	__attribute__((format(printf, f, a)))

#define BT_PAGE	4096

/* The addresses of a 64-bit kernel are in the upper half of the 64-bit addresses. */
#define BT_IS_KERNEL(addr)	((addr) >> 63)

void *bt_alloc(size_t n, size_t size);
void *bt_grow(void *old, size_t *room, size_t need, size_t size);
char *bt_copy(const char *s);
BT_PRINTF(1, 2) char *bt_print(const char *fmt, ...);

/*
 * bt_hash - find the index of the slot of a key in a hash table
 * @key: an address or a number
 * @bits: the table has 2^bits slots; 1 to 63
 */
static inline size_t bt_hash(u64 key, int bits)
{
	return (key * 0x9e3779b97f4a7c15ull) >> (64 - bits);
}

static inline bool bt_begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

#endif
