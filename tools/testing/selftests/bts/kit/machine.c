// SPDX-License-Identifier: GPL-2.0
/*
 * Report what the processor and the kernel tell about the machine, but neither serial numbers nor
 * names given by its owner.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <asm/ptrace_bts.h>

#include "kit.h"

#define MSR_MISC_ENABLE		0x1a0
#define MISC_BTS_UNAVAIL	(1ull << 11)
#define MISC_PEBS_UNAVAIL	(1ull << 12)
#define MSR_PERF_CAPABILITIES	0x345
#define CPUID_DS		(1u << 21)	/* in EDX */
#define CPUID_PDCM		(1u << 15)	/* in ECX */
#define CPUID_HYBRID		(1u << 15)	/* in EDX of leaf 7 */
#define ARCH_GET_PTRACE_BTS_NR	0x1031

struct machine machine;

static const struct {
	char reg;
	unsigned int bit;
	const char *name;
} features[] = {
	{ 'd', 9, "APIC", },
	{ 'd', 21, "DS", },
	{ 'c', 2, "DTES64", },
	{ 'c', 4, "DS-CPL", },
	{ 'c', 15, "PDCM", },
	{ 'c', 31, "hypervisor", },
};

/* Read an MSR of CPU 0, which stands for all CPUs. */
static bool read_msr(unsigned int nr, uint64_t *val)
{
	int fd = open("/dev/cpu/0/msr", O_RDONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = pread(fd, val, sizeof(*val), nr) == sizeof(*val);
	close(fd);
	return good;
}

static void find_model(void)
{
	unsigned int regs[12] = { }, i, a, b, c, d;
	char *name = (char *)regs;

	if (__get_cpuid(1, &a, &b, &c, &d))
		machine.signature = a;
	for (i = 0; i < 3; i++)
		__get_cpuid(0x80000002 + i, &regs[4 * i], &regs[4 * i + 1], &regs[4 * i + 2],
			    &regs[4 * i + 3]);
	name[sizeof(regs) - 1] = '\0';
	snprintf(machine.model, sizeof(machine.model), "%s", name + strspn(name, " "));
	if (!machine.model[0])
		snprintf(machine.model, sizeof(machine.model), "a processor without a name");
}

/* On a hybrid processor, tell the kind of CPU 0, on which the questions run. */
static void tell_hybrid(void)
{
	unsigned int a, b, c, d = 0;
	cpu_set_t all, first;

	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & CPUID_HYBRID))
		return;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (sched_getaffinity(0, sizeof(all), &all) ||
	    sched_setaffinity(0, sizeof(first), &first))
		return;
	a = 0;
	__get_cpuid_count(0x1a, 0, &a, &b, &c, &d);
	sched_setaffinity(0, sizeof(all), &all);
	tell("            hybrid: the answers are those of CPU 0, which is %s core\n",
	     a >> 24 == 0x20 ? "an Atom" : a >> 24 == 0x40 ? "a Core" : "an unknown");
}

/* Get the kernel's information about a trace source. Returns false if it is not available. */
static bool ask_kernel(unsigned int source, struct ptrace_bts_info *info)
{
	*info = (struct ptrace_bts_info) { .size = sizeof(*info), .source = source, };
	return !syscall(SYS_arch_prctl, ARCH_GET_PTRACE_BTS_NR, info);
}

/* Read the value of the first @key in a file like /proc/cpuinfo. */
static bool value_of(const char *path, const char *key, char *val, size_t size)
{
	char line[1024];
	FILE *f = fopen(path, "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, key, strlen(key)) || !colon)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(val, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

void machine_find(void)
{
	struct ptrace_bts_info info;

	find_model();
	if (!value_of("/proc/cpuinfo", "microcode", machine.microcode, sizeof(machine.microcode)))
		snprintf(machine.microcode, sizeof(machine.microcode), "not told");
	machine.store = ask_kernel(PTRACE_BTS_SOURCE_DS, &info);
}

static unsigned int family_of(unsigned int signature)
{
	unsigned int family = signature >> 8 & 0xf;

	return family == 15 ? family + (signature >> 20 & 0xff) : family;
}

static unsigned int model_of(unsigned int signature)
{
	unsigned int family = signature >> 8 & 0xf, model = signature >> 4 & 0xf;

	return family == 15 || family == 6 ? model + (signature >> 12 & 0xf0) : model;
}

static void tell_model(void)
{
	unsigned int s = machine.signature, family = family_of(s), model = model_of(s);
	struct utsname uts;

	tell("processor   %s\n", machine.model);
	tell("            family %u, model %u, stepping %u, microcode %s, %ld CPUs\n", family,
	     model, s & 0xf, machine.microcode, sysconf(_SC_NPROCESSORS_ONLN));
	tell_hybrid();
	if (!uname(&uts))
		tell("kernel      Linux %s %s, started by %s\n", uts.release, uts.machine,
		     access("/sys/firmware/efi", F_OK) ? "BIOS" : "UEFI");
}

static void tell_features(void)
{
	unsigned int a, b, c = 0, d = 0, c7, d7, i;
	uint64_t val;
	char text[256] = "";
	size_t n = 0;

	__get_cpuid(1, &a, &b, &c, &d);
	for (i = 0; i < ARRAY_SIZE(features); i++) {
		bool has = (features[i].reg == 'c' ? c : d) >> features[i].bit & 1;

		n += snprintf(text + n, sizeof(text) - n, " %s%s", has ? "" : "no-",
			      features[i].name);
	}
	if (__get_cpuid_count(7, 0, &a, &b, &c7, &d7))
		n += snprintf(text + n, sizeof(text) - n, " %sPT", b >> 25 & 1 ? "" : "no-");
	tell("features   %s\n", text);
	note("            (DS: Debug Store, DTES64: with 64-bit records, DS-CPL: with a filter by\n"
	     "            privilege level, PDCM: capabilities of the PMU, PT: Processor Trace)\n");
	if (d & CPUID_DS && read_msr(MSR_MISC_ENABLE, &val))
		tell("            MISC_ENABLE: BTS %s, PEBS %s\n",
		     val & MISC_BTS_UNAVAIL ? "unavailable" : "available",
		     val & MISC_PEBS_UNAVAIL ? "unavailable" : "available");
	if (c & CPUID_PDCM && read_msr(MSR_PERF_CAPABILITIES, &val))
		tell("            last branch records of format %u\n", (unsigned int)val & 0x3f);
}

/*
 * Tell which errata this model has. BU10 and AF36 follow from @flags, the flags that the kernel may
 * give to records. The other errata follow from the number of the model.
 */
static void tell_errata(unsigned int flags)
{
	/* Yonah, Merom, Merom-L, Penryn, Dunnington */
	static const unsigned int wrong_source[] = { 0xe, 0xf, 0x16, 0x17, 0x1d };
	bool wrong = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong_source); i++)
		wrong |= family_of(machine.signature) == 6 &&
			 model_of(machine.signature) == wrong_source[i];
	if (flags & X86_BTS_F_UNRELIABLE)
		tell("errata      BU10 or AF36: a record may be wrong or lost after an\n"
		     "            SMI, or during a change of the power state\n");
	if (wrong)
		tell("errata      W125, AR62: with a filter, the source of a record is\n"
		     "            wrong where the privilege level changes\n");
	if (!wrong && !(flags & X86_BTS_F_UNRELIABLE))
		tell("errata      none known of this model\n");
}

static void tell_sources(void)
{
	struct ptrace_bts_info info;

	if (!ask_kernel(PTRACE_BTS_SOURCE_ANY, &info)) {
		tell("sources     the kernel has none for branch traces: %s\n", strerror(errno));
		return;
	}
	tell("sources     of branch traces: Debug Store: %s, trap flag: %s\n",
	     machine.store ? "yes" : "no",
	     info.sources >> PTRACE_BTS_SOURCE_STEP & 1 ? "yes" : "no");
	if (machine.store && ask_kernel(PTRACE_BTS_SOURCE_DS, &info))
		tell("            its records have the flags %#x at most, a trace has %u at most\n",
		     info.record_flags, info.max_records);
	if (machine.store)
		tell_errata(info.record_flags);
}

static void tell_mitigations(void)
{
	static const char dir[] = "/sys/devices/system/cpu/vulnerabilities/";
	glob_t all = { };
	size_t i, affected = 0;
	char text[200];

	if (glob("/sys/devices/system/cpu/vulnerabilities/*", 0, NULL, &all))
		return;
	for (i = 0; i < all.gl_pathc; i++) {
		FILE *f = fopen(all.gl_pathv[i], "re");

		if (f && fgets(text, sizeof(text), f)) {
			text[strcspn(text, "\n")] = '\0';
			if (strcmp(text, "Not affected")) {
				note("            %s: %s\n", all.gl_pathv[i] + strlen(dir), text);
				affected++;
			}
		}
		if (f)
			fclose(f);
	}
	show("mitigations affected by %zu of %zu flaws%s\n", affected, all.gl_pathc,
	     stick_problem() ? "" : ": see the report");
	globfree(&all);
}

void machine_tell(void)
{
	tell_model();
	tell_features();
	tell_sources();
	note("mitigations, where there is anything to mitigate:\n");
	tell_mitigations();
}
