/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_STRESS_NOISE_H
#define BTS_STRESS_NOISE_H

#include "stress.h"

#define NOISE_SYSCTL	0x1	/* sysctls that restrict who may trace */
#define NOISE_PERF	0x2	/* perf events that compete with traces for the hardware */
#define NOISE_RECORDER	0x4	/* the flight recorder, which root, triggers and watches freeze */
#define NOISE_HOTPLUG	0x8	/* CPUs go offline and online */
#define NOISE_KILL	0x10	/* tracees and tracers are killed */
#define NOISE_MODULE	0x20	/* a module that traces a CPU is loaded and unloaded */
#define NOISE_LBR	0x40	/* NOISE_RECORDER and NOISE_PERF use last branch records, too */
/*
 * Kinds of noise that may make gaps in any trace by the hardware. A gap is a time in which nothing
 * is recorded.
 */
#define NOISE_GAPS	(NOISE_RECORDER | NOISE_HOTPLUG | NOISE_MODULE)

/* Count an action of @kind that has succeeded. */
void noise_done(unsigned int kind);

/* @module: the path of the module for NOISE_MODULE */
void noise_start(unsigned int kinds, const char *module);

#endif /* BTS_STRESS_NOISE_H */
