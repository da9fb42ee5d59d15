// SPDX-License-Identifier: GPL-2.0
/*
 * Run a program with the branch flight recorder on.
 *
 *   recorded PROGRAM [ARGUMENT...]
 */
#include "common.h"

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s PROGRAM [ARGUMENT...]\n", argv[0]);
		return 2;
	}
	must_set("enable", "1");
	if (!recording(0))
		give_up("the hardware does not record");
	execvp(argv[1], argv + 1);
	give_up("%s", argv[1]);
}
