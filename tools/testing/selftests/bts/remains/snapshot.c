// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of bpf_get_branch_snapshot() with and without the flight recorder. A BPF program is
 * attached to a tracepoint that fork() hits. The program stores its snapshot in a map.
 */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../guest/recorder.h"

#define MOST	1000

/* The value of the only element of the map */
struct snapshot {
	int64_t size;		/* what the helper returned */
	struct perf_branch_entry branch[MOST];
};

static struct snapshot snap;
static int map;
static struct range forking;
static struct range helper;

static int bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define CALL(f)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)

static int load(void)
{
	static char log[65536];
	/* The jumps skip to the last two instructions, which return 0. */
	const struct bpf_insn code[] = {
		CALL(BPF_FUNC_get_current_pid_tgid),
		INSN(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 14, getpid()),
		INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		MOV(2, 10),
		ADD_IMM(2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 7, 0),
		MOV(6, 0),
		MOV(1, 0),
		ADD_IMM(1, offsetof(struct snapshot, branch)),
		MOV_IMM(2, sizeof(snap.branch)),
		MOV_IMM(3, 0),
		CALL(BPF_FUNC_get_branch_snapshot),
		INSN(BPF_STX | BPF_MEM | BPF_DW, 6, 0, 0, 0),
		MOV_IMM(0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)code,
		.insn_cnt = ARRAY_SIZE(code),
		.license = (uintptr_t)"GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int program = bpf(BPF_PROG_LOAD, &attr);

	if (program < 0) {
		printf("# %s\n", log);
		give_up("the program");
	}
	return program;
}

static int attach(void)
{
	union bpf_attr attr = { };
	int program = load(), link;

	attr.raw_tracepoint.name = (uintptr_t)"sched_process_fork";
	attr.raw_tracepoint.prog_fd = program;
	link = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	if (link < 0)
		give_up("the tracepoint");
	close(program);
	return link;
}

/* Let the program take a snapshot. Returns the number of branches, or -errno. */
static int64_t take(void)
{
	union bpf_attr attr = { .map_fd = map, };
	uint32_t zero = 0;
	pid_t child;

	memset(&snap, 0, sizeof(snap));
	attr.key = (uintptr_t)&zero;
	attr.value = (uintptr_t)&snap;
	if (bpf(BPF_MAP_UPDATE_ELEM, &attr))
		give_up("the map");
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		give_up("the map");
	return snap.size > 0 ? snap.size / (int64_t)sizeof(*snap.branch) : snap.size;
}

static bool in_kernel(uint64_t address)
{
	return address >> 63;
}

/*
 * Check that a snapshot has at least @least branches. Each must lead to a kernel address, and come
 * from a kernel address or from 0, which stands for user mode. With @far, the snapshot must go back
 * to kernel_clone(), which hits the tracepoint.
 */
static void inspect(int64_t n, const char *when, int64_t least, bool far)
{
	int64_t i, good = 0, clones = 0;

	for (i = 0; i < n; i++) {
		good += in_kernel(snap.branch[i].to) &&
			(in_kernel(snap.branch[i].from) || !snap.branch[i].from);
		clones += snap.branch[i].from - forking.start < forking.end - forking.start ||
			  snap.branch[i].to == forking.start;
	}
	ok(n >= least && n <= MOST, "%s: %lld branches", when, (long long)n);
	ok(good == n, "%s: %lld of the kernel", when, (long long)good);
	if (far)
		ok(clones > 0, "%s: %lld of kernel_clone()", when, (long long)clones);
}

static void make_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(snap),
		.max_entries = 1,
	};

	map = bpf(BPF_MAP_CREATE, &attr);
	if (map < 0)
		give_up("a map");
}

/* Returns whether a snapshot has no branches. perf may return empty entries instead of none. */
static bool nothing(int64_t n)
{
	int64_t i;

	for (i = 0; i < n; i++) {
		if (snap.branch[i].to)
			return false;
	}
	return true;
}

/* Check snapshots of BTS. @when tells whether the program was loaded before the recorder was on. */
static void with_bts(const char *when)
{
	inspect(take(), when, MOST, true);
	must_set("freeze", "1");
	ok(take() == -ENOENT, "%s, frozen: none", when);
	must_set("freeze", "0");
	inspect(take(), when, MOST, true);
}

/*
 * Returns how many branches of a snapshot are newer than the call of the helper, for which the
 * verifier puts hw_branches_snapshot() into the program: so many of the LBRs are lost to the
 * helper.
 */
static int64_t wasted(int64_t n)
{
	int64_t i;

	for (i = 0; i < n && snap.branch[i].to != helper.start; i++)
		;
	return i;
}

static void with_lbr(void)
{
	int64_t n, alone, lent;
	int perf;

	perf = open_lbr(0, -1, NEVER, true);
	n = take();
	alone = wasted(n);
	ok(alone < n, "perf alone: %lld branches of the helper", (long long)alone);
	close(perf);
	must_set("enable", "lbr");
	inspect(take(), "lbr", 20, false);
	ok(snap.size <= 32 * (int64_t)sizeof(*snap.branch), "lbr: no more than there are");
	perf = open_lbr(0, -1, NEVER, true);
	n = take();
	lent = wasted(n);
	ok(perf >= 0 && n > 0 && !nothing(n), "given up to perf: %lld of perf's", (long long)n);
	ok(lent <= alone + 2, "given up to perf: %lld branches of the helper", (long long)lent);
	close(perf);
	must_set("enable", "0");
}

int main(void)
{
	static const char *const name[] = { "hw_branches_snapshot", "kernel_clone" };
	struct range at[2] = { };
	int before, during;

	find_symbols(name, at, 2);
	helper = at[0];
	forking = at[1];
	pin_to(0);
	make_map();
	before = attach();
	ok(nothing(take()), "off: nothing");
	must_set("enable", "bts");
	with_bts("loaded before");
	close(before);
	during = attach();
	with_bts("loaded while on");
	must_set("enable", "0");
	ok(nothing(take()), "off again: nothing");
	with_lbr();
	close(during);
	return finish();
}
