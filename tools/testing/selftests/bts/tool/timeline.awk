# SPDX-License-Identifier: GPL-2.0
# Check a timeline of Perfetto as protoc --decode prints it, against what `btstrace --calls`
# prints of the same trace:
#
#   awk -v first=N -f timeline.awk CALLS TIMELINE
#
# Prints KTAP, from the check number N on.

function value(line)
{
	sub(/^[^:]*: /, "", line)
	gsub(/^"|"$/, "", line)
	return line
}

# Check the packet that has been read. Its fields are in packet[]; all interned names in name_of[].
function end_packet(   i, track)
{
	if ("own" in packet) {
		is_track[packet["own"]] = 1
		is_thread[packet["own"]] = "thread" in packet
		if ("parent_uuid" in packet && !(packet["parent_uuid"] in is_track))
			wrong["track"]++
	}
	if ("event" in packet) {
		track = packet["track_uuid"]
		if (!is_thread[track])
			wrong["track"]++
		if (packet["sequence_flags"] != 2)
			wrong["sequence"]++
		# awk's numbers are doubles, which are not exact for all 64-bit clocks: compare as
		# text. The text with more digits is later.
		clock = packet["timestamp"]
		if (length(clock) < length(clocks[track]) ||
		    (length(clock) == length(clocks[track]) && clock "" < clocks[track] ""))
			wrong["clock"]++
		clocks[track] = clock
		for (i = 0; i < nr_iids; i++)
			if (!(iids[i] in name_of))
				wrong["name"]++
		if (packet["type"] == "BEGIN") {
			depth[track]++
			begun[name_of["name" packet["name_iid"]]]++
			events++
		} else if (packet["type"] == "END" && --depth[track] < 0) {
			wrong["nesting"]++
		}
	}
	delete packet
	nr_iids = 0
}

function ok(good, what)
{
	printf "%sok %d - %s\n", good ? "" : "not ", first++, what
	failed += !good
}

# A line of --calls has four columns: the calls, the branches in the function, the sum of these and
# of the branches in the functions that it calls, and the name.
FNR == NR {
	if ($1 ~ /^[0-9]+$/ && $3 ~ /^[0-9]+$/ && $4 ~ /^(compare|sorts|main)$/)
		told[$4] += $1
	next
}

/^packet \{/ { end_packet(); next }
/^  track_descriptor \{/ { in_track = 1 }
/^  track_event \{/ { packet["event"] = 1 }
/^  \}/ { in_track = 0 }
/^    uuid: / { packet["own"] = value($0) }
/^    thread \{/ { packet["thread"] = 1 }
/^      process_name: / { processes++; process = value($0) }
/^    (event_names|event_categories) \{/ { kind = $1 == "event_names" ? "name" : "category" }
/^      iid: / { iid = value($0) }
/^      name: / { name_of[kind iid] = value($0) }
/^    name_iid: / { iids[nr_iids++] = "name" value($0) }
/^    category_iids: / { iids[nr_iids++] = "category" value($0) }
/^  (timestamp|sequence_flags): / || /^    (parent_uuid|track_uuid|type|name_iid): / {
	key = $1
	sub(/:$/, "", key)
	packet[key] = value($0)
}

END {
	end_packet()
	for (track in depth)
		if (depth[track])
			wrong["nesting"]++
	for (what in wrong)
		all = all " " what " " wrong[what]
	ok(all == "" && events > 100, "timeline: " events " calls; wrong:" all)
	ok(processes == 1 && process == "shapes", "timeline: the process has its name")
	same = 1
	for (name in told) {
		functions++
		same = same && begun[name] == told[name]
		list = list " " name " " told[name]
	}
	ok(functions == 3 && same, "timeline: as many calls as --calls tells of:" list)
	exit failed != 0
}
