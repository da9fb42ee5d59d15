/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The oracle: computes taken branches from QEMU's log of executed instructions, and compares them
 * with branch records in the format of a Debug Store. It shares no code with the emulator.
 *
 *   execlog.c   text of the log -> events
 *   image.c     the guest's memory, for the bytes of an instruction
 *   decode.c    bytes -> length, kind of branch, target
 *   branches.c  events -> taken branches, filtered as the hardware does
 *   compare.c   taken branches against records, and the first difference
 */
#ifndef BTS_ORACLE_H
#define BTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

__attribute__((noreturn, format(printf, 1, 2)))
void die(const char *fmt, ...);

/* A file that blob_open() has mapped, or a buffer. If the file is empty, @data is NULL. */
struct blob {
	const u8 *data;
	size_t size;
};

void blob_open(struct blob *b, const char *path);
void blob_close(struct blob *b);

/* image.c */

struct image;

struct image *image_new(void);
void image_free(struct image *img);
void image_add(struct image *img, u64 addr, const u8 *data, size_t size);
/* @spec is ADDRESS:FILE, the contents of memory from ADDRESS (hexadecimal) on. */
void image_add_mem(struct image *img, const char *spec);
/* @spec is FILE or FILE:BIAS, an ELF file. BIAS (hexadecimal) is added to its addresses. */
void image_add_elf(struct image *img, const char *spec);
/* Copy up to @size bytes from @addr on, but none behind an unknown one. Returns their number. */
size_t image_read(const struct image *img, u64 addr, u8 *buf, size_t size);

/* decode.c */

enum insn_kind {
	INSN_UNKNOWN,
	INSN_PLAIN,
	INSN_JCC,
	INSN_LOOP,
	INSN_JMP,
	INSN_CALL,
	INSN_INDIRECT,
	INSN_RET,
	INSN_FAR,
	INSN_IRET,
	INSN_SYSCALL,
	INSN_SYSRET,
	INSN_INT,
	NR_INSN_KINDS
};

struct insn {
	u64 pc;
	u64 next;
	u64 target;
	u8 kind;
	u8 mode;
	u8 cond;
	bool has_target;
};

/* In all functions, @mode is 64, 32 or 16: the code is 64-bit, 32-bit or 16-bit code. */
struct decoder;

struct decoder *decoder_new(const struct image *img);
void decoder_free(struct decoder *d);
const struct insn *decode(struct decoder *d, u64 pc, int mode);
/* Returns whether a conditional branch is taken with these registers. */
bool insn_would_branch(const struct insn *insn, u64 eflags, u64 rcx);
void disassemble(struct decoder *d, u64 pc, int mode, char *buf, size_t len);
const char *insn_kind_name(int kind);

/* execlog.c */

enum event_type { EV_END, EV_EXEC, EV_STOP, EV_INT, EV_WRMSR };

/*
 * EV_END: the log ends. EV_EXEC: an instruction is about to execute. EV_STOP: it did not execute
 * after all. EV_INT: a delivery through the IDT; @pc is the return address that it pushes, or the
 * address of INT n, INT3 or INTO. EV_WRMSR: the MSR @msr is about to become @value. @rcx and
 * @eflags are those before the instruction of EV_EXEC. They are valid if @have_regs is true: the
 * emulator has logged them (-d cpu).
 */
struct event {
	u64 pc;
	u64 line;
	u64 value;
	u64 rcx;
	u32 msr;
	u32 eflags;
	u8 type;
	u8 cpl;
	u8 mode;
	u8 vector;
	bool tf;
	bool soft;
	bool external;
	bool have_regs;
};

struct execlog {
	const char *pos;
	const char *end;
	u64 line;
	int cpu;
	bool external_next;
	bool have_pending;
	struct event pending;
};

void execlog_init(struct execlog *log, const char *text, size_t size);
void execlog_next(struct execlog *log, struct event *ev);

/* branches.c */

enum cpl_rule { RULE_AFTER, RULE_BEFORE, RULE_EITHER };
enum cpl_want { WANT_MSR, WANT_USER, WANT_KERNEL, WANT_BOTH };

struct branch {
	u64 from;
	u64 to;
	u64 line;
	u8 cpl_from;
	u8 cpl_to;
	u8 mode;
	/* INSN_*; deliveries of interrupts and exceptions are INSN_INT, with a vector */
	u8 kind;
	/* for a delivery through the IDT; otherwise -1 */
	int vector;
	/*
	 * a conditional branch to the next instruction, without registers in the log that tell
	 * whether it was taken
	 */
	bool open;
};

struct options {
	enum cpl_rule rule;
	enum cpl_want want;
	u64 debugctl;
	bool netburst;
	bool user_addresses;
	bool until_off;
	bool last;
	u64 newer;
	bool list;
	int layout;
	const char *need;
};

/*
 * Totals of a log. @branches, @open, @kinds and @vectors are counted while BTS is on. @branches and
 * @open do not count branches that are filtered out.
 */
struct totals {
	u64 insns;
	u64 restarts;
	u64 stopped;
	u64 switches;
	u64 branches;
	u64 open;
	u64 kinds[NR_INSN_KINDS];
	u64 vectors[256];
};

/* Called for each branch. Returns false to stop the walk. */
typedef bool (*branch_fn)(void *arg, const struct branch *br);

bool is_user_address(u64 addr);

/*
 * Call @fn for each taken branch that the Debug Store must record, and for each open one that it
 * may record, in order, but not for those that @opt leaves out. Returns NULL, or a message if the
 * log cannot be followed.
 */
const char *walk_branches(struct execlog *log, struct decoder *d,
			  const struct options *opt, struct totals *tot,
			  branch_fn fn, void *arg);

/* compare.c */

enum verdict { V_EQUAL, V_DIFFERENT, V_BAD_LOG };

enum verdict compare(struct execlog *log, struct decoder *d,
		     const struct blob *records, const struct options *opt,
		     FILE *out);

/* selftest.c */
int selftest(void);

#endif
