# SPDX-License-Identifier: GPL-2.0
# Check the last branch records that the crashing CPU printed on the console of a guest that
# died. Print "# N branches", and then an error if there is one. Set function_name to a function,
# least to the smallest number of branches, and top to the number of newest branches among which one
# from that function must be.

{
	sub(/\r$/, "")
	sub(/^\[[ 0-9.]*\] /, "")
}
/^Last branches of CPU/ {
	traces++
	cpu = $5 + 0
	lbr = / source lbr[:,]/
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
