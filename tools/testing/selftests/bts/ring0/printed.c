// SPDX-License-Identifier: GPL-2.0
/*
 * Collect the branches that a crash prints. The oracle (../oracle), a program on the host, compares
 * them with the emulator's log of instructions.
 *
 *   printed MODULE [NR]		NR: the number of branches to print
 *
 * The printed line `# oracle ...` holds the arguments for the oracle.
 */
#include <sys/mman.h>

#include "../guest/handover.h"
#include "../guest/recorder.h"
#include "../guest/dump.h"

#define PAGE	4096

struct symbol {
	u64 addr;
	char name[64];
	bool module;
};

static struct symbol *symbols;
static size_t nr_symbols;

static void read_symbols(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long long addr;
	char line[512];

	symbols = calloc(1 << 17, sizeof(*symbols));
	while (f && symbols && fgets(line, sizeof(line), f) && nr_symbols < 1 << 17) {
		struct symbol *sym = &symbols[nr_symbols];

		if (sscanf(line, "%llx %*c %63s", &addr, sym->name) != 2)
			continue;
		sym->addr = addr;
		sym->module = strchr(line, '[');
		nr_symbols++;
	}
	if (!nr_symbols)
		give_up("/proc/kallsyms");
	fclose(f);
}

/*
 * Returns the distance to the next symbol, or 0 if there is none. The kernel takes this distance as
 * the size.
 */
static u64 size_of(size_t nr)
{
	size_t i;

	for (i = nr + 1; i < nr_symbols; i++) {
		if (symbols[i].addr > symbols[nr].addr)
			return symbols[i].addr - symbols[nr].addr;
	}
	return 0;
}

/*
 * Returns the address of NAME+OFFSET/SIZE, or 0 for "user mode". SIZE distinguishes symbols of the
 * kernel that have the same name. The size of a module's symbol is not known here.
 */
static u64 address(const char *text)
{
	unsigned long long offset, size;
	u64 found = 0;
	char name[64];
	size_t i;

	if (!strcmp(text, "user mode"))
		return 0;
	if (sscanf(text, "%63[^+]+%llx/%llx", name, &offset, &size) != 3)
		give_up("cannot read '%s'", text);
	for (i = 0; i < nr_symbols; i++) {
		if (strcmp(symbols[i].name, name) ||
		    (!symbols[i].module && size_of(i) != size))
			continue;
		if (found && found != symbols[i].addr + offset)
			give_up("%s is ambiguous", text);
		found = symbols[i].addr + offset;
	}
	if (!found)
		give_up("no symbol %s", text);
	return found;
}

/* A record in the hardware's format, which the oracle reads. */
struct raw {
	u64 from;
	u64 to;
	u64 flags;
};

/*
 * Read the branches of the crashing CPU, @nr at most. They are printed newest first. Store them at
 * the end of @raw, oldest first. Store in *@since how many newer branches were left out, or -1 if
 * no headline was printed. Returns the number of stored branches.
 */
static int read_printed(struct raw *raw, int nr, int *since)
{
	char line[1024], *arrow;
	int got = 0, cpu;

	*since = -1;
	while (read_log(line, sizeof(line))) {
		if (*since < 0) {
			if (sscanf(line, "Last branches of CPU %d, newest first, %d more",
				   &cpu, since) != 2)
				*since = -1;
			continue;
		}
		arrow = strstr(line, " <- ");
		if (line[0] != ' ' || !arrow || got == nr)
			break;
		*arrow = '\0';
		got++;
		raw[nr - got] = (struct raw){ address(arrow + 4), address(behind_cpu(line)), 0 };
	}
	return got;
}

static void run_logged(void)
{
	hmp("singlestep on", NULL, 0);
	log_on("exec,nochain,int");
	crash_once("task", 0);
	log_off();
	hmp("singlestep off", NULL, 0);
}

int main(int argc, char **argv)
{
	int nr = argc > 2 ? atoi(argv[2]) : NR, since, got;
	char option[64];
	struct raw *raw;

	load_module(argv[1], "");
	must_set("enable", "1");
	snprintf(option, sizeof(option), "%d", nr);
	must_set("crash_nr", option);
	must_set("fold", "0");
	/* Do not print to the console, which takes long. */
	if (try_text("/proc/sys/kernel/printk", "0"))
		give_up("printk");
	read_symbols();
	raw = mmap(NULL, nr * sizeof(*raw), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	crash_once("task", 0);
	ok(thaws(), "a first crash");
	snprintf(option, sizeof(option), " --debugctl %llx --until-off",
		 (unsigned long long)read_debugctl(0));
	hand_over_option(option);
	open_log();
	skip_log();
	run_logged();
	got = read_printed(raw, nr, &since);
	ok(got == nr && since > 0, "%d branches printed, %d left out", got, since);
	snprintf(option, sizeof(option), " --last %d", since);
	hand_over_option(option);
	ok(hand_over("records", (u64)raw, nr * sizeof(*raw), false) && hand_over_code() &&
	   hand_over_module("bts_crash"), "branches and code handed over");
	hand_over_arguments();
	return finish();
}
