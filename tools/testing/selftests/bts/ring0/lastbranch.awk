# SPDX-License-Identifier: GPL-2.0
# What is wrong with the last branch records on the console of a guest that died, of the
# CPU that crashed: a line, or nothing but "# N branches". Set function_name to where it
# crashed, least to how many branches are wanted, and top to how near to the top.

{
	sub(/\r$/, "")
	sub(/^\[[ 0-9.]*\] /, "")
}
/^Last branches of CPU/ {
	traces++
	cpu = $5 + 0
	lbr = / source lbr/
	next
}
traces == 1 && /^ .* <- / {
	printed++
	if (index($0, " <- " function_name "+") && !found)
		found = printed
}
END {
	print "# " printed + 0 " branches"
	if (traces != 1)
		print traces + 0 " traces, not one"
	else if (cpu != 0 || !lbr)
		print "CPU " cpu ", source lbr: " lbr
	else if (printed < least)
		print printed + 0 " branches, not " least
	else if (!found || found > top)
		print function_name " is number " found + 0
}
