#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# stubs.sh DIR: check that btstrace (in DIR) names the stub in .plt.got, which has 8 bytes without
# ENDBR, and 16 bytes with ENDBR.

dir=$1
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"

# stub SIZE OPTION...: compile a program with these options. At its end, it calls __cxa_finalize()
# through a stub in .plt.got, which must have SIZE (hexadecimal) bytes.
stub() {
	local size=$1
	shift

	echo 'int main(void) { return 0; }' | gcc -fPIE -pie "$@" -x c -o "$scratch/program" - &&
		readelf -SW "$scratch/program" | grep -q " \.plt\.got .* 0000$size " &&
		"$dir/test/record" "$scratch/trace" "$scratch/program" &&
		"$dir/btstrace" -r "$scratch/trace" --json |
			grep -q '"to":{[^}]*"function":"__cxa_finalize@plt","offset":0,'
	result $? "a stub of $((0x$size)) bytes"
}

stub 08 -fcf-protection=none
stub 10 -fcf-protection=full -Wl,-z,ibt
finish
