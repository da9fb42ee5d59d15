// SPDX-License-Identifier: GPL-2.0
/*
 * What a trace says of the errata of this processor.
 *
 *   errata PTRACE_BTS_ERRATUM_*
 */
#include <stdlib.h>

#include "common.h"

int main(int argc, char **argv)
{
	uint32_t expected = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	struct tracee t = tracee_new();
	struct ptrace_bts_status status;

	if (bts_config(t.pid, TRACE | ALLOC, RECORDS(10), 0))
		give_up("no trace");
	status = bts_status(t.pid);
	ok(status.errata == expected, "errata %#x, %#x expected", status.errata, expected);
	tracee_end(&t);
	return finish();
}
