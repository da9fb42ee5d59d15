// SPDX-License-Identifier: GPL-2.0
/*
 * While an event has a trigger or a filter, each CPU has a page in which it may build records.
 * Removing the last trigger and filter frees these pages. A CPU that goes offline or online at that
 * time must neither use a freed page, nor block the use of the next one.
 *
 *   pages ROUNDS [lost]	lost: expect the stock kernel's bug, and stop when it occurs
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <signal.h>

#include "../guest/guest.h"
#include "../guest/system.h"

#define EVENT	"/sys/kernel/tracing/events/sched/sched_switch/"
#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

static void must(const char *path, const char *text)
{
	int err = try_text(path, text);

	if (err) {
		errno = -err;
		give_up("'%s' to %s", text, path);
	}
}

/*
 * Take CPU 1 offline and online until killed. The pauses are random, so that this happens at
 * different points of one_round().
 */
static void come_and_go(int *times)
{
	for (;;) {
		must(ONLINE, "0");
		usleep(rand() % 50000);
		must(ONLINE, "1");
		__atomic_fetch_add(times, 1, __ATOMIC_SEQ_CST);
		usleep(rand() % 50000);
	}
}

/* Addresses of CPU 1's variables trace_buffered_event and trace_buffered_event_cnt */
static uint64_t page_at, users_at;

static void find_page(void)
{
	static const char *const names[] = {
		"__per_cpu_offset", "trace_buffered_event", "trace_buffered_event_cnt",
	};
	struct range at[ARRAY_SIZE(names)] = { };
	uint64_t base;

	find_symbols(names, at, ARRAY_SIZE(names));
	base = peek(at[0].start + sizeof(base));
	page_at = base + at[1].start;
	users_at = base + at[2].start;
}

static void one_round(bool filter)
{
	if (filter) {
		must(EVENT "filter", "prev_pid == -7");
		ok(peek(page_at), "a filter: there is a page");
		must(EVENT "filter", "0");
	} else {
		must(EVENT "trigger", "traceoff if prev_pid == -7");
		ok(peek(page_at), "a trigger: there is a page");
		must(EVENT "trigger", "!traceoff");
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100, i, users = 0;
	bool lost = argc > 2;
	int *times = mmap(NULL, sizeof(*times), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (times == MAP_FAILED)
		give_up("mmap");
	find_page();
	must(EVENT "enable", "1");
	pid = fork();
	if (pid < 0)
		give_up("fork");
	if (!pid)
		come_and_go(times);
	for (i = 0; i < rounds && !users; i++) {
		one_round(i & 1);
		users = peek(users_at);
		if (peek(page_at))
			give_up("the page is there without a use");
	}
	ok(!users != lost, "%s uses it, after %d of %d rounds: %d", lost ? "somebody" : "nobody",
	   i, rounds, users);
	while (!lost && __atomic_load_n(times, __ATOMIC_SEQ_CST) < rounds / 4)
		usleep(10000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	must(ONLINE, "1");
	must(EVENT "enable", "0");
	return finish();
}
