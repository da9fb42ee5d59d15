// SPDX-License-Identifier: GPL-2.0
/* The basic machine: print() and expect(), descriptors, the window of 4 KiB pages, the APIC. */
#include <stdarg.h>
#include "metal.h"

#define SERIAL		0x3f8
#define SERIAL_LSR	(SERIAL + 5)
#define LSR_EMPTY	0x20
#define STUB_BYTES	16
#define GATE_PRESENT	0x80
#define PTE_DEFAULT	3
#define FILL_ALL	0x0101010101010101

struct gate64 {
	u16 low;
	u16 selector;
	u8 ist;
	u8 type;
	u16 middle;
	u32 high;
	u32 zero;
};

struct gate32 {
	u16 low;
	u16 selector;
	u8 zero;
	u8 type;
	u16 high;
};

struct tss32 {
	u32 link, esp0, ss0, esp1, ss1, esp2, ss2, cr3, eip, eflags;
	u32 eax, ecx, edx, ebx, esp, ebp, esi, edi;
	u32 es, cs, ss, ds, fs, gs, ldt, iomap;
};

enum gate_type {
	TYPE_TASK = 0x85,
	TYPE_TSS = 0x89,
	TYPE_CALL = 0x8c,
	TYPE_INTERRUPT = 0x8e,
};

static struct gate64 idt[256];
static struct gate32 idt32[256];
struct {
	u16 limit;
	u64 base;
} __packed idt_ptr = { sizeof(idt) - 1, (u64)idt },
	idt32_ptr = { sizeof(idt32) - 1, (u64)idt32 };

static struct {
	u32 reserved;
	u64 rsp[3];
	u64 reserved2;
	u64 ist[7];
	u64 reserved3;
	u32 iomap;
} __packed tss64;
static struct tss32 tss_a, tss_b;

static u8 kernel_stack[4096] __aligned(16);
static u8 task_stack[4096] __aligned(16);
/* Memory of the window, and as much again, which a test can map there instead. */
static u8 frames[2 * WIN_PAGES][4096] __aligned(4096);

static void put(char c)
{
	while (!(inb(SERIAL_LSR) & LSR_EMPTY))
		;
	outb(SERIAL, c);
}

static void put_number(u64 value, u32 base)
{
	char digits[24];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (n)
		put(digits[--n]);
}

/* Formats %s, %u and %x only. Every number is a u64. */
static void vprint(const char *fmt, va_list ap)
{
	for (; *fmt; fmt++) {
		const char *s;

		if (*fmt != '%') {
			put(*fmt);
			continue;
		}
		switch (*++fmt) {
		case 's':
			for (s = va_arg(ap, const char *); *s; s++)
				put(*s);
			break;
		case 'u':
			put_number(va_arg(ap, u64), 10);
			break;
		case 'x':
			put_number(va_arg(ap, u64), 16);
			break;
		}
	}
}

void print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprint(fmt, ap);
	va_end(ap);
}

static bool failed;

/* Returns whether the current test has failed, and forgets the failure. */
bool test_failed(void)
{
	bool was = failed;

	failed = false;
	return was;
}

bool expect(bool good, const char *fmt, ...)
{
	va_list ap;

	if (good)
		return true;
	failed = true;
	print("# ");
	va_start(ap, fmt);
	vprint(fmt, ap);
	va_end(ap);
	print("\n");
	return false;
}

/* Power off by ACPI, by the port that SeaBIOS configures on QEMU's pc. */
void machine_exit(void)
{
	outw(PORT_PM1A, PM1A_OFF);
	for (;;)
		asm volatile("cli; hlt");
}

void unexpected(const u64 *frame)
{
	wrmsr(MSR_DEBUGCTL, 0);
	print("Bail out! exception %u, error code 0x%x, at 0x%x, cr2 0x%x\n",
	      frame[0], frame[1], frame[2], read_cr2());
	machine_exit();
}

/* The compiler generates calls of memset() and memcpy(). */
void *memset(void *to, int byte, size_t len)
{
	void *at = to;

	asm volatile("rep stosb" : "+D"(at), "+c"(len) : "a"(byte) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, size_t len)
{
	void *at = to;

	asm volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(len) : : "memory");
	return to;
}

void fill(void *to, u8 byte, u64 len)
{
	u64 words = len / 8;

	asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(byte * FILL_ALL) : "memory");
	memset(to, byte, len % 8);
}

void copy(void *to, const void *from, u64 len)
{
	memcpy(to, from, len);
}

static struct gate64 make_gate(u64 handler, u8 type, u32 dpl)
{
	return (struct gate64) {
		.low = handler,
		.selector = SEL_KCODE,
		.type = type | dpl << 5,
		.middle = handler >> 16,
		.high = handler >> 32,
	};
}

void set_gate(u32 vector, u64 handler, u32 dpl)
{
	idt[vector] = make_gate(handler, TYPE_INTERRUPT, dpl);
}

void set_gate32(u32 vector, u64 handler, u32 dpl)
{
	idt32[vector] = (struct gate32) {
		.low = handler,
		.selector = SEL_KCODE32,
		.type = TYPE_INTERRUPT | dpl << 5,
		.high = handler >> 16,
	};
}

void set_task_gate32(u32 vector, u16 selector)
{
	idt32[vector] = (struct gate32) {
		.selector = selector,
		.type = TYPE_TASK,
	};
}

void set_ist(u32 vector)
{
	idt[vector].ist = 1;
}

void clear_gate(u32 vector)
{
	idt[vector].type &= ~GATE_PRESENT;
}

void set_call_gate(u64 target, u32 dpl)
{
	*(struct gate64 *)&gdt[SEL_CALLGATE / 8] = make_gate(target, TYPE_CALL, dpl);
}

void gates_default(void)
{
	int i;

	for (i = 0; i < 256; i++) {
		set_gate(i, (u64)stubs + i * STUB_BYTES, 0);
		set_gate32(i, (u64)unexpected32, 0);
	}
	set_gate(VEC_TIMER, (u64)ignore_irq, 0);
	set_gate(VEC_IPI, (u64)ignore_irq, 0);
	set_gate(VEC_PMI, (u64)ignore_irq, 0);
	set_gate(VEC_EXIT, (u64)trace_done, 3);
	set_gate32(VEC_EXIT, (u64)trace32_done, 3);
}

static u64 tss_descriptor(const void *tss, u32 size)
{
	u64 base = (u64)tss;

	return (size - 1) | (base & 0xffffff) << 16 | (u64)TYPE_TSS << 40 | (base >> 24) << 56;
}

/*
 * Set up the descriptors that start.S leaves empty, except the call gate. This also clears the busy
 * bits of the 32-bit task-state segments.
 */
void gdt_init(void)
{
	tss64.rsp[0] = (u64)kernel_stack + sizeof(kernel_stack);
	tss64.ist[0] = (u64)task_stack + sizeof(task_stack);
	tss64.iomap = sizeof(tss64);
	gdt[SEL_TSS / 8] = tss_descriptor(&tss64, sizeof(tss64));
	gdt[SEL_TSS32_A / 8] = tss_descriptor(&tss_a, sizeof(tss_a));
	gdt[SEL_TSS32_B / 8] = tss_descriptor(&tss_b, sizeof(tss_b));
	gdt[SEL_TASKGATE / 8] = (u64)TYPE_TASK << 40 | SEL_TSS32_B << 16;
	/* a kernel code segment that is not present */
	gdt[SEL_ABSENT / 8] = 0x00af1b000000ffff;
	gdt[SEL_KCODE32_WRAP / 8] = 0xffcf9bf00000ffff;
	asm volatile("ltr %w0" : : "r"(SEL_TSS));
}

/*
 * Set up two tasks: A, which trace32() loads, and B, which begins at @eip with page directory
 * @directory.
 */
void tss32_b(u64 eip, u64 directory)
{
	tss_a = (struct tss32) {
		.esp0 = (u64)task_stack + sizeof(task_stack),
		.ss0 = SEL_KDATA,
		.cr3 = (u64)pd32,
		.iomap = sizeof(tss_a),
	};
	tss_b = tss_a;
	tss_b.cr3 = directory;
	tss_b.eip = eip;
	tss_b.eflags = 2;
	tss_b.esp = tss_a.esp0;
	tss_b.cs = SEL_KCODE32;
	tss_b.es = SEL_KDATA;
	tss_b.ss = SEL_KDATA;
	tss_b.ds = SEL_KDATA;
}

u64 *window_pte(u64 addr)
{
	return &win_pt[(addr - WIN) >> 12];
}

u32 *window_pte32_other(u64 addr)
{
	return &win_pt32_other[(addr - WIN) >> 12];
}

u8 *window_frame(u32 page)
{
	return frames[page];
}

/* Map the window to frames in reverse order, so that no page is followed by the next in memory. */
void window_default(void)
{
	int i;

	for (i = 0; i < WIN_PAGES; i++) {
		u64 frame = (u64)frames[WIN_PAGES - 1 - i];

		win_pt[i] = frame | PTE_DEFAULT;
		win_pt32[i] = frame | PTE_DEFAULT;
		win_pt32_other[i] = frame | PTE_DEFAULT;
		invlpg(WIN + i * 4096);
	}
}

u32 apic_read(u32 reg)
{
	return *(volatile u32 *)((u64)APIC + reg);
}

void apic_write(u32 reg, u32 value)
{
	*(volatile u32 *)((u64)APIC + reg) = value;
}

/* @mode is a vector, or LVT_NMI. */
void self_ipi(u32 mode)
{
	apic_write(APIC_ICR, 1 << 18 | 1 << 14 | mode);
}

void machine_init(void)
{
	/* Mask the legacy interrupt controllers. */
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
	asm volatile("lidt %0" : : "m"(idt_ptr));
	gates_default();
	gdt_init();
	window_default();
	apic_write(APIC_SVR, 0x1ff);
	apic_write(APIC_LVTPC, LVT_MASKED);
	apic_write(APIC_TDCR, 0xb);
}
