// SPDX-License-Identifier: GPL-2.0
#include <cpuid.h>
#include <glob.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "guest.h"
#include "system.h"

void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		give_up("cannot run on CPU %d", cpu);
}

void continue_on(int cpu)
{
	int status;
	pid_t pid;

	pin_to(cpu);
	fflush(NULL);
	pid = fork();
	if (!pid)
		return;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		give_up("fork");
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

void run_first(void)
{
	const struct sched_param param = { .sched_priority = 50 };

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		give_up("no SCHED_FIFO");
}

void drop_capability(unsigned int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		give_up("capget");
	data[cap / 32].effective &= ~(1u << cap % 32);
	if (syscall(SYS_capset, &header, data))
		give_up("capset");
}

void drop_perfmon(void)
{
	drop_capability(CAP_PERFMON);
	drop_capability(CAP_SYS_ADMIN);
}

uint64_t read_msr(int cpu, off_t nr)
{
	uint64_t val = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, &val, sizeof(val), nr) != sizeof(val))
		give_up("%s, MSR %#lx", path, (long)nr);
	close(fd);
	return val;
}

void write_msr(int cpu, off_t nr, uint64_t val)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, &val, sizeof(val), nr) != sizeof(val))
		give_up("%s, MSR %#lx = %#llx", path, (long)nr, (unsigned long long)val);
	close(fd);
}

uint64_t plain_debugctl(uint64_t val)
{
	uint32_t a, b, c, d;
	bool netburst = __get_cpuid(1, &a, &b, &c, &d) && (a >> 8 & 0xf) == 15 && !(a >> 20 & 0xff);

	return netburst ? (val & 0x3) | (val & 0x7c) << 4 : val;
}

uint64_t read_debugctl(int cpu)
{
	return plain_debugctl(read_msr(cpu, MSR_DEBUGCTL));
}

bool ds_area_is_cleared(int cpu)
{
	int i;

	/* Do not use usleep(): in 32-bit programs, it needs a system call that kernels may lack. */
	for (i = 0; i < 200 && read_msr(cpu, MSR_DS_AREA); i++)
		poll(NULL, 0, 100);
	return i < 200;
}

/* Returns -1 if there is no such counter. */
static long long find_counter(const char *name)
{
	char text[4096], key[64], *line, *at;

	if (hmp("info bts", text, sizeof(text)))
		give_up("the monitor's info bts");
	line = strstr(text, "total ");
	snprintf(key, sizeof(key), " %s=", name);
	at = line ? strstr(line, key) : NULL;
	return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

long long bts_counter(const char *name)
{
	long long n = find_counter(name);

	if (n < 0)
		give_up("the monitor's figure %s", name);
	return n;
}

long long bts_counter_or_0(const char *name)
{
	long long n = find_counter(name);

	return n < 0 ? 0 : n;
}

void load_module(const char *path, const char *options)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		give_up("%s", path);
	if (syscall(SYS_finit_module, fd, options, 0) && errno != EEXIST)
		give_up("cannot load %s", path);
	close(fd);
}

/* Returns whether a line of /proc/cpuinfo that begins with @key has the word @name. */
static bool cpuinfo_has(const char *key, const char *name)
{
	FILE *info = fopen("/proc/cpuinfo", "re");
	char line[8192], word[64];
	bool has = false;

	if (!info)
		give_up("/proc/cpuinfo");
	snprintf(word, sizeof(word), " %s ", name);
	while (!has && fgets(line, sizeof(line) - 1, info)) {
		memcpy(line + strcspn(line, "\n"), " ", 2);
		has = !strncmp(line, key, strlen(key)) && strstr(line, word);
	}
	fclose(info);
	return has;
}

bool cpu_has(const char *name)
{
	return cpuinfo_has("flags", name);
}

bool cpu_has_bug(const char *name)
{
	return cpuinfo_has("bugs", name);
}

/* Returns whether the processor is of family 6 and one of the @nr models. */
static bool is_model(const unsigned char *models, size_t nr)
{
	uint32_t a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d))
		give_up("CPUID");
	return (a >> 8 & 0xf) == 6 && memchr(models, (a >> 12 & 0xf0) | (a >> 4 & 0xf), nr);
}

bool uses_cpl_filter(void)
{
	/* Yonah, Merom, Merom-L, Penryn, Dunnington: BTS_DS_NO_FILTER in bts_ds_errata */
	static const unsigned char without[] = { 0x0e, 0x0f, 0x16, 0x17, 0x1d };

	return cpu_has("ds_cpl") && !is_model(without, sizeof(without));
}

bool is_unreliable(void)
{
	/* Yonah, Nehalem, Westmere, Sandy Bridge, Ivy Bridge, but not Ivy Bridge-EP */
	static const unsigned char models[] = {
		0x0e, 0x1a, 0x1e, 0x1f, 0x2e, 0x25, 0x2c, 0x2f, 0x2a, 0x2d, 0x3a,
	};

	return is_model(models, sizeof(models));
}

int try_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

void shrink_slabs(void)
{
	glob_t all;
	size_t i;

	if (glob("/sys/kernel/slab/*/shrink", 0, NULL, &all))
		return;
	for (i = 0; i < all.gl_pathc; i++) {
		if (try_text(all.gl_pathv[i], "1"))
			give_up("%s", all.gl_pathv[i]);
	}
	globfree(&all);
}

void wake_later(void)
{
	static const char alarm[] = "/sys/class/rtc/rtc0/wakealarm";
	/*
	 * If the alarm goes off before the machine sleeps, nothing wakes the machine. A kernel with
	 * debugging options needs longer to get there.
	 */
	bool slow = !access("/proc/lockdep", F_OK) || !access("/sys/kernel/debug/kcsan", F_OK);

	try_text(alarm, "0");
	if (try_text(alarm, slow ? "+30" : "+3"))
		give_up(alarm);
}

uint64_t peek(uint64_t addr)
{
	char cmd[64], text[256], *at;

	snprintf(cmd, sizeof(cmd), "x/1gx 0x%llx", (unsigned long long)addr);
	if (hmp(cmd, text, sizeof(text)))
		give_up("the monitor's x");
	at = strstr(text, " 0x");
	if (!at)
		give_up("no word in '%s'", text);
	return strtoull(at, NULL, 16);
}

void find_symbols(const char *const *names, struct range *at, size_t nr)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long long addr;
	struct range *open = NULL;
	char line[256], name[128];
	size_t i;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %127s", &addr, name) != 2)
			continue;
		if (open && addr > open->start) {
			open->end = addr;
			open = NULL;
		}
		for (i = 0; i < nr; i++) {
			if (at[i].start || strcmp(name, names[i]))
				continue;
			open = &at[i];
			open->start = addr;
		}
	}
	if (!f || !at[nr - 1].end)
		give_up("no %s in /proc/kallsyms", names[nr - 1]);
	fclose(f);
}

void allow_many_samples(void)
{
	static bool lifted;

	if (lifted)
		return;
	lifted = true;
	/*
	 * If perf_cpu_time_max_percent is 0, the kernel does not lower the sample rate, but refuses
	 * writes to perf_event_max_sample_rate. So set 0 last.
	 */
	if (try_text("/proc/sys/kernel/perf_cpu_time_max_percent", "25") ||
	    try_text("/proc/sys/kernel/perf_event_max_sample_rate", "100000000") ||
	    try_text("/proc/sys/kernel/perf_cpu_time_max_percent", "0"))
		give_up("the limits of perf");
}

void sample_all(uint64_t event, uint64_t period)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.type		= PERF_TYPE_HARDWARE,
		.config		= event,
		.sample_period	= period,
	};
	int cpu;

	allow_many_samples();
	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
		if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC) < 0)
			give_up("perf_event_open on CPU %d", cpu);
	}
}

uint64_t executed_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		give_up("the CPU time of %d", pid);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

bool enough_samples(long samples, uint64_t ns, uint64_t period_ns)
{
	long due = ns / period_ns;

	return due > 10 && samples > due / 2;
}

int open_lbr(pid_t pid, int cpu, uint64_t period, bool kernel)
{
	struct perf_event_attr attr = {
		.size			= sizeof(attr),
		.type			= PERF_TYPE_HARDWARE,
		.config			= PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.sample_period		= period,
		.sample_type		= PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK,
		.branch_sample_type	= PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER |
					  (kernel ? PERF_SAMPLE_BRANCH_KERNEL : 0),
		.exclude_kernel		= !kernel,
		.pinned			= 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* If @cpu is negative, count the interrupts of all CPUs. */
static long count_interrupts(const char *name, int cpu)
{
	char line[1024], *at, *end;
	long n = 0, more;
	FILE *f = fopen("/proc/interrupts", "r");
	int column;

	while (f && fgets(line, sizeof(line), f)) {
		at = line + strspn(line, " ");
		if (strncmp(at, name, strlen(name)) || at[strlen(name)] != ':')
			continue;
		column = 0;
		for (at += strlen(name) + 1; more = strtol(at, &end, 10), end != at; at = end) {
			if (cpu < 0 || cpu == column++)
				n += more;
		}
	}
	if (f)
		fclose(f);
	return n;
}

long interrupts(const char *name)
{
	return count_interrupts(name, -1);
}

long interrupts_of_cpu(const char *name, int cpu)
{
	return count_interrupts(name, cpu);
}

long nmis(void)
{
	return interrupts("NMI");
}

void wait_stop(pid_t pid, int signal)
{
	int status;

	if (waitpid(pid, &status, __WALL) != pid)
		give_up("waitpid");
	if (!WIFSTOPPED(status) || status >> 8 != signal)
		give_up("status %#x of %d, not a stop by %#x", status, pid, signal);
}

pid_t start_traced(void (*run)(void *), void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork");
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		run(arg);
		_exit(0);
	}
	wait_stop(pid, SIGSTOP);
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL))
		give_up("PTRACE_SETOPTIONS");
	return pid;
}
