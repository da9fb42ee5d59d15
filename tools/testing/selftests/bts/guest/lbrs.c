// SPDX-License-Identifier: GPL-2.0
/* Read and set the registers of the last branch records, as this machine has them. */
#include <cpuid.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "guest.h"
#include "lbrs.h"
#include "system.h"

/* The recorder sets LBR_SELECT to NO_USER, or IA32_LBR_CTL to ARCH_KERNEL. */
#define NO_USER		(1ul << 1)
#define ARCH_KERNEL	0x7f0003ul

struct format {
	const char	*name;
	unsigned int	ctl;		/* the register that enables LBRs */
	uint64_t	enable;		/* its enable bit */
	uint64_t	on;		/* if @ctl has the filter: its value for the recorder */
	unsigned int	select;		/* the register with the filter; 0 if there is none */
	unsigned int	from;
	unsigned int	to;
	unsigned int	step;
};

static const struct format formats[] = {
	{ "model", MSR_DEBUGCTL, 1, 0, 0x1c8, 0x680, 0x6c0, 1 },
	{ "arch", 0x14ce, 1, ARCH_KERNEL, 0, 0x1500, 0x1600, 1 },
	{ "amd", 0xc000010f, 1ul << 6, 0, 0xc000010e, 0xc0010300, 0xc0010301, 2 },
	/* Bonnell */
	{ "model", MSR_DEBUGCTL, 1, 0, 0, 0x40, 0x60, 1 },
};

#define CPU_MODEL_MASK	0x0fff0ff0
#define BONNELL		0x000106c0	/* family 6, model 28 */

static const struct format *format(void)
{
	unsigned int a, b, c, d;

	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && d & 1u << 19)
		return &formats[1];
	if (__get_cpuid(0x80000022, &a, &b, &c, &d) && a & 2)
		return &formats[2];
	if (__get_cpuid(1, &a, &b, &c, &d) && (a & CPU_MODEL_MASK) == BONNELL)
		return &formats[3];
	return &formats[0];
}

const char *lbr_format(void)
{
	return format()->name;
}

bool lbr_enabled(int cpu)
{
	return read_msr(cpu, format()->ctl) & format()->enable;
}

bool lbr_of_kernel(int cpu)
{
	const struct format *f = format();

	if (f->on)
		return read_msr(cpu, f->ctl) == f->on;
	return lbr_enabled(cpu) && lbr_filtered(cpu);
}

bool lbr_filtered(int cpu)
{
	const struct format *f = format();

	return !f->select || read_msr(cpu, f->select) == NO_USER;
}

bool lbr_wiped(int cpu, int depth)
{
	const struct format *f = format();
	int i, left = 0;

	for (i = 0; i < depth; i++)
		left += read_msr(cpu, f->from + f->step * i) || read_msr(cpu, f->to + f->step * i);
	return !left;
}

bool lbr_leave_out(const char *what)
{
	static const struct {
		const char	*word;
		uint64_t	select;
	} kinds[] = {
		{ "nothing", 0 },
		{ "jumps", 1ul << 7 },
		{ "returns", 1ul << 5 },
		{ "conditionals", 1ul << 2 },
		{ "all-but-calls", 1ul << 2 | 1ul << 5 | 1ul << 7 },
	};
	const struct format *f = format();
	size_t i;
	int cpu;

	for (i = 0; i < ARRAY_SIZE(kinds) && strcmp(what, kinds[i].word); i++)
		;
	if (i == ARRAY_SIZE(kinds) || !f->select)
		return false;
	for (cpu = 0; cpu < get_nprocs(); cpu++)
		write_msr(cpu, f->select, NO_USER | kinds[i].select);
	return true;
}
