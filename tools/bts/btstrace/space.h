/* SPDX-License-Identifier: GPL-2.0 */
/* An address space finds the module, function, line and instruction of an address. */
#ifndef BTSTRACE_SPACE_H
#define BTSTRACE_SPACE_H

#include "decode.h"
#include "module.h"

/*
 * struct bt_place - what is known of an address
 * @addr:	the address
 * @module:	the module that contains it; never NULL
 * @fn:		the function that contains it, or a stand-in if @fn->named is false; never NULL
 * @offset:	its offset in @fn
 * @module_offset: its offset in @module
 * @file:	its source file, or NULL; filled in by bt_place_line()
 * @line:	its line in @file
 * @text:	the place as text, filled in by bt_place_text()
 * @text_len:	the length of @text
 * @insn:	the instruction at @addr, filled in by bt_space_insn()
 * @follows_syscall: the instruction before @addr is a system call; filled in with @insn
 * @follows_call: the instruction before @addr is a call; filled in with @insn
 * @changeable:	the code may change at any time: it is code of user mode, and its mapping is
 *	writable, is of no file, or is not known
 * @went_to:	the target of the last X86_BTS_BRANCH from here; NULL if there was none, or if
 *	@changeable is true
 * @went_as:	the kind of that branch, enum bt_kind
 * @words:	text that an output has cached for the branch to @went_to, or for the instruction
 * @words_len:	the length of @words
 * @owner:	for own.c; 0: unknown; 1: the user's own code; 2: other code
 * @viewed:	@view is filled in
 * @view:	the source line to show, filled in by bt_place_view()
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
	u8			owner;
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
