/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_STRESS_NOISE_H
#define BTS_STRESS_NOISE_H

#include "stress.h"

#define NOISE_SYSCTL	0x1	/* who may */
#define NOISE_PERF	0x2	/* events that exclude traces */
#define NOISE_RECORDER	0x4	/* the flight recorder, its triggers, frozen CPUs */
#define NOISE_HOTPLUG	0x8	/* CPUs go offline and come back */
#define NOISE_KILL	0x10	/* tracees and tracers are killed */

void noise_start(unsigned int kinds);

#endif /* BTS_STRESS_NOISE_H */
