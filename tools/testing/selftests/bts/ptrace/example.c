// SPDX-License-Identifier: GPL-2.0
/*
 * Run a program and print its last branches, with the names of functions.
 *
 *   example [-n NUMBER] PROGRAM [ARGUMENT...]
 */
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asm/ptrace_bts.h>

#define ROOM	2000	/* records */

static const Elf64_Sym *symbols;
static size_t nr_symbols;
static const char *names;
static __u64 base;	/* load address of a position-independent program */

/* Read the symbols of the program that runs as @pid, if it has any. */
static void read_symbols(pid_t pid)
{
	const Elf64_Ehdr *elf;
	const Elf64_Shdr *s;
	struct stat st;
	char path[64];
	FILE *maps;
	int fd, i;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		return;
	elf = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (elf == MAP_FAILED || elf->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	s = (const void *)((const char *)elf + elf->e_shoff);
	for (i = 0; i < elf->e_shnum; i++) {
		if (s[i].sh_type != SHT_SYMTAB)
			continue;
		symbols = (const void *)((const char *)elf + s[i].sh_offset);
		nr_symbols = s[i].sh_size / sizeof(*symbols);
		names = (const char *)elf + s[s[i].sh_link].sh_offset;
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	if (maps && elf->e_type == ET_DYN && fscanf(maps, "%llx", &base) != 1)
		base = 0;
	if (maps)
		fclose(maps);
}

static const char *name_of(__u64 addr, char *buf, size_t size)
{
	const Elf64_Sym *s, *best = NULL;

	for (s = symbols; s < symbols + nr_symbols; s++) {
		if (ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
		    addr - base >= s->st_value && addr - base < s->st_value + s->st_size)
			best = s;
	}
	if (best)
		snprintf(buf, size, "%s+%#llx", names + best->st_name,
			 addr - base - best->st_value);
	else
		snprintf(buf, size, "%#llx", addr);
	return buf;
}

static void print_record(const struct x86_bts_record *rec)
{
	char from[80], to[80];

	if (rec->type == X86_BTS_LOST)
		printf("  (%llu are missing)\n", rec->lost.count);
	else if (rec->type == X86_BTS_BRANCH || rec->type == X86_BTS_LEAVE)
		printf("  %-24s -> %s\n", rec->type == X86_BTS_LEAVE ? "(kernel)" :
		       name_of(rec->branch.from, from, sizeof(from)),
		       name_of(rec->branch.to, to, sizeof(to)));
}

/* Print the last @n records. Index 0 is the newest. */
static void print_last(pid_t pid, long n)
{
	long held = ptrace(PTRACE_BTS_SIZE, pid, 0, 0);
	struct x86_bts_record rec;

	if (held < 0)
		err(1, "PTRACE_BTS_SIZE");
	for (n = n < held ? n : held; n-- > 0;) {
		if (ptrace(PTRACE_BTS_GET, pid, &rec, n))
			err(1, "PTRACE_BTS_GET");
		print_record(&rec);
	}
}

int main(int argc, char **argv)
{
	struct ptrace_bts_config config = {
		.size = ROOM * sizeof(struct x86_bts_record),
		.flags = PTRACE_BTS_F_ALLOC | PTRACE_BTS_F_TRACE,
	};
	long last = 20;
	int status, signal;
	pid_t pid;

	if (argc > 2 && !strcmp(argv[1], "-n")) {
		last = atol(argv[2]);
		argv += 2;
	}
	if (!argv[1])
		errx(2, "usage: example [-n NUMBER] PROGRAM [ARGUMENT...]");
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[1], argv + 1);
		err(127, "%s", argv[1]);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		errx(1, "%s cannot be started", argv[1]);
	read_symbols(pid);
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL))
		err(1, "PTRACE_SETOPTIONS");
	if (ptrace(PTRACE_BTS_CONFIG, pid, &config, sizeof(config)))
		err(1, "PTRACE_BTS_CONFIG%s",
		    errno == EIO ? ": a kernel without CONFIG_X86_PTRACE_BTS" : "");
	for (signal = 0; ; signal = status >> 16 ? 0 : WSTOPSIG(status)) {
		if (ptrace(PTRACE_CONT, pid, 0, signal) || waitpid(pid, &status, 0) != pid)
			err(1, "PTRACE_CONT");
		if (!WIFSTOPPED(status))
			break;
		if (status >> 16 == PTRACE_EVENT_EXIT)
			print_last(pid, last);
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	printf("%s: %s\n", argv[1], strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}
