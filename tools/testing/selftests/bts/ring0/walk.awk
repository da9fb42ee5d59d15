# SPDX-License-Identifier: GPL-2.0
# Check folded branches against the disassembly. Print a summary that begins with '#', and a line
# about each error that is found. The check ends at the first wrong line.
#
#   objdump -d --no-show-raw-insn vmlinux bts_crash.ko | awk -f walk.awk TRACES -
#
# TRACES has lines '# raw TEXT' of all records, the newest first, and '# fold TEXT' of the lines
# that the kernel has folded them into. This script recognizes calls and returns in the
# disassembly, and matches them on a stack from the oldest record to the newest. Set within to 1 if
# the records need not contain a whole stay in the kernel.

BEGIN {
	nr_raw = nr_fold = nr_insn = wrong = 0
	split("", l)
	split("", m)
}

function place(text) {
	sub(/ \[[^]]*\]$/, "", text)
	return text
}

function split_line(text, into,    arrow, part) {
	sub(/^ *[0-9]+ +/, "", text)
	into["inside"] = 0
	into["times"] = 1
	into["lines"] = 1
	if (match(text, /, these [0-9]+ lines [0-9]+ times$/)) {
		split(substr(text, RSTART), part, " ")
		into["lines"] = part[3] + 0
		into["times"] = part[5] + 0
		text = substr(text, 1, RSTART - 1)
	} else if (match(text, /, [0-9]+ times$/)) {
		into["times"] = substr(text, RSTART + 2) + 0
		text = substr(text, 1, RSTART - 1)
	}
	if (match(text, /, [0-9]+ branches$/)) {
		into["inside"] = substr(text, RSTART + 2) + 0
		text = substr(text, 1, RSTART - 1)
	}
	arrow = index(text, " <- ")
	into["to"] = arrow ? place(substr(text, 1, arrow - 1)) : text
	into["from"] = arrow ? place(substr(text, arrow + 4)) : ""
}

FILENAME != "-" && /^# raw / {
	split_line(substr($0, 7), l)
	to[nr_raw] = l["to"]
	from[nr_raw] = l["from"]
	need[l["from"]] = 1
	symbol_needed[substr(l["from"], 1, index(l["from"], "+") - 1)] = 1
	nr_raw++
	next
}

FILENAME != "-" && /^# fold / {
	fold[nr_fold++] = substr($0, 8)
	next
}

FILENAME != "-" {
	next
}

# Convert a hexadecimal number.
function hex(text,    i, n) {
	n = 0
	text = tolower(text)
	for (i = 1; i <= length(text); i++)
		n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
	return n
}

# Convert the low 9 digits of an address only: awk's numbers are not exact for all 16 digits.
function low(text) {
	return hex(substr(text, length(text) - 8 > 0 ? length(text) - 8 : 1))
}

# Store the instructions of a symbol that are sources of branches. Called when the next symbol
# begins, at @end, as only then is the symbol's size known. For the last symbol of a file, @end may
# not be its end.
function end_symbol(end,    i, key) {
	for (i = 0; i < nr_insn; i++) {
		key = sprintf("%s+0x%x/0x%x", symbol, insn_at[i] - start, end - start)
		if (key in need) {
			what[key] = insn_what[i]
			# The disassembly of a module shows a jump to another file as one to the
			# next instruction. The jump has 5 bytes, or more with a prefix.
			if (leads[i] == insn_at[i + 1] && insn_at[i + 1] - insn_at[i] >= 5)
				what[key] = "jmp-out"
			after[key] = sprintf("%s+0x%x/0x%x", symbol,
					     insn_at[i + 1] - start, end - start)
		}
	}
	nr_insn = 0
}

# A local label does not begin a symbol.
/^[0-9a-f]+ <\.L.*>:$/ {
	next
}

/^[0-9a-f]+ <.*>:$/ {
	insn_at[nr_insn] = low($1)
	end_symbol(low($1))
	symbol = substr($2, 2, length($2) - 3)
	start = low($1)
	wanted = symbol in symbol_needed
	next
}

!wanted {
	next
}

/^ *[0-9a-f]+:\t/ {
	split($0, part, "\t")
	if (part[2] == "")
		next
	sub(/:.*/, "", part[1])
	gsub(/ /, "", part[1])
	insn_at[nr_insn] = low(part[1])
	sub(/^((bnd|notrack|cs|ds|rep|repz|repne|data16) )+/, "", part[2])
	split(part[2], word, " ")
	# The kernel replaces a jump to the thunk for returns by RET if it needs no thunk.
	if (word[1] == "jmp" && part[2] ~ /<(__pi_)?__x86_return_thunk>/)
		word[1] = "ret-thunk"
	leads[nr_insn] = word[1] == "jmp" ? low(word[2]) : 0
	insn_what[nr_insn++] = word[1]
}

function is_thunk(text) {
	return text ~ /^(__pi_)?(__x86_indirect|__x86_return|its_return|retbleed_return|call_depth_return|srso_)/
}

function kind(i,    w) {
	if (from[i] == "" || from[i] == "user mode" || to[i] ~ /^__switch_to_asm\+0x0/)
		return "break"
	w = what[from[i]]
	if (to[i] ~ /^asm_(exc|sysvec|int)[a-z0-9_]*\+0x0\//)
		return "entry"
	if (w ~ /^call/)
		return "call"
	if (w == "ret-thunk" || w == "jmp-out")
		return is_thunk(to[i]) || w == "jmp-out" && to[i] ~ /\+0x0\// ? "jump" : "return"
	if (w ~ /^ret/)
		return "return"
	# sync_core() may execute an IRET to the next instruction.
	if (w ~ /^iret/)
		return to[i] == after[from[i]] ? "jump" : "exit"
	# vmlinux has another instruction here, which the kernel has replaced by a call of 5 bytes.
	# With call depth tracking, a call goes to the padding before the function.
	if (w != "" && w !~ /^(j|loop)/ && to[i] ~ /\+0x0\/|^__pfx_/) {
		after[from[i]] = later(from[i], 5)
		return "call"
	}
	return w == "" ? "unknown" : "jump"
}

# Returns the address @bytes after the address @text, which is SYMBOL+OFFSET/SIZE.
function later(text, bytes,    part) {
	split(text, part, /\+0x|\/0x/)
	return sprintf("%s+0x%x/0x%s", part[1], hex(part[2]) + bytes, part[3])
}

# Go from the oldest record to the newest, and find the call of each return.
function match_all(    i, k, top) {
	for (i = nr_raw - 1; i >= 0; i--) {
		k = kind(i)
		if (is_thunk(from[i]) && k != "entry" && k != "break")
			continue
		if (k == "jump" && is_thunk(to[i])) {
			# The newest record of the thunk tells where it has jumped to.
			k = to[i] ~ /return/ ? "return" : "jump"
			last = i
			while (last > 0 && is_thunk(from[last - 1]))
				last--
			arrives = to[last]
		} else {
			last = i
			arrives = to[i]
		}
		if (k == "break") {
			top = 0
		} else if (k == "call" || k == "entry") {
			level[++top] = i
			back[top] = k == "call" ? after[from[i]] : from[i]
			type[top] = k
		} else if (k == "return" || k == "exit") {
			if (top && (back[top] == arrives || type[top] == "entry" && k == "exit"))
				belongs[last] = level[top--]
			else
				top = 0
		}
	}
}

function bad(text) {
	print text
	wrong++
}

# Returns whether folded line number @nr is a stay in the kernel that has ended.
function is_stay(nr,    m) {
	if (nr >= nr_fold)
		return 0
	split_line(fold[nr], m)
	return m["from"] == "user mode" && m["inside"]
}

# Returns the newest record of the shortest call that has at least half of the records from @newest
# to @oldest; -1 if there is none.
function longest(newest, oldest,    i, n, found, least) {
	found = -1
	for (i = newest; i < oldest; i++) {
		if (!(i in belongs))
			continue
		n = belongs[i] + 1 - i
		if (2 * n >= oldest + 1 - newest && (found < 0 || n < least)) {
			found = i
			least = n
		}
	}
	return found
}

# Check the folded line @l, which is one of a stay that has ended: the call that longest() finds, or
# the entry from user mode. The newest record of the line is @p. Returns the number of its records.
function stay_step(p, l,    oldest, i) {
	if (!stay)
		stay = p
	oldest = stay
	while (oldest < nr_raw - 1 && kind(oldest) != "break")
		oldest++
	if (from[oldest] != "user mode") {
		bad("a stay without its entry: " l["to"] " <- " l["from"])
		return 0
	}
	i = longest(stay, oldest)
	if (l["from"] != "user mode" && (i < 0 || from[belongs[i]] != l["from"])) {
		bad("not the longest call of a stay: " l["to"] " <- " l["from"])
		return 0
	}
	if (l["from"] != "user mode") {
		inside = belongs[i] + 1 - i
		return belongs[i] + 1 - p
	}
	if (i >= 0 && p == stay)
		bad("a stay without its longest call, " to[belongs[i]])
	inside = oldest + 1 - stay
	stay = 0
	stays++
	return oldest + 1 - p
}

# Check the folded line @l, number @nr, whose newest record is @p. Returns the number of its
# records, and stores in inside the number of branches that the line should tell.
function step(p, l, nr,    first, last) {
	if (stay || p && from[p - 1] == "user mode" && (is_stay(nr) || is_stay(nr + 1)))
		return stay_step(p, l)
	if (l["inside"]) {
		if (!(p in belongs)) {
			bad("no return: " l["to"] " <- " l["from"] ", but " to[p] " <- " from[p] " (" what[from[p]] ")")
			return 0
		}
		first = belongs[p]
		last = first
	} else {
		last = p
		while (is_thunk(from[last]) && last + 1 < nr_raw && kind(last + 1) != "break")
			last++
		# The branch to the thunk is not recorded: the line has one branch in the thunk.
		if (is_thunk(from[last]))
			last = p
		first = last
	}
	if (from[first] != l["from"])
		bad("from " l["from"] ", but " from[first])
	inside = (l["inside"] ? first : last) + 1 - p
	return inside
}

END {
	insn_at[nr_insn] = 0
	end_symbol(insn_at[nr_insn - 1] + 16)
	match_all()
	p = 0
	for (i = 0; i < nr_fold && !wrong; i++) {
		split_line(fold[i], l)
		# Only the last line of a repeated sequence tells how many lines the sequence has.
		n = 1
		for (j = i + 1; j < i + 8 && j < nr_fold; j++) {
			split_line(fold[j], m)
			if (m["lines"] == j - i + 1) {
				n = m["lines"]
				l["times"] = m["times"]
			}
		}
		times = l["times"]
		for (j = 0; j < n; j++)
			sum[j] = 0
		for (t = 0; t < times && !wrong; t++) {
			for (j = 0; j < n && !wrong; j++) {
				split_line(fold[i + j], m)
				p += step(p, m, i + j)
				sum[j] += inside
			}
		}
		for (j = 0; j < n && !wrong; j++) {
			split_line(fold[i + j], m)
			if (m["inside"] && m["inside"] != sum[j])
				bad(m["inside"] " branches of " m["to"] ", but " sum[j])
			returned += m["inside"] && m["from"] != "user mode"
		}
		i += n - 1
	}
	if (!wrong && p != nr_raw)
		bad(p " of " nr_raw " records are in the lines")
	for (i = 0; i < nr_raw; i++)
		known += what[from[i]] != ""
	print "# " nr_fold + 0 " lines of " nr_raw + 0 " records, " returned + 0 " calls and " stays + 0 \
		" stays have returned, " known + 0 " instructions known"
	if (!wrong && (nr_raw < 500 || !returned || !stays && !within || known < nr_raw * 3 / 4))
		print "too little to tell"
}
