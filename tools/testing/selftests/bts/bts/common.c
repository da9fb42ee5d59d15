// SPDX-License-Identifier: GPL-2.0
/* Shared by the programs in this directory. */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "../guest/guest.h"
#include "../guest/system.h"
#include "common.h"

#define LAB_DEVICE	"/dev/bts_lab"
#define CHUNK		4096

static void put_number(const char *path, const char *number)
{
	errno = -try_text(path, number);
	if (errno)
		give_up("%s", path);
}

void load_lab(const char *path)
{
	load_module(path, "");
	/*
	 * If the host is busy, NMI handlers seem slow to the guest, and the kernel prints
	 * messages. Suppress these: printing takes many branches.
	 */
	put_number("/sys/kernel/debug/x86/nmi_longest_ns", "100000000000");
	allow_many_samples();
}

int nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

int lab_do(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

void lab_must(int fd, unsigned long request, void *arg)
{
	int tries = 1000;

	/*
	 * LAB_START fails with -EBUSY while perf or KVM uses hardware that excludes BTS, see
	 * ds_claim_bts(). Try again for a second or more.
	 */
	while (ioctl(fd, request, arg)) {
		if (errno != EBUSY || !tries--)
			give_up("laboratory, request %#lx", request);
		usleep(1000);
	}
}

void lab_config(int fd, const struct lab_config *config)
{
	lab_must(fd, LAB_CONFIG, (void *)config);
}

int lab_open(int target, int id, u32 flags, u32 nr)
{
	struct lab_config config = {
		.target = target,
		.id = id,
		.flags = flags,
		.nr = nr,
		.room = nr + 512,
	};
	int fd = open(LAB_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		give_up(LAB_DEVICE);
	lab_config(fd, &config);
	return fd;
}

struct lab_status lab_status(int fd)
{
	struct lab_status status;

	lab_must(fd, LAB_STATUS, &status);
	return status;
}

static struct lab_cpu read_cpu(void)
{
	int fd = open(LAB_DEVICE, O_RDWR | O_CLOEXEC);
	struct lab_cpu cpu;

	if (fd < 0)
		give_up(LAB_DEVICE);
	lab_must(fd, LAB_READ_CPU, &cpu);
	close(fd);
	return cpu;
}

u64 lab_debugctl(void)
{
	return plain_debugctl(read_cpu().debugctl);
}

u32 kernel_records(u32 nr)
{
	return nr * read_cpu().weight;
}

static void make_room(struct records *out, size_t nr)
{
	if (out->room - out->nr >= nr)
		return;
	out->room = 2 * out->room + nr;
	out->rec = realloc(out->rec, out->room * sizeof(*out->rec));
	if (!out->rec)
		give_up("%zu records", out->room);
}

void lab_take(int fd, struct records *out, size_t nr)
{
	ssize_t n;

	make_room(out, nr);
	n = read(fd, out->rec + out->nr, nr * sizeof(*out->rec));
	if (n < 0)
		give_up("read of records");
	out->nr += n / sizeof(*out->rec);
}

size_t lab_read(int fd, struct records *out)
{
	size_t start = out->nr;
	ssize_t n;

	do {
		make_room(out, CHUNK);
		n = read(fd, out->rec + out->nr, CHUNK * sizeof(*out->rec));
		if (n < 0)
			give_up("read of records");
		out->nr += n / sizeof(*out->rec);
		/* Stop at the first short read: reading may add records, so 0 may never come. */
	} while (n == CHUNK * (ssize_t)sizeof(*out->rec));
	return out->nr - start;
}

void records_free(struct records *r)
{
	free(r->rec);
	memset(r, 0, sizeof(*r));
}

size_t count_of(const struct records *r, u64 type)
{
	size_t i, n = 0;

	for (i = 0; i < r->nr; i++)
		n += r->rec[i].type == type;
	return n;
}

void user_branches(const struct records *in, struct recs *out)
{
	size_t i;

	for (i = 0; i < in->nr; i++) {
		const struct lab_record *rec = &in->rec[i];

		if (rec->type == Q_BRANCH && rec->from < USER_END && rec->to < USER_END)
			recs_add(out, rec->from, rec->to);
	}
}

static bool leaks(const struct lab_record *rec)
{
	switch (rec->type) {
	case Q_BRANCH:
	case Q_SIGNAL:
	case Q_SIGRETURN:
		return rec->from >= USER_END || rec->to >= USER_END;
	case Q_ENTER:
		return rec->from >= USER_END || rec->to;
	case Q_LEAVE:
		return rec->from || rec->to >= USER_END;
	case Q_ARRIVES:
	case Q_DEPARTS:
	case Q_LOST:
	case Q_EXEC:
		return false;
	}
	return true;
}

ssize_t find_leak(const struct records *r)
{
	size_t i;

	for (i = 0; i < r->nr; i++) {
		if (leaks(&r->rec[i]))
			return i;
	}
	return -1;
}

/* These functions switch recording off and on. If ds_bts_apply() is inlined, its range is 0. */
static const char * const switches[] = { "ds_bts_apply", "ds_bts_write" };
static struct range switch_at[ARRAY_SIZE(switches)];

static bool in_switch(u64 addr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(switches); i++) {
		if (addr >= switch_at[i].start && addr <= switch_at[i].end)
			return true;
	}
	return false;
}

/*
 * Without branches, addresses only increase: the source of a branch is at or above the target of
 * the branch before, and not far from it. Otherwise a record is most likely missing, doubled or
 * out of order. Branches between two runs of the functions switches[] may be missing, as recording
 * may be off there. Branches before and behind a Q_LOST are not compared.
 */
ssize_t find_break(const struct records *r)
{
	const u64 reach = 1 << 16;
	const struct lab_record *last = NULL;
	size_t i;

	if (!switch_at[1].end)
		find_symbols(switches, switch_at, ARRAY_SIZE(switches));

	for (i = 0; i < r->nr; i++) {
		const struct lab_record *rec = &r->rec[i];

		if (rec->type == Q_LOST)
			last = NULL;
		if (rec->type != Q_BRANCH)
			continue;
		if (last && rec->from - last->to >= reach &&
		    !(in_switch(last->to) && in_switch(rec->from)))
			return i;
		last = rec;
	}
	return -1;
}

void print_around(const struct records *r, size_t at)
{
	size_t i = at > 4 ? at - 4 : 0;

	for (; i < at + 4 && i < r->nr; i++)
		printf("# %c %zu: %llu %#llx %#llx\n", i == at ? '>' : ' ', i,
		       (unsigned long long)r->rec[i].type,
		       (unsigned long long)r->rec[i].from, (unsigned long long)r->rec[i].to);
}

static bool is_known(const struct lab_record *rec)
{
	return rec->type == Q_BRANCH && known_branch(rec->from, rec->to);
}

size_t known_count(const struct records *got)
{
	size_t i, n = 0;

	for (i = 0; i < got->nr; i++)
		n += is_known(&got->rec[i]);
	return n;
}

bool known_same(const struct records *got, const struct recs *want)
{
	struct recs have = { };
	bool good;
	size_t i;

	for (i = 0; i < got->nr; i++) {
		if (is_known(&got->rec[i]))
			recs_add(&have, got->rec[i].from, got->rec[i].to);
	}
	good = same_records(&have, want);
	recs_free(&have);
	return good;
}

void ptrace_cont(pid_t pid)
{
	if (ptrace(PTRACE_CONT, pid, 0, 0))
		give_up("PTRACE_CONT");
}

int let_run(pid_t pid)
{
	int status, signal = 0;

	do {
		if (ptrace(PTRACE_CONT, pid, 0, signal))
			give_up("PTRACE_CONT");
		if (waitpid(pid, &status, 0) != pid)
			give_up("waitpid");
		signal = SIGCHLD;
	} while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGCHLD);
	return status;
}

void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
