// SPDX-License-Identifier: GPL-2.0
/*
 * Run the kernel's unit tests on request, not at boot: a test that crashes the machine would do
 * so at each boot, and the kit could not continue with the next step.
 */
#include <linux/errno.h>

#include <kunit/test.h>

#include "internal.h"

int lab_units(void)
{
	struct kunit_suite * const *begin = lab_symbol("__kunit_suites_start");
	struct kunit_suite * const *end = lab_symbol("__kunit_suites_end");
	bool *enable = lab_symbol("enable_param");
	static bool done;

	if (!begin || !end || !enable)
		return -ENOENT;
	if (done)
		return 0;
	done = true;
	*enable = true;
	__kunit_test_suites_init(begin, end - begin, true);
	return 0;
}
