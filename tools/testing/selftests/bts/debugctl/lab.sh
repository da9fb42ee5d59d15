# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The laboratory's module, for the groups debugctl and nested.

# lab_boot CASE KEY=VALUE... -- PROG [ARG...]: boot with the laboratory's
# module, made for that kernel; its path goes before the first ARG. The keys
# kernel and config must come first.
lab_boot() {
	need_lab "$B/debugctl/lab" debugctl_lab "${2#kernel=}" "${3#config=}"
	boot "$1" before="$LAB" "${@:2}"
}
