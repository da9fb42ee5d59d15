// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tracee.h"

/* The function that the tracee calls when it is continued after its SIGSTOP */
struct order {
	void (*what)(unsigned long arg);
	unsigned long arg;
};

void *shared_memory(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);

	if (mem == MAP_FAILED)
		give_up("no memory");
	return mem;
}

void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		give_up("%s", path);
	close(fd);
}

int bts(int request, pid_t pid, void *addr, unsigned long data)
{
	long ret = ptrace(request, pid, addr, data);

	return ret < 0 ? -errno : ret;
}

int bts_config(pid_t pid, uint32_t flags, uint32_t size, uint32_t signal)
{
	struct ptrace_bts_config config = {
		.size = size,
		.flags = flags,
		.signal = signal,
	};

	return bts(PTRACE_BTS_CONFIG, pid, &config, sizeof(config));
}

int bts_end(pid_t pid)
{
	return bts_config(pid, PTRACE_BTS_F_END, 0, 0);
}

struct ptrace_bts_info bts_info(void)
{
	struct ptrace_bts_info info = { .size = sizeof(info) };

	if (syscall(SYS_arch_prctl, ARCH_GET_PTRACE_BTS, &info))
		give_up("ARCH_GET_PTRACE_BTS");
	return info;
}

bool bts_hardware(void)
{
	return bts_info().source == PTRACE_BTS_SOURCE_DS;
}

struct ptrace_bts_status bts_status(pid_t pid)
{
	struct ptrace_bts_status status;

	if (bts(PTRACE_BTS_STATUS, pid, &status, sizeof(status)) != sizeof(status))
		give_up("PTRACE_BTS_STATUS");
	return status;
}

void trace_drain(pid_t pid, struct trace *out, size_t piece)
{
	int n;

	do {
		if (out->room - out->nr < piece) {
			out->room = 2 * out->room + piece;
			out->rec = realloc(out->rec, RECORDS(out->room));
			if (!out->rec)
				give_up("%zu records", out->room);
		}
		n = bts(PTRACE_BTS_DRAIN, pid, out->rec + out->nr, RECORDS(piece));
		if (n < 0)
			give_up("PTRACE_BTS_DRAIN");
		out->nr += n;
	} while (n);
}

void trace_free(struct trace *t)
{
	free(t->rec);
	memset(t, 0, sizeof(*t));
}

size_t trace_count(const struct trace *t, unsigned int type)
{
	size_t i, n = 0;

	for (i = 0; i < t->nr; i++)
		n += t->rec[i].type == type;
	return n;
}

static bool leaks(const struct x86_bts_record *rec)
{
	switch (rec->type) {
	case X86_BTS_BRANCH:
	case X86_BTS_SIGNAL:
	case X86_BTS_SIGRETURN:
		return rec->branch.from >= USER_END || rec->branch.to >= USER_END;
	case X86_BTS_ENTER:
		return rec->branch.from >= USER_END || rec->branch.to;
	case X86_BTS_LEAVE:
		return rec->branch.from || rec->branch.to >= USER_END;
	case X86_BTS_TASK_ARRIVES:
	case X86_BTS_TASK_DEPARTS:
	case X86_BTS_LOST:
	case X86_BTS_EXEC:
		return false;
	}
	return true;
}

long trace_leak(const struct trace *t)
{
	size_t i;

	for (i = 0; i < t->nr; i++) {
		if (leaks(&t->rec[i]))
			return i;
	}
	return -1;
}

void trace_print(const struct trace *t, size_t at)
{
	size_t i = at > 4 ? at - 4 : 0;

	for (; i < at + 4 && i < t->nr; i++)
		printf("# %c %zu: %u %#llx %#llx\n", i == at ? '>' : ' ', i,
		       t->rec[i].type, t->rec[i].branch.from, t->rec[i].branch.to);
}

static void obey(struct order *order)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	for (;;) {
		raise(SIGSTOP);
		order->what(order->arg);
	}
}

struct tracee tracee_new(void)
{
	struct tracee t = { .order = shared_memory(sizeof(*t.order)) };
	int status;

	t.pid = fork();
	if (t.pid < 0)
		give_up("fork");
	if (!t.pid)
		obey(t.order);
	if (waitpid(t.pid, &status, 0) != t.pid || !stopped_by(status, SIGSTOP))
		give_up("no child that stops");
	if (ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_EXITKILL))
		give_up("PTRACE_SETOPTIONS");
	return t;
}

bool stopped_by(int status, int signal)
{
	return WIFSTOPPED(status) && status >> 8 == signal;
}

int tracee_continue(pid_t pid, int signal)
{
	int status;

	if (ptrace(PTRACE_CONT, pid, 0, signal))
		give_up("PTRACE_CONT");
	if (waitpid(pid, &status, __WALL) != pid)
		give_up("waitpid");
	return status;
}

void tracee_begin(const struct tracee *t, void (*what)(unsigned long), unsigned long arg)
{
	t->order->what = what;
	t->order->arg = arg;
}

void tracee_do(const struct tracee *t, void (*what)(unsigned long), unsigned long arg)
{
	int status;

	tracee_begin(t, what, arg);
	status = tracee_continue(t->pid, 0);
	if (!stopped_by(status, SIGSTOP))
		give_up("the tracee has status %#x", status);
}

void tracee_end(const struct tracee *t)
{
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, __WALL);
	munmap(t->order, sizeof(*t->order));
}

/* The compiler must not inline or copy this function: its labels may exist only once. */
__attribute__((noinline, noclone))
void known_work(unsigned long n)
{
	asm volatile(".globl known_loop, known_site\n"
		     "known_loop: dec %0\n"
		     "known_site: jnz known_loop\n"
		     : "+r" (n) : : "cc");
}

static bool is_known(const struct x86_bts_record *rec)
{
	return rec->type == X86_BTS_BRANCH && rec->branch.from == (uintptr_t)known_site &&
	       rec->branch.to == (uintptr_t)known_loop;
}

size_t count_known_in_row(const struct trace *t)
{
	size_t i, n = 0, others = 0;

	for (i = 0; i < t->nr; i++) {
		if (!is_known(&t->rec[i])) {
			others += n && t->rec[i].type == X86_BTS_BRANCH;
			continue;
		}
		/* Another branch came between two known ones. */
		if (others)
			return 0;
		n++;
	}
	return n;
}
