// SPDX-License-Identifier: GPL-2.0
/* This file reads what /proc and ptrace tell of a thread. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "proc.h"

#define USER64_CS	0x33

/* The index of EIP among the registers of a 32-bit thread */
#define EIP		12

/* Read all of /proc/@tid/@file. Returns false on failure. */
bool bt_proc_read(struct bt_buffer *b, pid_t tid, const char *file)
{
	char path[64];
	ssize_t n;
	int fd;

	b->len = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	do {
		b->bytes = bt_grow(b->bytes, &b->room, b->len + 16384, 1);
		n = read(fd, b->bytes + b->len, b->room - b->len);
		if (n > 0)
			b->len += n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	close(fd);
	return n == 0;
}

bool bt_proc_comm(pid_t tid, char *comm, size_t len)
{
	struct bt_buffer b = {};
	bool found = bt_proc_read(&b, tid, "comm") && b.len;

	snprintf(comm, len, "%.*s", found ? (int)b.len - 1 : 1, found ? b.bytes : "?");
	free(b.bytes);
	return found;
}

/*
 * Returns the number that follows @key in /proc/@tid/status, or 0 if there is none. @key is a
 * newline, and the beginning of a line.
 */
static pid_t status_number(pid_t tid, const char *key)
{
	struct bt_buffer b = {};
	pid_t number = 0;
	char *line;

	if (bt_proc_read(&b, tid, "status")) {
		b.bytes = bt_grow(b.bytes, &b.room, b.len + 1, 1);
		b.bytes[b.len] = '\0';
		line = strstr(b.bytes, key);
		number = line ? atoi(line + strlen(key)) : 0;
	}
	free(b.bytes);
	return number;
}

/* Returns the ID of the process that @tid belongs to, or @tid if /proc cannot be read. */
pid_t bt_proc_tgid(pid_t tid)
{
	pid_t tgid = status_number(tid, "\nTgid:");

	return tgid > 0 ? tgid : tid;
}

/* Returns the ID of the thread that traces @tid, or 0. */
pid_t bt_proc_tracer(pid_t tid)
{
	return status_number(tid, "\nTracerPid:");
}

union registers {
	struct user_regs_struct of64;
	u32 of32[17];
};

/*
 * Returns the number of bytes that the registers have, which tells 32-bit from 64-bit
 * threads. Returns 0 if the registers cannot be read.
 */
static size_t get_registers(pid_t tid, union registers *regs)
{
	struct iovec iov = { regs, sizeof(*regs) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov) ? 0 : iov.iov_len;
}

/*
 * Does a stopped thread execute 64-bit code? If its registers cannot be read, assume that it
 * does.
 */
bool bt_proc_is64(pid_t tid)
{
	union registers regs;
	size_t len = get_registers(tid, &regs);

	return !len || (len == sizeof(regs.of64) && regs.of64.cs == USER64_CS);
}

/* Returns the address of the instruction that a stopped thread executes next, or 0. */
u64 bt_proc_ip(pid_t tid)
{
	union registers regs;

	switch (get_registers(tid, &regs)) {
	case sizeof(regs.of64):
		return regs.of64.rip;
	case sizeof(regs.of32):
		return regs.of32[EIP];
	}
	return 0;
}

/*
 * Set *@tids to the IDs of the threads of a process, and return their number: 0 if there is
 * no such process. The caller frees *@tids.
 */
size_t bt_proc_threads(pid_t tgid, pid_t **tids)
{
	struct dirent *entry;
	size_t n = 0, room = 0;
	char path[64];
	DIR *dir;

	*tids = NULL;
	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		if (atoi(entry->d_name) <= 0)
			continue;
		*tids = bt_grow(*tids, &room, n + 1, sizeof(**tids));
		(*tids)[n++] = atoi(entry->d_name);
	}
	closedir(dir);
	return n;
}
