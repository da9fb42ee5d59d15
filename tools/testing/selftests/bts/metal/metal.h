/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small kernel, started by multiboot, that tests the emulator's Debug Store, last branch records
 * and counters: by cases, which are assembly code with the records that it must leave (case.inc),
 * and by functions (TEST(), lbr_kind_tests and errata_tests()).
 */
#ifndef METAL_H
#define METAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "defs.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

/* An expected record, with the CPL before and after the branch, interrupt or exception. */
struct want {
	u64 from;
	u64 to;
	u32 before;
	u32 after;
};

struct gate {
	u64 handler;
	u32 vector;
	u32 dpl;
};

struct tcase {
	const char *text;
	u64 code;
	const struct want *wants;
	const struct gate *gates;
	void (*setup)(void);
	void (*check)(void);
	u32 debugctl;
	u32 flags;
};

struct test {
	const char *text;
	void (*run)(void);
};

#define __aligned(n)	__attribute__((aligned(n)))
#define __noreturn	__attribute__((noreturn))
#define __packed	__attribute__((packed))
#define __section(s)	__attribute__((section(s)))
#define __used		__attribute__((used))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define TEST(name, says)						\
	static void name(void);						\
	static const struct test test_##name				\
	__used __section(".tests") = { says, name };			\
	static void name(void)

enum rule { RULE_AFTER, RULE_BEFORE, RULE_EITHER };
enum pmi { PMI_EACH, PMI_CROSSED, PMI_EQUAL };

/* The machine, as the boot's command line describes it. */
struct machine {
	bool dtes64;
	bool cpl;
	bool pmu;
	u32 rule;		/* enum rule */
	u32 pmi;		/* enum pmi */
	bool kept;
	bool wrong_from;
	bool db_clears;
	bool freeze_clears;
	bool counts;
	bool predicts;
	bool icount;
	/* branches by which a PMI is late; with jitter, a random number from 1 to delay */
	u32 delay;
	bool jitter;
	u32 debugctl;		/* what INIT and a reset set DEBUGCTL to */
	/* average distance of SMIs, and distance of damaged records; 0: there are none */
	u32 smi;
	u32 damage;
	u32 lbr;
	u32 arch_lbr;
	u32 amd_lbr;
};

/* Totals that the tests expect. run.sh compares them with the emulator's own counts. */
struct tally {
	u64 records;
	u64 wraps;
	u64 pmis;
	u64 masked;
	u64 kept;
	u64 full;
	u64 faults;
	u64 garbled;
	u64 dropped;
	u64 garbage;		/* a checksum of the garbled records, which run.sh compares */
};

extern struct machine machine;
extern struct tally tally;
/* DEBUGCTL when the test began */
extern u64 first_debugctl;

/* Output */
void print(const char *fmt, ...);
bool test_failed(void);
bool expect(bool good, const char *fmt, ...);
/*
 * Write @value to @msr, which must then read as @want. The write must raise #GP if @want is not
 * @value, and nothing if it is.
 */
void expect_msr(u32 msr, u64 value, u64 want);
void __noreturn machine_exit(void);

/* The machine */
void machine_init(void);
void gdt_init(void);
void gates_default(void);
void set_gate(u32 vector, u64 handler, u32 dpl);
void set_gate32(u32 vector, u64 handler, u32 dpl);
void set_task_gate32(u32 vector, u16 selector);
void set_ist(u32 vector);
void clear_gate(u32 vector);
void set_call_gate(u64 target, u32 dpl);
void window_default(void);
u64 *window_pte(u64 addr);
u8 *window_frame(u32 page);
u32 *window_pte32_other(u64 addr);
u32 apic_read(u32 reg);
void apic_write(u32 reg, u32 value);
void self_ipi(u32 mode);
void tss32_b(u64 eip, u64 directory);
void copy(void *to, const void *from, u64 len);
void fill(void *to, u8 byte, u64 len);

/* The Debug Store */
enum ds_field { DS_BASE, DS_INDEX, DS_MAX, DS_THRESHOLD };

u32 rec_size(void);
u64 ds_get(enum ds_field field);
void ds_set(enum ds_field field, u64 value);
void ds_place(u64 area, u64 base, u64 bytes);
void ds_default(void);
struct want rec_at(u64 addr);
bool same_rec(struct want got, struct want want);
bool same_flags(struct want got, struct want want);
bool untouched(u64 from, u64 to);

/* Expected records, in order */
void want_none(void);
void want_add(struct want w);
void want_chain(u32 first, u32 last, u32 n);
void want_pmi(u64 rip, u64 handler, u64 iret);
struct want want_at(u32 nr);
u32 want_count(void);
bool stored(const struct want *w, u32 debugctl);
struct want spoilt(struct want w, u32 debugctl);
void expect_at(u64 base, u32 first, u32 n);
void expect_store(void);
/* Count @n PMIs that find the vector masked. */
void tally_masked(u32 n);

/* trace() writes @debugctl to the MSR trace_msr, which is DEBUGCTL by default, and runs @code. */
extern u32 trace_msr;
void trace(u64 code, u32 debugctl);
void trace32(u64 code, u32 debugctl);
void chain(u32 n, u32 debugctl);
u64 chain_at(u32 n);

/* The second CPU (low.S): returns whether its code has run the part @phase, from 1 on. */
bool start_ap(u32 phase);
u64 ap_addr(const u8 *label);
/* For the case smi, and for errata.c */
void setup_smi(void);
u32 smi_count(void);

extern u8 trace_go[], trace_done[], trace32_go[], trace32_done[];
extern u8 pmi_note[], pmi_note_iret[], pmi_drain[], pmi_drain_iret[], ignore_irq[];
extern u32 pmi_count, pmi_lvt, pmi_index, pmi_relvt;
extern u64 pmi_rip, ds_index_at;
extern u64 seen[8];

/* Sets *@list to the tests for the errata of this machine. Returns their number, or 0. */
u32 errata_tests(const struct test **list);

/* Labels of the assembly files, symbols of the linker script, and the tests of lbr_kinds.c */
extern u8 stubs[], unexpected32[];
extern u64 gdt[], win_pt[];
extern u32 win_pt32[], win_pt32_other[], pd32[], pd32_other[];
extern const struct tcase cases_start[], cases_end[];
extern const struct test tests_start[], tests_end[];
extern const struct test lbr_kind_tests[];
extern const u32 lbr_kind_tests_nr;
extern const struct want wants_end[];
extern const struct gate gates_end[];
extern const char *boot_cmdline;
extern u8 fault_write[], fault_write_to[];
extern u8 call_gate_target[], user_gate_target[];
extern u8 user_int_jumps[], user_int_jumps_to[], user_jump[];
extern u8 syscall_entry[], sysenter_entry[], sysenter_entry_compat[];
extern u8 task_end[], task_iret[], v86_code[], v86_code_end[], break_here[];
extern u8 spare_stack_top[], btf_step_to[], smm_code[], smm_code_end[];
extern u8 ap_code[], ap_code_end[], ap_first[], ap_first_to[], ap_second[], ap_second_to[];
extern u8 ap_loop[];
extern u8 lbr_types[], lbr_vector[], lbr_nest[], user_branches[];
extern u8 task_other[], task_other_jmp[], task_other_end[];

static inline u64 rdmsr(u32 msr)
{
	u32 lo, hi;

	asm volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return (u64)hi << 32 | lo;
}

static inline void wrmsr(u32 msr, u64 value)
{
	asm volatile("wrmsr" : : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32)) : "memory");
}

u32 wrmsr_fault(u32 msr, u64 value);
u32 rdpmc_fault(u32 counter, u64 *value);

static inline void cpuid(u32 leaf, u32 *a, u32 *b, u32 *c, u32 *d)
{
	*a = leaf;
	*c = 0;
	asm volatile("cpuid" : "+a"(*a), "=b"(*b), "+c"(*c), "=d"(*d));
}

static inline void outb(u16 port, u8 value)
{
	asm volatile("outb %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline u8 inb(u16 port)
{
	u8 value;

	asm volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

static inline void outw(u16 port, u16 value)
{
	asm volatile("outw %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void outl(u16 port, u32 value)
{
	asm volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void invlpg(u64 addr)
{
	asm volatile("invlpg (%0)" : : "r"(addr) : "memory");
}

static inline u64 read_cr0(void)
{
	u64 value;

	asm volatile("mov %%cr0, %0" : "=r"(value));
	return value;
}

static inline void write_cr0(u64 value)
{
	asm volatile("mov %0, %%cr0" : : "r"(value) : "memory");
}

static inline u64 read_cr2(void)
{
	u64 value;

	asm volatile("mov %%cr2, %0" : "=r"(value));
	return value;
}

static inline void write_cr2(u64 value)
{
	asm volatile("mov %0, %%cr2" : : "r"(value));
}

static inline u64 read_cr4(void)
{
	u64 value;

	asm volatile("mov %%cr4, %0" : "=r"(value));
	return value;
}

static inline void write_cr4(u64 value)
{
	asm volatile("mov %0, %%cr4" : : "r"(value) : "memory");
}

#endif
