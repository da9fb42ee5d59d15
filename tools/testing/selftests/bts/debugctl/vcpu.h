/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_DEBUGCTL_VCPU_H
#define BTS_DEBUGCTL_VCPU_H

/* The layout of the guest's memory. */
#define GUEST_COUNT	0x800
#define GUEST_CODE	0x1000
#define GUEST_HANDLER	0x1100
#define GUEST_STACK	0x3000
#define GUEST_SIZE	0x4000

#define GUEST_EXITS	1000
#define GUEST_LOOPS	50
#define GUEST_STEPS	(1 + 2 * GUEST_LOOPS + 5)

#endif /* BTS_DEBUGCTL_VCPU_H */
