# SPDX-License-Identifier: GPL-2.0
# Input: the file named by the variable unrun, with lines 'FILE FUNCTION<TAB>REASON'; the file named
# by the variable files, with the names of the wanted files; gcov's text of one or more kernels.
#
# Print a table with the number of lines in each file that ran, that ran but cannot be counted
# (REASON begins with 'uncounted: '), and that did not run for a known reason. Then print the lines
# that did not run and have no reason, and all reasons. Fail if there is such a line, if a reason is
# not needed (unless it begins with 'sometimes: '), or if too few lines of a file ran (goal).

function percent(part, whole)
{
	return whole ? 100 * part / whole : 0
}

# If the function has no lines with counts in this kernel, it was not compiled there. Otherwise, the
# compiler has merged its lines without counts with their neighbors.
function end_function(    i)
{
	for (i = 1; has_counts && i <= nr_without; i++)
		merged[without_count[i]] = 1
	nr_without = has_counts = 0
}

FILENAME == unrun {
	if (/^[^#]/) {
		split($0, half, "\t")
		reason[half[1]] = half[2]
		functions[++nr_reasons] = half[1]
	}
	next
}

FILENAME == files {
	wanted[++nr] = $0
	next
}

/^ *-: *0:Source:/ {
	end_function()
	source = ""
	function_name = ""
	for (i = 1; i <= nr; i++)
		if (substr($0, length($0) - length(wanted[i])) == "/" wanted[i])
			source = wanted[i]
	next
}

source == "" { next }

{
	count = $0
	sub(/:.*/, "", count)
	gsub(/ /, "", count)
	line = $0
	sub(/^[^:]*: */, "", line)
	text = line
	sub(/^[^:]*:/, "", text)
	line = line + 0
	if (!line)
		next
	if (text ~ /^[a-z_].*[a-z0-9_]\(/ && text !~ /;$/) {
		end_function()
		function_name = text
		sub(/\(.*/, "", function_name)
		sub(/.*[ *]/, "", function_name)
	}
	key = source SUBSEP line
	if (count == "-") {
		without_count[++nr_without] = key
		next
	}
	has_counts = 1
	if (!(key in ran)) {
		lines[source]++
		order[source, lines[source]] = line
		ran[key] = 0
		shown[key] = text
		within[key] = source " " function_name
	}
	if (count ~ /^[1-9]/)
		ran[key] = 1
}

# Return whether to count a line. If it did not run, do not count it if the compiler has merged it
# with its neighbors in one kernel: it may have run there.
function counts(key)
{
	return ran[key] || !(key in merged)
}

# Return whether there is a reason for a line that did not run.
function excused(key)
{
	return within[key] in reason
}

function uncounted(key)
{
	return excused(key) && reason[within[key]] ~ /^uncounted: /
}

function report_file(name,    j, key, nr_lines, run, lost, known, share)
{
	for (j = 1; j <= lines[name]; j++) {
		key = name SUBSEP order[name, j]
		if (!counts(key))
			continue
		nr_lines++
		run += ran[key]
		lost += !ran[key] && uncounted(key)
		known += !ran[key] && excused(key) && !uncounted(key)
	}
	share = percent(run + lost, nr_lines)
	wrong += share < goal
	all += nr_lines
	all_run += run
	all_lost += lost
	all_known += known
	printf "%-46s %6d %6d %6.1f %9d %6d%s\n", name, nr_lines, run,
		percent(run, nr_lines), lost, known, share < goal ? "  below " goal : ""
}

function report_rest(name,    j, key)
{
	for (j = 1; j <= lines[name]; j++) {
		key = name SUBSEP order[name, j]
		if (ran[key])
			continue
		if (!counts(key)) {
			print "merged in one kernel, not run in another: " name ":" order[name, j] ":" shown[key]
			continue
		}
		used[within[key]] = 1
		if (excused(key))
			continue
		print "no reason: " name ":" order[name, j] ": " shown[key]
		wrong++
	}
}

END {
	end_function()
	printf "%-46s %6s %6s %6s %9s %6s\n", "file", "lines", "run", "%", "uncounted", "known"
	for (i = 1; i <= nr; i++)
		report_file(wanted[i])
	printf "%-46s %6d %6d %6.1f %9d %6d\n", "all", all, all_run, percent(all_run, all),
		all_lost, all_known
	for (i = 1; i <= nr; i++)
		report_rest(wanted[i])
	for (i = 1; i <= nr_reasons; i++) {
		key = functions[i]
		if (key in used || reason[key] ~ /^sometimes: /) {
			print "known: " key ": " reason[key]
		} else {
			print "reason for what ran: " key
			wrong++
		}
	}
	exit wrong > 0
}
