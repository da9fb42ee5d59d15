#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make.sh DIR SOURCE: check that btstrace's Makefile (in SOURCE) names missing packages,
# installs, and uninstalls. DIR holds the built files.

# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"

make -C "$2" OUTPUT="$scratch/none" CC='gcc -nostdinc' >"$scratch/out" 2>&1
[ $? -eq 2 ] && grep -q 'apt-get install libdw-dev libelf-dev libzydis-dev libiberty-dev' "$scratch/out"
result $? "what is missing is named"
[ ! -e "$scratch/none" ]
result $? "and nothing is built"
make -C "$2" OUTPUT="$1" CFLAGS='-O2 -g -Werror' prefix=/usr DESTDIR="$scratch/there" install >/dev/null &&
	[ -x "$scratch/there/usr/bin/btstrace" ] &&
	[ "$(find "$scratch/there" -type f | wc -l)" -eq 3 ]
result $? "install: three files"
make -C "$2" OUTPUT="$1" prefix=/usr DESTDIR="$scratch/there" uninstall >/dev/null &&
	[ "$(find "$scratch/there" -type f | wc -l)" -eq 0 ]
result $? "uninstall: none is left"
finish
