# SPDX-License-Identifier: GPL-2.0
# series: the series is complete, and the tools that apply and export it work
# shellcheck shell=bash

# The programs of the kselftest, each also for 32 bits
KSELFTEST_PROGRAMS="multithread multithread_32 refusals refusals_32 rings rings_32 steps steps_32"

# build_kselftest_alone DIR: copy only two parts of the series to DIR: the files below selftests/bts
# of the kselftest's patch, and the new headers for user space. The kselftest must build there.
build_kselftest_alone() {
	local dir=$1

	mkdir -p "$dir" && cd "$REPO" &&
		sed -n '/^8000-selftests-bts$/,/^$/s/^  \(.*selftests\/bts\/\)/\1/p' series/series |
		xargs cp --parents -t "$dir" arch/x86/include/uapi/asm/*bts.h &&
		make -C "$dir/$BTS_PATH" -j "$JOBS" SELFTESTS="$LINUX/tools/testing/selftests" programs &&
		[ "$(cd "$dir/$BTS_PATH/out/guest" && echo *)" = "$KSELFTEST_PROGRAMS" ]
}

kselftest_alone() {
	local dir=$SCRATCH/kselftest log=$CACHE/log/kselftest-alone

	if logged "build the kselftest alone" "$log" build_kselftest_alone "$dir"; then
		pass kselftest-alone.build
	else
		fail kselftest-alone.build "$(reason_in "$log") (see $log)"
	fi
}

group_series() {
	check tools -- "$REPO/series/selftest"
	need_linux
	kselftest_alone
	check whole -- "$REPO/series/check" --fast --kernel "$LINUX"
}
