/* SPDX-License-Identifier: GPL-2.0 */
/* kselftest_harness.h with a timeout that is enough for a kernel with debugging options. */
#ifndef BTS_PTRACE_HARNESS_H
#define BTS_PTRACE_HARNESS_H

#include "kselftest_harness.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	600	/* seconds */

#endif
