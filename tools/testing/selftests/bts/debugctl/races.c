// SPDX-License-Identifier: GPL-2.0
/*
 * Ways to lose an update of DEBUGCTL: a race with a context switch, and a #DB, which clears LBR. A
 * test module, the laboratory, makes the race happen every time: it acts at a given place in a
 * kernel function, the window. See guest/labs/debugctl/lab.h.
 *
 * races MODULE kept|lost [bts]: kept: a kernel that loses no update; lost: the stock kernel;
 * bts: run only the test that needs intel_bts, which is not run otherwise.
 */
#include <linux/hw_breakpoint.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../guest/debugctl.h"

#define CPU		0
#define INTEL_BTS	"/sys/bus/event_source/devices/intel_bts/type"
#define AUX_SIZE	(4UL << 20)

static bool kept;

/*
 * There is no branch between the INT3 and the read() in which the tracee blocks. So a
 * block-stepped tracee is switched in and out without a #DB.
 */
static void block_in_read(void *arg)
{
	const int *pipe_fds = arg;
	char c;

	asm volatile("int3\n\tnop\n\tsyscall"
		     : : "a" (0), "D" (pipe_fds[0]), "S" (&c), "d" (1)
		     : "rcx", "r11", "memory");
}

static pid_t start_blocked_tracee(int pipe_fds[2])
{
	pid_t pid;

	if (pipe(pipe_fds))
		give_up("pipe");
	pid = start_traced(block_in_read, pipe_fds);
	ptrace(PTRACE_CONT, pid, 0, 0);
	wait_stop(pid, SIGTRAP);
	return pid;
}

static void end_tracee(pid_t pid, int pipe_fds[2])
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

/* Block-step the tracee into read(). Close the window, and return 1 if it was hit, otherwise 0. */
static unsigned int block_step_through_window(pid_t pid)
{
	unsigned int hits;

	if (ptrace(PTRACE_SINGLEBLOCK, pid, 0, 0))
		give_up("PTRACE_SINGLEBLOCK");
	usleep(200000);
	lab(LAB_WINDOW_HITS, &hits);
	return hits;
}

/* An NMI comes just before the context switch writes DEBUGCTL, after it has read the old value. */
static void nmi_in_switch(void)
{
	struct lab_window window = {
		.function = "__switch_to_xtra",
		.at_wrmsr = 1,
		/*
		 * Skip the switch to the tracee, and use the switch away from the tracee:
		 * after that, nothing writes DEBUGCTL before lab_read().
		 */
		.skip = 1,
		.action = LAB_NMI_SETS_LBR,
	};
	struct lab_state state;
	unsigned int off = 0, hits;
	int pipe_fds[2];
	pid_t pid;

	lab(LAB_SET_LBR, &off);
	pid = start_blocked_tracee(pipe_fds);
	lab(LAB_OPEN_WINDOW, &window);
	hits = block_step_through_window(pid);
	state = lab_read();
	ok(hits == 1, "the window in the context switch was hit");
	ok(!!(state.msr & DEBUGCTL_LBR_BIT) == kept,
	   "what the NMI wrote during the switch is %s (MSR %#llx)",
	   kept ? "kept" : "lost", state.msr);
	end_tracee(pid, pipe_fds);
	lab(LAB_SET_LBR, &off);
}

/* A #DB in user mode clears LBR: the kernel must set LBR again. */
static void lbr_after_user_db(void)
{
	unsigned int on = 1, off = 0;
	struct lab_state state;
	int pipe_fds[2];
	pid_t pid;

	pid = start_blocked_tracee(pipe_fds);
	lab(LAB_SET_LBR, &on);
	/* Step over a NOP: a step over a system call would need no #DB. */
	ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
	wait_stop(pid, SIGTRAP);
	state = lab_read();
	ok(!!(state.msr & DEBUGCTL_LBR_BIT) == kept,
	   "LBR is %s after a single step (MSR %#llx)",
	   kept ? "kept" : "lost", state.msr);
	lab(LAB_SET_LBR, &off);
	end_tracee(pid, pipe_fds);
}

/* A #DB in the kernel clears LBR: the kernel must set LBR again. */
static void lbr_after_kernel_db(void)
{
	unsigned int on = 1, off = 0;
	struct lab_state state;

	lab(LAB_SET_LBR, &on);
	lab(LAB_WATCH, NULL);
	state = lab_read();
	ok(!!(state.msr & DEBUGCTL_LBR_BIT) == kept,
	   "LBR is %s after a watchpoint in the kernel (MSR %#llx)",
	   kept ? "kept" : "lost", state.msr);
	lab(LAB_SET_LBR, &off);
}

/* Open a disabled event for user mode and kernel. Its AUX area fills up, as nobody reads it. */
static int open_intel_bts(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = {
		.type = read_number(INTEL_BTS),
		.disabled = 1,
	};
	struct perf_event_mmap_page *head;
	int fd;

	fd = perf_open(&attr, -1, CPU);
	if (fd < 0)
		give_up("intel_bts, is page-table isolation on?");
	head = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		give_up("mmap of the event");
	head->aux_offset = 2 * page;
	head->aux_size = AUX_SIZE;
	if (mmap(NULL, AUX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 head->aux_offset) == MAP_FAILED)
		give_up("mmap of the AUX area");
	return fd;
}

/*
 * The race of nmi_in_switch(), with perf: the PMI of intel_bts finds the AUX area full and
 * turns BTS off. The interrupted context switch is about to write an older value.
 */
static void intel_bts_stops_in_switch(void)
{
	struct lab_window window = {
		.function = "__switch_to_xtra",
		.at_wrmsr = 1,
		.action = LAB_BRANCHES,
	};
	struct lab_state before, after;
	unsigned int hits;
	int pipe_fds[2];
	pid_t pid;
	int fd;

	fd = open_intel_bts();
	pid = start_blocked_tracee(pipe_fds);
	/* Enable the event last: its AUX area must not be full before the context switch. */
	lab(LAB_OPEN_WINDOW, &window);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	before = lab_read();
	hits = block_step_through_window(pid);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	after = lab_read();
	ok(before.msr & DEBUGCTL_BTS_BITS, "intel_bts was on (MSR %#llx)", before.msr);
	ok(hits == 1, "the window in the context switch was hit");
	ok(!(after.msr & DEBUGCTL_BTS_BITS) == kept,
	   "BTS, stopped by the PMI, is %s after the event was disabled (MSR %#llx)",
	   kept ? "off" : "on again", after.msr);
	end_tracee(pid, pipe_fds);
	close(fd);
}

int main(int argc, char *argv[])
{
	if (argc < 3 || (strcmp(argv[2], "kept") && strcmp(argv[2], "lost"))) {
		fprintf(stderr, "usage: %s MODULE kept|lost [bts]\n", argv[0]);
		return 2;
	}
	kept = !strcmp(argv[2], "kept");
	plan(argc > 3 ? 3 : 4);
	load_lab(argv[1]);
	pin_to(CPU);
	if (argc > 3) {
		intel_bts_stops_in_switch();
	} else {
		nmi_in_switch();
		lbr_after_user_db();
		lbr_after_kernel_db();
	}
	return finish();
}
