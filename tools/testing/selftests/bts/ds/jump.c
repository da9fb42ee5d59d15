// SPDX-License-Identifier: GPL-2.0
/*
 * Start a second kernel by kexec or a crash while BTS or LBRs record on this CPU and, if there is
 * one, on another. The second kernel and its initramfs are on disks. Run this program in an
 * emulator that ends if the CPU stores a record without a buffer.
 *
 * jump kexec|crash aux|period1|claim	perf or a claim uses BTS
 * jump crash recorder		the branch flight recorder uses BTS
 * jump kexec|crash lbr		the branch flight recorder uses LBRs
 * jump MODULE crash astray	like recorder; the crash is a jump through a bad pointer in
 *				MODULE, bts_crash
 * jump arrived CPUS		in the second kernel: check that BTS was on and is off
 * jump read|astray CPUS		the same, and check the dump of the first kernel
 * jump off CPUS			in the second kernel: check that the LBRs are disabled
 */
#include <sys/reboot.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <dirent.h>

#include <linux/kexec.h>

#include "../guest/lbrs.h"
#include "store.h"

/* SCSI addresses, since the names of the disks depend on the order in which they are found. */
#define KERNEL_DISK	"0:0:0:0"
#define INITRD_DISK	"0:0:1:0"
#define KALLSYMS	"/proc/kallsyms"
#define RECORDER	"/sys/kernel/tracing/hw_branches/enable"
#define CRASH		"/dev/bts_crash"
#define SHOWN		20	/* number of branches that read_all() prints */
#define COMMAND_LINE	"console=ttyS0,115200 panic=-1 nmi_watchdog=0 no_timer_check maxcpus=1 " \
			"spec_rstack_overflow=off"

static int open_disk(const char *address)
{
	char path[300];
	struct dirent *entry;
	DIR *dir;
	int fd = -1;

	snprintf(path, sizeof(path), "/sys/class/scsi_disk/%s/device/block", address);
	dir = opendir(path);
	while (dir && fd < 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

/*
 * Copy a disk to a file, and return a descriptor of the copy. kexec needs a regular file that
 * nobody has open for writing.
 */
static int copy_of(const char *disk, const char *path)
{
	int in = open_disk(disk);
	int out = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	static char buf[1 << 20];
	ssize_t n;

	if (in < 0 || out < 0)
		give_up("%s or %s", disk, path);
	while ((n = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, n) != n)
			give_up("no room for %s", path);
	}
	if (n < 0)
		give_up("%s", disk);
	close(in);
	close(out);
	in = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	return in;
}

static void load_kernel(unsigned long flags, const char *cmdline)
{
	int kernel = copy_of(KERNEL_DISK, "/tmp/kernel");
	int initrd = copy_of(INITRD_DISK, "/tmp/initrd");

	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(cmdline) + 1, cmdline,
		    flags))
		give_up("kexec_file_load");
	close(kernel);
	close(initrd);
}

static bool uses_recorder(const char *how)
{
	return !strcmp(how, "recorder") || !strcmp(how, "astray");
}

static int start_bts(const char *how)
{
	static struct trace own, other;
	enum kind kind = strcmp(how, "aux") ? PERIOD1 : AUX;
	int err;

	if (!strcmp(how, "claim"))
		return try_text(CLAIM_KNOB, "2");
	if (uses_recorder(how))
		return try_text(RECORDER, "1");
	if (!strcmp(how, "lbr"))
		return try_text(RECORDER, "lbr");
	err = trace_open(&other, kind, start_spinner(get_nprocs() - 1), -1);
	return err ? err : trace_open(&own, kind, 0, -1);
}

/* Return the command that this program gets in the second kernel. */
static const char *command_after(const char *how)
{
	if (!strcmp(how, "astray"))
		return how;
	if (!strcmp(how, "lbr"))
		return "off";
	return uses_recorder(how) ? "read" : "arrived";
}

/*
 * Load the second kernel, start BTS or LBRs, and jump. Then this program runs in the second
 * kernel, and reports the results.
 */
static int jump(bool crash, const char *how)
{
	bool astray = !strcmp(how, "astray");
	char line[300];
	int err;

	pin_to(0);
	/* For lbr, leave out hw_branches_lbr_init(): it disables LBRs in the second kernel, too. */
	snprintf(line, sizeof(line), COMMAND_LINE "%s -- jump %s %d",
		 strcmp(how, "lbr") ? "" : " initcall_blacklist=hw_branches_lbr_init",
		 command_after(how), get_nprocs());
	load_kernel(crash ? KEXEC_FILE_ON_CRASH : 0, line);
	if (astray && try_text("/proc/sys/kernel/panic_on_oops", "1"))
		give_up("panic_on_oops");
	err = start_bts(how);
	if (err || (strcmp(how, "lbr") ? !(read_debugctl(0) & DEBUGCTL_BTS_BITS) :
					 !lbr_enabled(0))) {
		printf("Bail out! cannot start %s: %s\n", how, strerror(-err));
		return 1;
	}
	printf("# jump\n");
	/*
	 * If another task ran between the start of the crash and the freeze, its branches could
	 * overwrite those of the crash.
	 */
	run_first();
	if (astray)
		try_text(CRASH, "jump");
	else if (crash)
		try_text("/proc/sysrq-trigger", "c");
	else
		reboot(RB_KEXEC);
	printf("Bail out! still here\n");
	return 1;
}

static int lbrs_are_off(void)
{
	ok(!lbr_enabled(0), "LBRs are disabled");
	return finish();
}

static int arrived(void)
{
	long long records = bts_counter("records");
	int i;

	ok(records > 0, "BTS had been recording");
	ok(!(read_debugctl(0) & DEBUGCTL_BTS_BITS), "BTS is off");
	for (i = 0; i < 1000; i++)
		getppid();
	ok(bts_counter("records") == records, "no new record");
	ok(bts_counter("faults") == 0, "no record without a buffer");
	return finish();
}

/*
 * Start hw-branches, which prints up to @nr branches of each CPU from the dump. @map has the
 * symbols of the first kernel. So has KALLSYMS: both kernels are the same, at the same addresses.
 * Returns the output of hw-branches.
 */
static FILE *start_reader(const char *nr, const char *map)
{
	int ends[2];

	/* hw-branches must not keep the end from which this program reads. */
	if (pipe2(ends, O_CLOEXEC))
		give_up("pipe");
	if (!fork()) {
		dup2(ends[1], 1);
		execlp("hw-branches", "hw-branches", "-p", "-n", nr, "-m", map, "/proc/vmcore",
		       NULL);
		_exit(127);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

/* With call depth tracking, a call goes to the padding of NAME: replace __pfx_NAME+N by NAME+0. */
static void replace_padding(char *line)
{
	char *plus, *end;

	if (strncmp(line, "__pfx_", 6))
		return;
	memmove(line, line + 6, strlen(line + 6) + 1);
	plus = strchr(line, '+');
	end = plus ? strchr(plus, ' ') : NULL;
	if (!end)
		return;
	plus[1] = '0';
	memmove(plus + 2, end, strlen(end) + 1);
}

/* Read a line of hw-branches, and remove the number of the CPU at its beginning, if any. */
static char *next_branch(char *line, int size, FILE *out)
{
	int cpu, at = 0;

	if (!fgets(line, size, out))
		return NULL;
	if (sscanf(line, "%d %n", &cpu, &at) == 1 && at)
		memmove(line, line + at, strlen(line + at) + 1);
	replace_padding(line);
	return line;
}

/* Returns whether panic(), or vpanic() in newer kernels, has taken the branch. */
static bool in_panic(const char *line)
{
	return strstr(line, " <- panic+") || strstr(line, " <- vpanic+");
}

/*
 * Check that the dump has about as many branches of CPU 0 as its buffer has room for, and branches
 * of CPU 1, if there is one. On CPU 0, which crashed, panic(), or vpanic() in newer kernels, must
 * call hw_branches_crash_freeze() before any other function. But an interrupt may come first, as
 * interrupts are on.
 */
static void read_all(int cpus)
{
	bool called = false, frozen = false, first = false, misplaced = false;
	FILE *out = start_reader("10000", KALLSYMS);
	char line[512], newer[512] = "", after[SHOWN][512] = { };
	int nr[2] = { }, cpu = 0, kept = 0;

	while (next_branch(line, sizeof(line), out)) {
		if (sscanf(line, "Last branches of CPU %d", &cpu) == 1 || cpu > 1)
			continue;
		nr[cpu]++;
		if (!cpu && !called) {
			memcpy(after[kept++ % SHOWN], line, sizeof(line));
			frozen |= !strncmp(line, "hw_branches_crash_freeze+0 ", 27) &&
				  in_panic(line);
		}
		if (!cpu && !strncmp(line, "panic+0 <- sysrq_handle_crash+", 30)) {
			called = true;
			first = in_panic(newer) &&
				(!strncmp(newer, "hw_branches_crash_freeze+0 ", 27) ||
				 !strncmp(newer, "asm_sysvec_", 11));
		}
		misplaced |= cpu && !strncmp(line, "panic+0 ", 8);
		/* KASAN calls a function of its own before each function that does not return. */
		if (strncmp(line, "panic+", 6) && strncmp(line, "vpanic+", 7) &&
		    strncmp(line, "__asan_handle_no_return+", 24))
			memcpy(newer, line, sizeof(line));
	}
	/* The branches just after the call of panic() help to understand a failure. */
	for (int i = kept > SHOWN ? kept - SHOWN : 0; i < kept; i++)
		printf("# %s", after[i % SHOWN]);
	wait(NULL);
	fclose(out);
	ok(called && !misplaced, "and who called panic(), on the first");
	ok(frozen && first, "which froze first of all");
	/* The other CPU may have had little to do since recording began. */
	ok(nr[0] > 2700 && nr[0] < 2740 && (cpus == 1 || nr[1] > 100) && nr[1] < 2740,
	   "all of each: %d and %d", nr[0], nr[1]);
}

/* Write a map with all addresses shifted, as if KASLR had moved the first kernel. */
static void write_map(const char *path)
{
	FILE *in = fopen(KALLSYMS, "r"), *out = fopen(path, "w");
	char line[512], rest[400];
	unsigned long long at;

	if (!in || !out)
		give_up("%s or %s", KALLSYMS, path);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%llx %399[^\n]", &at, rest) == 2)
			fprintf(out, "%016llx %s\n", at - 0x12600000, rest);
	}
	fclose(in);
	if (fclose(out))
		give_up("%s", path);
}

/*
 * With a map whose addresses are shifted, hw-branches must print the same lines. Among them must be
 * a branch from panic().
 */
static void test_map(void)
{
	FILE *here = start_reader("10000", KALLSYMS), *there;
	char one[512] = "", other[512] = "";
	int same = 0, named = 0;

	write_map("/tmp/map");
	there = start_reader("10000", "/tmp/map");
	while (fgets(one, sizeof(one), here) && fgets(other, sizeof(other), there) &&
	       !strcmp(one, other)) {
		same++;
		named += !!strstr(one, " <- panic+");
	}
	fclose(here);
	fclose(there);
	while (wait(NULL) > 0)
		;
	ok(same > 100 && named && !strcmp(one, other), "a map of where it was linked: %d lines",
	   same);
}

/* The dump must show where the jump to 0xb75 came from. */
static int read_astray(void)
{
	FILE *out = start_reader("10000", KALLSYMS);
	bool faulted = false, jumped = false;
	char line[512];

	while (next_branch(line, sizeof(line), out)) {
		jumped |= faulted && !strncmp(line, "0xb75 <- 0xffffffff", 19);
		faulted = !strncmp(line, "asm_exc_page_fault+0 <- 0xb75\n", 31);
		if (faulted || jumped)
			printf("# %s", line);
		if (jumped)
			break;
	}
	fclose(out);
	while (wait(NULL) > 0)
		;
	ok(jumped, "a jump through a bad pointer: where from");
	return arrived();
}

static int read_dump(int cpus)
{
	FILE *out = start_reader("100", KALLSYMS);
	bool first = false, others = cpus == 1;
	int nr = 0, cpu = -1, status;
	char line[512];

	while (next_branch(line, sizeof(line), out)) {
		if (sscanf(line, "Last branches of CPU %d", &cpu) == 1) {
			first |= !cpu;
			others |= cpu > 0;
			continue;
		}
		nr++;
	}
	wait(&status);
	fclose(out);
	ok(!status, "the dump is read");
	ok(first && others && nr == 100 * cpus, "100 branches of each CPU, %d", nr);
	read_all(cpus);
	test_map();
	return arrived();
}

int main(int argc, char *argv[])
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "read"))
		return read_dump(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "astray"))
		return read_astray();
	if (argc == 3 && !strcmp(argv[1], "off"))
		return lbrs_are_off();
	if (argc == 3 && !strcmp(argv[1], "arrived"))
		return arrived();
	if (argc == 4) {
		load_module(argv[1], "");
		argv++;
		argc--;
	}
	if (argc == 3 && (!strcmp(argv[1], "kexec") || !strcmp(argv[1], "crash")))
		return jump(!strcmp(argv[1], "crash"), argv[2]);
	fprintf(stderr, "usage: %s [MODULE] kexec|crash aux|period1|claim|recorder|lbr|astray\n",
		argv[0]);
	return 2;
}
