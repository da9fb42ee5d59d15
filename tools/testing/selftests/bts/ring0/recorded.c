// SPDX-License-Identifier: GPL-2.0
/*
 * Run a program with the branch flight recorder on.
 *
 *   recorded SOURCE PROGRAM [ARGUMENT...]	SOURCE: bts or lbr
 */
#include "../guest/recorder.h"

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: %s SOURCE PROGRAM [ARGUMENT...]\n", argv[0]);
		return 2;
	}
	must_set("enable", argv[1]);
	if (!is("enable", argv[1]))
		give_up("%s does not record", argv[1]);
	execvp(argv[2], argv + 2);
	give_up("%s", argv[2]);
}
