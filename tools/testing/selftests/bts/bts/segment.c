// SPDX-License-Identifier: GPL-2.0
/*
 * A task traces itself while it runs in a code segment whose base is not 0. Records have linear
 * addresses, but regs->ip of an interrupt is relative to the segment's base.
 *
 *   segment MODULE
 */
#include <asm/ldt.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../guest/guest.h"
#include "../guest/system.h"
#include "common.h"

#define TURNS		500000
#define SELECTOR	7	/* the first one of the LDT, for user mode */
#define USER_CS		0x33	/* the 64-bit code segment */

/* Code where interrupts come at the same address again and again: loop . ; ljmp USER_CS:back */
static struct {
	u8 loop[2];
	u8 jump;
	u32 back;
	uint16_t selector;
} __attribute__((packed)) code = { { 0xe2, 0xfe }, 0xea, 0, USER_CS };

static struct {
	u32 offset;
	uint16_t selector;
} __attribute__((packed)) there = { 0, SELECTOR };

extern const char come_back[];

static void make_segment(void)
{
	struct user_desc desc = {
		.entry_number	= SELECTOR >> 3,
		.limit		= 0xfff,
		.seg_32bit	= 1,
		.contents	= MODIFY_LDT_CONTENTS_CODE,
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (page == MAP_FAILED)
		give_up("no memory below 2 GiB");
	/* The program is linked below 2 GiB as well. */
	code.back = (unsigned long)come_back;
	memcpy(page, &code, sizeof(code));
	desc.base_addr = (unsigned long)page;
	if (syscall(SYS_modify_ldt, 1, &desc, sizeof(desc)))
		give_up("modify_ldt");
}

/*
 * Use a far jump, which needs no stack: in a far call, QEMU 7.2 accesses the stack as the kernel
 * would. In 32-bit code, RSP and other registers may lose their upper 32 bits.
 */
static void spin_there(void *unused)
{
	static unsigned long stack;
	u32 turns = TURNS;

	(void)unused;
	asm volatile("mov	%%rsp, %[stack]\n\t"
		     "ljmp	*%[there]\n\t"
		     ".globl	come_back\n"
		     "come_back:\n\t"
		     "mov	%[stack], %%rsp"
		     : "+c" (turns), [stack] "+m" (stack) : [there] "m" (there)
		     : "memory", "cc", "rax", "rbx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
		       "r11", "r12", "r13", "r14", "r15");
}

int main(int argc, char **argv)
{
	int fd;

	(void)argc;
	load_lab(argv[1]);
	make_segment();
	fd = lab_open(LAB_SELF, 0, LAB_USER | LAB_ENTRY, 100);
	ok(!traced_call(fd, spin_there, NULL), "a loop in a segment of the LDT");
	ok(lab_status(fd).overwritten > TURNS - 100, "all of it: %llu branches",
	   (unsigned long long)lab_status(fd).overwritten);
	ok(!lab_status(fd).gaps, "the trace never paused: %u gaps", lab_status(fd).gaps);
	close(fd);
	return finish();
}
