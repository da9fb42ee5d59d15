// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the parts that need neither the kernel nor files: decoding, maps, lists of
 * functions, names, filters, text, widths
 */
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "tap.h"
#include "width.h"

struct decoded {
	const char *bytes;
	bool is64;
	enum bt_kind kind;
	int length;
	u64 target;	/* of the instruction at 0x1000; compared only if @direct */
	bool direct;
	int bytes_len;
};

static const struct decoded instructions[] = {
	{ "\xe8\x10\x00\x00\x00", true, BT_CALL, 5, 0x1015, true, 5 },
	{ "\xe8\xf0\xff\xff\xff", true, BT_CALL, 5, 0xff5, true, 5 },
	{ "\xff\xd0", true, BT_CALL, 2, 0, false, 2 },
	{ "\xff\x15\x00\x00\x00\x00", true, BT_CALL, 6, 0, false, 6 },
	{ "\xc3", true, BT_RET, 1, 0, false, 1 },
	{ "\xf2\xc3", true, BT_RET, 2, 0, false, 2 },
	{ "\xc2\x0c\x00", false, BT_RET, 3, 0, false, 3 },
	{ "\xcb", true, BT_RET, 1, 0, false, 1 },
	{ "\x48\xcf", true, BT_RET, 2, 0, false, 2 },
	{ "\xeb\xfe", true, BT_JMP, 2, 0x1000, true, 2 },
	{ "\xe9\x00\x01\x00\x00", true, BT_JMP, 5, 0x1105, true, 5 },
	{ "\xff\xe0", true, BT_JMP, 2, 0, false, 2 },
	{ "\x3e\xff\xe0", true, BT_JMP, 3, 0, false, 3 },
	{ "\x74\x02", true, BT_JCC, 2, 0x1004, true, 2 },
	{ "\x0f\x84\x02\x00\x00\x00", true, BT_JCC, 6, 0x1008, true, 6 },
	{ "\xe2\xfe", true, BT_JCC, 2, 0x1000, true, 2 },
	{ "\xe3\x00", true, BT_JCC, 2, 0x1002, true, 2 },
	{ "\x0f\x05", true, BT_SYSCALL, 2, 0, false, 2 },
	{ "\x0f\x34", false, BT_SYSCALL, 2, 0, false, 2 },
	{ "\xcd\x80", false, BT_SYSCALL, 2, 0, false, 2 },
	{ "\xcd\x03", true, BT_INTERRUPT, 2, 0, false, 2 },
	{ "\xcc", true, BT_INTERRUPT, 1, 0, false, 1 },
	{ "\xe8\x00\xf0\xff\xff", false, BT_CALL, 5, 0x5, true, 5 },
	{ "\xe9\x00\xe0\xff\xff", false, BT_JMP, 5, 0xfffff005, true, 5 },
	{ "\x90", true, BT_UNKNOWN, 1, 0, false, 1 },
	{ "\x48\x89\xc3", true, BT_UNKNOWN, 3, 0, false, 3 },
	{ "\xc7\xf8\x00\x00\x00\x00", true, BT_UNKNOWN, 6, 0x1006, false, 6 },
	{ "\x06", true, BT_UNKNOWN, 0, 0, false, 1 },
	{ "\xe8\x10", true, BT_UNKNOWN, 0, 0, false, 2 },
	{ "", true, BT_UNKNOWN, 0, 0, false, 0 },
};

static void test_decode(void)
{
	const struct decoded *d;
	struct bt_insn insn;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(instructions); i++) {
		d = &instructions[i];
		bt_decode((const u8 *)d->bytes, d->bytes_len, 0x1000, d->is64, &insn);
		ok(insn.kind == d->kind && insn.length == d->length && insn.direct == d->direct &&
		   (!d->direct || insn.target == d->target), "decode %zu: %s of %d bytes", i,
		   bt_kind_name(d->kind), d->length);
	}
	ok(bt_ends_in_syscall((u8 *)"\x90\x0f\x05", 3) && bt_ends_in_syscall((u8 *)"\xcd\x80", 2) &&
	   !bt_ends_in_syscall((u8 *)"\x0f\x05\x90", 3) && !bt_ends_in_syscall((u8 *)"\x05", 1),
	   "what ends in a system call");
	ok(bt_ends_in_call((u8 *)"\xe8\1\2\3\4", 5) && bt_ends_in_call((u8 *)"\xff\xd0", 2) &&
	   bt_ends_in_call((u8 *)"\x41\xff\x54\xc8\x10", 5) &&
	   !bt_ends_in_call((u8 *)"\xff\xe0", 2) && !bt_ends_in_call((u8 *)"\x90\x90\x90", 3),
	   "what ends in a call");
}

static const char maps_text[] =
	"00400000-00401000 r-xp 00001000 08:01 123                /bin/a b\n"
	"not a line\n"
	"00401000-00402000 rw-p 00002000 08:01 123                /bin/a b\n"
	"00401800-00402000 rw-p 00000000 00:00 0\n"
	"7f0000000000-7f0000001000 rwxp 00000000 00:00 0\n"
	"00500000-00501000 r-xp 00000000 08:01 7 /backwards\n"
	"7f0000002000-7f0000002000 rwxp 00000000 00:00 0\n"
	"7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0          [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n"
	"ffffffffffff0000-ffff";

static void test_maps(void)
{
	const struct bt_map *m;
	struct bt_map *maps;
	size_t n = bt_maps_parse(maps_text, strlen(maps_text), &maps);

	ok(n == 5, "maps: %zu lines make sense", n);
	m = bt_maps_find(maps, n, 0x400fff);
	ok(m && !strcmp(m->path, "/bin/a b") && m->executable && !m->writable && m->ino == 123 &&
	   m->offset == 0x1000, "maps: a file");
	m = bt_maps_find(maps, n, 0x7f0000000000);
	ok(m && !*m->path && m->executable && m->writable, "maps: no file");
	m = bt_maps_find(maps, n, 0xffffffffff600000);
	ok(m && !strcmp(m->path, "[vsyscall]"), "maps: in the kernel's half");
	ok(!bt_maps_find(maps, n, 0) && !bt_maps_find(maps, n, 0x402000) &&
	   !bt_maps_find(maps, n, UINT64_MAX), "maps: holes");
	bt_maps_free(maps, n);
	ok(!bt_maps_parse("", 0, &maps) && !maps, "maps: none");
	n = bt_maps_parse("1000-2000 r-xp 0 8:1 5 /a\\012b", 30, &maps);
	ok(n == 1 && !strcmp(maps[0].path, "/a\nb"), "maps: a newline in a name");
	bt_maps_free(maps, n);
}

static struct bt_function function(const char *name, u64 start, u64 end, u64 limit)
{
	return (struct bt_function){
		.name = bt_copy(name), .start = start, .end = end, .named = true, .limit = limit,
	};
}

static const char *name_at(const struct bt_functions *list, u64 addr)
{
	const struct bt_function *fn = bt_functions_at(list, addr);

	return fn ? fn->name : "";
}

static void test_functions(void)
{
	struct bt_functions list = {}, none = {};
	struct bt_function old = function("cfree", 0x600, 0x610, 0);
	struct bt_function weak = function("_Exit", 0x620, 0x630, 0);
	struct bt_function whole = { .name = bt_copy("file+0x180"), .start = 0x188, .end = 0x18c };

	bt_functions_add(&list, function("label_in_big", 0x120, 0x120, 0x1000));
	bt_functions_add(&list, function("_start", 0x300, 0x300, 0x1000));
	bt_functions_add(&list, function("next", 0x340, 0x350, 0));
	bt_functions_add(&list, function("big", 0x100, 0x200, 0));
	bt_functions_add(&list, function("__big", 0x100, 0x200, 0));
	bt_functions_add(&list, function("inner", 0x180, 0x190, 0));
	bt_functions_add(&list, function("last", 0x400, 0x400, 0x480));
	bt_functions_add(&list, function("nothing", 0x700, 0x700, 0));
	bt_functions_add(&list, function("free", 0x600, 0x610, 0));
	bt_functions_add(&list, function("_exit", 0x620, 0x630, 0));
	old.rank = BT_RANK_OLD;
	bt_functions_add(&list, old);
	weak.rank = BT_RANK_WEAK;
	bt_functions_add(&list, weak);
	whole.whole = true;
	bt_functions_add(&list, whole);
	bt_functions_tidy(&list);
	ok(list.nr == 7, "functions: one for each address, no labels within: %zu", list.nr);
	ok(!strcmp(name_at(&list, 0x100), "big"), "functions: the plainer name");
	ok(!strcmp(name_at(&list, 0x185), "inner"), "functions: within another");
	ok(!strcmp(name_at(&list, 0x189), "inner"), "functions: no stand-in for one with a name");
	ok(!strcmp(name_at(&list, 0x195), "big"), "functions: around another");
	ok(!*name_at(&list, 0xff) && !*name_at(&list, 0x200) && !*name_at(&list, 0x360),
	   "functions: between them");
	ok(!strcmp(name_at(&list, 0x33f), "_start"), "functions: without a size, to the next");
	ok(!strcmp(name_at(&list, 0x47f), "last") && !*name_at(&list, 0x480),
	   "functions: without a size, to the end of the section");
	ok(!strcmp(name_at(&list, 0x600), "free") && !strcmp(name_at(&list, 0x620), "_exit"),
	   "functions: the name that is linked to today");
	ok(bt_function_matches(bt_functions_at(&list, 0x600), "cfree") &&
	   bt_function_matches(bt_functions_at(&list, 0x600), "f*e") &&
	   !bt_function_matches(bt_functions_at(&list, 0x600), "_exit"),
	   "functions: any of the names matches");
	ok(!*name_at(&none, 5), "functions: none");
	bt_functions_free(&list);
}

static void test_names(void)
{
	static char endless[200] = "_Z1fI1aIiiE";
	struct bt_function fn = {
		.name = "_ZN4shop6basket2atERKSt6vectorIiSaIiEEm", .named = true,
	};
	char *shown;
	unsigned int i;

	ok(!strcmp(bt_function_name(&fn), "shop::basket::at"), "names: of C++: %s",
	   bt_function_name(&fn));
	free(fn.shown);
	ok(bt_function_matches(&fn, "shop::*::at") && bt_function_matches(&fn, "_ZN4shop*"),
	   "names: both match");
	ok(!bt_demangle("main") && !bt_demangle("_Zwrong"), "names: of C");
	shown = bt_demangle("_RNvC6_123foo3bar");
	ok(shown && strstr(shown, "foo::bar"), "names: of Rust: %s", shown ? shown : "none");
	free(shown);
	/*
	 * f() gets 13 template arguments. The first is a<int, int>. Each of the others contains
	 * the one before it twice. So the last contains int 2^13 times.
	 */
	for (i = 1; i <= 12; i++)
		sprintf(endless + strlen(endless), "S0_IS%X_S%X_E", i, i);
	strcat(endless, "Evv");
	shown = bt_demangle(endless);
	ok(!shown, "names: without end: %zu bytes", shown ? strlen(shown) : 0);
	free(shown);
}

static struct bt_module module_a = { .name = "liba.so" }, module_b = { .name = "libb.so" };
static struct bt_function fn_foo = { .name = "foo", .named = true };
static struct bt_function fn_bar = { .name = "bar", .named = true };
static struct bt_place place_foo = { .module = &module_a, .fn = &fn_foo };
static struct bt_place place_bar = { .module = &module_b, .fn = &fn_bar };

struct filtered {
	const char *spec[3];
	bool passes;
};

/* Filters, and whether each passes a call from foo in liba.so to bar in libb.so */
static const struct filtered filters[] = {
	{ { "call" }, true }, { { "ret,call" }, true }, { { "ret" }, false },
	{ { "!ret" }, true }, { { "!call,ret" }, false }, { { "kind=call" }, true },
	{ { "func=foo" }, true }, { { "func=bar" }, true }, { { "func=b?r,x" }, true },
	{ { "from=bar" }, false }, { { "from=f*" }, true }, { { "to=bar" }, true },
	{ { "to=foo,bar" }, true }, { { "!to=bar" }, false }, { { "module=libb.*" }, true },
	{ { "module=libc.*" }, false }, { { "call", "from=foo" }, true },
	{ { "call", "from=bar" }, false }, { { "call", "!module=libb.so" }, false },
};

static void test_filters(void)
{
	static const char *const wrong[] = {
		"", "callx", "call,", "func=", "!", ",", "kind=", "kind=foo", "nothing=foo",
		"func=,foo", "func=foo,", "func=foo,,bar",
	};
	struct x86_bts_record rec = { .type = X86_BTS_BRANCH };
	struct bt_branch b = { NULL, &rec, BT_CALL, &place_foo, &place_bar };
	const char *error;
	struct bt_filter *f;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		for (f = NULL, j = 0; filters[i].spec[j]; j++)
			f = bt_filter_add(f, filters[i].spec[j], &error);
		ok(bt_filter_passes(f, b.kind, b.from, b.to) == filters[i].passes, "filter %s",
		   filters[i].spec[0]);
		bt_filter_free(f);
	}
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		ok(!bt_filter_add(NULL, wrong[i], &error), "no filter '%s': %s", wrong[i], error);
	b.from = NULL;
	f = bt_filter_add(NULL, "from=*", &error);
	ok(!bt_filter_passes(f, b.kind, b.from, b.to), "the kernel's side matches no name");
	bt_filter_free(f);
}

static bool writes(const char *want, void (*put)(struct bt_text *t, const char *s), const char *s)
{
	struct bt_text t;
	bool same;

	text_open(&t, -1);
	put(&t, s);
	same = t.used == strlen(want) && !memcmp(t.buf, want, t.used);
	free(t.buf);
	return same;
}

static void test_text(void)
{
	struct bt_text t;

	ok(writes("\"a\\\"b\\\\\"", text_json, "a\"b\\"), "JSON: quotes");
	ok(writes("\"\\u0001\\u000a\\u007f\"", text_json, "\1\n\x7f"), "JSON: controls");
	ok(writes("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", text_json,
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "JSON: UTF-8");
	ok(writes("\"\\ufffd(\"", text_json, "\xc3("), "JSON: cut UTF-8");
	ok(writes("\"\\ufffd\\ufffd\\ufffd\"", text_json, "\xed\xa0\x80"), "JSON: surrogates");
	ok(writes("\"\\ufffd\\ufffd\"", text_json, "\xc0\xaf"), "JSON: too long UTF-8");
	ok(writes("a?b?[31m", text_safe, "a\nb\033[31m"), "nothing for a terminal to act upon");
	text_open(&t, -1);
	text_put(&t, NULL, 0);
	text_dec(&t, 0);
	text_char(&t, ' ');
	text_dec(&t, UINT64_MAX);
	text_char(&t, ' ');
	text_hex(&t, 0);
	text_char(&t, ' ');
	text_hex(&t, UINT64_MAX);
	text_char(&t, '\0');
	ok(!strcmp(t.buf, "0 18446744073709551615 0x0 0xffffffffffffffff"), "numbers");
	text_close(&t);
}

struct measured {
	const char *text;
	size_t most;
	size_t width;
	size_t fits;
};

/* @text, the limit of columns (0: none), the columns that @fits bytes need, and @fits */
static const struct measured texts[] = {
	{ "", 0, 0, 0 },
	{ "abc", 0, 3, 3 },
	{ "abc", 2, 2, 2 },
	{ "\1a\2b\3", 2, 2, 5 },
	{ "\xc3\xa9t\xc3\xa9", 0, 3, 5 },
	{ "\xe6\xbc\xa2\xe5\xad\x97", 0, 4, 6 },
	{ "\xe6\xbc\xa2\xe5\xad\x97", 3, 2, 3 },
	{ "a\xe6\xbc\xa2", 2, 1, 1 },
	{ "e\xcc\x81x", 1, 1, 3 },
	{ "\xf0\x9f\x98\x80", 0, 2, 4 },
	{ "\xcd\xb8", 0, 1, 2 },
};

static void test_width(void)
{
	const struct measured *m;
	size_t i, width, fits;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		m = &texts[i];
		width = bt_width(m->text, strlen(m->text), m->most, &fits);
		ok(width == m->width && fits == m->fits, "width %zu: %zu columns, %zu bytes", i,
		   width, fits);
	}
}

int main(void)
{
	test_decode();
	test_maps();
	test_functions();
	test_names();
	test_filters();
	test_text();
	test_width();
	return finish();
}
