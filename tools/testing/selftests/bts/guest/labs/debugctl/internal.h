/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_DEBUGCTL_LAB_INTERNAL_H
#define BTS_DEBUGCTL_LAB_INTERNAL_H

#include <linux/percpu.h>
#include <linux/types.h>

#include <asm/msr.h>

#include "lab.h"

#if __has_include(<asm/debugctl.h>)
#include <asm/debugctl.h>
#define LAB_HAS_COPY	1
#else
#define LAB_HAS_COPY	0
#endif

static inline u64 lab_msr(void)
{
	u64 val;

	rdmsrq(MSR_IA32_DEBUGCTLMSR, val);
	return val;
}

static inline u64 lab_copy(void)
{
#if LAB_HAS_COPY
	return debugctl_get();
#else
	return lab_msr();
#endif
}

/* Change LBR as perf does in this kernel. Called with interrupts off, or in an NMI. */
static inline void lab_write_lbr(bool on)
{
	u64 val = on ? DEBUGCTLMSR_LBR : 0;

#if LAB_HAS_COPY
	debugctl_write_field(DEBUGCTLMSR_LBR, val);
#else
	wrmsrq(MSR_IA32_DEBUGCTLMSR, (lab_msr() & ~DEBUGCTLMSR_LBR) | val);
#endif
}

/* Look up a symbol, and the size of the symbol at @addr. The kernel need not export the symbol. */
void *lab_symbol(const char *name);
bool lab_symbol_size(void *addr, unsigned long *size);
void lab_send_nmi(unsigned int cpu);

int lab_storm_init(void);
void lab_storm_exit(void);
void lab_storm_start(const struct lab_storm *storm);
void lab_storm_stop(struct lab_report *report);

int lab_window_open(const struct lab_window *window);
unsigned int lab_window_close(void);
/* Called for each NMI. Returns true if the window's action waits for an NMI of this CPU. */
bool lab_window_nmi(void);

/* Make the calling task's allocations of 1 << @order pages fail. If @order is 0, let none fail. */
int lab_refuse(unsigned int order);

#endif /* BTS_DEBUGCTL_LAB_INTERNAL_H */
