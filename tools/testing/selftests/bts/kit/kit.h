/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kit: PID 1 of the image that "vmtest.sh image" makes. Real machines boot this image
 * from a USB stick. The kit runs steps (tests and experiments), and stores a report on the stick.
 */
#ifndef BTS_KIT_H
#define BTS_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WORK_DIR	"/bt"
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* screen.c: the screen, and the first serial port if there is one. */
void screen_open(void);
void screen_clear(void);
/* Print to the screen and the serial port, but not to the report. */
__attribute__((format(printf, 1, 2)))
void show(const char *fmt, ...);
/* Print only to the screen, not to the serial port, on a line that the next output overwrites. */
__attribute__((format(printf, 1, 2)))
void show_progress(const char *fmt, ...);
/* Print to the screen, the serial port and the report. */
__attribute__((format(printf, 1, 2)))
void tell(const char *fmt, ...);
/* Print to the report only. */
__attribute__((format(printf, 1, 2)))
void note(const char *fmt, ...);
void wait_for_enter(void);

/* The mail address and the subject for the report. README.TXT on the stick has them, too. */
#define ADDRESS	"x86@kernel.org"
#define SUBJECT	"bts-check"

/* report.c: the report so far, in memory. */
void report_add(const char *text, size_t len);
const char *report_text(void);
void report_set(const char *text);
/* Print the page that summarizes the report. @image: the option kit.volume, or "unknown". */
void print_page(const char *image);
/* Print the short form of the report as a QR code, but not to the report. */
void show_code(void);

/* machine.c: what the processor and the kernel report about the machine. */
struct machine {
	char model[64];		/* the processor's name */
	char microcode[32];	/* the microcode's version, as the kernel reports it */
	unsigned int signature;	/* CPUID.1:EAX: family, model, stepping */
	bool store;		/* the kernel can use the Debug Store */
};

extern struct machine machine;
void machine_find(void);
void machine_tell(void);

/* stick.c: the partition that this system was booted from. */
/* Mount the FAT partition with the serial number @id. Look for it for about 30 seconds. */
void stick_mount(const char *id);
void stick_unmount(void);
/* Access files of the partition. Return false on an error, also if the partition is not mounted. */
bool stick_read(const char *name, char *text, size_t size);
bool stick_write(const char *name, const char *text);
/*
 * Rename a file. @format has one %d: the new name has the lowest number from 1 that no file has.
 * If files have all numbers up to 99, replace the last of them.
 */
void stick_keep(const char *name, const char *format);
/* Returns why the partition is not mounted, or NULL if it is. */
const char *stick_problem(void);

/* steps.c: the steps. */
enum outcome {
	NOT_RUN,
	RUNNING,
	PASSED,
	FAILED,
	SKIPPED,	/* all its results are skipped */
	NOT_ENDED,	/* the machine crashed, lost power or was switched off */
	TIMED_OUT,
	LEFT_OUT,
};

struct step {
	const char *name;
	const char *what;
	const char *argv[8];	/* the command; if empty, "questions" with the argument @name */
	unsigned int seconds;	/* expected time */
	bool load;		/* load the module of the experiments, and run no command */
	bool store;		/* needs the Debug Store */
	bool output;		/* show its output, not only its failures */
	bool crashes;		/* must end by SIGSEGV or with status 128 + SIGSEGV */
	/* Results */
	enum outcome outcome;
	const char *reason;	/* why steps_choose() left the step out, or NULL */
	int passed, failed, skipped;
};

extern struct step steps[];
extern const size_t nr_steps;
extern const char *const outcome_names[];

/*
 * Set the outcome LEFT_OUT for steps that must not run: those that need a Debug Store if there is
 * none, those whose program the initramfs does not have, and those whose name is not in @only, a
 * list separated by commas. If @only is NULL, all names are allowed. The step that loads the module
 * gets NOT_RUN, unless it has NOT_ENDED.
 */
void steps_choose(const char *only);
/* Tell which steps steps_choose() has left out, and why. */
void steps_tell_left_out(void);
/*
 * If three or more steps have the outcome NOT_ENDED, set LEFT_OUT for those with NOT_RUN, except
 * for the step that loads the module.
 */
void steps_give_up(void);
unsigned int steps_seconds_left(void);
/* Run a step, and set its results. */
void step_run(struct step *step);

/* state.c: the progress, on the stick. */
/*
 * Load the results of the last boot. Returns false if there are none, if that boot was on a
 * processor with another signature, or if it called state_save(true).
 */
bool state_load(void);
/* The step that was running when the machine last went down, or NULL. */
extern const struct step *state_not_ended;
void state_save(bool done);

/*
 * klog.c: print the kernel's complaints since the last call, the first ten only. Returns the number
 * of all of them.
 */
int klog_complaints(void);

#endif /* BTS_KIT_H */
