# SPDX-License-Identifier: GPL-2.0
# Print how many branches the first trace on a console shows, and how many functions they name.

{
	sub(/\r$/, "")
	sub(/^\[[ 0-9.]*\] /, "")
}
/^Last branches of CPU/ {
	traces++
	next
}
traces == 1 && /^ .* <- / {
	branches++
	for (i = 1; i <= NF; i++) {
		if ($i ~ /\+0x/) {
			sub(/\+0x.*/, "", $i)
			functions += !seen[$i]++
		}
	}
}
END { print branches + 0, functions + 0 }
