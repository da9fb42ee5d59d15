// SPDX-License-Identifier: GPL-2.0
/*
 * A task's trace for the oracle to judge: while the emulator logs what it
 * executes, a child traces itself, works, and ends.
 *
 *   judged MODULE user|kernel RECORDS
 *
 * The line `# oracle ...` holds the oracle's arguments.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "../bench/handover.h"
#include "../bench/workload.h"
#include "../guest/guest.h"
#include "common.h"

/* As the hardware writes it, and as the oracle reads it. */
struct raw {
	u64 from;
	u64 to;
	u64 flags;
};

static bool work(int fd, u64 records, bool kernel)
{
	bool good = true;

	lab_must(fd, LAB_START, NULL);
	do {
		good &= workload_faults(true);
		if (kernel)
			good &= workload_kernel();
	} while (good && lab_status(fd).held < records);
	return good;
}

static bool run_logged(int fd, u64 records, bool kernel)
{
	int status = -1;
	pid_t pid;

	hmp("singlestep on", NULL, 0);
	log_on("exec,nochain,int");
	pid = fork();
	if (!pid)
		_exit(!work(fd, records, kernel));
	waitpid(pid, &status, 0);
	log_off();
	hmp("singlestep off", NULL, 0);
	return !status;
}

static struct raw *raw_records(const struct records *got, bool kernel, size_t *nr)
{
	struct raw *raw;
	size_t i;

	*nr = 0;
	raw = mmap(NULL, got->nr * sizeof(*raw), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < got->nr; i++) {
		const struct lab_record *rec = &got->rec[i];

		if (rec->qualifier != Q_BRANCH)
			continue;
		if (!kernel && (rec->from >= USER_END || rec->to >= USER_END))
			continue;
		raw[(*nr)++] = (struct raw){ rec->from, rec->to, 0 };
	}
	return raw;
}

int main(int argc, char **argv)
{
	bool kernel = argc > 2 && !strcmp(argv[2], "kernel");
	u64 records = argc > 3 ? strtoull(argv[3], NULL, 0) : 1000;
	struct records got = { };
	struct lab_status status;
	struct raw *raw;
	size_t nr;
	int fd;

	load_lab(argv[1]);
	fd = lab_open(LAB_SELF, 0, LAB_USER | (kernel ? LAB_KERNEL : 0),
		      records + records / 2 + 200000);
	workload_prepare();
	ok(workload_faults(true), "workload untraced");
	ok(run_logged(fd, records, kernel), "workload traced");
	status = lab_status(fd);
	lab_must(fd, LAB_END, NULL);
	lab_read(fd, &got);
	ok(got.nr >= records && !status.lost && !status.overwritten && !status.gaps &&
	   !count_of(&got, Q_LOST), "%zu records, none lost", got.nr);
	ok(kernel || find_leak(&got) < 0, "no address of the kernel for who may not have it");
	raw = raw_records(&got, kernel, &nr);
	ok(hand_over("records", (u64)raw, nr * sizeof(*raw), false) && hand_over_code(),
	   "records and code handed over");
	hand_over_arguments();
	return finish();
}
