// SPDX-License-Identifier: GPL-2.0
/*
 * When the branch flight recorder is frozen, it sends NMIs, of which some may come late. So within
 * a second after a freeze, it must claim an NMI of unknown origin. Two seconds after the freeze,
 * the kernel must report such an NMI.
 *
 *   stray MODULE soon|late
 */
#include <string.h>

#include "../guest/recorder.h"

#define DEVICE	"/dev/bts_crash"

int main(int argc, char **argv)
{
	bool late = argc > 2 && !strcmp(argv[2], "late"), told = false;
	char line[256];

	load_module(argv[1], "");
	must_set("enable", "1");
	/* A freeze on CPU 1 sends an NMI to CPU 0, where the stray NMI comes, too. */
	pin_to(1);
	must_set("freeze", "1");
	pin_to(0);
	open_log();
	if (late)
		sleep(2);
	skip_log();
	ok(!try_text(DEVICE, "stray"), "an NMI");
	while (read_log(line, sizeof(line)))
		told |= !!strstr(line, "NMI received for unknown reason");
	ok(told == late, late ? "is a stranger two seconds after the freeze" :
				"is the freeze's within a second");
	return finish();
}
