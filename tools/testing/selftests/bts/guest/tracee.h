/* SPDX-License-Identifier: GPL-2.0 */
/* Tracees, and their traces by PTRACE_BTS_*. Shared by many test programs. */
#ifndef BTS_GUEST_TRACEE_H
#define BTS_GUEST_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include <asm/ptrace_bts.h>

#include "guest.h"

#define TRACE		PTRACE_BTS_F_TRACE
#define SCHED		PTRACE_BTS_F_SCHED
#define SIGNAL		PTRACE_BTS_F_SIGNAL
#define ALLOC		PTRACE_BTS_F_ALLOC
#define KERNEL		PTRACE_BTS_F_KERNEL
#define STOP_FULL	PTRACE_BTS_F_STOP_FULL
#define INHERIT		PTRACE_BTS_F_INHERIT
#define ENTRY		PTRACE_BTS_F_ENTRY

#ifndef ARCH_GET_PTRACE_BTS
#define ARCH_GET_PTRACE_BTS	0x1031
#endif

#define RECORDS(n)	((n) * (unsigned int)sizeof(struct x86_bts_record))

struct trace {
	struct x86_bts_record *rec;
	size_t nr;
	size_t room;
};

void *shared_memory(size_t size);
void write_file(const char *path, const char *text);

/* bts(), bts_config() and bts_end() make one request. They return its result or -errno. */
int bts(int request, pid_t pid, void *addr, unsigned long data);
int bts_config(pid_t pid, uint32_t flags, uint32_t size, uint32_t signal);
int bts_end(pid_t pid);
struct ptrace_bts_status bts_status(pid_t pid);
/* Returns what ARCH_GET_PTRACE_BTS reports about the default source (PTRACE_BTS_SOURCE_ANY). */
struct ptrace_bts_info bts_info(void);
/* Returns whether the default source is hardware, the Debug Store, and not single-stepping. */
bool bts_hardware(void);

/* Moves all records of the trace to the end of @out, by requests of at most @piece records. */
void trace_drain(pid_t pid, struct trace *out, size_t piece);
void trace_free(struct trace *t);
size_t trace_count(const struct trace *t, unsigned int type);
/* Returns the index of the first record that has a kernel address or is not valid, or -1. */
long trace_leak(const struct trace *t);
/* Prints the record @at, four before it and three after it. */
void trace_print(const struct trace *t, size_t at);

/* A child that repeatedly stops itself by SIGSTOP and, when continued, executes its order. */
struct tracee {
	pid_t pid;
	struct order *order;
};

struct tracee tracee_new(void);
/* Have the tracee execute @what(@arg). Returns when the tracee has stopped itself again. */
void tracee_do(const struct tracee *t, void (*what)(unsigned long), unsigned long arg);
/* Only set the order: the caller continues the tracee and handles its stops. */
void tracee_begin(const struct tracee *t, void (*what)(unsigned long), unsigned long arg);
void tracee_end(const struct tracee *t);
/* Continue with @signal; returns waitpid()'s status of the next stop or of the end. */
int tracee_continue(pid_t pid, int signal);
bool stopped_by(int status, int signal);

/* Takes @n - 1 branches from known_site to known_loop. */
void known_work(unsigned long n);
extern const char known_loop[], known_site[];
/*
 * Returns the number of known_work()'s branches in @t, or 0 if another record of type
 * X86_BTS_BRANCH is between two of them. Records of other types (interrupts) may be between them.
 */
size_t count_known_in_row(const struct trace *t);

#endif
