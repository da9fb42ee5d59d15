/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kit: PID 1 of the image that vmtest.sh image makes, to be booted on real machines from a USB
 * stick. It runs steps (tests and experiments), and stores a report on the stick.
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
/* Wait for the key Enter. */
void wait_for_enter(void);

/* Where to send the report. README.TXT on the stick tells it, too. */
#define ADDRESS	"x86@kernel.org"
#define SUBJECT	"bts-check"

/* report.c: the report so far, in memory. */
void report_add(const char *text, size_t len);
const char *report_text(void);
void report_set(const char *text);
/* Print the last page. @image is the number of the image, which is that of its partition. */
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
/* Mount the FAT partition with the serial number @id. Wait up to 30 seconds for it. */
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
	bool load;		/* load the module of the experiments instead of a command */
	bool store;		/* needs the Debug Store */
	bool output;		/* show its output, not only its failures */
	bool crashes;		/* passes if it ends by SIGSEGV or with status 128 + SIGSEGV */
	/* Results */
	enum outcome outcome;
	const char *reason;	/* why steps_choose() left the step out, or NULL */
	int passed, failed, skipped;
};

extern struct step steps[];
extern const size_t nr_steps;
extern const char *const outcome_names[];

/*
 * Set the outcome LEFT_OUT for steps that must not run: if there is no Debug Store, the steps
 * that need one; the steps whose program the initramfs does not have; and if @only is not NULL, the
 * steps that this list of names (separated by commas) does not have. The step that loads the module
 * is never left out.
 */
void steps_choose(const char *only);
/* Tell which steps steps_choose() has left out, and why. */
void steps_tell_left_out(void);
/* If three steps have not ended, set LEFT_OUT for those that did not run, except the module's. */
void steps_give_up(void);
unsigned int steps_seconds_left(void);
/* Run a step, and set its results. */
void step_run(struct step *step);

/* state.c: the progress, on the stick. */
/*
 * Load the results of the last boot. Returns false if there are none, or if that boot was on a
 * processor with another signature, or did all steps.
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
