// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the call tree, and of bt_collapse(). A branch is written as a word kind:from>to, where
 * from and to are function or function+offset. An empty from or to stands for the kernel. The words
 * lost and exec stand for other records. A call tree is written as paths and numbers of calls.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collapse.h"
#include "tap.h"
#include "tree.h"

#define FUNCTIONS	40
#define FUNCTION_SIZE	0x1000

static struct bt_function functions[FUNCTIONS];
static struct bt_module module = { .name = "test" };
/* The module of functions whose names begin with L */
static struct bt_module linker = { .name = "ld-linux.so.2" };
static const struct bt_session session;
static struct bt_place places[64];
static size_t nr_places;

/* Returns the function of that name, and makes it if it does not exist yet. */
static struct bt_function *function_of(const char *name, size_t len)
{
	struct bt_function *fn;

	for (fn = functions; fn->name; fn++)
		if (strlen(fn->name) == len && !memcmp(fn->name, name, len))
			return fn;
	fn->name = strndup(name, len);
	fn->start = (fn - functions + 1) * FUNCTION_SIZE;
	fn->end = fn->start + FUNCTION_SIZE;
	/*
	 * A name that ends with @plt is that of a PLT stub. Of other names: if the name begins
	 * with [ or {, the code has no symbol. If it begins with {, .eh_frame_hdr tells that the
	 * code is one function. If it begins with K, the code is in the kernel.
	 */
	fn->plt = len > 4 && !memcmp(name + len - 4, "@plt", 4);
	fn->named = fn->plt || (*name != '[' && *name != '{');
	fn->whole = *name == '{';
	if (fn->plt && *name != '[') {
		bt_function_alias(fn, fn->name);
		*strchr(fn->alias->name, '@') = '\0';
	}
	if (*name == 'K')
		fn->start |= 1ull << 63;
	return fn;
}

/*
 * Returns the place that is written as name or name+offset. Its instruction has 5 bytes, and
 * follows a system call if there is a $, or a call if there is a !.
 */
static struct bt_place *place_of(const char *s, size_t len)
{
	struct bt_place *place = &places[nr_places++ % ARRAY_SIZE(places)];
	const char *at = memrchr(s, '+', len);

	memset(place, 0, sizeof(*place));
	place->fn = function_of(s, at ? (size_t)(at - s) : len);
	place->module = *s == 'L' ? &linker : &module;
	place->offset = at ? strtoul(at + 1, NULL, 0) : 0;
	place->addr = place->fn->start + place->offset;
	place->insn.length = 5;
	place->follows_syscall = !!memchr(s, '$', len);
	place->follows_call = !!memchr(s, '!', len);
	return place;
}

/* Parse a word: fill in @rec, and return the branch of @rec. */
static struct bt_branch branch_of(const char *word, size_t len, struct x86_bts_record *rec)
{
	struct bt_branch b = { .rec = rec };
	const char *colon = memchr(word, ':', len), *arrow, *end = word + len;

	*rec = (struct x86_bts_record){ .type = X86_BTS_BRANCH };
	if (!colon) {
		rec->type = *word == 'l' ? X86_BTS_LOST : X86_BTS_EXEC;
		return b;
	}
	bt_kind_parse(word, colon - word, &b.kind);
	arrow = memchr(word, '>', len);
	if (arrow > colon + 1)
		b.from = place_of(colon + 1, arrow - colon - 1);
	if (arrow + 1 < end)
		b.to = place_of(arrow + 1, end - arrow - 1);
	if (!b.from)
		rec->type = X86_BTS_LEAVE;
	else if (!b.to)
		rec->type = X86_BTS_ENTER;
	rec->branch.from = b.from ? b.from->addr : 0;
	rec->branch.to = b.to ? b.to->addr : 0;
	return b;
}

static void one_word(struct bt_calls *c, const char *word, size_t len)
{
	struct x86_bts_record rec;
	struct bt_branch b = branch_of(word, len, &rec);

	bt_tree_branch(c, &b);
}

struct script {
	const char *what;
	const char *words;
	const char *tree;	/* path=calls for each node; the child that began last is first */
	int calls, returns, open, unwound, unmatched;
};

static const struct script scripts[] = {
	{ "calls and returns",
	  "call:main+0>a ret:a+9>main+5 call:main+8>a call:a+2>b ret:b+1>a+7 ret:a+9>main+13",
	  "main=1 main/a=2 main/a/b=1", 3, 3, 1, 0, 0 },
	{ "jumps within a function",
	  "jcc:main+2>main+9 jmp:main+12>main+0 call:main+1>a", "main=1 main/a=1", 1, 0, 2, 0, 0 },
	{ "recursion",
	  "call:f+1>f call:f+1>f ret:f+9>f+6 ret:f+9>f+6", "f=1 f/f=1 f/f/f=1", 2, 2, 1, 0, 0 },
	{ "a tail call returns for both",
	  "call:main+0>a jmp:a+3>b ret:b+9>main+5 call:main+6>c",
	  "main=1 main/c=1 main/a=1 main/a/b=1", 2, 1, 2, 0, 0 },
	{ "tail calls in turn do not pile up",
	  "call:main+0>a jmp:a+3>b jmp:b+3>a jmp:a+3>b jmp:b+3>a ret:a+8>main+5",
	  "main=1 main/a=1 main/a/b=2", 1, 1, 1, 0, 0 },
	{ "through the linkage table",
	  "call:main+0>puts@plt jmp:puts@plt+0>puts ret:puts+9>main+5",
	  "main=1 main/puts=1", 1, 1, 1, 0, 0 },
	{ "through the linkage table, for the first time",
	  "call:main+0>puts@plt jmp:puts@plt+0>[plt]@plt jmp:[plt]@plt+0>Lresolve "
	  "call:Lresolve+3>Lfixup ret:Lfixup+9>Lresolve+8 jmp:Lresolve+20>puts ret:puts+9>main+5",
	  "main=1 main/puts=1 main/puts/[dynamic linker]=1", 2, 2, 1, 0, 0 },
	{ "through the linkage table, to where it is called something else",
	  "call:main+0>copy@plt jmp:copy@plt+0>copy_fast ret:copy_fast+9>main+5",
	  "main=1 main/copy=1", 1, 1, 1, 0, 0 },
	{ "a tail call in a program without symbols",
	  "call:main+0>{a call:{a+0>{b jmp:{b+3>{c ret:{c+9>{a+5 ret:{a+9>main+5",
	  "main=1 main/{a=1 main/{a/{b=1 main/{a/{b/{c=1", 2, 2, 1, 0, 0 },
	{ "longjmp",
	  "call:main+0>a call:a+0>b call:b+0>longjmp jmp:longjmp+7>main+30 call:main+31>c",
	  "main=1 main/c=1 main/a=1 main/a/b=1 main/a/b/longjmp=1", 4, 0, 2, 3, 0 },
	{ "longjmp in code without names",
	  "call:main+0>[x] call:[x]+9>longjmp jmp:longjmp+7>[x]+20! ret:[x]+30>main+5",
	  "main=1 main/[x]=1 main/[x]/longjmp=1", 2, 1, 1, 1, 0 },
	{ "an exception that unwinds by returns",
	  "call:main+0>a call:a+0>b call:b+0>throw ret:throw+4>main+5",
	  "main=1 main/a=1 main/a/b=1 main/a/b/throw=1", 3, 1, 1, 2, 0 },
	{ "a system call", "call:main+0>write syscall:>write+7$ ret:write+9>main+5",
	  "main=1 main/write=1", 1, 1, 1, 0, 0 },
	{ "an interrupt", "call:main+0>a interrupt:>a+3 ret:a+9>main+5",
	  "main=1 main/a=1", 1, 1, 1, 0, 0 },
	{ "a signal, its handler and its end",
	  "call:main+0>a interrupt:>on call:on+0>b ret:b+1>on+5 ret:on+9>restore "
	  "interrupt:>a+3 ret:a+9>main+5",
	  "main=1 main/a=1 main/a/restore=1 main/a/on=1 main/a/on/b=1", 2, 2, 1, 0, 0 },
	{ "a signal whose handler ends by a jump",
	  "call:main+0>a interrupt:>on jmp:on+4>b ret:b+9>restore interrupt:>a+3 ret:a+9>main+5",
	  "main=1 main/a=1 main/a/restore=1 main/a/on=1 main/a/on/b=1", 1, 1, 1, 0, 0 },
	{ "a signal in code that ran on into another symbol",
	  "call:main+0>a interrupt:>on ret:on+9>restore interrupt:>x+3 ret:x+9>main+5",
	  "main=1 main/x=1 main/a=1 main/a/restore=1 main/a/on=1", 1, 1, 1, 0, 0 },
	{ "longjmp out of a handler",
	  "call:main+0>a interrupt:>on call:on+0>longjmp jmp:longjmp+7>main+30 call:main+31>c",
	  "main=1 main/c=1 main/a=1 main/a/on=1 main/a/on/longjmp=1", 3, 0, 2, 2, 0 },
	{ "a gap, still in the same function",
	  "call:main+0>a call:a+0>b lost jcc:a+9>a+20 ret:a+30>main+5",
	  "main=1 main/a=1 main/a/b=1", 2, 1, 1, 1, 0 },
	{ "a gap, somewhere else", "call:main+0>a call:a+0>b lost call:x+1>y ret:y+2>x+6",
	  "x=1 x/y=1 main=1 main/a=1 main/a/b=1", 3, 1, 1, 3, 0 },
	{ "returns to what was there before",
	  "call:a+0>b ret:b+1>a+5 ret:a+9>main+5 call:main+6>c ret:c+9>main+11",
	  "main=1 main/c=1 a=1 a/b=1", 2, 2, 1, 0, 0 },
	{ "a return as a jump to a function",
	  "call:main+0>thunk ret:thunk+3>f ret:f+9>main+5",
	  "main=1 main/thunk=1 main/thunk/f=1", 1, 1, 1, 0, 0 },
	{ "a return to nowhere that was called",
	  "call:main+0>a ret:a+3>co+30 call:co+31>d ret:d+1>co+36",
	  "co=1 co/d=1 main=1 main/a=1", 2, 1, 1, 0, 1 },
	{ "a tail call of the first function", "jcc:a+1>a+5 jmp:a+9>b ret:b+3>main+5",
	  "main=1 a=1 a/b=1", 0, 0, 1, 0, 0 },
	{ "one symbol falls through into the next",
	  "call:main+0>a jcc:b+3>b+9 ret:b+12>main+5", "main=1 main/b=1 main/a=1", 1, 1, 1, 0, 0 },
	{ "what is seldom done is kept elsewhere",
	  "call:main+0>a jcc:a+3>a.cold call:a.cold+2>b ret:b+1>a.cold+7 jmp:a.cold+9>a+8 "
	  "ret:a+9>main+5", "main=1 main/a=1 main/a/b=1", 2, 2, 1, 0, 0 },
	{ "where am I: a call to what follows",
	  "call:main+0>main+5 call:main+7>a ret:a+1>main+12", "main=1 main/a=1", 1, 1, 1, 0, 0 },
	{ "another program", "call:main+0>a exec syscall:>start+0 call:start+1>b",
	  "start=1 start/b=1 main=1 main/a=1", 2, 0, 2, 0, 0 },
	{ "into the kernel, and back",
	  "call:main+0>a syscall:a+3>Kentry call:Kentry+1>Ksys ret:Ksys+9>Kentry+6 ?:Kentry+9>a+5 "
	  "ret:a+9>main+5", "main=1 main/a=1 main/a/Kentry=1 main/a/Kentry/Ksys=1", 1, 1, 1, 1, 0 },
	{ "only an end", "ret:a+9>main+5", "main=1 a=1", 0, 0, 1, 0, 0 },
};

static void print_tree(char *out, const struct bt_node *root)
{
	const struct bt_node *node, *up;
	const char *path[20];
	size_t n;

	*out = '\0';
	for (node = root->child; node; node = bt_tree_next(node)) {
		for (n = 0, up = node; up->parent; up = up->parent)
			path[n++] = up->name;
		while (n) {
			strcat(out, path[--n]);
			if (n)
				strcat(out, "/");
		}
		sprintf(out + strlen(out), "=%llu ", (unsigned long long)node->calls);
	}
	if (*out)
		out[strlen(out) - 1] = '\0';
}

static void run(const struct script *s)
{
	struct bt_node *root = bt_tree_new();
	struct bt_tree g = { &session, root };
	struct bt_calls *c = bt_tree_calls_new(&g);
	const char *word;
	char tree[1024];
	size_t len;

	for (word = s->words; *word; word += len + (word[len] == ' ')) {
		len = strcspn(word, " ");
		one_word(c, word, len);
	}
	print_tree(tree, root);
	if (!ok(!strcmp(tree, s->tree) && (int)c->calls == s->calls &&
		(int)c->returns == s->returns && (int)c->nr == s->open &&
		(int)c->unwound == s->unwound && (int)c->unmatched == s->unmatched, "%s", s->what))
		printf("# %s; %d calls, %d returns, %d open, %d unwound, %d unmatched\n", tree,
		       (int)c->calls, (int)c->returns, (int)c->nr, (int)c->unwound,
		       (int)c->unmatched);
	bt_calls_free(c);
	bt_tree_free(root);
}

/*
 * struct way - a test of bt_collapse()
 * @what: the name of the test
 * @words: the branches
 * @items: the items: "a(" is the function a, which has not ended; "a4" is a after it has ended, by
 *	a return or otherwise, with 4 records; "3x9" 3 rounds of a loop, with 9 records in all;
 *	"a+2" a jump to a+2; "gap" missing records; "nowhere" a function without a place, which
 *	is a bug
 */
struct way {
	const char *what;
	const char *words;
	const char *items;
};

static const struct way ways[] = {
	{ "what has returned is one item",
	  "call:main+0>a call:a+1>b ret:b+3>a+6 ret:a+9>main+5 call:main+8>c call:c+2>d",
	  "main( a4 c( d(" },
	{ "branches in what has not",
	  "jmp:main+1>main+4 call:main+8>a jcc:a+2>a+20", "main( main+4 a( a+20" },
	{ "rounds of a loop but the last",
	  "call:main+0>a jcc:a+9>a+2 call:a+3>f ret:f+9>a+8 jcc:a+9>a+2 call:a+3>f ret:f+9>a+8 "
	  "jcc:a+9>a+2 call:a+3>f ret:f+9>a+8 jcc:a+9>a+2 call:a+3>f",
	  "main( a( 3x9 a+2 f(" },
	{ "rounds that are not alike",
	  "call:main+0>a jmp:a+9>a+2 jcc:a+3>a+7 jmp:a+9>a+2 jcc:a+4>a+8 jmp:a+9>a+2 jcc:a+3>a+7",
	  "main( a( 2x4 a+2 a+7" },
	{ "a loop in a loop",
	  "jmp:a+3>a+2 jmp:a+3>a+2 jmp:a+3>a+2 jmp:a+9>a+1 jmp:a+3>a+2 jmp:a+3>a+2 jmp:a+9>a+1 "
	  "jmp:a+3>a+2 jmp:a+3>a+2", "a( 2x2 a+2 1x3 a+1 1x1 a+2" },
	{ "what began before", "jcc:b+1>b+4 ret:b+9>a+7 call:a+9>c", "b2 a( c(" },
	{ "longjmp ends what it leaves",
	  "call:main+0>a call:a+0>b call:b+0>longjmp jmp:longjmp+7>main+30 call:main+31>c",
	  "main( a4 c(" },
	{ "a gap", "call:main+0>a lost call:a+9>b", "main( a( gap b(" },
	{ "a gap in a loop ends it",
	  "jcc:a+9>a+2 jcc:a+9>a+2 lost jcc:a+9>a+2 jcc:a+9>a+2", "a( 1x1 a+2 gap 1x1 a+2" },
	{ "a gap, and then another function", "call:main+0>a lost call:x+1>y", "main3 gap x( y(" },
	{ "a gap in a stub, and then a return from the kernel",
	  "call:main+0>puts@plt lost syscall:>main+30$", "main( gap puts@plt3" },
	{ "a function by the name that it was called by",
	  "call:main+0>copy@plt jmp:copy@plt+0>copy_fast jcc:copy_fast+3>copy_fast+9",
	  "main( copy( copy_fast+9" },
};

static void print_items(char *out, const struct bt_items *items)
{
	const struct bt_item *item;

	*out = '\0';
	for (item = items->item; item < items->item + items->nr; item++, out += strlen(out)) {
		if (item->type == BT_ITEM_GAP)
			sprintf(out, "gap ");
		else if (item->type == BT_ITEM_LOOP)
			sprintf(out, "%dx%zu ", (int)item->times, item->end - item->first);
		else if (item->type == BT_ITEM_JUMP)
			sprintf(out, "%s+%d ", item->to->fn->name, (int)item->to->offset);
		else if (!item->to)
			sprintf(out, "nowhere ");
		else if (item->open)
			sprintf(out, "%s( ", item->name);
		else
			sprintf(out, "%s%zu ", item->name, item->end - item->first);
	}
}

static void test_way(const struct way *way)
{
	struct x86_bts_record rec[32];
	struct bt_branch b[32];
	struct bt_items items;
	const char *word;
	size_t len, n = 0;
	char got[512];

	for (word = way->words; *word; word += len + (word[len] == ' '), n++) {
		len = strcspn(word, " ");
		b[n] = branch_of(word, len, &rec[n]);
	}
	bt_collapse(&items, b, 0, n);
	print_items(got, &items);
	if (*got)
		got[strlen(got) - 1] = '\0';
	if (!ok(!strcmp(got, way->items), "the way: %s", way->what))
		printf("# %s\n", got);
	free(items.item);
}

/* A recursion that is deeper than the largest number of frames */
static void test_depth(void)
{
	struct bt_node *root = bt_tree_new();
	struct bt_tree g = { &session, root };
	struct bt_calls *c = bt_tree_calls_new(&g);
	int i, n = 1100000;

	for (i = 0; i < n; i++)
		one_word(c, "call:f+1>f", 10);
	ok(c->calls == (u64)n && c->nr <= 1u << 20, "%d calls deep: %zu frames", n, c->nr);
	for (i = 0; i < n; i++)
		one_word(c, "ret:f+9>f+6", 11);
	ok(c->returns == (u64)n && c->nr == 1 && bt_calls_balanced(c), "and back: %zu", c->nr);
	bt_tree_sum(root);
	ok(root->total == 2u * n, "%llu branches altogether", (unsigned long long)root->total);
	bt_calls_free(c);
	bt_tree_free(root);
}

/* The totals of nodes, and the order of children */
static void test_sum(void)
{
	struct bt_node *root = bt_tree_new();
	struct bt_tree g = { &session, root };
	struct bt_calls *c = bt_tree_calls_new(&g);
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	char word[64];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		for (j = 0; j < (i * 3) % 5 + 1; j++) {
			sprintf(word, "call:main+%zu>%s", i * 10, names[i]);
			one_word(c, word, strlen(word));
			sprintf(word, "ret:%s+9>main+%zu", names[i], i * 10 + 5);
			one_word(c, word, strlen(word));
		}
	}
	bt_tree_sum(root);
	ok(root->total == 30 && root->child->total == 30 && root->child->branches == 15,
	   "totals: %llu", (unsigned long long)root->total);
	ok(!strcmp(root->child->child->fn->name, "d") &&
	   !strcmp(root->child->child->next->fn->name, "b"), "the most expensive first");
	bt_calls_free(c);
	bt_tree_free(root);
}

/*
 * A function calls a million others, each twice. The time must not be quadratic in their
 * number.
 */
static void test_many(void)
{
	size_t n = 1000000, i;
	struct bt_function *fn = bt_alloc(n, sizeof(*fn));
	struct bt_node *root = bt_tree_new(), *node;
	clock_t begin = clock();

	for (i = 0; i < 2 * n; i++) {
		node = bt_tree_child(root, &fn[i % n], &module, "f");
		node->branches += i / n + 1;
	}
	bt_tree_sum(root);
	ok(root->total == 3 * n && root->children == n && clock() - begin < 20 * CLOCKS_PER_SEC,
	   "%zu children: %.1f s", n, (double)(clock() - begin) / CLOCKS_PER_SEC);
	bt_tree_free(root);
	free(fn);
}

/* Returns the number of nodes below @root. */
static size_t nodes_of(const struct bt_node *root)
{
	const struct bt_node *node;
	size_t n = 0;

	for (node = root->child; node; node = bt_tree_next(node))
		n++;
	return n;
}

/* With little memory there are fewer nodes, but all branches are counted. */
static void test_memory(void)
{
	size_t n = 1000000, i, bytes = 16 * 1024 * 1024;
	struct bt_function *fn = bt_alloc(n, sizeof(*fn));
	struct bt_node *root = bt_tree_new();

	bt_tree_memory(bytes);
	for (i = 0; i < n; i++)
		bt_tree_child(root, &fn[i], &module, "f")->branches++;
	bt_tree_sum(root);
	ok(root->total == n && nodes_of(root) > 40000 && bt_tree_is_incomplete() &&
	   nodes_of(root) * sizeof(struct bt_node) <= bytes, "%zu children in %zu MiB: %zu nodes",
	   n, bytes >> 20, nodes_of(root));
	bt_tree_memory(512 * 1024 * 1024);
	bt_tree_free(root);
	free(fn);
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scripts); i++)
		run(&scripts[i]);
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		test_way(&ways[i]);
	test_sum();
	test_depth();
	test_many();
	test_memory();
	for (i = 0; i < FUNCTIONS; i++) {
		free((void *)functions[i].name);
		if (functions[i].alias) {
			free((void *)functions[i].alias->name);
			free(functions[i].alias);
		}
	}
	return finish();
}
