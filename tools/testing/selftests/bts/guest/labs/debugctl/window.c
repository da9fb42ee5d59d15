// SPDX-License-Identifier: GPL-2.0
/*
 * A window: a kprobe at the entry of a function, or one at each WRMSR in the function (at most
 * PROBES). The kprobes' handler does the window's action once, e.g. sends an NMI.
 *
 * A kprobe's handler runs with preemption off but NMIs on, so the NMI arrives between two
 * instructions of the function.
 */
#include <linux/kprobes.h>

#include "internal.h"

#define WRMSR_BYTES	0x300f	/* 0f 30, read as little endian */
#define BRANCHES	(1U << 22)

#define PROBES		8

static struct kprobe probes[PROBES];
static unsigned int nr_probes;
static struct lab_window window;
static int armed_cpu = -1;
static unsigned int hits;
static unsigned int passed;
static bool expected;

bool lab_window_nmi(void)
{
	if (smp_processor_id() != READ_ONCE(armed_cpu) || !READ_ONCE(expected))
		return false;
	if (window.action == LAB_NMI_SETS_LBR)
		lab_write_lbr(true);
	WRITE_ONCE(expected, false);
	return true;
}

static void wait_for_nmi(void)
{
	unsigned int i;

	WRITE_ONCE(expected, true);
	lab_send_nmi(smp_processor_id());
	for (i = 0; i < BRANCHES && READ_ONCE(expected); i++)
		cpu_relax();
}

/*
 * If WRMSR can set an overflow bit, set the bit and send an NMI. On an emulated CPU with
 * x-pmu-stuck, WRMSR can set the bit, but perf's handler cannot clear it, and resets the PMU.
 */
static void reset_pmu(void)
{
	if (!wrmsrq_safe(MSR_CORE_PERF_GLOBAL_STATUS, 1))
		wait_for_nmi();
}

static void branch_until_stopped(void)
{
	unsigned int i;

	for (i = 0; i < BRANCHES && lab_msr() & DEBUGCTLMSR_TR; i++)
		cpu_relax();
}

static int hit(struct kprobe *p, struct pt_regs *regs)
{
	if (smp_processor_id() != READ_ONCE(armed_cpu) || hits)
		return 0;
	if (window.at_wrmsr && (u32)regs->cx != MSR_IA32_DEBUGCTLMSR)
		return 0;
	if (passed++ < window.skip)
		return 0;
	hits++;
	switch (window.action) {
	case LAB_NMI_SETS_LBR:
		wait_for_nmi();
		break;
	case LAB_BRANCHES:
		branch_until_stopped();
		break;
	case LAB_RESETS_PMU:
		reset_pmu();
		break;
	}
	return 0;
}

static int probe_at(unsigned int offset)
{
	struct kprobe *probe = &probes[nr_probes];
	int err;

	memset(probe, 0, sizeof(*probe));
	probe->symbol_name = window.function;
	probe->offset = offset;
	probe->pre_handler = hit;
	err = register_kprobe(probe);
	if (!err)
		nr_probes++;
	return err;
}

/* If the bytes of WRMSR are part of another instruction, register_kprobe() refuses the probe. */
static int probe_every_wrmsr(void)
{
	unsigned long size, offset;
	u8 *start = lab_symbol(window.function);
	u16 bytes;

	if (!start || !lab_symbol_size(start, &size))
		return -ENOENT;
	for (offset = 0; offset + sizeof(bytes) <= size && nr_probes < PROBES; offset++) {
		if (copy_from_kernel_nofault(&bytes, start + offset, sizeof(bytes)))
			break;
		if (bytes == WRMSR_BYTES)
			probe_at(offset);
	}
	return nr_probes ? 0 : -ESRCH;
}

int lab_window_open(const struct lab_window *wanted)
{
	int err;

	if (nr_probes)
		return -EBUSY;
	window = *wanted;
	window.function[sizeof(window.function) - 1] = '\0';
	hits = 0;
	passed = 0;
	WRITE_ONCE(armed_cpu, raw_smp_processor_id());
	err = window.at_wrmsr ? probe_every_wrmsr() : probe_at(0);
	if (err)
		WRITE_ONCE(armed_cpu, -1);
	return err;
}

unsigned int lab_window_close(void)
{
	WRITE_ONCE(armed_cpu, -1);
	while (nr_probes)
		unregister_kprobe(&probes[--nr_probes]);
	return hits;
}
