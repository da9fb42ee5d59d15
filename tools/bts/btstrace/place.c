// SPDX-License-Identifier: GPL-2.0
/* This file shows an address as text, and finds its source line. */
#include <string.h>

#include "space.h"
#include "text.h"

static void put_line(struct bt_text *t, struct bt_place *place)
{
	const char *slash = strrchr(place->file, '/');

	text_str(t, " (");
	text_safe(t, slash ? slash + 1 : place->file);
	text_print(t, ":%d)", place->line);
}

/*
 * Returns the place as text, for example: function+0x12 (file.c:34), function+0x12 (libfoo.so), or
 * libfoo.so+0x1234.
 */
const char *bt_place_text(struct bt_place *place)
{
	struct bt_text t;

	bt_place_line(place);
	if (place->text)
		return place->text;
	text_open(&t, -1);
	text_safe(&t, place->fn->named ? bt_function_name(place->fn) : place->module->name);
	text_print(&t, "+0x%llx", (unsigned long long)
		   (place->fn->named ? place->offset : place->module_offset));
	if (place->file) {
		put_line(&t, place);
	} else if (place->fn->named) {
		text_str(&t, " (");
		text_safe(&t, place->module->name);
		text_char(&t, ')');
	}
	place->text_len = t.used;
	text_char(&t, '\0');
	place->text = t.buf;
	return place->text;
}

/* Fill in @place->file and @place->line, unless done before. @file is NULL if it is not known. */
void bt_place_line(struct bt_place *place)
{
	if (place->looked)
		return;
	place->looked = true;
	if (place->elf && !bt_elf_line(place->elf, place->elf_addr, &place->file, &place->line))
		place->file = NULL;
}

/* Returns the source line to show for a place: a view whose @file is NULL if it is not known. */
const struct bt_view *bt_place_view(struct bt_place *place)
{
	if (!place->viewed && place->elf && !bt_elf_view(place->elf, place->elf_addr, &place->view))
		place->view = (struct bt_view){};
	place->viewed = true;
	return &place->view;
}
