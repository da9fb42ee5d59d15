# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Boot with the module of the laboratory, for the groups debugctl and nested.

# lab_boot CASE KEY=VALUE... -- PROG [ARG...]: build the laboratory's module for the given
# kernel, boot, and pass the path of the module before the first ARG. The keys kernel and
# config must come first.
lab_boot() {
	need_lab "$B/debugctl/lab" debugctl_lab "${2#kernel=}" "${3#config=}"
	boot "$1" before="$LAB" "${@:2}"
}
