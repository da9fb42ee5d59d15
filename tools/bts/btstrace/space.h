/* SPDX-License-Identifier: GPL-2.0 */
/* This header is for the mappings of an address space, as /proc/PID/maps tells them. */
#ifndef BTSTRACE_SPACE_H
#define BTSTRACE_SPACE_H

#include "decode.h"
#include "module.h"

/*
 * struct bt_place - all that is known of an address
 * @addr:	the address
 * @module:	what it is in; never NULL
 * @fn:		the function; never NULL, @fn->named tells if it is one
 * @offset:	from the beginning of @fn
 * @module_offset: from the beginning of @module
 * @file:	source file, or NULL
 * @line:	its line
 * @text:	the above as people read it, see bt_place_text()
 * @text_len:	its length
 * @insn:	the instruction, see bt_space_insn()
 * @follows_syscall: the one before is a system call; filled in with @insn
 * @follows_call: the one before is a call; likewise
 * @changeable:	the code may be another at any time
 * @went_to:	where the branch here went last, or NULL; see session.c
 * @went_as:	and what kind of branch that was
 * @words:	an output's words for that branch, freed with the place
 * @words_len:	their length
 */
struct bt_place {
	u64			addr;
	struct bt_module	*module;
	const struct bt_function *fn;
	u64			offset;
	u64			module_offset;
	const char		*file;
	int			line;
	char			*text;
	u32			text_len;
	struct bt_insn		insn;
	bool			follows_syscall;
	bool			follows_call;
	bool			changeable;
	struct bt_place		*went_to;
	u8			went_as;
	char			*words;
	u32			words_len;
	u8			owner;	/* for own.c */
	bool			viewed;
	struct bt_view		view;
	/* private */
	u32			batch;
	bool			looked;
	struct bt_elf		*elf;
	u64			elf_addr;
	u64			file_offset;
};

struct bt_space;

struct bt_space *bt_space_new(bool is64);
void bt_space_free(struct bt_space *space);
void bt_space_attach(struct bt_space *space, pid_t pid);
bool bt_space_update(struct bt_space *space, const char *maps, size_t len);
void bt_space_limit(void);
void bt_space_make_room(void);
bool bt_space_is_full(void);
void bt_space_memory(u64 bytes);
pid_t bt_space_pid(const struct bt_space *space);
void bt_space_add_jit(struct bt_space *space, const char *text, size_t len);
void bt_space_add_code(struct bt_space *space, u64 addr, const void *bytes, size_t len);
struct bt_place *bt_space_place(struct bt_space *space, u64 addr);
bool bt_space_is64(const struct bt_space *space, const struct bt_place *place);
const struct bt_insn *bt_space_insn(struct bt_space *space, struct bt_place *place);
const struct bt_insn *bt_space_insn_again(struct bt_space *space, struct bt_place *place);
const char *bt_place_text(struct bt_place *place);
void bt_place_line(struct bt_place *place);
const struct bt_view *bt_place_view(struct bt_place *place);
size_t bt_space_read(struct bt_space *space, u64 addr, void *buf, size_t n);
size_t bt_space_new_code(struct bt_space *space, u64 addr, u8 *buf);
const struct bt_map *bt_space_maps(const struct bt_space *space, size_t *n);

#endif
