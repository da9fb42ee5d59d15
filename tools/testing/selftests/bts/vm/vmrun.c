// SPDX-License-Identifier: GPL-2.0
/*
 * The runner of one guest: start the emulator with four serial ports (console, KTAP, control,
 * data), log their output, execute commands from the control port in the emulator's monitor, look
 * for a splat on the console, and end a guest that hangs. The outcome goes to the file "result".
 *
 * The line "save" on the control port is no command of the monitor: the guest's state goes to the
 * file "state", and the emulator ends. The emulator's option -incoming continues that guest. The
 * state lacks the registers of the Debug Store and of the LBRs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vmrun.h"

/* The taint flags of the kernel that mean a bug: B, D, W, L. */
#define FAULT_TAINT	((1ul << 5) | (1ul << 7) | (1ul << 9) | (1ul << 14))
#define STATUS_ABORT	3	/* exit status of the emulator if x-bts-abort has ended it */
#define GRACE_MS	2000
#define SAVE_MS		60000

enum port_nr {
	CONSOLE,
	KTAP,
	CONTROL,
	MONITOR,
	NR_PORTS,
};

struct port {
	const char *name;
	int fd;			/* the runner's end, -1 once closed */
	int qemu_fd;
	FILE *log;
	struct buf in;
	struct buf out;
};

enum asker {
	NOBODY,
	GUEST,
	RUNNER,
};

static struct {
	const char *dir;
	long timeout_ms;
	long stall_ms;
	bool verbose;

	struct port port[NR_PORTS];
	int signals;
	pid_t qemu;
	bool qemu_gone;
	int qemu_status;
	bool connected;		/* the monitor is ready for commands */
	enum asker asker;	/* who waits for the output of a command; NOBODY: idle */
	struct buf answer;	/* the output of the last command of the runner */
	bool saves;		/* the guest has asked to be saved */
	bool saved;

	long started, last_output;
	char splat[512];
	char hang[128];
	char reason[64];	/* why the emulator has shut down */
	bool ended;		/* PID 1 has reported the program's end */
	int status;		/* the program's exit status, or 128 + N if signal N killed it */
	unsigned long taint;
} run = {
	.timeout_ms = 120000,
	.stall_ms = 60000,
	.port = {
		[CONSOLE] = { .name = "console", },
		[KTAP] = { .name = "ktap", },
		[CONTROL] = { .name = "ctl", },
		[MONITOR] = { .name = "qmp", },
	},
};

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("vmrun: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	if (run.qemu > 0 && !run.qemu_gone)
		kill(run.qemu, SIGKILL);
	exit(2);
}

void buf_add(struct buf *b, const char *data, size_t len)
{
	if (b->len + len + 1 > b->size) {
		b->size = 2 * (b->len + len + 1);
		b->data = realloc(b->data, b->size);
		if (!b->data)
			die("out of memory: close something");
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void buf_drop(struct buf *b, size_t len)
{
	b->len -= len;
	memmove(b->data, b->data + len, b->len);
}

char *buf_line(struct buf *b)
{
	static struct buf line;
	char *end;

	end = b->len ? memchr(b->data, '\n', b->len) : NULL;
	if (!end)
		return NULL;
	line.len = 0;
	buf_add(&line, b->data, end - b->data);
	buf_drop(b, end - b->data + 1);
	while (line.len && line.data[line.len - 1] == '\r')
		line.data[--line.len] = '\0';
	return line.data;
}

/*
 * Returns whether the guest only sends through the port. Then use a pipe, not a socket: the
 * emulator writes single bytes, of which a socket holds only a few hundred. The emulated port would
 * block, and the kernel's console driver, which waits for 10 ms at most, would overwrite unsent
 * output.
 */
static bool only_comes_out(int nr)
{
	return nr == CONSOLE || nr == KTAP;
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static FILE *open_log(const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", run.dir, name);
	f = fopen(path, "we");
	if (!f)
		die("%s: %s: free space or permissions", path, strerror(errno));
	return f;
}

static void ask_monitor(const char *command, enum asker asker)
{
	run.asker = asker;
	qmp_request(command, &run.port[MONITOR].out);
}

/* While the monitor is idle, handle the next line of the control port: a command, or "save". */
static void answer_control(void)
{
	struct port *p = &run.port[CONTROL];
	char *line;

	while (run.connected && run.asker == NOBODY && !run.saves && (line = buf_line(&p->in))) {
		fprintf(p->log, "> %s\n", line);
		run.saves = !strcmp(line, "save");
		if (!run.saves)
			ask_monitor(line, GUEST);
	}
}

/* The monitor has executed a command: send its output to the guest, or keep it for ask(). */
static void monitor_output(struct buf *text)
{
	struct port *p = &run.port[CONTROL];

	fwrite(text->data, 1, text->len, p->log);
	fflush(p->log);
	if (run.asker == GUEST) {
		buf_add(&p->out, text->data, text->len);
		if (text->len && text->data[text->len - 1] != '\n')
			buf_add(&p->out, "\n", 1);
		buf_add(&p->out, ".\n", 2);
	} else {
		buf_add(&run.answer, text->data, text->len);
	}
	run.asker = NOBODY;
	answer_control();
}

static void monitor_line(const char *line)
{
	static const char hello[] = "{\"execute\": \"qmp_capabilities\"}\n";
	static struct buf text;

	buf_add(&text, "", 0);
	switch (qmp_parse(line, &text)) {
	case QMP_GREETING:
		buf_add(&run.port[MONITOR].out, hello, strlen(hello));
		run.connected = true;
		answer_control();
		break;
	case QMP_OUTPUT:
		monitor_output(&text);
		break;
	case QMP_SHUTDOWN:
		snprintf(run.reason, sizeof(run.reason), "%.*s", (int)text.len,
			 text.data);
		break;
	case QMP_OTHER:
		break;
	}
}

static void console_line(const char *line)
{
	if (!run.splat[0] && splats_match(line))
		snprintf(run.splat, sizeof(run.splat), "%s", line);
}

/* Parse the messages of PID 1 about the end of the program: see guest/init.c. */
static void ktap_line(const char *line)
{
	int n;

	if (sscanf(line, "# init: tainted %lu", &run.taint) == 1)
		return;
	if (sscanf(line, "# init: exit %d", &n) == 1) {
		run.status = n;
		run.ended = true;
	} else if (sscanf(line, "# init: signal %d", &n) == 1) {
		run.status = 128 + n;
		run.ended = true;
	}
}

static void port_lines(enum port_nr nr)
{
	struct port *p = &run.port[nr];
	char *line;

	if (nr == CONTROL) {
		answer_control();
		return;
	}
	while ((line = buf_line(&p->in))) {
		if (nr == CONSOLE)
			console_line(line);
		else if (nr == KTAP)
			ktap_line(line);
		else
			monitor_line(line);
	}
}

static void port_read(enum port_nr nr)
{
	struct port *p = &run.port[nr];
	char data[65536];
	ssize_t n;

	n = read(p->fd, data, sizeof(data));
	if (n <= 0) {
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		close(p->fd);
		p->fd = -1;
		if (p->in.len) {
			buf_add(&p->in, "\n", 1);
			port_lines(nr);
		}
		return;
	}
	if (nr != MONITOR)
		run.last_output = now_ms();
	if (only_comes_out(nr)) {
		fwrite(data, 1, n, p->log);
		fflush(p->log);
		if (run.verbose)
			fwrite(data, 1, n, stdout);
	}
	buf_add(&p->in, data, n);
	port_lines(nr);
}

static void port_write(struct port *p)
{
	ssize_t n;

	n = send(p->fd, p->out.data, p->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		buf_drop(&p->out, n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		p->out.len = 0;
}

static void signal_read(void)
{
	struct signalfd_siginfo info;

	if (read(run.signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo != SIGCHLD) {
		kill(run.qemu, SIGKILL);
		exit(130);
	}
	if (waitpid(run.qemu, &run.qemu_status, WNOHANG) == run.qemu)
		run.qemu_gone = true;
}

/* Wait for input, output or a signal, at most until @deadline, and handle what came. */
static void step(long deadline)
{
	struct pollfd fds[NR_PORTS + 1] = { };
	long wait = deadline - now_ms();
	int i;

	for (i = 0; i < NR_PORTS; i++) {
		fds[i].fd = run.port[i].fd;
		fds[i].events = POLLIN;
		if (run.port[i].out.len)
			fds[i].events |= POLLOUT;
	}
	fds[NR_PORTS].fd = run.signals;
	fds[NR_PORTS].events = POLLIN;
	if (poll(fds, NR_PORTS + 1, wait < 0 ? 0 : wait) < 0)
		return;
	for (i = 0; i < NR_PORTS; i++) {
		if (fds[i].revents & POLLOUT)
			port_write(&run.port[i]);
		if (fds[i].revents & (POLLIN | POLLHUP | POLLERR))
			port_read(i);
	}
	if (fds[NR_PORTS].revents & POLLIN)
		signal_read();
}

static bool ports_open(void)
{
	int i;

	for (i = 0; i < NR_PORTS; i++) {
		if (run.port[i].fd >= 0)
			return true;
	}
	return false;
}

/*
 * Execute a monitor command. Returns its output, or "" if there is none within GRACE_MS. The
 * result is valid until the next call.
 */
static const char *ask(const char *command)
{
	long deadline = now_ms() + GRACE_MS;

	fprintf(run.port[CONTROL].log, "runner> %s\n", command);
	run.answer.len = 0;
	buf_add(&run.answer, "", 0);
	ask_monitor(command, RUNNER);
	while (!run.qemu_gone && run.asker == RUNNER && now_ms() < deadline)
		step(deadline);
	return run.answer.data;
}

static void quit(void)
{
	long deadline;

	ask("quit");
	deadline = now_ms() + GRACE_MS;
	while (!run.qemu_gone && now_ms() < deadline)
		step(deadline);
	if (!run.qemu_gone)
		kill(run.qemu, SIGKILL);
}

/* Log the registers of a guest that hangs, and end the emulator. */
static void end_hanging(void)
{
	run.asker = NOBODY;
	ask("info registers -a");
	ask("info bts");
	quit();
}

/*
 * Save the guest's state. Do not stop the guest before: -incoming would restore it as a stopped
 * guest. After the last data, the emulator waits until its child has written the file.
 */
static void save(void)
{
	long deadline = now_ms() + SAVE_MS;
	const char *answer;

	ask("migrate -d \"exec:cat >state\"");
	do {
		step(now_ms() + 50);
		answer = ask("info migrate");
		run.saved = strstr(answer, "status: completed");
	} while (!run.saved && !strstr(answer, "status: failed") && !run.qemu_gone &&
		 now_ms() < deadline);
	quit();
}

static void watch(void)
{
	long end = run.started + run.timeout_ms;
	long deadline, now;

	while (!run.qemu_gone) {
		deadline = run.last_output + run.stall_ms;
		if (deadline > end)
			deadline = end;
		step(deadline);
		if (run.saves && !run.saved && !run.qemu_gone)
			save();
		now = now_ms();
		if (run.hang[0] || run.qemu_gone)
			continue;
		if (now >= end)
			snprintf(run.hang, sizeof(run.hang),
				 "time-out not over after %ld s", run.timeout_ms / 1000);
		else if (now >= run.last_output + run.stall_ms)
			snprintf(run.hang, sizeof(run.hang),
				 "stall no output for %ld s", run.stall_ms / 1000);
		if (run.hang[0])
			end_hanging();
	}
	/* Read what the emulator wrote before it ended. */
	deadline = now_ms() + GRACE_MS;
	while (ports_open() && now_ms() < deadline)
		step(deadline);
}

/* Write a line with the outcome and its reason. Returns whether the outcome is "ok". */
static bool verdict(FILE *f)
{
	int status = run.qemu_status;

	if (run.splat[0])
		fprintf(f, "splat %s\n", run.splat);
	else if (run.hang[0])
		fprintf(f, "%s\n", run.hang);
	else if (WIFSIGNALED(status))
		fprintf(f, "emulator killed by signal %d\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) == STATUS_ABORT)
		fprintf(f, "abort a store without a buffer, see qemu.err\n");
	else if (WEXITSTATUS(status))
		fprintf(f, "emulator exit status %d, see qemu.err\n",
			WEXITSTATUS(status));
	else if (run.ended && (run.taint & FAULT_TAINT) && !splats_excused())
		fprintf(f, "splat kernel tainted %#lx without a line on the list\n",
			run.taint);
	else if (!strcmp(run.reason, "guest-reset"))
		fprintf(f, "reboot the guest reset itself\n");
	else if (run.saved)
		fprintf(f, "saved to %s/state\n", run.dir);
	else if (run.saves)
		fprintf(f, "unsaved no room for %s/state, or too slow: see ctl\n", run.dir);
	else if (!run.ended)
		fprintf(f, "lost no word of PID 1 about the program's end\n");
	else
		return fprintf(f, "ok\n") > 0;
	return false;
}

static struct {
	char *argv[512];
	int n;
} command;

__attribute__((format(printf, 1, 2)))
static void argument(const char *fmt, ...)
{
	va_list ap;

	if (command.n + 1 == ARRAY_SIZE(command.argv))
		die("too many arguments for the emulator: leave some out");
	va_start(ap, fmt);
	if (vasprintf(&command.argv[command.n++], fmt, ap) < 0)
		die("out of memory: close something");
	va_end(ap);
}

static void connect_port(int nr)
{
	struct port *p = &run.port[nr];
	bool out = only_comes_out(nr);
	int fds[2];

	if (out ? pipe2(fds, O_CLOEXEC) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		die("no connection to the guest: %s: raise the limit of open files",
		    strerror(errno));
	p->fd = fds[0];
	p->qemu_fd = fds[1];
	p->log = open_log(p->name);
	argument("-chardev");
	argument(out ? "file,id=%s,path=/dev/fd/%d" : "socket,id=%s,fd=%d", p->name, p->qemu_fd);
}

static void make_command(char **argv)
{
	int i;

	while (*argv)
		argument("%s", *argv++);
	for (i = 0; i < NR_PORTS; i++) {
		struct port *p = &run.port[i];

		connect_port(i);
		if (i != MONITOR) {
			argument("-serial");
			argument("chardev:%s", p->name);
		}
	}
	argument("-serial");
	argument("file:%s/data", run.dir);
	argument("-mon");
	argument("chardev=%s,mode=control", run.port[MONITOR].name);
	argument("-D");
	argument("%s/exec.log", run.dir);
}

static void spawn(const sigset_t *old_mask)
{
	FILE *err = open_log("qemu.err");
	int i;

	run.qemu = fork();
	if (run.qemu < 0)
		die("fork: %s: end some processes", strerror(errno));
	if (!run.qemu) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_SETMASK, old_mask, NULL);
		for (i = 0; i < NR_PORTS; i++)
			fcntl(run.port[i].qemu_fd, F_SETFD, 0);
		dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
		dup2(fileno(err), 1);
		dup2(fileno(err), 2);
		/* Relative paths in commands of the monitor are below the directory of the logs. */
		if (!chdir(run.dir))
			execvp(command.argv[0], command.argv);
		fprintf(stderr, "%s: %s\n", command.argv[0], strerror(errno));
		_exit(127);
	}
	fclose(err);
	for (i = 0; i < NR_PORTS; i++)
		close(run.port[i].qemu_fd);
}

static void usage(void)
{
	die("usage: -d DIR -S SPLATS [-t SECONDS] [-s STALL_SECONDS] [-v] -- EMULATOR ARG...");
}

static long milliseconds(const char *s)
{
	char *end;
	long n = strtol(s, &end, 10);

	if (n <= 0 || *end)
		die("%s: give a number of seconds above 0", s);
	return n * 1000;
}

static void options(int argc, char **argv)
{
	const char *splats = NULL;
	int opt;

	while ((opt = getopt(argc, argv, "d:t:s:S:v")) != -1) {
		if (opt == 'd')
			run.dir = realpath(optarg, NULL);
		else if (opt == 't')
			run.timeout_ms = milliseconds(optarg);
		else if (opt == 's')
			run.stall_ms = milliseconds(optarg);
		else if (opt == 'S')
			splats = optarg;
		else if (opt == 'v')
			run.verbose = true;
		else
			usage();
	}
	if (!run.dir || !splats || optind == argc)
		usage();
	splats_load(splats);
	make_command(argv + optind);
}

int main(int argc, char **argv)
{
	sigset_t mask, old_mask;
	FILE *result;
	bool good;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	options(argc, argv);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, &old_mask);
	run.signals = signalfd(-1, &mask, SFD_CLOEXEC);
	if (run.signals < 0)
		die("signalfd: %s: raise the limit of open files", strerror(errno));

	run.started = now_ms();
	run.last_output = run.started;
	spawn(&old_mask);
	watch();

	result = open_log("result");
	good = verdict(result);
	fprintf(result, "status %d\n", run.ended ? run.status : -1);
	fprintf(result, "ms %ld\n", now_ms() - run.started);
	fclose(result);
	return good ? 0 : 1;
}
