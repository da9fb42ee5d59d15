/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_GUEST_WALK_H
#define BTS_GUEST_WALK_H

#include <stdbool.h>
#include <sys/types.h>

/* See walk.S. */
void walk(void);
void step_myself(unsigned int n);
extern const char walk_begin[], walk_end[], walk_probed[], walk_behind_probe[];
extern const char walk_behind_write[], walk_rep[];
extern const unsigned long walk_targets[];
extern const unsigned int walk_nrsteps;
extern int walk_result;

#define WALK_RESULT	1
#define WALK_LONGEST	256

struct stops {
	unsigned long ip[WALK_LONGEST];
	unsigned int n;
};

pid_t start_walk(void);
unsigned long tracee_ip(pid_t pid);
void step_through(pid_t pid, int request, struct stops *stops);
bool finish_walk(pid_t pid);
unsigned int nr_branches(void);
bool only_branch_targets(const struct stops *stops, unsigned long extra);

#endif /* BTS_GUEST_WALK_H */
