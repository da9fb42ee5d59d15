# SPDX-License-Identifier: GPL-2.0
# Check the traces on the console of a guest that died. Print a line about an error, or nothing.
# Set function_name to the function that crashed, or that called panic() or nmi_panic(); cpus to the
# number of traces (one of each CPU, or more if they are printed again); and all to 1 if all CPUs
# crashed there.

{
	sub(/\r$/, "")
	# A panic may print the beginning of a line, and then, behind it, the whole line.
	sub(/^\[(.*\[)? *[0-9]+\.[0-9]+\] /, "")
}
/^Last branches of CPU/ {
	traces++
	if (traces == 1)
		cpu = $5 + 0
	next
}
traces && / did not stop recording/ {
	running++
}
traces && /^ .* <- / {
	printed[traces]++
	if (!index($0, " <- " function_name "+"))
		next
	if (traces == 1 && !found)
		found = printed[traces]
	tops += printed[traces] == 1
}
END {
	for (i = 2; i <= traces; i++)
		short += printed[i] != 32
	if (!traces)
		print "no trace"
	else if (cpu != 0)
		print "CPU " cpu " came first"
	else if (printed[1] != 32)
		print printed[1] " branches of the crashing CPU, not 32"
	else if (!found)
		print function_name " is not among the last 32"
	else if (found > 1)
		print function_name " is number " found ", not on top"
	else if (traces != cpus || short || running)
		print traces " traces, " short + 0 " of them too short, " running + 0 " did not stop"
	else if (all && tops != cpus)
		print function_name " is on top " tops " times only"
}
