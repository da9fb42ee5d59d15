# SPDX-License-Identifier: GPL-2.0
# Read KTAP, and print one line for each result: "pass NAME", "fail NAME REASON", or "skip NAME
# REASON". Ignore results of subtests, which are indented: the result after them sums them up. Print
# a failure if the number of results differs from the plan.

function name_of(text)
{
	sub(/^(not )?ok [0-9]*[ \t]*(- )?/, "", text)
	sub(/[ \t]*#.*/, "", text)
	gsub(/[^A-Za-z0-9_.:+=\/-]+/, "_", text)
	return text == "" ? "test" run : text
}

{ sub(/\r$/, "") }

/^1\.\.[0-9]+/ {
	plan = substr($0, 4) + 0
	planned = 1
	if (plan == 0 && $0 ~ /# *SKIP/) {
		sub(/.*# *SKIP */, "")
		print "skip all " $0
		skipped = 1
	}
}

# After the reason of a failure, KUnit may print that the test is slow, and a summary.
/^# / && !/^# init: / && !/^# [^ ]*\.speed: / && !/: Test should be marked slow/ &&
!/^# [^ ]*: pass:[0-9]/ { note = substr($0, 3) }

/^ok [0-9]/ {
	run++
	name = name_of($0)
	if ($0 ~ /# *(SKIP|skip)/) {
		sub(/.*# *(SKIP|skip) */, "")
		print "skip " name " " $0
	} else {
		print "pass " name
	}
	note = ""
}

/^not ok [0-9]/ {
	run++
	print "fail " name_of($0) " " (note == "" ? "not ok" : note)
	note = ""
}

END {
	if (planned && plan != run + 0)
		print "fail plan " plan " results planned, " run + 0 " came"
	else if (planned && !run && !skipped)
		print "fail plan no test was planned"
}
