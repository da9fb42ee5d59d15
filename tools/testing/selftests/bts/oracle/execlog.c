// SPDX-License-Identifier: GPL-2.0
/*
 * Read the log of QEMU 7.2 with `-d exec,nochain,int` and -singlestep. Then each Trace line is for
 * one instruction, or for one iteration of REP. Only a QEMU with the patches in ../qemu writes the
 * line wrmsr.
 *
 *   Trace CPU: HOST [CSBASE/PC/FLAGS/CFLAGS] SYMBOL   about to execute PC
 *   Stopped execution of TB chain before HOST [PC]    it was not executed after all
 *   COUNT: v=VV e=.. i=S cpl=C IP=.. pc=PC ...        delivers an IDT vector
 *   Servicing hardware INT=0x..                       the next v= is an external interrupt
 *   wrmsr MSR VALUE                                   an MSR is about to change
 *
 * If -d also has `cpu`, the registers follow each Trace line: RCX and the flags are read. Other
 * lines are ignored.
 */
#include <string.h>

#include "oracle.h"

/* Bits of FLAGS: QEMU's hflags, and some of EFLAGS. */
#define HF_CPL_MASK	0x00003
#define HF_CS32		0x00010
#define HF_TF		0x00100
#define HF_CS64		0x08000
#define HF_VM		0x20000

#define VECTOR_NMI	2
#define NR_EXCEPTIONS	32

static const char *skip_to(const char *p, const char *end, const char *what)
{
	const char *hit = memmem(p, end - p, what, strlen(what));

	return hit ? hit + strlen(what) : NULL;
}

static u64 parse_hex(const char **pos, const char *end)
{
	const char *p = *pos;
	u64 val = 0;
	int digit;

	for (; p < end; p++) {
		if (*p >= '0' && *p <= '9')
			digit = *p - '0';
		else if (*p >= 'a' && *p <= 'f')
			digit = *p - 'a' + 10;
		else
			break;
		val = val << 4 | digit;
	}
	*pos = p;
	return val;
}

static bool field_hex(const char *p, const char *end, const char *name, u64 *val)
{
	p = skip_to(p, end, name);
	if (!p)
		return false;
	*val = parse_hex(&p, end);
	return true;
}

static int mode_of(u32 flags)
{
	if (flags & HF_CS64)
		return 64;
	return flags & HF_CS32 ? 32 : 16;
}

static bool parse_trace(struct execlog *log, const char *p, const char *end,
			struct event *ev)
{
	const char *start = p;
	u32 flags;
	int cpu;

	p += strlen("Trace ");
	cpu = parse_hex(&p, end);
	p = memchr(p, '[', end - p);
	if (!p)
		die("log line %llu: no address in '%.*s'",
		    (unsigned long long)log->line, (int)(end - start), start);
	if (log->cpu >= 0 && log->cpu != cpu)
		die("log line %llu: CPU %d beside CPU %d; log one CPU",
		    (unsigned long long)log->line, cpu, log->cpu);
	log->cpu = cpu;
	p++;
	parse_hex(&p, end);
	p++;
	ev->pc = parse_hex(&p, end);
	p++;
	flags = parse_hex(&p, end);
	ev->type = EV_EXEC;
	ev->mode = mode_of(flags);
	ev->cpl = flags & HF_VM ? 3 : flags & HF_CPL_MASK;
	ev->tf = flags & HF_TF;
	return true;
}

static bool parse_stop(const char *p, const char *end, struct event *ev)
{
	p = memchr(p, '[', end - p);
	if (!p)
		return false;
	p++;
	ev->type = EV_STOP;
	ev->pc = parse_hex(&p, end);
	return true;
}

static bool parse_vector(struct execlog *log, const char *p, const char *end,
			 struct event *ev)
{
	u64 val = 0;

	p = skip_to(p, end, ": v=");
	if (!p)
		return false;
	ev->type = EV_INT;
	ev->vector = parse_hex(&p, end);
	if (field_hex(p, end, " i=", &val))
		ev->soft = val;
	if (field_hex(p, end, " cpl=", &val))
		ev->cpl = val;
	if (!field_hex(p, end, " pc=", &ev->pc))
		return false;
	ev->external = !ev->soft && (log->external_next ||
				     ev->vector == VECTOR_NMI ||
				     ev->vector >= NR_EXCEPTIONS);
	log->external_next = false;
	return true;
}

static bool parse_wrmsr(const char *p, const char *end, struct event *ev)
{
	p += strlen("wrmsr ");
	ev->type = EV_WRMSR;
	ev->msr = parse_hex(&p, end);
	if (p == end)
		return false;
	p++;
	ev->value = parse_hex(&p, end);
	return true;
}

/* Parse a line of a register dump. Ignore it if the dump does not follow a Trace line. */
static void parse_registers(struct execlog *log, const char *p, const char *end)
{
	u64 val;

	if (!log->have_pending || log->pending.type != EV_EXEC)
		return;
	if (field_hex(p, end, "CX=", &val))
		log->pending.rcx = val;
	if (field_hex(p, end, "FL=", &val)) {
		log->pending.eflags = val;
		log->pending.have_regs = true;
	}
}

static bool starts(const char *p, const char *end, const char *what)
{
	size_t n = strlen(what);

	return (size_t)(end - p) >= n && !memcmp(p, what, n);
}

static bool parse_line(struct execlog *log, const char *p, const char *end,
		       struct event *ev)
{
	*ev = (struct event){ .line = log->line };
	switch (*p) {
	case 'T':
		return starts(p, end, "Trace ") && parse_trace(log, p, end, ev);
	case 'S':
		if (starts(p, end, "Servicing hardware"))
			log->external_next = true;
		return starts(p, end, "Stopped") && parse_stop(p, end, ev);
	case 'w':
		return starts(p, end, "wrmsr ") && parse_wrmsr(p, end, ev);
	case 'R':
	case 'E':
		parse_registers(log, p, end);
		return false;
	default:
		/* "%6d: v=": blanks precede a small count */
		if (*p == ' ' || (*p >= '0' && *p <= '9'))
			return parse_vector(log, p, end, ev);
		return false;
	}
}

void execlog_init(struct execlog *log, const char *text, size_t size)
{
	*log = (struct execlog){
		.pos = text,
		.end = text + size,
		.cpu = -1,
	};
}

static bool read_event(struct execlog *log, struct event *ev)
{
	const char *line, *end;

	while (log->pos < log->end) {
		line = log->pos;
		end = memchr(line, '\n', log->end - line);
		if (!end)
			end = log->end;
		log->pos = end < log->end ? end + 1 : end;
		log->line++;
		if (line < end && parse_line(log, line, end, ev))
			return true;
	}
	return false;
}

void execlog_next(struct execlog *log, struct event *ev)
{
	struct event next;
	bool more;

	/* Hold back one event until the registers behind it are read. */
	for (;;) {
		more = read_event(log, &next);
		if (log->have_pending) {
			*ev = log->pending;
			log->pending = next;
			log->have_pending = more;
			return;
		}
		if (!more) {
			*ev = (struct event){ .type = EV_END, .line = log->line };
			return;
		}
		log->pending = next;
		log->have_pending = true;
	}
}
