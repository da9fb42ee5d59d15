// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of races of the branch flight recorder. The module bts_races (races-lab/) does something at
 * a chosen point of what the recorder does, on the same CPU or on another one. A crash freezes the
 * recorder: all CPUs stop recording until a thaw.
 *
 *   overlap CRASH_MODULE RACES_MODULE report|late|mutex|sysinfo|break|sysrq|source|thaw|
 *				     trigger|removed|overtaken|locked|migrate|
 *				     hotplug
 *   overlap CRASH_MODULE RACES_MODULE WATCHED_MODULE
 */
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

#include "../guest/tracee.h"
#include "../guest/recorder.h"
#include "../guest/dump.h"

#define RACES	"/dev/bts_races"
/* The file that enables the event bts_crash_mark. */
#define ENABLE	TRACEFS "/events/bts_crash/bts_crash_mark/enable"

static void act(const char *word)
{
	errno = -try_text(RACES, word);
	if (errno)
		give_up("%s: %s", RACES, word);
}

static pid_t start_act(const char *word, int cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	pin_to(cpu);
	try_text(RACES, word);
	_exit(0);
}

static void await(pid_t pid)
{
	waitpid(pid, NULL, 0);
}

static bool parameter_is(const char *name, const char *text)
{
	char path[64], *val;
	bool same;

	snprintf(path, sizeof(path), "../../../module/bts_races/parameters/%s", name);
	val = get(path);
	same = !strncmp(val, text, strlen(text));
	if (!same)
		printf("# %s: %s", name, val);
	free(val);
	return same;
}

/*
 * Write @word, and then @second if it is not NULL, to RACES. Thaw the recorder, and return what the
 * kernel has printed before the thaw.
 */
static struct dump dump_of(const char *word, const char *second)
{
	struct dump d;

	skip_log();
	act(word);
	if (second)
		act(second);
	d = read_dump();
	must_set("freeze", "0");
	return d;
}

/* Report errors and lockups of this CPU, after a freeze by this task or by another task. */
static void report_own(void)
{
	struct dump d;

	pin_to(0);
	await(start_act("freeze", 0));
	d = dump_of("report", NULL);
	ok(!d.traces, "report: another task's crash on this CPU is not printed");
	skip_log();
	act("freeze");
	pin_to(1);
	act("report");
	d = read_dump();
	ok(d.traces && !d.first, "report: after a migration the CPU of the crash is printed: %d",
	   d.first);
	must_set("freeze", "0");
	must_set("crash_all", "0");
	pin_to(0);
	/* The branches of CPU 0 end at the freeze by a crash of CPU 1. */
	await(start_act("freeze", 1));
	d = dump_of("own", NULL);
	ok(d.other == 1 && d.traces == 1 && !d.first,
	   "report: its own lockup after a crash: %d told", d.other);
	d = dump_of("own", NULL);
	ok(!d.old && !d.other && d.traces == 1 && !d.first, "report: only its own lockup: %d told",
	   d.other);
}

/* Report that CPU 1 is locked up, from CPU 0, after different freezes. */
static void report_other(void)
{
	struct dump d = dump_of("other", NULL);

	ok(d.traces == 1 && d.first == 1 && !d.old && !d.other,
	   "report: a lockup of another CPU: %d traces, CPU %d", d.traces, d.first);
	await(start_act("freeze", 1));
	d = dump_of("other", NULL);
	ok(d.traces == 1 && d.first == 1 && d.other == 1,
	   "report: a lockup of another CPU after a crash: %d told", d.other);
	/* Do what the report of a lockup of this CPU does: freeze, and claim the printing. */
	act("lockup");
	d = dump_of("other", NULL);
	ok(d.traces == 1 && d.first == 1 && d.other == 1,
	   "report: the same after its own lockup: %d told", d.other);
	/* A lockup of another CPU is reported before this task's crash is printed. */
	act("freeze");
	d = dump_of("other", "report");
	ok(d.other == 1 && d.traces == 2 && d.first == 1,
	   "report: a crash that waits to be printed: %d traces, CPU %d", d.traces, d.first);
	/* After "other" has frozen this CPU, it does not record what leads to a later crash. */
	act("other");
	skip_log();
	act("report");
	d = read_dump();
	ok(!d.traces, "report: a report after a lockup of another CPU: %d traces", d.traces);
	act("own");
	d = read_dump();
	ok(d.traces == 1 && d.other == 1, "report: a crash after a lockup of another CPU: %d told",
	   d.other);
	d = dump_of("own", NULL);
	ok(!d.traces && d.again == 1, "report: and once more: %d told", d.again);
}

/* Report errors and lockups while root has frozen the recorder, and with crash_all. */
static void report_frozen(void)
{
	struct dump d;

	must_set("freeze", "1");
	d = dump_of("other", NULL);
	ok(d.old == 1 && !d.other && d.traces == 1 && d.first == 1,
	   "report: a lockup in a freeze: %d told", d.old);
	must_set("freeze", "1");
	d = dump_of("freeze", "report");
	ok(d.old == 1 && !d.other && d.traces == 1 && !d.first,
	   "report: a crash in a freeze: %d told", d.old);
	/* The CPU that is locked up comes first, and the CPU that has found it is not left out. */
	must_set("crash_all", "1");
	d = dump_of("other", NULL);
	ok(d.traces == 2 && d.first == 1 && d.others, "report: a lockup, and all CPUs: %d traces",
	   d.traces);
}

static void test_report(void)
{
	report_own();
	report_other();
	report_frozen();
}

/*
 * The headlines tell when other CPUs froze. That time must count from when the crashed CPU froze
 * itself, not from when it had sent the NMIs.
 */
static void test_late(void)
{
	long long us, least = 1000000, most = -1000000;
	char line[1024], *at;

	await(start_act("late", 0));
	skip_log();
	must_set("crash_all", "1");
	act("sysinfo");
	while (read_log(line, sizeof(line))) {
		at = strstr(line, ", frozen ");
		if (!at || sscanf(at, ", frozen %lld us after", &us) != 1)
			continue;
		least = us < least ? us : least;
		most = us > most ? us : most;
	}
	ok(least >= 0 && least <= most, "late: the others froze %lld to %lld us after the crash",
	   least, most);
	must_set("freeze", "0");
}

/*
 * After the time in "thaw_after", a work thaws the CPUs that a crash has frozen. This work and
 * root's write to "freeze" both wait for a mutex. The work must not undo root's freeze.
 */
static void test_mutex(void)
{
	pid_t holder, root;

	must_set("thaw_after", "1");
	act("freeze");
	holder = start_act("mutex", 0);
	usleep(300000);
	root = fork();
	if (!root) {
		set("freeze", "1");
		_exit(0);
	}
	await(holder);
	await(root);
	usleep(500000);
	ok(stays_frozen(), "mutex: what root has frozen stays");
	must_set("freeze", "0");
	must_set("freeze", "1");
	act("freeze");
	sleep(3);
	ok(stays_frozen(), "mutex: it also stays after a later crash");
	must_set("freeze", "0");
	act("freeze");
	sleep(3);
	ok(is("freeze", "0") && goes_on(), "mutex: a crash is thawed after its time");
	act("freeze");
	act("printing");
	ok(parameter_is("kept", "Y"), "mutex: not while an oops is printed");
	sleep(2);
	ok(is("freeze", "0") && goes_on(), "mutex: thawed after the oops was printed");
	must_set("thaw_after", "0");
}

/*
 * hw_branches_sys_info() must read the branches with preemption off. Otherwise
 * arch_hw_branches_stop() could erase them meanwhile.
 */
static void test_sys_info(void)
{
	struct dump d;

	act("freeze");
	usleep(50000);
	skip_log();
	act("sysinfo");
	d = read_dump();
	ok(d.traces && parameter_is("preemptible_reads", "0\n"),
	   "sysinfo: branches are read with preemption off, %d traces", d.traces);
	must_set("freeze", "0");
}

/* A task that dies while it prints must not keep later crashes from printing. */
static void test_break(void)
{
	struct dump d;
	int i;

	for (i = 0; i < 3; i++) {
		must_set("freeze", "1");
		usleep(50000);
		await(start_act("break", 0));
		must_set("freeze", "0");
		goes_on();
	}
	/* If another task runs between fault and freeze, it overwrites the fault: repeat. */
	for (i = 0; i < 3; i++) {
		skip_log();
		ok(crash_once("task", 0), "break: survived");
		d = read_dump();
		ok(d.traces && !d.first && d.nr == NR, "break: %d traces", d.traces);
		must_set("freeze", "0");
		goes_on();
		if (!d.fault)
			break;
	}
	ok(!d.fault, "break: the fault is %d", d.fault);
}

/* A task that dies while it prints for sysrq must not keep later sysrqs from printing. */
static void test_sysrq(void)
{
	struct dump d;

	await(start_act("sysrq", 0));
	act("sysrqend");
	must_set("freeze", "0");
	ok(goes_on(), "sysrq: it was printing, and the recorder is thawed");
	skip_log();
	try_text("/proc/sysrq-trigger", "B");
	d = read_dump();
	ok(d.traces == cpus(), "sysrq: the next one prints: %d traces", d.traces);
}

/*
 * The recorder's source changes while a reader keeps BTS frozen. The reader then thaws the new
 * source. BTS must be thawed, too, and record a tracee again.
 */
static void test_source(void)
{
	struct tracee t = tracee_new();
	struct trace trace = { };
	pid_t reader;

	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(4096), 0) < 0)
		give_up("PTRACE_BTS_CONFIG");
	reader = start_act("read", 1);
	while (!parameter_is("waiting", "Y"))
		usleep(10000);
	must_set("enable", "0");
	must_set("enable", "lbr");
	ok(parameter_is("waiting", "Y"), "source: changed while a reader keeps it frozen");
	await(reader);
	ok(is("enable", "lbr"), "source: LBR is used");
	tracee_do(&t, known_work, 1000);
	trace_drain(t.pid, &trace, 4096);
	ok(count_known_in_row(&trace) == 999, "source: BTS records %zu branches of a tracee",
	   count_known_in_row(&trace));
	tracee_end(&t);
	trace_free(&trace);
}

/*
 * A second crash comes at the point @word of a thaw. A third crash must then be printed as a first
 * crash is.
 */
static void test_thaw_at(const char *word)
{
	struct dump d;
	char *hit;

	crash_once("task", 1);
	usleep(50000);
	pin_to(0);
	act(word);
	must_set("freeze", "0");
	hit = get("../../../module/bts_races/parameters/hit");
	act("unwatch");
	if (is("freeze", "1"))
		must_set("freeze", "0");
	goes_on();
	skip_log();
	crash_once("task", 0);
	d = read_dump();
	ok(d.traces && !d.first && d.nr == NR && !d.fault && !d.again,
	   "%s: the next crash is printed", word);
	ok(*hit == 'Y', "%s: hit", word);
	ok(thaws(), "%s: frozen until it is thawed", word);
	free(hit);
}

/*
 * @word starts a freeze. A thaw comes between two steps of the freeze. Afterwards, the CPUs must be
 * frozen, the reason for the freeze must be stored, and the branches of CPU 0 must not count as
 * older than that thaw. The next thaw must thaw the CPUs.
 */
static void test_thaw_in(const char *word)
{
	int tries = 1000;
	pid_t freezer;

	/* Leave CPU 0 first: the new process spins there with interrupts off. */
	pin_to(1);
	freezer = start_act(word, 0);
	while (!parameter_is("waiting", "Y") && --tries)
		usleep(1000);
	must_set("freeze", "0");
	await(freezer);
	ok(shows_branches("per_cpu/cpu0/trace"), "%s: the branches are there", word);
	ok(tries && is("freeze", "1") && thaws(), "%s: the freeze is kept, and thawed", word);
}

/* A thaw crashes on CPU 0, which still keeps its old branches. They must not be shown. */
static void test_crash_in_thaw(void)
{
	char *hit;

	pin_to(0);
	must_set("freeze", "1");
	act("crashinthaw");
	must_set("freeze", "0");
	hit = get("../../../module/bts_races/parameters/hit");
	act("thawended");
	ok(*hit == 'Y' && !shows_branches("per_cpu/cpu0/trace"),
	   "crashinthaw: the old branches are not shown");
	ok(thaws(), "crashinthaw: frozen until it is thawed");
	free(hit);
}

static void test_thaw(void)
{
	test_thaw_at("thawkeeping");
	test_thaw_at("thawtask");
	test_thaw_at("thawfirst");
	test_thaw_in("crashthawed");
	test_thaw_in("freezethawed");
	test_thaw_in("keepthawed");
	test_crash_in_thaw();
}

/* A module is unloaded between the lookup of its symbol and the use of the symbol's address. */
static void test_watched(const char *module)
{
	pid_t remover;
	int err;

	load_module(module, "");
	act("slow");
	remover = fork();
	if (!remover) {
		pin_to(1);
		usleep(200000);
		_exit(!!syscall(SYS_delete_module, "bts_watched", O_NONBLOCK));
	}
	pin_to(0);
	err = set("watch", "bts_watched_variable:4");
	await(remover);
	act("quick");
	ok(err == -ENOENT, "watched: the module is gone: %d", err);
	ok(is("watch", ""), "watched: nothing is");
	must_set("watch", "\n");
	load_module(module, "");
	ok(!set("watch", "bts_watched_variable:4") &&
	   syscall(SYS_delete_module, "bts_watched", O_NONBLOCK) && errno == EWOULDBLOCK,
	   "watched: it stays as long as it is");
	must_set("watch", "\n");
	ok(!syscall(SYS_delete_module, "bts_watched", O_NONBLOCK), "watched: and no longer");
}

#define WATCHED		"/sys/module/bts_watched/"

static bool watched_is(const char *state)
{
	int tries = 1000;
	bool same;
	char *val;

	do {
		usleep(10000);
		if (access(WATCHED "initstate", R_OK))
			continue;
		val = get("../../../module/bts_watched/initstate");
		same = !strncmp(val, state, strlen(state));
		free(val);
		if (same)
			return true;
	} while (--tries);

	return false;
}

/*
 * Load the module so that @parameter keeps it from being ready, in @state. Then a watchpoint on
 * @symbol must fail with @want. When the module is ready, it must be refused no more.
 */
static void test_watched_load(const char *module, const char *parameter, const char *state,
			      const char *symbol, int want)
{
	char set_it[32], file[64], what[64];
	pid_t loader;
	int err;

	snprintf(set_it, sizeof(set_it), "%s=1", parameter);
	snprintf(file, sizeof(file), WATCHED "parameters/%s", parameter);
	snprintf(what, sizeof(what), "bts_watched:%s:4", symbol);
	loader = fork();
	if (!loader) {
		load_module(module, set_it);
		_exit(0);
	}
	ok(watched_is(state), "watched: %s", state);
	err = set("watch", what);
	ok(err == want && is("watch", ""), "watched: %s in state %s: %d", symbol, state, err);
	if (try_text(file, "0"))
		give_up(file);
	await(loader);
	ok(!set("watch", "bts_watched:bts_watched_variable:4"), "watched: when it is loaded");
	must_set("watch", "\n");
	ok(!syscall(SYS_delete_module, "bts_watched", O_NONBLOCK), "watched: and is unloaded");
}

/*
 * A trigger is hit while its registration fails. The hit queues a work that writes the other CPUs'
 * branches to the trace. The work waits for a mutex. The writer of the trigger must wait for the
 * work.
 */
static void test_trigger(void)
{
	pid_t holder, marker;
	int err;

	if (try_text(ENABLE, "1"))
		give_up(ENABLE);
	act("refuse");
	holder = start_act("mutex", 0);
	marker = fork();
	if (!marker) {
		pin_to(1);
		usleep(500000);
		try_text(DEVICE, "mark");
		usleep(200000);
		_exit(!parameter_is("marked", "Y"));
	}
	err = try_text(MARK, "branches:all");
	ok(err == -ENOMEM && parameter_is("marked", "N"), "trigger: refused, and not at work: %d",
	   err);
	waitpid(marker, &err, 0);
	ok(!err, "trigger: it was hit");
	await(holder);
	act("allow");
	ok(!try_text(MARK, "branches:all") && !try_text(MARK, "!branches:all") && goes_on(),
	   "trigger: another one is not refused");
	try_text(ENABLE, "0");
}

/* A trigger is removed while the work of its last hit waits for a mutex. Removing it must wait. */
static void test_trigger_removed(void)
{
	pid_t holder;
	bool marked;
	int err;

	if (try_text(ENABLE, "1") || try_text(MARK, "branches:all"))
		give_up(MARK);
	holder = start_act("mutex", 0);
	pin_to(1);
	usleep(500000);
	try_text(DEVICE, "mark");
	usleep(200000);
	marked = parameter_is("marked", "Y");
	err = try_text(MARK, "!branches:all");
	ok(marked && !err && parameter_is("marked", "N"),
	   "trigger: removed when its work has ended");
	await(holder);
	ok(goes_on(), "trigger: the recorder goes on");
	try_text(ENABLE, "0");
}

/*
 * A trigger freezes the CPUs again after a thaw has thawed CPU 0, and before it thaws CPU 1. So CPU
 * 1 keeps its branches from before the thaw, which must not be shown.
 */
static void test_overtaken(void)
{
	static const char thawed[] = TRACEFS "/events/irq_vectors/irq_work_exit/trigger";
	char *trace;

	pin_to(0);
	must_set("freeze", "1");
	usleep(20000);
	if (try_text(thawed, "branches:all:1"))
		give_up(thawed);
	must_set("freeze", "0");
	goes_on();
	try_text(thawed, "!branches");
	trace = get("../trace");
	ok(strstr(trace, "hw_branch: cpu=0") && !strstr(trace, "hw_branch: cpu=1"),
	   "overtaken: no branches of CPU 1, which was not thawed");
	free(trace);
	ok(goes_on(), "overtaken: both record in the end");
}

/*
 * Root freezes the recorder while CPU 1 is locked up with interrupts off. The NMI of the freeze may
 * come late. Reading the branches of CPU 1 at once must not wait until the lockup ends.
 */
static void test_locked(void)
{
	time_t start;
	bool shown;
	pid_t pid;

	await_clock();
	continue_on(0);
	pid = fork();
	if (!pid) {
		pin_to(1);
		try_text(DEVICE, "stuck");
		_exit(0);
	}
	usleep(300000);
	start = time(NULL);
	must_set("freeze", "1");
	shown = shows_branches("per_cpu/cpu1/trace");
	ok(shown && time(NULL) - start < 5, "locked: the branches are read: %d s",
	   (int)(time(NULL) - start));
	if (try_text("/sys/module/bts_crash/parameters/release", "1"))
		give_up("release");
	await(pid);
	ok(thaws(), "locked: thawed in the end");
}

/* Panic in a task that migrates after the freeze. The host checks the console. */
static int migrate(void)
{
	pid_t self = getpid();
	cpu_set_t other;
	int tries;

	pin_to(0);
	if (!fork()) {
		pin_to(1);
		for (tries = 0; tries < 1000 && !parameter_is("waiting", "Y"); tries++)
			usleep(5000);
		CPU_ZERO(&other);
		CPU_SET(1, &other);
		sched_setaffinity(self, sizeof(other), &other);
		_exit(0);
	}
	usleep(100000);
	printf("# die\n");
	fflush(stdout);
	try_text(RACES, "migrate");
	sleep(5);
	printf("Bail out! still here\n");
	return 1;
}

/*
 * A CPU crashes while it goes offline. The task that has requested it keeps the lock of CPU hotplug
 * for ever. Neither a thaw nor a reader must wait for that lock, also if another CPU is offline. As
 * a power-off would wait for it, restart by sysrq.
 */
static int hotplug(void)
{
	int tries = 1000, err;

	if (try_text("/sys/devices/system/cpu/cpu2/online", "0"))
		give_up("CPU 2");
	act("hotplug");
	if (!fork()) {
		try_text("/sys/devices/system/cpu/cpu1/online", "0");
		_exit(1);
	}
	while (!strstr(get("freeze"), "1") && --tries)
		usleep(10000);
	ok(tries && shows_branches("per_cpu/cpu1/trace") && shows_branches("trace"),
	   "hotplug: the branches can be read");
	must_set("freeze", "0");
	ok(is("freeze", "0") && recording(0), "hotplug: a thaw thaws CPU 0");
	ok(shows_branches("trace"), "hotplug: the branches can be read after the thaw");
	err = finish();
	fflush(stdout);
	tcdrain(STDOUT_FILENO);
	try_text("/proc/sysrq-trigger", "b");

	return err;
}

static const struct {
	const char *kind;
	void (*test)(void);
} tests[] = {
	{ "report", test_report },
	{ "late", test_late },
	{ "mutex", test_mutex },
	{ "sysinfo", test_sys_info },
	{ "break", test_break },
	{ "sysrq", test_sysrq },
	{ "source", test_source },
	{ "thaw", test_thaw },
	{ "trigger", test_trigger },
	{ "removed", test_trigger_removed },
	{ "overtaken", test_overtaken },
	{ "locked", test_locked },
};

int main(int argc, char **argv)
{
	size_t i;

	if (argc != 4) {
		fprintf(stderr, "usage: %s CRASH_MODULE RACES_MODULE KIND|WATCHED_MODULE\n",
			argv[0]);
		return 2;
	}
	load_module(argv[1], "");
	load_module(argv[2], "");
	must_set("enable", "1");
	usleep(20000);
	must_set("fold", "0");
	must_set("crash_all", "1");
	if (!strcmp(argv[3], "migrate"))
		return migrate();
	if (!strcmp(argv[3], "hotplug"))
		return hotplug();
	open_log();
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (!strcmp(argv[3], tests[i].kind)) {
			tests[i].test();
			return finish();
		}
	}
	test_watched(argv[3]);
	test_watched_load(argv[3], "early", "coming", "bts_watched_variable", -EBUSY);
	test_watched_load(argv[3], "late", "live", "bts_watched_init_variable", -EFAULT);
	return finish();
}
