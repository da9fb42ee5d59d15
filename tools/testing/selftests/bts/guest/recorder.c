// SPDX-License-Identifier: GPL-2.0
#include <poll.h>

#include "recorder.h"

int set(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), RECORDER "/%s", name);
	return try_text(path, text);
}

void must_set(const char *name, const char *text)
{
	errno = -set(name, text);
	if (errno)
		give_up("%s to %s", text, name);
}

char *get(const char *name)
{
	size_t size = 0, room = 1 << 16;
	char *text = malloc(room);
	char path[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), RECORDER "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		give_up("%s", path);
	while ((n = read(fd, text + size, room - size - 1)) > 0) {
		size += n;
		if (room - size < 4096)
			text = realloc(text, room *= 2);
	}
	if (n < 0)
		give_up("%s", path);
	close(fd);
	text[size] = '\0';
	return text;
}

bool is(const char *name, const char *text)
{
	char *now = get(name);
	bool same;

	now[strcspn(now, "\n")] = '\0';
	same = !strcmp(now, text);
	if (!same)
		printf("# %s is %s, not %s\n", name, now, text);
	free(now);
	return same;
}

bool trace_names_source(const char *name)
{
	char first[80], *source = get("enable");
	bool off;

	/* The file may say " (given up to perf)" after the name. */
	source[strcspn(source, " \n")] = '\0';
	off = !strcmp(source, "0");
	snprintf(first, sizeof(first), "# CPU  TO <- FROM, newest first%s%s%s",
		 off ? "" : ", source ", off ? "" : source,
		 !strcmp(source, "bts") && is_unreliable() ? " (unreliable)" : "");
	free(source);
	return is(name, first);
}

#define CONTINUE	"continue:"

/* Returns the name of the emulator that continues this guest, without CONTINUE. */
static char *be_saved(void)
{
	static char name[128];
	struct pollfd answer = { .fd = open_port(CONTROL_PORT), .events = POLLIN };
	FILE *port = fdopen(answer.fd, "r");

	if (!port || dprintf(answer.fd, "save\n") < 0)
		give_up(CONTROL_PORT);
	/*
	 * Only the emulator that continues this guest answers. The state may be saved while the
	 * guest sends "info name". Then that emulator gets only the rest of this line, and its
	 * first answer is not the name.
	 */
	while (strncmp(name, CONTINUE, strlen(CONTINUE))) {
		if (!poll(&answer, 1, 100))
			dprintf(answer.fd, "info name\n");
		else if (!fgets(name, sizeof(name), port))
			give_up("info name");
	}
	/* Skip the end of the answer, and further answers. */
	while (poll(&answer, 1, 20) > 0)
		fgetc(port);
	fclose(port);
	name[strcspn(name, "\n")] = '\0';
	return name + strlen(CONTINUE);
}

char **load_and_continue(int *argc, char **argv)
{
	static char *words[16];
	char *rest;

	load_module(argv[1], "");
	if (*argc != 3 || strcmp(argv[2], "saved"))
		return argv;
	words[0] = argv[0];
	words[1] = argv[1];
	*argc = 2;
	rest = be_saved();
	while (rest && *argc + 1 < (int)ARRAY_SIZE(words))
		words[(*argc)++] = strsep(&rest, ":");
	return words;
}

int cpus(void)
{
	return sysconf(_SC_NPROCESSORS_CONF);
}

bool recording(int cpu)
{
	uint64_t bits = read_debugctl(cpu) & DEBUGCTL_BTS_BITS;

	return (bits & ~DEBUGCTL_OFF_USR) == DEBUGCTL_RECORDER;
}

static int kmsg = -1;

void open_log(void)
{
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0)
		give_up("/dev/kmsg");
}

bool read_log(char *line, size_t size)
{
	static char record[8192];
	ssize_t n;
	char *text;

	do {
		n = read(kmsg, record, sizeof(record) - 1);
	} while (n < 0 && errno == EPIPE);
	if (n <= 0)
		return false;
	record[n] = '\0';
	text = strchr(record, ';') + 1;
	snprintf(line, size, "%.*s", (int)strcspn(text, "\n"), text);
	return true;
}

void skip_log(void)
{
	char line[1024];

	while (read_log(line, sizeof(line)))
		;
}

bool next_line(const char **text, struct line *line)
{
	char to[128], from[128], more[64];
	int used = 0, n;

	for (; **text; *text += used) {
		used = strcspn(*text, "\n");
		used += (*text)[used] == '\n';
		if (**text == '#')
			continue;
		n = sscanf(*text, "%d %127s%63[^<\n]<- %127[^\n]", &line->cpu, to, more, from);
		if (n == 4) {
			snprintf(line->to, sizeof(line->to), "%s", to);
			snprintf(line->from, sizeof(line->from), "%s", from);
		} else {
			line->to[0] = '\0';
			line->from[0] = '\0';
		}
		*text += used;
		return true;
	}
	return false;
}

bool within(const char *at, const char *function)
{
	size_t len = strlen(function);

	/* With call depth tracking, a call goes to the padding before the function. */
	if (!strncmp(at, "__pfx_", 6))
		at += 6;
	return !strncmp(at, function, len) && at[len] == '+';
}

bool enters(const char *at, const char *function)
{
	return within(at, function) && (!strncmp(at, "__pfx_", 6) || strstr(at, "+0x0/"));
}

size_t count_lines(const char *trace, int cpu, const char *function)
{
	struct line line;
	size_t n = 0;

	while (next_line(&trace, &line)) {
		if (cpu >= 0 && line.cpu != cpu)
			continue;
		n += !function || within(line.to, function) || within(line.from, function);
	}
	return n;
}

bool shows_branches(const char *name)
{
	char *trace = get(name);
	bool shows = strstr(trace, "+0x");

	free(trace);
	return shows;
}
