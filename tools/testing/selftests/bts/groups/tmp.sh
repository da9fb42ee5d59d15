. "$B/groups/ring0.sh"
group_tmp() {
	local i
	need_lab "$B/ring0/lab" bts_crash patched "$CONFIG"
	for i in $(seq 1 2); do
	survived seen$i smp=2 icount=1 timeout=300 stall=200 -- crash seen 2
	done
}
