// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the image that "vmtest.sh image" makes. It prints a description of the machine, runs the
 * steps, and stores the report on the stick that the image was booted from. It mounts no other
 * disk, and installs nothing.
 *
 * Options on the kernel's command line: kit.volume=ID, the serial number of the stick's partition;
 * kit.steps=NAME,..., run only these steps and the step "module"; kit.end=off, power off
 * without waiting for a key.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit.h"

#define REPORT		"REPORT.TXT"
#define EARLIER		"REPORT%d.TXT"

static const struct {
	const char *type;
	const char *dir;
} mounts[] = {
	{ "devtmpfs", "/dev", },
	{ "proc", "/proc", },
	{ "sysfs", "/sys", },
	{ "tmpfs", "/dev/shm", },
	{ "tracefs", "/sys/kernel/tracing", },
	{ "debugfs", "/sys/kernel/debug", },
};

static void mount_all(void)
{
	size_t i;

	mkdir("/tmp", 0755);
	chmod("/tmp", 01777);
	for (i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].dir, 0755);
		mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0, NULL);
	}
}

/* Returns the value of a kernel command line option, or NULL. Valid until the next call. */
static const char *boot_option(const char *key)
{
	static char line[4096];
	size_t len = strlen(key);
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	char *at;

	close(fd);
	line[n > 0 ? n : 0] = '\0';
	for (at = strtok(line, "\n "); at; at = strtok(NULL, "\n ")) {
		if (!strncmp(at, key, len) && at[len] == '=')
			return at + len + 1;
	}
	return NULL;
}

static bool save_report(void)
{
	return stick_write(REPORT, report_text());
}

static void begin_report(const char *image)
{
	static const char contents[] =
		"This report says what processor it is, what the kernel does about its flaws,\n"
		"which tests passed, and how the hardware behaved. It has no serial number, no\n"
		"name and no address of a person or a network, and nothing of the machine's\n"
		"disks. Read it, then attach it to a mail to the maintainers of Linux for x86,\n"
		ADDRESS ", with the subject '" SUBJECT "'. It may become public.\n\n";

	screen_clear();
	tell("bts-check, image %s: how this machine records branches\n\n", image);
	tell("%s", contents);
	machine_tell();
	tell("\n");
	if (stick_problem())
		tell("The report cannot be kept on the stick: %s.\n\n", stick_problem());
}

/* Continue the report of the last boot, which did not call state_save(true). */
static void continue_report(void)
{
	static char old[1 << 17];

	stick_read(REPORT, old, sizeof(old));
	report_set(old);
	screen_clear();
	tell("The machine was started again before all steps were done.\n");
	if (state_not_ended)
		tell("Step %s (%s) did not end: the machine crashed, lost power or was switched\n"
		     "off.\n",
		     state_not_ended->name, state_not_ended->what);
}

static void show_advice(void)
{
	show("The last line counts seconds. If the screen shows a crash of the kernel, take a\n"
	     "picture of it at once: the machine restarts after a minute. If the seconds stand\n"
	     "still for a minute, take a picture, and switch the machine off.\n%s\n\n",
	     stick_problem() ?
	     "Then mail the picture to " ADDRESS ": a new start begins from the first step." :
	     "After that, or if the machine restarts by itself, boot from the stick again:\n"
	     "it continues after the step that ran.");
}

static void tell_outcome(const struct step *s)
{
	tell("        %s", outcome_names[s->outcome]);
	if (s->passed + s->failed + s->skipped)
		tell(": %d passed, %d failed, %d skipped", s->passed, s->failed, s->skipped);
	tell("\n");
}

static void run_steps(void)
{
	char title[100];
	size_t i;

	for (i = 0; i < nr_steps; i++) {
		struct step *s = &steps[i];

		if (s->outcome != NOT_RUN)
			continue;
		s->outcome = RUNNING;
		snprintf(title, sizeof(title), "[%2zu/%zu] %-12s %s\n", i + 1, nr_steps, s->name,
			 s->what);
		note("%s", title);
		save_report();
		state_save(false);
		show("%s", title);
		step_run(s);
		tell_outcome(s);
		save_report();
		state_save(false);
	}
}

static void finish_and_power_off(const char *image)
{
	const char *how = boot_option("kit.end");
	bool saved;

	print_page(image);
	saved = save_report();
	if (saved) {
		state_save(true);
		show("Mail %s of the stick to %s, with the subject %s.\n", REPORT, ADDRESS,
		     SUBJECT);
	} else {
		show("The report is not on the stick: %s.\n"
		     "Mail pictures of this page and the code to %s, subject %s.\n",
		     stick_problem() ?: "the stick cannot be written", ADDRESS, SUBJECT);
	}
	stick_unmount();
	if (!how || strcmp(how, "off")) {
		show("%s press Enter for a short form of the report as a QR code.\n",
		     saved ? "Switch off, or" : "Take the picture, and");
		wait_for_enter();
		screen_clear();
		show_code();
		show("This is a short form of the report. Press Enter to switch off.\n");
		wait_for_enter();
	}
	show("bts-check ends\n");
	sync();
	reboot(RB_POWER_OFF);
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

int main(int argc, char *argv[])
{
	char image[16];
	const char *id;

	(void)argc;
	if (getpid() != 1) {
		fprintf(stderr, "%s: this is PID 1 of the image\n", argv[0]);
		return 2;
	}
	mount_all();
	putenv("PATH=" WORK_DIR ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
	putenv("HOME=/tmp");
	putenv("TERM=linux");
	putenv("LC_ALL=C");
	if (chdir(WORK_DIR))
		fprintf(stderr, "kit: no " WORK_DIR "\n");
	signal(SIGPIPE, SIG_IGN);
	screen_open();
	machine_find();
	id = boot_option("kit.volume");
	snprintf(image, sizeof(image), "%s", id ?: "unknown");
	if (id)
		stick_mount(image);
	if (state_load()) {
		continue_report();
		steps_choose(boot_option("kit.steps"));
	} else {
		/* There may be a report of an earlier run, or of another machine. */
		stick_keep(REPORT, EARLIER);
		begin_report(image);
		steps_choose(boot_option("kit.steps"));
		steps_tell_left_out();
	}
	save_report();
	klog_complaints();
	steps_give_up();
	show_advice();
	run_steps();
	finish_and_power_off(image);
}
