// SPDX-License-Identifier: GPL-2.0
#include <sys/wait.h>

#include "recorder.h"
#include "dump.h"

unsigned long long bad_address = 0xb75;

static bool is_bad(const char *line)
{
	char address[40];

	snprintf(address, sizeof(address), "address: %0*llx", (int)(2 * sizeof(long)),
		 bad_address);
	return strstr(line, "WARNING:") || strstr(line, "RCU") || strstr(line, "deadlock") ||
	       strstr(line, "sleeping function") || strstr(line, "scheduling while") ||
	       (strstr(line, "BUG:") && !strstr(line, address));
}

const char *behind_cpu(const char *line)
{
	line += strspn(line, " ");
	line += strspn(line, "0123456789");
	return line + strspn(line, " ");
}

static void take_branch(struct dump *d, const char *line)
{
	char *arrow = strstr(line, " <- ");

	if (d->traces > 1) {
		d->others++;
		return;
	}
	if (!d->nr)
		snprintf(d->top, sizeof(d->top), "%s", behind_cpu(line));
	if (d->nr == 1)
		snprintf(d->next, sizeof(d->next), "%s", behind_cpu(line));
	if ((within(arrow + 4, "bts_crash_fault") || within(arrow + 4, "bts_crash_bug")) &&
	    d->fault < 0)
		d->fault = d->nr;
	d->work += within(arrow + 4, "bts_crash_work");
	d->spins |= within(arrow + 4, "bts_crash_spin");
	d->interrupted |= within(arrow + 4, "native_irq_return_iret");
	d->nr++;
}

void take_line(struct dump *d, const char *line)
{
	int cpu, since;

	if (sscanf(line, "Last branches of CPU %d, newest first, %d more since then",
		   &cpu, &since) == 2) {
		d->unreliable += !!strstr(line, ", source bts (unreliable)");
		if (!d->traces++) {
			d->first = cpu;
			d->since = since;
		}
	} else if (d->traces && line[0] == ' ' && strstr(line, " <- ")) {
		take_branch(d, line);
	}
	d->running += !!strstr(line, "did not stop");
	d->again += !!strstr(line, "frozen since an earlier crash");
	d->old += !!strstr(line, "frozen before this crash");
	d->other += !!strstr(line, "frozen by a crash that");
	d->oopses += !!strstr(line, "Oops:");
	if (is_bad(line)) {
		printf("# %s\n", line);
		d->bad = true;
	}
}

struct dump read_dump(void)
{
	struct dump d = NO_DUMP;
	char line[1024];

	while (read_log(line, sizeof(line)))
		take_line(&d, line);
	return d;
}

struct dump read_oops(void)
{
	struct dump d = NO_DUMP;
	bool ended = false;
	char line[1024];
	int tries = 100;

	while (!ended && tries--) {
		usleep(100000);
		while (read_log(line, sizeof(line))) {
			take_line(&d, line);
			ended |= !!strstr(line, "end trace");
		}
	}
	return d;
}

bool shows_way_to_crash(const struct dump *d)
{
	return d->work >= 5 || d->interrupted;
}

pid_t start_crash(const char *kind, int cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	pin_to(cpu);
	try_text(DEVICE, kind);
	_exit(0);
}

bool crash_once(const char *kind, int cpu)
{
	int status;

	waitpid(start_crash(kind, cpu), &status, 0);
	return WIFSIGNALED(status);
}

bool stays_frozen(void)
{
	int cpu;

	usleep(100000);
	for (cpu = 0; cpu < cpus(); cpu++) {
		if (recording(cpu))
			return false;
	}
	return is("freeze", "1");
}

bool thaws(void)
{
	bool frozen = stays_frozen();

	must_set("freeze", "0");
	return frozen && goes_on();
}

bool goes_on(void)
{
	int cpu, tries;

	for (cpu = 0; cpu < cpus(); cpu++) {
		for (tries = 0; !recording(cpu); tries++) {
			if (tries == 100)
				return false;
			usleep(10000);
		}
	}
	return true;
}

void await_clock(void)
{
	bool there = false;
	int tries = 200;
	char *text;

	while (!there && tries--) {
		text = get("../../../devices/system/clocksource/clocksource0/current_clocksource");
		there = !strncmp(text, "tsc", 3) && text[3] != '-';
		free(text);
		usleep(50000);
	}
}
