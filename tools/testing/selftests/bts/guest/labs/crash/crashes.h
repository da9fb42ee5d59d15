/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_CRASHES_H
#define BTS_CRASHES_H

#include <linux/processor.h>
#include <linux/types.h>

#include <asm/msr.h>

/* Nothing is mapped at this address. */
#define BAD_ADDRESS	0xb75ul

void bts_crash_fault(void);
/* Take about @n branches. The tests look for them in what the recorder has recorded. */
int bts_crash_work(int n);
void bts_crash_path(void);

/*
 * Crash at a lock with a bad address, in a deep recursion, after a jump out of several calls, or
 * (with kCFI) by an indirect call of a wrong function.
 */
void bts_crash_lock(void);
void bts_crash_recursion(void);
void bts_crash_longjmp(void);
void bts_crash_cfi(void);

/*
 * Lock up this CPU while it records by BTS, for half a minute at most. The report of the lockup
 * freezes the recorder. bts_crash_stuck() also works with LBRs, see there.
 */
void bts_crash_soft_lockup(void);
void bts_crash_hard_lockup(void);
void bts_crash_stuck(void);

/*
 * bts_crash_moved() raises #GP on another CPU than CPU 0, migrates to CPU 0 in its handler, and
 * crashes there. bts_crash_passed() raises a #GP that is not fatal, and returns whether that
 * worked. If @migrate is set, it migrates like bts_crash_moved(). bts_crash_left() does the same as
 * bts_crash_moved(), but takes the other CPU offline before it crashes, and calls
 * bts_crash_choose_victim() before.
 */
void bts_crash_moved(void);
void bts_crash_left(void);
bool bts_crash_passed(bool migrate);

/* The module's parameter `reborn` tells whether current has the task_struct of this caller. */
void bts_crash_choose_victim(void);

/* Returns whether BTS of this CPU is on. */
static inline bool records(void)
{
	/* Netburst has BTS in another bit. */
	u64 debugctl, bts = boot_cpu_data.x86 == 15 ? BIT(3) : DEBUGCTLMSR_BTS;

	rdmsrq(MSR_IA32_DEBUGCTLMSR, debugctl);
	return debugctl & bts;
}

#endif
