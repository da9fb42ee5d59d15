// SPDX-License-Identifier: GPL-2.0
/*
 * Check the memory of traces: the memory charged to a user (by the size of a trace that still
 * fits), the rings (buffers of traces), the small structures, and leaked objects.
 */
#include <ctype.h>
#include <glob.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/membarrier.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "memory.h"
#include "../guest/system.h"

#define PAGE	4096u
#define PAGES	8

/*
 * Set RLIMIT_MEMLOCK to PAGES pages, become user @uid, and check that a trace of PAGES pages fits,
 * but no other trace beside it. Returns what memory_probe() returns.
 */
static int probe(uint32_t uid)
{
	struct rlimit limit = { PAGES * PAGE, PAGES * PAGE };
	const uint32_t fits = PAGES * PAGE / RECORDS(1);
	struct tracee t, other;
	int ret;

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		give_up("RLIMIT_MEMLOCK");
	if (!uid)
		drop_capability(CAP_IPC_LOCK);
	else if (setgroups(0, NULL) || setgid(uid) || setuid(uid) || prctl(PR_SET_DUMPABLE, 1))
		give_up("cannot become %u", uid);
	t = tracee_new();
	other = tracee_new();
	ret = bts_config(t.pid, TRACE | ALLOC, RECORDS(fits), 0) ? 1 : 0;
	/* The first trace fills the limit, so a second one of one record must be refused. */
	if (!ret && bts_config(other.pid, TRACE | ALLOC, RECORDS(1), 0) != -ENOMEM)
		ret = 2;
	tracee_end(&t);
	tracee_end(&other);
	return ret;
}

int memory_probe(uint32_t uid)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(probe(uid));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int count_lines(const char *path, const char *word, bool tell)
{
	char line[512];
	FILE *f = fopen(path, "r");
	int n = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		/*
		 * Skip the objects of ptrace_bts_init(), which are never freed, and the lines of
		 * stack traces, which do not begin with a number.
		 */
		if (!strstr(line, word) || strstr(line, "ptrace_bts_init") ||
		    !isdigit(line[strspn(line, " ")]))
			continue;
		n++;
		if (tell)
			printf("# %s", line);
	}
	fclose(f);
	return n;
}

/*
 * /proc/vmallocinfo names the function to which __vmalloc() returns: __vmalloc_array*(), or its
 * caller bts_*() if __vmalloc_array*() calls __vmalloc() by a tail call.
 */
int memory_ring_count(void)
{
	return count_lines("/proc/vmallocinfo", " bts_", false) +
	       count_lines("/proc/vmallocinfo", " __vmalloc_array", false);
}

void memory_rings(int *now, int *with_one)
{
	struct tracee t = tracee_new();

	*now = memory_ring_count();
	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(100), 0))
		give_up("a trace");
	*with_one = memory_ring_count();
	tracee_end(&t);
}

/*
 * Returns whether a cache holds objects of sizes that traces use, or objects that traces reference.
 * Leave out caches of smaller objects: one slab holds many, and all may count as active.
 */
static bool matters(const char *cache)
{
	static const char *const names[] = {
		"kmalloc-cg-64", "kmalloc-cg-96", "kmalloc-cg-128", "kmalloc-cg-192",
		"kmalloc-cg-256", "kmalloc-cg-512", "task_struct", "uid_cache", "pid",
		"pid_namespace", "mm_struct",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(cache, names[i]))
			return true;
	}
	return false;
}

long memory_slabs(void)
{
	char line[512], name[64];
	FILE *f = fopen("/proc/slabinfo", "r");
	long sum = 0, active;

	if (!f)
		give_up("/proc/slabinfo");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %ld", name, &active) == 2 && matters(name))
			sum += active;
	}
	fclose(f);
	return sum;
}

int memory_owned(bool tell)
{
	static const char *const names[] = { "ptrace_bts_", " bts_", "hw_branches_" };
	int found = 0, files = 0;
	size_t i, j;
	glob_t all;

	if (glob("/sys/kernel/debug/slab/kmalloc-*/alloc_traces", 0, NULL, &all))
		return -1;
	for (i = 0; i < all.gl_pathc; i++) {
		for (j = 0; j < ARRAY_SIZE(names); j++) {
			int n = count_lines(all.gl_pathv[i], names[j], tell);

			files += n >= 0;
			found += n > 0 ? n : 0;
		}
	}
	globfree(&all);
	return files ? found : -1;
}

void memory_settle(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	usleep(500000);
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	shrink_slabs();
}

#define KMEMLEAK	"/sys/kernel/debug/kmemleak"

/* kmemleak reports objects of five seconds that two scans find unchanged, without a pointer. */
int memory_leaks(void)
{
	char line[256];
	int n = 0;
	FILE *f;

	if (access(KMEMLEAK, W_OK))
		return -1;
	sleep(6);
	write_file(KMEMLEAK, "scan");
	sleep(6);
	write_file(KMEMLEAK, "scan");
	f = fopen(KMEMLEAK, "r");
	while (f && fgets(line, sizeof(line), f) && n < 60)
		n += printf("# %s", line) > 0;
	if (f)
		fclose(f);
	return n;
}
