/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_GUEST_DEBUGCTL_H
#define BTS_GUEST_DEBUGCTL_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest.h"
#include "labs/debugctl/lab.h"
#include "system.h"

#define DEBUGCTL_LBR_BIT	(1U << 0)
#define DEBUGCTL_BTF_BIT	(1U << 1)
#define DEBUGCTL_BTS_BITS	(0x1fU << 6)
#define DEBUGCTL_SMM_BIT	(1U << 14)

/* An event of perf that takes a sample at each branch of a task in user mode. */
struct branch_event {
	int fd;
	struct perf_event_mmap_page *page;
	size_t size;
};

/*
 * load_lab() loads the kernel module debugctl_lab. lab_read() makes the request LAB_READ, lab() any
 * request of lab.h.
 */
void load_lab(const char *path);
struct lab_state lab_read(void);
void lab(unsigned long request, void *arg);

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu);
bool open_branches(struct branch_event *event, pid_t pid);
uint64_t count_branches(struct branch_event *event);
void close_branches(struct branch_event *event);

long read_number(const char *path);
bool write_text(const char *path, const char *text);

#endif /* BTS_GUEST_DEBUGCTL_H */
