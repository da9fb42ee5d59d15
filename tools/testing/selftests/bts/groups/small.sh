# SPDX-License-Identifier: GPL-2.0
# small (slow): kernels for one processor, and for 32 bits with either layout
# shellcheck shell=bash

# small_unit CASE CONFIGURATION KEY=VALUE...: the unit tests of the series
small_unit() {
	boot "$1-debugctl" kernel=patched config="$2" append=kunit.enable=1 "${@:3}" -- kunit debugctl
	boot "$1-ds" kernel=patched config="$2" append=kunit.enable=1 "${@:3}" -- kunit x86_ds
	boot "$1-bts" kernel=patched config="$2" append=kunit.enable=1 "${@:3}" -- kunit bts_ring bts_context
}

group_small() {
	small_unit up "$CONFIG,up" smp=1
	small_unit wide "$CONFIG,32" smp=2
	small_unit narrow "$CONFIG,32" smp=2 cpu="$CPU,-dtes64"
}
