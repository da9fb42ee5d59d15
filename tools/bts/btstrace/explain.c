// SPDX-License-Identifier: GPL-2.0
/* This file says why something does not work and what to do about it. */
#include <cpuid.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "explain.h"
#include "text.h"

/* The bit of CPUID.1:EDX that says that there is a Debug Store */
#define CPUID_DS	0x200000

void bt_complain(const char *fmt, ...)
{
	struct bt_text line;
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	/*
	 * The message may contain names that come from a hostile program: replace control
	 * characters.
	 */
	text_open(&line, -1);
	text_str(&line, "btstrace: ");
	text_safe(&line, s);
	text_char(&line, '\n');
	fwrite(line.buf, 1, line.used, stderr);
	free(line.buf);
	free(s);
}

/*
 * Find the first line that begins with @key in the file @path. Read it into @line, without the
 * newline. Returns false if there is none.
 */
static bool find_line(const char *path, const char *key, char *line, size_t len)
{
	FILE *f = fopen(path, "re");
	bool found = false;

	*line = '\0';
	if (!f)
		return false;
	while (!found && fgets(line, len, f))
		found = !strncmp(line, key, strlen(key));
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return found;
}

static int sysctl_value(const char *name)
{
	char path[128], line[32];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	return find_line(path, "", line, sizeof(line)) ? atoi(line) : -1;
}

static bool has_word(const char *line, const char *word)
{
	size_t len = strlen(word);
	const char *at;

	for (at = line; (at = strstr(at, word)); at += len)
		if (at > line && at[-1] == ' ' && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

/*
 * Say which kernel to boot: this one has no PTRACE_BTS requests. Returns the exit status to
 * end with, as all explain_*() do.
 */
static int explain_old_kernel(void)
{
	unsigned int eax, ebx, ecx, edx = 0;
	bool there = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && edx & CPUID_DS;

	bt_complain("%s, and this kernel has no PTRACE_BTS requests: %s",
		    there ? "the processor has a Debug Store" :
		    "this processor has no Branch Trace Store",
		    there ? "boot one with the patches for branch traces and CONFIG_X86_PTRACE_BTS" :
		    "boot one with the patches for branch traces and CONFIG_X86_BTS_STEP");
	return BT_EXIT_OLD_KERNEL;
}

/*
 * Say why there is no Branch Trace Store, or none that can do what was asked for. @how is
 * added to the advice.
 */
static int explain_no_source(const char *how)
{
	char flags[8192] = "", vendor[128] = "";

	find_line("/proc/cpuinfo", "flags", flags, sizeof(flags));
	find_line("/proc/cpuinfo", "vendor_id", vendor, sizeof(vendor));
	if (has_word(flags, "bts"))
		bt_complain("the processor has a Debug Store, but the kernel cannot use it: see 'bts' and 'Performance Events' in its log%s",
			    how);
	else if (has_word(flags, "hypervisor"))
		bt_complain("virtual machines have no Branch Trace Store: run it on the host%s", how);
	else if (!strstr(vendor, "GenuineIntel"))
		bt_complain("only Intel's processors have a Branch Trace Store: use another machine%s",
			    how);
	else
		bt_complain("this processor has no Branch Trace Store (no bts in /proc/cpuinfo): use another machine%s",
			    how);
	return BT_EXIT_NO_BTS;
}

static bool holds_perf_event(const char *pid)
{
	char path[300], target[64];
	struct dirent *entry;
	bool found = false;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		found = !strcmp(target, "anon_inode:[perf_event]");
	}
	closedir(dir);
	return found;
}

/*
 * perf or KVM uses the hardware: name processes that have perf events, as far as they can be
 * found.
 */
static int explain_busy(void)
{
	char path[300], comm[64], who[512] = "";
	struct dirent *entry;
	size_t used = 0;
	DIR *dir;

	dir = opendir("/proc");
	while (dir && (entry = readdir(dir)) && used < 256) {
		if (!strspn(entry->d_name, "123456789") || !holds_perf_event(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		if (!find_line(path, "", comm, sizeof(comm)))
			snprintf(comm, sizeof(comm), "?");
		used += snprintf(who + used, sizeof(who) - used, "%s %s (%s)", used ? "," : "",
				 entry->d_name, comm);
	}
	if (dir)
		closedir(dir);
	if (used)
		bt_complain("perf, or KVM for a guest, uses LBR, intel_pt or intel_bts: end that; these use perf:%s", who);
	else
		bt_complain("perf, or KVM for a guest, uses LBR, intel_pt or intel_bts: look for perf record -b, as root");
	return BT_EXIT_BUSY;
}

static int explain_memory(u32 bytes)
{
	unsigned long long need = (bytes + 1023ull) / 1024;
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		bt_complain("no memory for a trace of %llu KiB: take less (-s)", need);
	else
		bt_complain("a trace of %llu KiB for each thread is beyond the limit of %llu KiB: ulimit -l %llu, or take less (-s)",
			    need, (unsigned long long)limit.rlim_cur / 1024,
			    (unsigned long long)limit.rlim_cur / 1024 + need + 64);
	return BT_EXIT_MEMLOCK;
}

static int explain_permission(pid_t tid)
{
	switch (sysctl_value("ptrace_bts")) {
	case 2:
		bt_complain("branch traces are switched off here: allow them with 'sysctl kernel.ptrace_bts=0'");
		return BT_EXIT_SYSCTL;
	case 1:
		if (geteuid()) {
			bt_complain("branch traces need CAP_PERFMON here: be root, or allow them with 'sysctl kernel.ptrace_bts=0'");
			return BT_EXIT_SYSCTL;
		}
	}
	bt_complain("process %d is not dumpable (set-user-ID, or not readable): be root", tid);
	return BT_EXIT_PTRACE;
}

/*
 * bt_explain_config - say why a thread cannot be traced
 * @tid: the thread
 * @error: the errno of PTRACE_BTS_CONFIG
 * @bytes: the size of the trace
 * @kernel: -k or --entries was given
 *
 * Returns the exit status to end with.
 */
int bt_explain_config(pid_t tid, int error, u32 bytes, bool kernel)
{
	switch (error) {
	case EOPNOTSUPP:
		return explain_no_source(kernel ? ", or leave out -k and --entries" :
					 ", or boot a kernel with CONFIG_X86_BTS_STEP");
	case EBUSY:
		return explain_busy();
	case EACCES:
		if (!kernel) {
			bt_complain("a security module or lockdown forbids perf events, and branch traces with them: see the kernel log; or the processor has Meltdown, and its traces contain the kernel: be root");
			return BT_EXIT_PTRACE;
		}
		bt_complain("branches of the kernel need CAP_PERFMON, or kernel.perf_event_paranoid below 2: leave out -k and --entries");
		return BT_EXIT_KERNEL;
	case ENOMEM:
		return explain_memory(bytes);
	case EPERM:
		return explain_permission(tid);
	case EIO:
		return explain_old_kernel();
	case ESRCH:
		bt_complain("process %d is gone", tid);
		return BT_EXIT_NO_PROCESS;
	case EINVAL:
		bt_complain("the kernel refuses a trace of %u bytes%s: choose another size (-s)", bytes,
			    kernel ? " of the kernel" : "");
		return BT_EXIT_USAGE;
	}
	bt_complain("cannot trace process %d: %s", tid, strerror(error));
	return BT_EXIT_USAGE;
}

/*
 * Say why PTRACE_SEIZE failed, or why the new process could not be told to execute the command.
 * Returns the exit status to end with.
 */
int bt_explain_attach(pid_t tid, int error)
{
	char path[64], line[128];
	int tracer;

	if (error == ESRCH) {
		bt_complain("there is no process %d", tid);
		return BT_EXIT_NO_PROCESS;
	}
	if (error != EPERM) {
		bt_complain("cannot attach to process %d: %s", tid, strerror(error));
		return BT_EXIT_PTRACE;
	}
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	tracer = find_line(path, "TracerPid:", line, sizeof(line)) ? atoi(line + 10) : 0;
	if (tracer)
		bt_complain("process %d is traced by process %d already: end that one", tid, tracer);
	else if (geteuid() && sysctl_value("yama/ptrace_scope") > 0)
		bt_complain("process %d may not be traced: sysctl kernel.yama.ptrace_scope=0, or be root", tid);
	else if (geteuid())
		bt_complain("process %d may not be traced: it belongs to another user, or is privileged: be root", tid);
	else
		bt_complain("process %d cannot be traced, not even by root: it is part of the kernel, or is btstrace, or a container or security module forbids it",
			    tid);
	return BT_EXIT_PTRACE;
}
