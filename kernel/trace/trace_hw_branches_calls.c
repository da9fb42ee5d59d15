// SPDX-License-Identifier: GPL-2.0
/*
 * Fold last branches: thunks, calls, and stays in the kernel
 *
 * The walk goes from the newest branch to the oldest. The word exception includes interrupts here:
 *
 *  - A thunk is code that runs in place of a return or of an indirect branch, as a
 *    mitigation. hw_branches_join() joins the branches to, in and from a thunk to one branch,
 *    from the code that entered the thunk to the code that the thunk went to.
 *  - A call or exception that has returned is one line, with the number of branches from the
 *    call to the return, unless the line of a stay stands for it. To find the call or exception
 *    of a return, the walk counts levels: each return from a call or an exception opens one
 *    level, and each call and each exception closes one. The call or exception that closes the
 *    first level must match the return. A return from a call must go to the instruction after
 *    the call. A return from an exception must go to the beginning of the interrupted instruction,
 *    or at most HW_BRANCHES_INSN bytes further. The two do not match, for example, if the return
 *    address was changed, or if the exception was fixed up. The call or exception is not found if
 *    it is older than the oldest record, if an entry from user mode or HW_BRANCH_BREAK is between
 *    it and the return, or if the searches of the walk have read HW_BRANCHES_SEARCH branches. In
 *    all these cases, the return is a line of its own, and the walk continues with the branch
 *    before the return.
 *  - A stay in the kernel that has ended is one line: the entry from user mode, with the number
 *    of branches until the CPU returned to user mode. A line before it shows the longest call of
 *    the stay, if there is one: the innermost call or exception that contains at least half of
 *    these branches. A stay is not folded if its entry is older than the oldest record, if
 *    HW_BRANCH_BREAK is in the stay, or if the searches have read HW_BRANCHES_SEARCH branches.
 *
 * This code runs in any context: it takes no lock and allocates no memory, and only the
 * functions of struct hw_branches_reader access memory other than the caller's.
 */

#include "trace_hw_branches_fold.h"

/*
 * The largest number of branches to and in a thunk that are joined with the one that leaves it.
 * With call depth tracking, there can be 18: the jump to the thunk, a jump in it, and 16 calls that
 * fill the return stack buffer.
 */
#define HW_BRANCHES_HOPS	20

/**
 * struct hw_branches_joined - a branch, joined with those to and in a thunk that it leaves
 * @branch:	the branch
 * @kind:	the kind of the branch
 * @back:	the address that a call returns to, or that an exception has interrupted; or 0
 * @next:	the number of the next older record; 0 is the newest
 */
struct hw_branches_joined {
	struct hw_branch	branch;
	enum hw_branch_kind	kind;
	u64			back;
	u32			next;
};

static enum hw_branch_kind hw_branches_kind(const struct hw_branches_fold *fold,
					    const struct hw_branch *branch, u64 *back)
{
	*back = 0;
	if (!branch->from && !branch->to)
		return HW_BRANCH_BREAK;
	if (branch->from == HW_BRANCH_USER)
		return HW_BRANCH_FROM_USER;

	return fold->reader->kind(fold->data, branch, back);
}

static bool hw_branches_is_thunk(const struct hw_branches_fold *fold, u64 address)
{
	return fold->reader->is_thunk(fold->data, address);
}

/*
 * Tell whether to join @older, which is of @kind, with the newer branch whose source is @from. Both
 * @from and the target of @older must be in a thunk. Do not join an exception, the return from one,
 * a branch from user mode or HW_BRANCH_BREAK. Join HW_BRANCH_OTHER, too: a thunk may contain
 * conditional jumps, and calls that fill the return stack buffer.
 */
static bool hw_branches_joins(const struct hw_branches_fold *fold, u64 from,
			      const struct hw_branch *older, enum hw_branch_kind kind)
{
	if (kind == HW_BRANCH_BREAK || kind == HW_BRANCH_FROM_USER || kind == HW_BRANCH_ENTRY ||
	    kind == HW_BRANCH_EXIT)
		return false;

	return hw_branches_is_thunk(fold, from) && hw_branches_is_thunk(fold, older->to);
}

/*
 * Read branch number @at. If it leaves a thunk, join it with the branches to and in the thunk.
 * Return false if there is no branch of this number.
 */
static bool hw_branches_join(const struct hw_branches_fold *fold, u32 at,
			     struct hw_branches_joined *joined)
{
	struct hw_branches_joined first;
	struct hw_branch older;
	enum hw_branch_kind kind;
	u32 hops = HW_BRANCHES_HOPS;
	u64 back;

	if (!fold->reader->get(fold->data, at, &joined->branch))
		return false;

	joined->kind = hw_branches_kind(fold, &joined->branch, &joined->back);
	joined->next = at + 1;
	first = *joined;
	if (joined->kind == HW_BRANCH_BREAK || joined->kind == HW_BRANCH_FROM_USER ||
	    joined->kind == HW_BRANCH_ENTRY || hw_branches_is_thunk(fold, joined->branch.to))
		return true;

	while (hops-- && fold->reader->get(fold->data, joined->next, &older)) {
		kind = hw_branches_kind(fold, &older, &back);
		if (!hw_branches_joins(fold, joined->branch.from, &older, kind))
			break;
		joined->branch.from = older.from;
		joined->next++;
		if (hw_branches_is_thunk(fold, older.from))
			continue;
		if (kind != HW_BRANCH_CALL)
			kind = fold->reader->is_return(fold->data, older.to) ?
			       HW_BRANCH_RETURN : HW_BRANCH_JUMP;
		joined->kind = kind;
		joined->back = back;
		break;
	}
	/*
	 * Do not join if the source is still in a thunk: for example, the thunk was interrupted,
	 * the branch to it was not recorded, or there are more than HW_BRANCHES_HOPS branches.
	 */
	if (hw_branches_is_thunk(fold, joined->branch.from))
		*joined = first;

	return true;
}

/* Tell whether @ret is the return from @call, which is a call or an exception. */
static bool hw_branches_returns(const struct hw_branches_joined *ret,
				const struct hw_branches_joined *call)
{
	u64 to = ret->branch.to;

	if (ret->kind == HW_BRANCH_RETURN)
		return call->kind == HW_BRANCH_CALL && call->back == to;

	return call->kind == HW_BRANCH_ENTRY && to - call->back <= HW_BRANCHES_INSN;
}

/* Find the call or the exception that @ret returns from. Return false if it is not found. */
static bool hw_branches_find_call(struct hw_branches_fold *fold,
				  const struct hw_branches_joined *ret,
				  struct hw_branches_joined *call)
{
	u32 at = ret->next, level = 1;

	while (fold->left && hw_branches_join(fold, at, call)) {
		fold->left--;
		at = call->next;
		switch (call->kind) {
		case HW_BRANCH_FROM_USER:
		case HW_BRANCH_BREAK:
			return false;
		case HW_BRANCH_RETURN:
		case HW_BRANCH_EXIT:
			level++;
			break;
		case HW_BRANCH_CALL:
		case HW_BRANCH_ENTRY:
			if (!--level)
				return hw_branches_returns(ret, call);
			break;
		default:
			break;
		}
	}

	return false;
}

/*
 * If branch number fold->at - 1 comes from user mode, the CPU had returned to user mode after
 * branch number fold->at, which belongs to a stay that has ended. Then find the entry of this
 * stay, and store it in @entry. Return false if the stay has not ended, or if its entry is not
 * found.
 */
static bool hw_branches_find_entry(struct hw_branches_fold *fold, struct hw_branches_joined *entry)
{
	u32 at = fold->at;
	struct hw_branch newer;

	if (!at || !fold->reader->get(fold->data, at - 1, &newer) || newer.from != HW_BRANCH_USER)
		return false;

	for (; fold->left && hw_branches_join(fold, at, entry); at = entry->next) {
		fold->left--;
		if (entry->kind == HW_BRANCH_BREAK)
			return false;
		if (entry->kind == HW_BRANCH_FROM_USER)
			return true;
	}

	return false;
}

/*
 * Find the innermost call or exception that contains at least half of the branches from fold->at to
 * @end, the entry of the stay. Store it in @line, except for line->records. Return the number of
 * the next record that is older than the call; 0 if there is no such call.
 *
 * A call has fewer branches than the calls around it, and its own record is newer. So the first
 * call with enough branches is the innermost one. Calls without a matching return, and those at a
 * depth of more than HW_BRANCHES_LEVELS, are ignored.
 */
static u32 hw_branches_find_longest(struct hw_branches_fold *fold, u32 end,
				    struct hw_branches_line *line)
{
	u32 at, half = (end - fold->at) / 2 + 1, levels = 0;
	struct hw_branches_joined call, ret;

	for (at = fold->at; at < end && hw_branches_join(fold, at, &call); at = call.next) {
		switch (call.kind) {
		case HW_BRANCH_RETURN:
		case HW_BRANCH_EXIT:
			if (levels < HW_BRANCHES_LEVELS)
				fold->open[levels] = at;
			levels++;
			break;
		case HW_BRANCH_CALL:
		case HW_BRANCH_ENTRY:
			if (!levels || --levels >= HW_BRANCHES_LEVELS)
				break;
			line->inside = call.next - fold->open[levels];
			if (line->inside < half ||
			    !hw_branches_join(fold, fold->open[levels], &ret) ||
			    !hw_branches_returns(&ret, &call))
				break;
			line->branch = call.branch;
			line->kind = call.kind;
			line->depth = fold->depth + levels;
			line->longest = true;
			return call.next;
		default:
			break;
		}
	}

	return 0;
}

/*
 * Make the next line of a stay that has ended: first the line of its longest call, if there is one,
 * then that of its entry. Return false if there is no such stay, or if its entry is not found.
 */
static bool hw_branches_take_stay(struct hw_branches_fold *fold, struct hw_branches_line *line)
{
	struct hw_branches_line *stay = &fold->stay;
	struct hw_branches_joined entry;
	u32 at = fold->at, next;

	if (!stay->inside) {
		if (!hw_branches_find_entry(fold, &entry))
			return false;
		*stay = *line;
		stay->branch = entry.branch;
		stay->kind = entry.kind;
		stay->inside = entry.next - at;
		stay->records = entry.next - at;
		stay->depth = fold->depth;
		next = hw_branches_find_longest(fold, entry.next - 1, line);
		if (next) {
			line->records = next - at;
			stay->records -= line->records;
			fold->at = next;
			return true;
		}
	}
	*line = *stay;
	stay->inside = 0;
	fold->at += line->records;

	return true;
}

/* Return how much deeper the call depth is before the branch of a line than after the branch. */
static int hw_branches_deeper(const struct hw_branches_line *line)
{
	if (line->inside)
		return 0;

	switch (line->kind) {
	case HW_BRANCH_CALL:
	case HW_BRANCH_ENTRY:
		return -1;
	case HW_BRANCH_RETURN:
	case HW_BRANCH_EXIT:
		return 1;
	default:
		return 0;
	}
}

/**
 * hw_branches_take - make the next line, without searching for loops
 * @fold: the walk
 * @line: where to store the line
 *
 * Return: false if there is no record left.
 */
bool hw_branches_take(struct hw_branches_fold *fold, struct hw_branches_line *line)
{
	struct hw_branches_joined joined, call;
	u32 at = fold->at;

	*line = (struct hw_branches_line) { .lines = 1, .times = 1, };
	if (fold->plain) {
		line->records = 1;
		return fold->reader->get(fold->data, fold->at++, &line->branch);
	}

	if (hw_branches_take_stay(fold, line))
		return true;
	if (!hw_branches_join(fold, at, &joined))
		return false;

	if ((joined.kind == HW_BRANCH_RETURN || joined.kind == HW_BRANCH_EXIT) &&
	    hw_branches_find_call(fold, &joined, &call)) {
		joined = call;
		line->inside = call.next - at;
	}
	line->branch = joined.branch;
	line->kind = joined.kind;
	line->records = joined.next - at;
	fold->at = joined.next;
	fold->depth += hw_branches_deeper(line);
	line->depth = fold->depth;

	return true;
}
