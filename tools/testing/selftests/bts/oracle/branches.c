// SPDX-License-Identifier: GPL-2.0
/*
 * From events to taken branches.
 *
 * An instruction is judged only when the next event is known, since that tells where control
 * went:
 *
 *   next address = its own             it did not complete (it faulted, was restarted, or is a REP
 *                                      iteration), or it is INT n, INT3 or INTO, or it branched to
 *                                      itself
 *   next address = the one behind it   it fell through, or branched to there
 *   otherwise                          it branched
 *
 * An instruction that is no branch must not have branched, and a direct branch that was taken must
 * have gone to its own target. Anything else means that the log is incomplete, and is an error: a
 * log that cannot be followed proves nothing.
 *
 * A vector through the IDT is a branch from the address that is pushed, or for INT n, INT3 and INTO
 * from the instruction itself (in both cases the `pc` of its event), to the address of the next
 * event. Two deliveries from one address, at the same CPL and with nothing between them, mean that
 * the first did not complete.
 */
#include <string.h>

#include "oracle.h"

#define MSR_DEBUGCTL	0x1d9
#define DEBUGCTL_TR	(1u << 6)
#define DEBUGCTL_BTS	(1u << 7)
#define DEBUGCTL_OFF_OS	(1u << 9)
#define DEBUGCTL_OFF_USR (1u << 10)

#define VECTOR_DB	1

bool is_user_address(u64 addr)
{
	return !(addr >> 63);
}

struct walk {
	struct decoder *d;
	const struct options *opt;
	struct totals *tot;
	branch_fn fn;
	void *arg;
	u64 debugctl;
	u64 new_debugctl;
	bool msr_waits;
	bool have_last;
	bool done;
	struct event last;
	char error[160];
};

static bool cpl_passes(const struct walk *w, int cpl)
{
	switch (w->opt->want) {
	case WANT_USER:
		return cpl == 3;
	case WANT_KERNEL:
		return cpl == 0;
	case WANT_BOTH:
		return true;
	case WANT_MSR:
		break;
	}
	return !(w->debugctl & (cpl ? DEBUGCTL_OFF_USR : DEBUGCTL_OFF_OS));
}

static bool rule_passes(const struct walk *w, int before, int after)
{
	switch (w->opt->rule) {
	case RULE_AFTER:
		return cpl_passes(w, after);
	case RULE_BEFORE:
		return cpl_passes(w, before);
	case RULE_EITHER:
		break;
	}
	return cpl_passes(w, before) || cpl_passes(w, after);
}

static bool is_on(u64 debugctl)
{
	const u64 on = DEBUGCTL_TR | DEBUGCTL_BTS;

	return (debugctl & on) == on;
}

/* Call this when a write of DEBUGCTL has completed. */
static void switch_debugctl(struct walk *w)
{
	if (w->opt->until_off && is_on(w->debugctl) && !is_on(w->new_debugctl))
		w->done = true;
	w->debugctl = w->new_debugctl;
}

static void emit(struct walk *w, struct branch *br)
{
	if (!is_on(w->debugctl))
		return;
	w->tot->kinds[br->kind]++;
	if (br->vector >= 0)
		w->tot->vectors[br->vector]++;
	if (!rule_passes(w, br->cpl_from, br->cpl_to))
		return;
	if (w->opt->user_addresses &&
	    !(is_user_address(br->from) && is_user_address(br->to)))
		return;
	w->tot->branches++;
	w->tot->open += br->open;
	if (!w->fn(w->arg, br))
		w->done = true;
}

static void bad_log(struct walk *w, const struct event *next, const char *why)
{
	char text[64];

	disassemble(w->d, w->last.pc, w->last.mode, text, sizeof(text));
	snprintf(w->error, sizeof(w->error),
		 "log line %llu: %#llx '%s' %s (line %llu: %#llx)",
		 (unsigned long long)w->last.line,
		 (unsigned long long)w->last.pc, text, why,
		 (unsigned long long)next->line, (unsigned long long)next->pc);
	w->done = true;
}

/* Returns whether this instruction can branch to its own address. */
static bool may_branch_to_itself(const struct insn *insn)
{
	if (insn->kind == INSN_PLAIN || insn->kind == INSN_INT)
		return false;
	return !insn->has_target || insn->target == insn->pc;
}

/*
 * @next is at the address of @insn. Returns whether @insn has branched to itself: it can do so, and
 * @next is an execution, an external interrupt or a single-step trap. Any other exception was
 * raised by @insn, which has not completed.
 */
static bool completed_to_itself(const struct walk *w, const struct insn *insn,
				const struct event *next)
{
	if (!may_branch_to_itself(insn))
		return false;
	if (next->type == EV_EXEC || next->external)
		return true;
	return next->vector == VECTOR_DB && w->last.tf;
}

/*
 * Set *@taken. If the log does not tell whether the branch was taken, set it to true, and br->open
 * as well. Returns false if the branch cannot go to @to.
 */
static bool judge_conditional(struct walk *w, const struct insn *insn, u64 to,
			      struct branch *br, bool *taken)
{
	*taken = to == insn->target;
	if (!*taken)
		return to == insn->next;
	if (insn->target != insn->next)
		return true;
	if (w->last.have_regs)
		*taken = insn_would_branch(insn, w->last.eflags, w->last.rcx);
	else
		br->open = true;
	return true;
}

static void judge_insn(struct walk *w, const struct event *next)
{
	const struct insn *insn;
	struct branch br;
	bool taken;

	insn = decode(w->d, w->last.pc, w->last.mode);
	if (!insn) {
		bad_log(w, next, "has no known bytes: give more --mem or --elf");
		return;
	}
	if (next->pc == insn->pc && !completed_to_itself(w, insn, next)) {
		w->msr_waits = false;
		if (next->type == EV_EXEC)
			w->tot->restarts++;
		else if (next->soft && insn->kind != INSN_INT)
			bad_log(w, next, "is no INT, but was delivered as one");
		return;
	}
	w->tot->insns++;
	br = (struct branch){
		.from = w->last.pc,
		.to = next->pc,
		.line = w->last.line,
		.cpl_from = w->last.cpl,
		.cpl_to = next->cpl,
		.mode = w->last.mode,
		.kind = insn->kind,
		.vector = -1,
	};
	switch (insn->kind) {
	case INSN_PLAIN:
		if (next->pc != insn->next)
			bad_log(w, next, "is no branch, but control went elsewhere");
		else if (w->msr_waits)
			switch_debugctl(w);
		w->msr_waits = false;
		return;
	case INSN_JCC:
	case INSN_LOOP:
		if (!judge_conditional(w, insn, next->pc, &br, &taken)) {
			bad_log(w, next, "cannot branch there");
			return;
		}
		if (taken)
			emit(w, &br);
		return;
	case INSN_INT:
		bad_log(w, next, "was not seen to go through the IDT");
		return;
	default:
		if (insn->has_target && next->pc != insn->target) {
			bad_log(w, next, "cannot branch there");
			return;
		}
		emit(w, &br);
	}
}

static void judge_vector(struct walk *w, const struct event *next)
{
	struct branch br = {
		.from = w->last.pc,
		.to = next->pc,
		.line = w->last.line,
		.cpl_from = w->last.cpl,
		.cpl_to = next->cpl,
		.mode = w->last.mode,
		.kind = INSN_INT,
		.vector = w->last.vector,
	};

	if (next->type == EV_INT && next->pc == w->last.pc &&
	    next->cpl == w->last.cpl) {
		w->tot->restarts++;
		return;
	}
	emit(w, &br);
}

static void judge(struct walk *w, const struct event *next)
{
	if (w->last.type == EV_INT)
		judge_vector(w, next);
	else
		judge_insn(w, next);
}

static void take_wrmsr(struct walk *w, const struct event *ev)
{
	if (ev->msr != MSR_DEBUGCTL)
		return;
	w->msr_waits = true;
	w->new_debugctl = w->opt->netburst ? ev->value << 4 : ev->value;
	w->tot->switches++;
}

static void take_event(struct walk *w, const struct event *ev)
{
	u8 mode = ev->type == EV_INT ? w->last.mode : ev->mode;

	if (w->have_last)
		judge(w, ev);
	w->last = *ev;
	w->last.mode = mode;
	w->have_last = true;
}

const char *walk_branches(struct execlog *log, struct decoder *d,
			  const struct options *opt, struct totals *tot,
			  branch_fn fn, void *arg)
{
	static struct walk w;
	struct event ev, held = { 0 };
	bool have_held = false;

	w = (struct walk){
		.d = d,
		.opt = opt,
		.tot = tot,
		.fn = fn,
		.arg = arg,
		.debugctl = opt->debugctl,
	};
	/*
	 * Hold each instruction until the next event: that may be EV_STOP, which tells that the
	 * instruction did not begin.
	 */
	while (!w.done) {
		execlog_next(log, &ev);
		if (ev.type == EV_STOP) {
			if (!have_held || held.pc != ev.pc) {
				snprintf(w.error, sizeof(w.error),
					 "log line %llu: stopped before %#llx, which did not start",
					 (unsigned long long)ev.line,
					 (unsigned long long)ev.pc);
				break;
			}
			have_held = false;
			tot->stopped++;
			continue;
		}
		if (have_held) {
			take_event(&w, &held);
			have_held = false;
		}
		if (ev.type == EV_END)
			break;
		if (ev.type == EV_WRMSR) {
			take_wrmsr(&w, &ev);
		} else if (ev.type == EV_EXEC) {
			held = ev;
			have_held = true;
		} else if (!w.done) {
			take_event(&w, &ev);
		}
	}
	return w.error[0] ? w.error : NULL;
}
