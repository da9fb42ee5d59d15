// SPDX-License-Identifier: GPL-2.0
/* Save memory of the guest to files for the oracle, through the emulator's monitor. */
#include <sys/auxv.h>

#include "guest.h"
#include "handover.h"
#include "traced.h"

#define PAGE		4096ul
#define VDSO_PAGES	2

extern const char __executable_start[], etext[];

static char arguments[2048];

bool hand_over(const char *name, u64 addr, u64 size, bool code)
{
	size_t used = strlen(arguments);
	char cmd[256], answer[256] = "";
	u64 pos;

	/* Touch user pages: the monitor uses the page tables, and does not fault pages in. */
	for (pos = 0; !(addr >> 63) && pos < size; pos += PAGE)
		(void)*(volatile u8 *)(addr + pos);
	snprintf(cmd, sizeof(cmd), "memsave 0x%llx %llu \"%s\"",
		 (unsigned long long)addr, (unsigned long long)size, name);
	if (hmp(cmd, answer, sizeof(answer)) || strstr(answer, "rror") ||
	    strstr(answer, "nvalid")) {
		printf("# %s: %s\n", cmd, answer);
		return false;
	}
	if (code)
		snprintf(arguments + used, sizeof(arguments) - used,
			 " --mem %llx:%s", (unsigned long long)addr, name);
	else
		snprintf(arguments + used, sizeof(arguments) - used,
			 " --records %s", name);
	return true;
}

/*
 * Find the next symbol @name in @f, or the next function of @module if @name is NULL. Returns false
 * if there is none.
 */
static bool symbol_in(FILE *f, const char *name, const char *module, u64 *addr)
{
	char line[512], sym[256], owner[64];
	unsigned long long at;
	char type;

	while (f && fgets(line, sizeof(line), f)) {
		owner[0] = 0;
		if (sscanf(line, "%llx %c %255s [%63[^]]", &at, &type, sym, owner) < 3)
			continue;
		if (name ? !strcmp(sym, name) : strchr("tT", type) && !strcmp(owner, module)) {
			*addr = at;
			return true;
		}
	}
	return false;
}

static u64 kernel_symbol(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	u64 found = 0;

	symbol_in(f, name, NULL, &found);
	if (f)
		fclose(f);
	return found;
}

bool hand_over_module(const char *module)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	u64 at, first = -1ull, last = 0;

	while (symbol_in(f, NULL, module, &at)) {
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	if (f)
		fclose(f);
	first &= -PAGE;
	return last && hand_over("module_text", first, (last | (PAGE - 1)) + 1 - first, true);
}

bool hand_over_code(void)
{
	u64 text = (u64)__executable_start & -PAGE;
	u64 vdso = getauxval(AT_SYSINFO_EHDR);
	u64 stext = kernel_symbol("_stext"), ktext_end = kernel_symbol("_etext");

	return stext && ktext_end > stext &&
	       hand_over("user_text", text, (u64)etext - text, true) &&
	       hand_over("vdso", vdso, VDSO_PAGES * PAGE, true) &&
	       hand_over("kernel_text", stext, ktext_end - stext, true);
}

void hand_over_option(const char *option)
{
	strncat(arguments, option, sizeof(arguments) - strlen(arguments) - 1);
}

void hand_over_arguments(void)
{
	printf("# oracle%s\n", arguments);
}
