# SPDX-License-Identifier: GPL-2.0
# units (slow): a kernel boots and passes its unit tests; see series/check --boot
# shellcheck shell=bash

group_units() {
	boot hello smp=2 pti=on -- hello 2 on
	boot units smp=2 abort=1 append=kunit.enable=1 -- kunit
}
