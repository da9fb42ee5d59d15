# SPDX-License-Identifier: GPL-2.0
# series: the series is complete, and the tools that apply and export it work
# shellcheck shell=bash

group_series() {
	check tools -- "$REPO/series/selftest"
	need_linux
	check whole -- "$REPO/series/check" --fast --kernel "$LINUX"
}
