// SPDX-License-Identifier: GPL-2.0
/*
 * This file derives the call stack of a thread from its branches. The stack is a guess: if the
 * instruction that branches is not in the function of the innermost frame, settle() corrects
 * the stack. This happens, for example, if records are missing, after a signal, or if code runs
 * on from one symbol into the next.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* The limit of @nr of struct bt_calls: a recursion may never end. @beyond counts the rest. */
static size_t frames_max = 1024 * 1024;

/* Use no more than @bytes for the frames of one thread. */
void bt_calls_memory(u64 bytes)
{
	size_t most = bytes / sizeof(struct bt_frame);

	/* Choose a power of two: bt_grow() rounds up to a power of two. */
	for (frames_max = 1; frames_max <= most / 2; frames_max *= 2)
		;
}

struct bt_calls *bt_calls_new(void)
{
	return bt_alloc(1, sizeof(struct bt_calls));
}

/*
 * Are @a and @b parts of one function? The compiler moves the code that foo() seldom executes
 * to the symbol foo.cold.
 */
static bool is_cold_part(const struct bt_function *a, const struct bt_function *b)
{
	size_t len_a, len_b;

	if (!a->named || !b->named)
		return false;
	len_a = strcspn(a->name, ".");
	len_b = strcspn(b->name, ".");
	return (a->name[len_a] || b->name[len_b]) && len_a && len_a == len_b &&
	       !memcmp(a->name, b->name, len_a) &&
	       (strstr(a->name + len_a, ".cold") || strstr(b->name + len_b, ".cold"));
}

/* Inline: called for most branches, mostly with @a == @b. */
static inline bool same_function(const struct bt_function *a, const struct bt_function *b)
{
	return a == b || is_cold_part(a, b);
}

/*
 * Is @frame a PLT stub of no known function, as the first PLT stub is, and @to in the dynamic
 * linker? With lazy binding, the first call of a function goes from its PLT stub to the first PLT
 * stub, and from there to the dynamic linker, which looks up the function and jumps to it.
 */
static bool is_linker(const struct bt_frame *frame, const struct bt_place *to)
{
	return frame->fn->plt && !frame->fn->alias &&
	       (!strncmp(to->module->name, "ld-", 3) || !strncmp(to->module->name, "ld.so", 5));
}

static struct bt_frame *top_of(struct bt_calls *c)
{
	return c->nr ? &c->frame[c->nr - 1] : NULL;
}

static void call_enter(struct bt_calls *c, struct bt_frame *frame)
{
	if (c->enter)
		c->enter(c, frame);
}

static void push(struct bt_calls *c, const struct bt_place *place, struct bt_frame frame)
{
	const struct bt_frame *below = top_of(c);

	if (c->nr == frames_max) {
		c->beyond++;
		return;
	}
	frame.fn = place->fn;
	frame.module = place->module;
	frame.begin = c->records;
	frame.quiet = below && (below->hop || below->quiet);
	frame.hop = frame.hop || place->fn->plt;
	c->frame = bt_grow(c->frame, &c->room, c->nr + 1, sizeof(frame));
	c->frame[c->nr++] = frame;
	if (c->nr > c->deepest)
		c->deepest = c->nr;
	if (!frame.quiet && !frame.hop)
		call_enter(c, top_of(c));
}

static void pop(struct bt_calls *c)
{
	struct bt_frame *top;

	if (c->beyond) {
		c->beyond--;
		return;
	}
	top = top_of(c);
	/* The hop ends without a jump to a function: tell the output of the hop itself. */
	if (top->hop && !top->quiet)
		call_enter(c, top);
	if (c->leave && !top->quiet)
		c->leave(c, top);
	c->nr--;
}

/*
 * The top frame is a hop, which jumps to @to. Turn the frame into that of the function at @to,
 * which is another hop, or the function that the program called.
 */
static void arrive(struct bt_calls *c, const struct bt_place *to)
{
	struct bt_frame *top = top_of(c);
	struct bt_alias *called = top->called;
	u64 hidden = c->hidden;

	if (!called && top->fn->plt && top->fn->alias)
		called = top->fn->alias;
	if (to->fn->plt || is_linker(top, to)) {
		top->called = called;
		top->fn = to->fn;
		top->module = to->module;
		return;
	}
	*top = (struct bt_frame){
		.fn = to->fn, .module = to->module, .back = top->back, .tail = top->tail,
		.begin = top->begin,
		.called = called, .quiet = top->quiet,
	};
	if (top->quiet)
		return;
	call_enter(c, top);
	/*
	 * The first hidden branch is the call of the PLT stub, or a jump to it. If there are
	 * more, assume that the dynamic linker has run.
	 */
	if (c->resolved && hidden > 1) {
		c->hidden = 0;
		c->resolved(c, top, hidden);
	}
}

/* End the top frame and, if it began by a tail call, the frames below that end with it. */
static void pop_whole(struct bt_calls *c)
{
	bool tail;

	do {
		tail = !c->beyond && top_of(c)->tail;
		pop(c);
	} while (tail && c->nr);
}

static void unwind_to(struct bt_calls *c, size_t nr)
{
	c->beyond = 0;
	while (c->nr > nr) {
		c->unwound += !top_of(c)->tail && !top_of(c)->signal;
		pop(c);
	}
}

/* Returns the number of frames from the outermost to the innermost of @fn; 0 if there is none. */
static size_t find_function(const struct bt_calls *c, const struct bt_function *fn)
{
	size_t nr;

	for (nr = c->nr; nr; nr--)
		if (same_function(c->frame[nr - 1].fn, fn))
			break;
	return nr;
}

/* Replace the top frame by one for the function at @place, which returns to the same address. */
static void shift(struct bt_calls *c, const struct bt_place *place)
{
	struct bt_frame frame = *top_of(c);

	pop(c);
	frame.hop = false;
	frame.called = NULL;
	push(c, place, frame);
}

/* The thread executes @place. If the top frame is of another function, correct the stack. */
static void settle(struct bt_calls *c, const struct bt_place *place)
{
	size_t nr;

	if (c->nr && same_function(top_of(c)->fn, place->fn)) {
		c->lost = false;
		return;
	}
	nr = find_function(c, place->fn);
	if (nr) {
		unwind_to(c, nr);
	} else if (c->lost || !c->nr) {
		unwind_to(c, 0);
		push(c, place, (struct bt_frame){});
	} else {
		c->shifts++;
		shift(c, place);
	}
	c->lost = false;
}

static void call(struct bt_calls *c, const struct bt_branch *b)
{
	u64 back = b->from->addr + b->from->insn.length;

	/*
	 * Position independent code calls the next instruction to learn its own address.
	 * That is no call of a function.
	 */
	if (b->to->addr == back)
		return;
	c->calls++;
	push(c, b->to, (struct bt_frame){ .back = back });
}

/*
 * A tail call: the function of the top frame ends by a jump to @to. Its frame stays until the
 * function at @to returns. A hop gives its frame to the function at @to instead.
 */
static void replace_by(struct bt_calls *c, const struct bt_place *to)
{
	struct bt_frame *top = top_of(c);
	size_t nr;

	c->tails++;
	if (top->hop) {
		arrive(c, to);
		return;
	}
	/*
	 * Two functions may end by jumping to each other in turn: do not add a frame each
	 * time.
	 */
	for (nr = c->nr; nr > 1 && c->frame[nr - 1].tail; nr--) {
		if (c->frame[nr - 2].fn == to->fn) {
			unwind_to(c, nr - 1);
			return;
		}
	}
	push(c, to, (struct bt_frame){ .back = top->back, .tail = true });
}

/*
 * Can @place be the first instruction of a function? If the bounds of the function are not
 * known, assume that it can, unless a call instruction is right before it.
 */
static bool begins_function(const struct bt_place *place)
{
	return place->fn->named || place->fn->whole ? !place->offset : !place->follows_call;
}

static void jump(struct bt_calls *c, const struct bt_branch *b)
{
	if (same_function(top_of(c)->fn, b->to->fn))
		return;
	if (begins_function(b->to))
		replace_by(c, b->to);
	else
		settle(c, b->to);
}

static void unmatched_return(struct bt_calls *c, const struct bt_branch *b)
{
	struct bt_frame *top = top_of(c);
	size_t nr = c->nr;

	while (nr > 1 && c->frame[nr - 1].tail)
		nr--;
	if (c->frame[nr - 1].signal) {
		/* A signal handler returns to code that calls sigreturn(). */
		unwind_to(c, nr);
		shift(c, b->to);
		return;
	}
	/* Treat a return to the beginning of a function as a tail call: RET can act as a jump. */
	if (b->to->fn->named && !b->to->offset) {
		replace_by(c, b->to);
		return;
	}
	/*
	 * Do not count the return of the outermost function if its call is not in the trace.
	 */
	c->unmatched += nr > 1 || top->back;
	pop_whole(c);
	settle(c, b->to);
}

static void ret(struct bt_calls *c, const struct bt_branch *b)
{
	u64 to = b->to->addr;
	size_t nr;

	if (c->beyond) {
		c->returns++;
		pop(c);
		return;
	}
	if (top_of(c)->back == to) {
		c->returns++;
		pop_whole(c);
		return;
	}
	for (nr = c->nr; nr; nr--)
		if (c->frame[nr - 1].back == to && !c->frame[nr - 1].tail)
			break;
	if (!nr) {
		unmatched_return(c, b);
		return;
	}
	c->returns++;
	unwind_to(c, nr);
	pop(c);
}

/* The kernel returns to @to in user mode: maybe to a signal handler, or back from one. */
static void leave_kernel(struct bt_calls *c, const struct bt_place *to)
{
	size_t nr;

	for (nr = c->nr; nr && !c->frame[nr - 1].kernel; )
		nr--;
	while (nr && c->nr >= nr)
		pop(c);
	if (c->nr && !c->lost && !same_function(top_of(c)->fn, to->fn)) {
		if (begins_function(to) && !to->follows_syscall) {
			push(c, to, (struct bt_frame){ .signal = true });
			return;
		}
		/* The signal handler has ended. */
		if (top_of(c)->signal)
			pop(c);
	}
	settle(c, to);
}

/*
 * A branch into the kernel or within it. Treat a branch to the beginning of another function as
 * a call: if the code of the kernel cannot be read, the kind of the branch is unknown.
 */
static void kernel_branch(struct bt_calls *c, const struct bt_branch *b)
{
	if (!BT_IS_KERNEL(b->from->addr)) {
		push(c, b->to, (struct bt_frame){ .kernel = true });
		return;
	}
	settle(c, b->from);
	if (same_function(b->from->fn, b->to->fn))
		return;
	if (b->to->offset)
		settle(c, b->to);
	else
		push(c, b->to, (struct bt_frame){});
}

static void branch(struct bt_calls *c, const struct bt_branch *b)
{
	if (BT_IS_KERNEL(b->to->addr)) {
		kernel_branch(c, b);
		return;
	}
	if (BT_IS_KERNEL(b->from->addr)) {
		leave_kernel(c, b->to);
		return;
	}
	if (!c->beyond)
		settle(c, b->from);
	switch (b->kind) {
	case BT_CALL:
		call(c, b);
		break;
	case BT_RET:
		ret(c, b);
		break;
	default:
		if (!c->beyond)
			jump(c, b);
	}
}

static void handle_record(struct bt_calls *c, const struct bt_branch *b)
{
	switch (b->rec->type) {
	case X86_BTS_LOST:
		c->gaps++;
		c->lost = true;
		return;
	case X86_BTS_EXEC:
		bt_calls_end(c);
		return;
	case X86_BTS_LEAVE:
		leave_kernel(c, b->to);
		break;
	case X86_BTS_ENTER:
		settle(c, b->from);
		break;
	case X86_BTS_BRANCH:
		branch(c, b);
		break;
	default:
		return;
	}
}

/* Update the stack and the counts with the next record. */
void bt_calls_branch(struct bt_calls *c, const struct bt_branch *b)
{
	c->branches += bt_is_branch(b->rec);
	handle_record(c, b);
	c->records++;
}

/*
 * bt_calls_branch_frame - find the frame to count the last branch for
 * @c: the call stack; bt_calls_branch() was called for the last branch
 * @branches: set to the number of branches to count for the frame: 1, plus the branches of a
 *	hop that has just ended, unless @resolved got them. Set to 0 while a hop runs.
 *
 * Returns the frame, or NULL if there is none or a hop runs.
 */
struct bt_frame *bt_calls_branch_frame(struct bt_calls *c, u64 *branches)
{
	struct bt_frame *top = top_of(c);

	if (top && (top->hop || top->quiet)) {
		c->hidden++;
		*branches = 0;
		return NULL;
	}
	*branches = c->hidden + 1;
	c->hidden = 0;
	return top;
}

/*
 * Returns the name that the program called the function by. If that is unknown, returns the
 * function's own name.
 */
const char *bt_frame_name(const struct bt_frame *frame)
{
	return frame->called ? bt_alias_name(frame->called) : bt_function_name(frame->fn);
}

struct bt_frame *bt_frame_caller(struct bt_calls *c, struct bt_frame *frame)
{
	while (frame-- > c->frame)
		if (!frame->hop && !frame->quiet)
			return frame;
	return NULL;
}

/* No records of this program follow: end all frames. */
void bt_calls_end(struct bt_calls *c)
{
	c->beyond = 0;
	while (c->nr)
		pop(c);
}

void bt_calls_free(struct bt_calls *c)
{
	if (!c)
		return;
	free(c->frame);
	free(c);
}

/* Are @unwound, @unmatched and @gaps 0? */
bool bt_calls_balanced(const struct bt_calls *c)
{
	return !c->unwound && !c->unmatched && !c->gaps;
}
