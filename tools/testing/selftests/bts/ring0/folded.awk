# SPDX-License-Identifier: GPL-2.0
# Check the folded branches on the console of a guest that died. Print a line about an error, or
# nothing. Set function_name to the function from which the branch on top must come, and within to 1
# if the records need not reach back to the entry into the kernel.

{
	sub(/\r$/, "")
	sub(/^\[[ 0-9.]*\] /, "")
}
/^Last branches of CPU/ {
	traces++
	next
}
traces && /^ .* <- / {
	lines++
	if (index($0, " <- " function_name "+") && !found)
		found = lines
	if (/ branches(,|$)/)
		returned++
	if (/ <- user mode|do_syscall_64/)
		entered = lines
}
END {
	if (traces != 1)
		print traces + 0 " traces, not one"
	else if (lines > 32 || lines < 5)
		print lines + 0 " lines"
	else if (found != 1)
		print function_name " is number " found + 0 ", not on top"
	else if (!returned)
		print "no call that has returned"
	else if (!entered && !within)
		print "the way from the system call is not there"
}
