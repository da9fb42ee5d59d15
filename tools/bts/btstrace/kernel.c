// SPDX-License-Identifier: GPL-2.0
/* Functions of the kernel, from /proc/kallsyms where it shows them */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "space.h"

static struct bt_function *functions;
static size_t nr, room;
static bool looked;

static void read_kallsyms(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long addr;
	char type, name[512];

	if (!f)
		return;
	while (fscanf(f, "%llx %c %511s%*[^\n]", &addr, &type, name) == 3) {
		if (!addr || tolower(type) != 't')
			continue;
		functions = bt_grow(functions, &room, nr + 1, sizeof(*functions));
		functions[nr++] = (struct bt_function){
			.name = bt_copy(name), .start = addr, .end = addr, .named = true,
		};
	}
	fclose(f);
	nr = bt_function_tidy(functions, nr);
}

const struct bt_function *bt_kernel_function(u64 addr)
{
	if (!looked)
		read_kallsyms();
	looked = true;
	return bt_function_at(functions, nr, addr);
}

void bt_kernel_free(void)
{
	while (nr)
		free((void *)functions[--nr].name);
	free(functions);
	functions = NULL;
	room = 0;
	looked = false;
}
