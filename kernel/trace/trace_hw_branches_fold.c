// SPDX-License-Identifier: GPL-2.0
/*
 * Fold last branches into lines that a reader can follow
 *
 * trace_hw_branches_calls.c makes one line of a call that has returned, and of a stay in the kernel
 * that has ended. This file folds what is repeated: equal consecutive lines become one line with
 * their number. A sequence of up to HW_BRANCHES_LOOP lines that is repeated is shown once, and its
 * last line tells how often the sequence occurs. Lines of HW_BRANCH_BREAK do not count as equal.
 *
 * This code runs in any context: it takes no lock and allocates no memory.
 */

#include "trace_hw_branches_fold.h"

static bool hw_branches_same(const struct hw_branches_line *a, const struct hw_branches_line *b)
{
	return a->branch.from == b->branch.from && a->branch.to == b->branch.to &&
	       a->kind == b->kind && !a->inside == !b->inside && a->longest == b->longest &&
	       a->kind != HW_BRANCH_BREAK;
}

static void hw_branches_fill(struct hw_branches_fold *fold)
{
	while (fold->nr < 2 * HW_BRANCHES_LOOP &&
	       hw_branches_take(fold, &fold->ahead[fold->nr]))
		fold->nr++;
}

static void hw_branches_drop(struct hw_branches_fold *fold, u32 n)
{
	u32 i;

	fold->nr -= n;
	for (i = 0; i < fold->nr; i++)
		fold->ahead[i] = fold->ahead[i + n];
}

/*
 * Tell whether the next @n lines are followed by the same @n lines. A loop does not end between the
 * longest call of a stay and the line of the stay.
 */
static bool hw_branches_repeats(const struct hw_branches_fold *fold, u32 n)
{
	u32 i;

	if (fold->nr < 2 * n || fold->ahead[n - 1].longest)
		return false;
	for (i = 0; i < n; i++) {
		if (!hw_branches_same(&fold->ahead[i], &fold->ahead[i + n]))
			return false;
	}

	return true;
}

/* Remove a loop of @n lines, with all its repeats, from fold->ahead, and store it in fold->body. */
static void hw_branches_take_loop(struct hw_branches_fold *fold, u32 n)
{
	struct hw_branches_line *last = &fold->body[n - 1];
	u32 i;

	for (i = 0; i < n; i++)
		fold->body[i] = fold->ahead[i];
	hw_branches_drop(fold, n);
	last->lines = n;
	while (fold->nr >= n) {
		for (i = 0; i < n; i++) {
			if (!hw_branches_same(&fold->body[i], &fold->ahead[i]))
				break;
		}
		if (i < n)
			break;
		for (i = 0; i < n; i++) {
			fold->body[i].inside += fold->ahead[i].inside;
			last->records += fold->ahead[i].records;
		}
		last->times++;
		hw_branches_drop(fold, n);
		hw_branches_fill(fold);
	}
	fold->nr_body = n;
	fold->shown = 0;
}

/**
 * hw_branches_fold_begin - begin a walk
 * @fold: the walk
 * @at: the number of newest branches to skip
 * @plain: make a line for each record
 * @reader: the functions that read branches
 * @data: the argument of the functions of @reader
 */
void hw_branches_fold_begin(struct hw_branches_fold *fold, u32 at, bool plain,
			    const struct hw_branches_reader *reader, void *data)
{
	fold->reader = reader;
	fold->data = data;
	fold->at = at;
	fold->plain = plain;
	fold->left = HW_BRANCHES_SEARCH;
	fold->depth = 0;
	fold->stay.inside = 0;
	fold->nr = 0;
	fold->nr_body = 0;
	fold->shown = 0;
}

/**
 * hw_branches_fold_next - make the next line
 * @fold: the walk
 * @line: where to store the line
 *
 * Return: false if there is no line left.
 */
bool hw_branches_fold_next(struct hw_branches_fold *fold, struct hw_branches_line *line)
{
	u32 n;

	if (fold->shown < fold->nr_body) {
		*line = fold->body[fold->shown++];
		return true;
	}

	hw_branches_fill(fold);
	if (!fold->nr)
		return false;

	for (n = 1; n <= HW_BRANCHES_LOOP && !fold->plain; n++) {
		if (hw_branches_repeats(fold, n)) {
			hw_branches_take_loop(fold, n);
			*line = fold->body[fold->shown++];
			return true;
		}
	}
	*line = fold->ahead[0];
	hw_branches_drop(fold, 1);

	return true;
}

/**
 * hw_branches_fold_base - find the outermost depth of the next lines
 * @fold: a walk that has just begun; this function begins the walk again before it returns
 * @lines: the largest number of lines to look at
 * @records: where to store the number of records that these lines stand for
 *
 * Return: the least @depth of these lines, 0 at most.
 */
int hw_branches_fold_base(struct hw_branches_fold *fold, u32 lines, u32 *records)
{
	struct hw_branches_line line;
	u32 at = fold->at;
	int base = 0;

	*records = 0;
	while (lines-- && hw_branches_fold_next(fold, &line)) {
		*records += line.records;
		if (line.depth < base)
			base = line.depth;
		if (fold->reader->progress)
			fold->reader->progress(fold->data);
	}
	hw_branches_fold_begin(fold, at, fold->plain, fold->reader, fold->data);

	return base;
}
