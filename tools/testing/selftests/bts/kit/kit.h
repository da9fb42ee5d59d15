/* SPDX-License-Identifier: GPL-2.0 */
/* The pieces of PID 1 of the image that vmtest.sh image makes. */
#ifndef BTS_KIT_H
#define BTS_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WORK_DIR	"/bt"
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* screen.c: the screen, and the first serial port if there is one */
void screen_open(void);
void screen_clear(void);
/* To the screen only */
__attribute__((format(printf, 1, 2)))
void show(const char *fmt, ...);
/* To the screen only, on the line that is overwritten next */
__attribute__((format(printf, 1, 2)))
void show_progress(const char *fmt, ...);
/* To the screen, and to the report */
__attribute__((format(printf, 1, 2)))
void tell(const char *fmt, ...);
/* The report only */
__attribute__((format(printf, 1, 2)))
void note(const char *fmt, ...);
/* Waits for the key Enter. */
void wait_for_enter(void);

/* report.c: what was told so far, in memory */
void report_add(const char *text, size_t len);
const char *report_text(void);
void report_set(const char *text);
void print_page(void);

/* machine.c: what the processor and the kernel say of the machine */
struct machine {
	char model[64];		/* the processor's name for itself */
	unsigned int signature;	/* CPUID.1:EAX: family, model, stepping */
	bool store;		/* the kernel can use the Debug Store */
};

extern struct machine machine;
void machine_find(void);
void machine_tell(void);

/* stick.c: the partition that this system was booted from */
/* Mounts the FAT partition whose serial number is @id; waits until it is there. */
void stick_mount(const char *id);
void stick_unmount(void);
/* Whole files, on the partition; without one these do nothing, and fail. */
bool stick_read(const char *name, char *text, size_t size);
bool stick_write(const char *name, const char *text);
void stick_rename(const char *from, const char *to);

/* steps.c: what is run */
enum outcome {
	NOT_RUN,
	RUNNING,
	PASSED,
	FAILED,
	CRASHED,
	TIMED_OUT,
	NO_HARDWARE,
};

struct step {
	const char *name;
	const char *what;
	const char *argv[8];	/* empty: the program questions, asked @name */
	unsigned int seconds;	/* that it takes, about */
	bool store;		/* needs the Debug Store */
	bool output;		/* what it prints is wanted, not only its results */
	bool crashes;		/* ends as a program that crashes */
	/* What came of it */
	enum outcome outcome;
	int passed, failed, skipped;
};

extern struct step steps[];
extern const size_t nr_steps;
extern const char *const outcome_names[];

/* Steps that are named in the list @only, with commas; all if it is NULL */
void steps_choose(const char *only);
unsigned int steps_seconds_left(void);
/* Fills in outcome and figures. */
void step_run(struct step *step);

/* state.c: how far the steps are, on the stick */
enum state { STATE_NEW, STATE_GOES_ON, STATE_DONE };
enum state state_load(void);
/* The step that was running when the machine was last switched off, or NULL */
extern const struct step *state_crashed;
void state_save(bool done);

/* klog.c: what the kernel complained of since the last call, to the report */
int klog_complaints(void);

#endif /* BTS_KIT_H */
