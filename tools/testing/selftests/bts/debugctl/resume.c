// SPDX-License-Identifier: GPL-2.0
/*
 * After suspend to RAM, DEBUGCTL.FREEZE_IN_SMM must be on as before. The stock kernel sets the bit
 * again on all CPUs except the boot CPU, as the others go offline, and come online again.
 *
 * resume MODULE kept|lost: kept: a kernel that restores the bit; lost: the stock kernel
 */
#include <sys/sysinfo.h>

#include "../guest/debugctl.h"

#define FREEZE_ON_SMI	"/sys/devices/cpu/freeze_on_smi"

static void check_cpu(int cpu, bool wanted, const char *when)
{
	struct lab_state state;

	pin_to(cpu);
	state = lab_read();
	ok(!!(state.msr & DEBUGCTL_SMM_BIT) == wanted,
	   "CPU %d: FREEZE_IN_SMM is %s %s (MSR %#llx)", cpu, wanted ? "on" : "off", when,
	   state.msr);
	ok(state.msr == state.copy, "CPU %d: copy and MSR are the same %s (%#llx)", cpu,
	   when, state.copy);
}

int main(int argc, char *argv[])
{
	int cpu, cpus = get_nprocs();
	bool kept;

	if (argc != 3 || (strcmp(argv[2], "kept") && strcmp(argv[2], "lost"))) {
		fprintf(stderr, "usage: %s MODULE kept|lost\n", argv[0]);
		return 2;
	}
	kept = !strcmp(argv[2], "kept");
	plan(4 * cpus + 1);
	load_lab(argv[1]);
	if (!write_text(FREEZE_ON_SMI, "1"))
		give_up(FREEZE_ON_SMI);
	for (cpu = 0; cpu < cpus; cpu++)
		check_cpu(cpu, true, "before");
	pin_to(0);
	wake_later();
	ok(write_text("/sys/power/state", "mem"), "suspend to RAM and back");
	for (cpu = 0; cpu < cpus; cpu++)
		check_cpu(cpu, cpu ? true : kept, "after");
	return finish();
}
