# SPDX-License-Identifier: GPL-2.0
# ring0: the branch flight recorder: its files, and what it prints of a crash
# shellcheck shell=bash

# shellcheck source=shared/boots.sh
. "$B/groups/shared/boots.sh"
# shellcheck source=shared/jump.sh
. "$B/groups/shared/jump.sh"
# shellcheck source=shared/crashes.sh
. "$B/groups/shared/crashes.sh"
# shellcheck source=shared/oracle.sh
. "$B/groups/shared/oracle.sh"

ring0_files() {
	# In `missing`, the processor has neither a Debug Store nor LBRs.
	strict files smp=1 timeout=300 -- files all
	strict files-2 smp=2 pti=off timeout=300 -- files all
	strict files-no-cpl smp=2 timeout=300 cpu="$CPU,-ds-cpl" -- files all
	strict missing cpu="${CPU%%,*},-ds,-dtes64,-ds-cpl" append=hw_branches -- files missing
	console_says missing 'cannot record: error -\(EOPNOTSUPP\|95\)'
	# The KUnit tests of the Debug Store must not take it from the recorder.
	strict booted smp=2 append="hw_branches kunit.enable=1 kunit.filter_glob=x86_ds" -- \
		files booted 01
	strict booted-list smp=3 append=hw_branches=1-2 -- files booted 12
	strict booted-bad smp=1 append=hw_branches=x -- files booted -
}

# scrubbed CASE KEY=VALUE...: run the program scrub, beside a trace of the module bts_lab.
scrubbed() {
	need_lab "$B/guest/labs/bts" bts_lab patched "$CONFIG"
	strict "$1" smp=2 before="$LAB" "${@:2}" -- scrub
}

# called_by SPLAT FUNCTION: return whether a stack trace in the 70 lines after SPLAT has FUNCTION.
called_by() {
	grep -A 70 "$1" "$CASE_DIR/console" | grep -q "\]  $2+0x"
}

# Return whether the messages of a crash are left to a thread, which prints them to the console: on
# 6.12 with PREEMPT_RT. When a crash kernel takes over, or in kdb, that thread does not run.
prints_late() {
	has_option PREEMPT_RT && [ "$LINUX_VERSION" = 6.12 ]
}

# kdb CASE KEY=VALUE... -- kdb WHERE: enter kdb at WHERE.
kdb() {
	local crash

	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	crash=$LAB
	need_lab "$B/ring0/kdb-terminal" bts_kdb patched "$CONFIG"
	strict "$1" smp=2 before="$crash $LAB" "${@:2}"
}

# Print the known splats of kgdb and kdb that the last case has, each as an alternative of a regular
# expression. Setting a breakpoint takes the lock of a page table, and kdb's command `set` allocates
# memory, even in an NMI.
kdb_splats() {
	local splat

	for splat in 'sleeping function .*kernel/locking/spinlock_rt.c' 'inconsistent lock state' \
		'WARNING: .* stack_depot_save_flags'; do
		if called_by "$splat" kgdb_arch_set_breakpoint || called_by "$splat" kdb_set; then
			printf '|%s' "$splat"
		fi
	done
}

# kdb_crash CASE KEY=VALUE... -- kdb WHERE: as kdb, but there must be splats, only those of a crash
# and of kdb_splats.
kdb_crash() {
	kdb "$1" expect=splat "${@:2}"
	nothing_else "$1" "$CRASH$(kdb_splats)"
}

ring0_kdb() {
	# kdb-break needs a processor without LBRs.
	local cpu=cpu=${CPU%%,*}

	# On 7.3, the memory that `set` allocates needs a sleeping lock with PREEMPT_RT, and KASAN
	# warns that it saves a stack in an NMI.
	if { has_option PREEMPT_RT || has_option KASAN; } && [ "$LINUX_VERSION" != 6.12 ]; then
		kdb_crash kdb-break "$cpu" -- kdb break
	else
		kdb kdb-break "$cpu" -- kdb break
	fi
	# Without SMAP, interrupts are on while the kernel handles such a fault. With the clock of a
	# busy host, a timer tick may come then.
	kdb_crash kdb-oops icount=1 -- kdb oops
	came_to_end kdb-oops
	kdb_crash kdb-stop -- kdb stop
	came_to_end kdb-stop
	if prints_late; then
		# Only what kdb's commands print gets to the console.
		kdb kdb-panic expect=reboot -- kdb panic
		nothing_else kdb-panic "$CRASH$(kdb_splats)"
		judge_trace kdb-panic bts_crash_panic 2
	else
		kdb_crash kdb-panic -- kdb panic
		judge_trace kdb-panic bts_crash_panic 4
	fi
	# If the user of kdb continues after a panic, the branches are printed as well.
	kdb_crash kdb-go -- kdb go
	judge_trace kdb-go bts_crash_panic 2
}

# folded CASE KIND FUNCTION KEY=VALUE...: with default settings, a fatal crash must print the
# branches of the crashing CPU only, from FUNCTION on top back to the system call.
folded() {
	local within=0

	# With the host's clock, the task could be preempted between the system call and its crash.
	crashing "$1" smp=2 icount=1 "${@:4}" -- crash end "$2"
	# With lockdep, printing a warning takes more branches than the buffer holds.
	[ "$2" != warn ] || ! has_option PROVE_LOCKING || within=1
	judge_folded "$1" "$3" $within
}

# whole CASE: an oops and its branches must fit into the 10 KiB that pstore saves by default.
whole() {
	local size

	size=$(tr -d '\r' <"$CASE_DIR/console" | sed -n '/BUG: /,/end trace/p' | wc -c)
	if [ "$size" -gt 1000 ] && [ "$size" -lt 10240 ]; then
		pass "$1.whole"
	else
		fail "$1.whole" "$size bytes (see $CASE_DIR/console)"
	fi
}

# soon_frozen CASE MOST: CPU 0 must have made fewer than MOST branches from its crash to the freeze.
soon_frozen() {
	local newer

	newer=$(sed -n 's/.*Last branches of CPU 0, newest first, \([0-9]*\) more.*/\1/p' \
		"$CASE_DIR/console" | head -n 1)
	if [ -n "$newer" ] && [ "$newer" -lt "$2" ]; then
		pass "$1.soon"
	else
		fail "$1.soon" "${newer:-no} branches until the freeze (see $CASE_DIR/console)"
	fi
}

# overwritten CASE KIND: the guest overwrites data that the recorder needs, and crashes. Printing
# the branches must not cause a second oops.
overwritten() {
	local oopses

	crashing "$1" smp=2 append="sysctl.kernel.panic_on_oops=1" -- crash end "$2"
	oopses=$(grep -c 'Oops: ' "$CASE_DIR/console")
	if [ "$oopses" = 1 ] && grep -q 'not syncing: Fatal exception' "$CASE_DIR/console"; then
		pass "$1.once"
	else
		fail "$1.once" "$oopses oopses, one was wanted, and its panic (see $CASE_DIR/console)"
	fi
}

# walked CASE KEY=VALUE...: the folded lines of a crash must agree with the disassembly.
walked() {
	local wrong within=0

	survived "$1" smp=2 "${@:2}" -- crash walk 1
	# With lockdep, the records may all be of one stay in the kernel. With the rule before, the
	# filter leaves out the entries from user mode.
	if has_option PROVE_LOCKING || [ "$CPL_RULE" = before ]; then
		within=1
	fi
	wrong=$(objdump -d --no-show-raw-insn "$KERNEL_BUILD/vmlinux" "$LAB" |
		awk -v within=$within -f "$B/ring0/walk.awk" "$CASE_DIR/ktap" -)
	grep '^#' <<<"$wrong" >"$CASE_DIR/walk"
	wrong=$(grep -v '^#' <<<"$wrong" | head -n 1)
	if [ -z "$wrong" ]; then
		pass "$1.walk"
	else
		fail "$1.walk" "$wrong (see $CASE_DIR/ktap)"
	fi
}

ring0_robust() {
	# The program prints much. PREEMPT_RT takes the interrupts of so much output for spurious.
	walked walk icount=1 append=noirqdebug
	overwritten overwritten-ring badring
	overwritten overwritten-context badcontext
	overwritten overwritten-store badstore
	# A CPU panics while another one prints: the branches of the panic must be printed.
	crashing cut smp=2 -- crash end cut
	console_says cut 'Last branches of CPU 1'
	folded panic-folded panic bts_crash_panic
	folded fault-folded task bts_crash_fault append="sysctl.kernel.panic_on_oops=1"
	whole fault-folded
	CRASH="$CRASH|WARNING:.*bts_crash_warn|panic_on_warn" \
		folded warn-folded warn bts_crash_warn append="panic_on_warn=1"
	folded bug-folded bug bts_crash_bug append="sysctl.kernel.panic_on_oops=1"
}

# With kCFI, a wrong indirect call is a crash, or only a warning, depending on the configuration.
ring0_cfi() {
	local CRASH="$CRASH|CFI failure at bts_crash_cfi"

	need_kernel patched "$CONFIG"
	has_option CFI || has_option CFI_CLANG || return 0
	if has_option CFI_PERMISSIVE; then
		CRASH="$CRASH|WARNING: .*bts_crash_cfi" survived cfi-warn smp=2 -- crash cfi 1
	else
		folded cfi cfi bts_crash_cfi append="sysctl.kernel.panic_on_oops=1"
	fi
}

ring0_units() {
	check damaged -- "$B/ring0/damaged.sh" "$REPO"
	need_kernel patched "$CONFIG"
	check decode -- "$B/ring0/decode.sh" "$PATCHED/scripts/decode_stacktrace.sh"
	boot units kernel=patched config="$CONFIG" append=kunit.enable=1 -- \
		kunit hw_branches_fold hw_branches_kind
}

ring0_crashes() {
	local clock=() caller=check_panic_on_warn

	# With KASAN, a timer tick takes more branches than there is room for. With the host's
	# clock, the slow kernel would have ticks all the time.
	! has_option KASAN || clock=(icount=1)
	survived task smp=2 -- crash task 4
	survived quiet smp=2 -- crash quiet 6
	survived off smp=2 -- crash off 1
	survived jump smp=2 "${clock[@]}" -- crash jump 1
	survived jump-no-cpl smp=2 cpu="$CPU,-ds-cpl" "${clock[@]}" -- crash jump 1
	survived jump-before smp=2 cpl=before "${clock[@]}" -- crash jump 1
	survived jump-either smp=2 cpl=either "${clock[@]}" -- crash jump 1
	CRASH="$CRASH|address: 0000000000000000" \
		survived null smp=2 "${clock[@]}" -- crash null 1
	CRASH="$CRASH|address: ffffffffffffffff" \
		survived error smp=2 "${clock[@]}" -- crash error 1
	survived protection smp=2 "${clock[@]}" -- crash protection 1
	survived bug smp=2 -- crash bug 2
	survived pause smp=2 append=pause_on_oops=1 -- crash task 4
	# A second crash of this kind would wait for the lock of the console for ever. So there is
	# only one sample of the time until the freeze, and a timer tick in it would be an error. A
	# tick is unlikely there with this clock.
	survived console smp=2 icount=1 -- crash console 1
	survived meet smp=2 -- crash meet 1
	survived work smp=2 append=workqueue.cpu_intensive_thresh_us=0 -- crash work 1
	survived recursive smp=2 -- crash recursive 1
	survived freezing smp=2 -- crash freezing 1
	survived interrupted smp=2 "${clock[@]}" -- crash interrupted 1
	# Measure with a clock that does not depend on the load of the host.
	survived seen smp=2 icount=1 timeout=300 stall=200 -- crash seen 2
	survived again smp=2 -- crash again 4
	survived late smp=2 -- crash late 1
	survived alone smp=2 -- crash alone 1
	# With the host's clock, the task could be preempted between the system call and its crash.
	survived folded smp=2 icount=1 -- crash folded 1
	survived offline smp=2 -- crash offline 1
	console_says offline "CPU 1 has missed a thaw: no newer branches of it"
	strict sysrq smp=2 before="$LAB" -- crash sysrq 1
	fatal irq irq bts_crash_fault 2
	fatal init task bts_crash_fault 2 append=rdinit=/bt/crash
	fatal limit task bts_crash_fault 2 append=sysctl.kernel.oops_limit=1
	fatal nmi nmi bts_crash_fault 2 pti=off
	fatal double double bts_crash_double_fault 1
	# exc_double_fault() prints a line before it calls die(). The freeze must come before both.
	soon_frozen double 300
	fatal panic panic bts_crash_panic 4
	# For a warning that reaches the limit, the freeze comes after check_panic_on_warn() has
	# called panic(). clang inlines check_panic_on_warn() into __warn().
	! has_option CC_IS_CLANG || caller=__warn
	CRASH="$CRASH|WARNING:.*bts_crash_warn|system warned too often" \
		fatal warn-limit warn $caller 2 append="sysctl.kernel.warn_limit=1"
	ring0_panics
	crashing panics smp=2 -- crash die panics
	judge_trace panics bts_crash_panic 2 1
}

ring0_panics() {
	# In 6.12, nmi_panic() calls panic(), where the freeze comes. 6.12 has no panic_force_cpu.
	if [ "$LINUX_VERSION" = 6.12 ]; then
		fatal nmi-panic nmipanic nmi_panic 2
	else
		fatal nmi-panic nmipanic bts_crash_nmi_panic 2
		# CPU 1 executes the panic, but CPU 0, which crashed, is printed first.
		fatal forced panic bts_crash_panic 2 append=panic_force_cpu=1
		fatal forced-nmi nmipanic bts_crash_nmi_panic 2 append=panic_force_cpu=1
		forced_away
		asked_for
	fi
}

ring0_slow() {
	survived slow-stall smp=4 append=rcupdate.rcu_cpu_stall_timeout=3 -- slow stall
	survived slow-thaw smp=4 -- slow thaw
}

# If another CPU has to execute a panic, the branches must be printed before the panic's message, as
# that CPU may not respond.
forced_away() {
	local order

	crashing forced-away smp=2 append=panic_force_cpu=1 -- crash end panic
	order=$(grep -oE 'Redirecting from|Last branches of CPU [01]|Kernel panic' "$CASE_DIR/console" |
		head -n 3 | paste -sd,)
	if [ "$order" = "Redirecting from,Last branches of CPU 0,Kernel panic" ]; then
		pass forced-away.order
	else
		fail forced-away.order "printed in this order: $order (see $CASE_DIR/console)"
	fi
	if [ "$(grep -c 'Last branches of CPU' "$CASE_DIR/console")" -eq 1 ]; then
		pass forced-away.once
	else
		fail forced-away.once "the other CPU printed branches, too (see $CASE_DIR/console)"
	fi
}

# With the bit `branches` in panic_sys_info, a panic must print the branches of the other CPUs, too,
# after those of its own CPU. 6.12 has no panic_sys_info.
asked_for() {
	local order

	crashing sys-info smp=2 append=sysctl.kernel.panic_sys_info=branches -- crash end panic
	order=$(grep -oE 'Kernel panic|Last branches of CPU [01]| <- ' "$CASE_DIR/console" |
		uniq | paste -sd,)
	if [ "$order" = "Kernel panic,Last branches of CPU 0, <- ,Last branches of CPU 1, <- " ]; then
		pass sys-info.order
	else
		fail sys-info.order "printed in this order: $order (see $CASE_DIR/console)"
	fi
}

# own_words FILE: print the kernel's messages of a crash without those of the recorder. Leave out
# what may differ in each run: numbers, stale stack entries, and some messages.
own_words() {
	tr -d '\r' <"$1" | sed -E 's/^\[[ 0-9.]*\] //
		/^Last branches of CPU|^ [^<]* <- |^ *[0-9]+ -- some are missing/d
		/ \? /d; / took too long| used greatest stack depth/d; /^(clocksource|tsc|hrtimer|workqueue): /d
		s/[0-9]+\.[0-9]+/N/g; s/[0-9]+us /N/g; s/PID: [0-9]+/PID: N/; s/-[0-9]+ /-N /g
		s/-N +[0-9][^ ]* +N:/-N N:/; s/\[[0-9]+\]/[N]/g; s/\b[0-9a-f]{6,16}\b/N/g' |
		sed -n '/^BUG:/,$p'
}

# words CASE NEED KEY=VALUE...: a crash must print the same messages of the kernel with the recorder
# off and on, and NEED must be among them.
words() {
	local off on

	crashing "$1-off" "${@:3}" -- crash words off
	off=$(own_words "$CASE_DIR/console")
	crashing "$1-on" "${@:3}" -- crash words on
	on=$(own_words "$CASE_DIR/console")
	if ! grep -q '^Last branches of CPU 0' <(sed 's/^\[[ 0-9.]*\] //' "$CASE_DIR/console"); then
		fail "$1.words" "no trace (see $CASE_DIR/console)"
	elif ! grep -q "$2" <<<"$off"; then
		fail "$1.words" "no '$2' (see $CASE_DIR/console)"
	elif [ "$off" = "$on" ]; then
		pass "$1.words"
	else
		diff <(echo "$off") <(echo "$on") >"$CASE_DIR/difference"
		fail "$1.words" "$(sed -n 2p "$CASE_DIR/difference") (see $CASE_DIR/difference)"
	fi
}

# Compare what a crash prints with what the emulator executed.
ring0_judged() {
	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	strict printed before="$LAB" expect=splat "${WINDOW[@]}" timeout=400 stall=300 -- \
		printed 200
	judge printed "branches=200,jcc,call,ret,ve" "200 records equal"
}

# The recorder must not change what the kernel prints and does after an oops.
ring0_words() {
	words oops-panic 'Kernel panic - not syncing: Fatal exception' append=oops=panic
	words panic-on-oops 'Kernel panic - not syncing: Fatal exception' \
		append="sysctl.kernel.panic_on_oops=1 ftrace_dump_on_oops"
}

# reports CASE NAME KEY=VALUE...: cause the kernel's report of an error (a warning, a lockup). For
# the case warn, the event error_report_end must name NAME. Other cases do not use NAME.
reports() {
	strict "$1" smp=2 before="$LAB" expect=splat "${@:3}" -- marks report "$1" "[$2]"
	nothing_else "$1" '(WARNING|BUG):.* bts_crash_|soft lockup|hard LOCKUP'
	came_to_end "$1"
}

reported() {
	local clock=()

	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	reports warn warning
	! has_option KASAN || reports kasan kasan append=kasan_multi_shot
	! has_option KFENCE || reports kfence kfence append=kfence.sample_interval=100
	# With lockdep and KASAN, a tick that is late takes more branches than there is room for.
	! has_option PROVE_LOCKING || clock=(icount=1)
	reports softlockup lockup "${clock[@]}"
	# The detector of hard lockups that uses perf counts cycles.
	reports hardlockup lockup cpu="$CPU,x-pmu-counts=on" append=nmi_watchdog=1
}

ring0_marks() {
	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	strict marks smp=2 before="$LAB" -- marks all
	strict quick smp=1 icount=1 timeout=300 stall=200 before="$LAB" -- marks quick
	strict races smp=2 before="$LAB" timeout=300 -- marks races
	strict unload smp=2 before="$LAB" -- marks unload
	strict stray-soon smp=2 icount=1 before="$LAB" -- stray soon
	strict stray-late smp=2 icount=1 before="$LAB" expect=splat -- stray late
	reported
	strict watch smp=2 before="$LAB" -- watch
	strict pages smp=2 pti=off timeout=300 -- pages 60
}

# recorder_race CASE KEY=VALUE... -- overlap [KIND]: test a race of the recorder. The module
# bts_races acts at a chosen place of the recorder, on the same CPU or on another one.
recorder_race() {
	local crash

	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	crash=$LAB
	need_lab "$B/ring0/races-lab" bts_races patched "$CONFIG"
	strict "$1" smp=2 timeout=300 before="$crash $LAB${WATCHED:+ $WATCHED}" "${@:2}"
	nothing_else "$1" "$CRASH"
}

ring0_races() {
	local kind

	for kind in report late mutex trigger removed overtaken; do
		recorder_race "$kind-race" -- overlap "$kind"
	done
	# With long turns of the CPUs, the NMI of a freeze is late.
	recorder_race locked-race slice=1000000 -- overlap locked
	for kind in break sysrq thaw; do
		recorder_race "$kind-race" expect=splat -- overlap "$kind"
		came_to_end "$kind-race"
	done
	recorder_race hotplug-race smp=3 expect=splat -- overlap hotplug
	came_to_end hotplug-race
	recorder_race source-race "$(lbr_machine 32)" -- overlap source
	# Only a preemptible kernel may preempt the printing.
	if has_option PREEMPTION; then
		recorder_race sysinfo-race -- overlap sysinfo
		# The CPU where panic() was called is printed first, with the call on top.
		recorder_race migrate-race expect=splat -- overlap migrate
		judge_trace migrate-race bts_races_panic 2
	fi
	chmod +x "${LAB%/*}/bts_watched.ko"
	WATCHED=${LAB%/*}/bts_watched.ko recorder_race unload-race -- overlap
}

ring0_kdump() {
	local words=(expect=splat)

	recorder_dump
	# The crashing kernel prints the branches before the crash kernel takes over.
	prints_late || console_says kdump 'Last branches of CPU 0'
	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	! prints_late || words=()
	jump_boot patched "$CONFIG" kdump-astray before="$LAB" "${words[@]}" -- jump crash astray
	nothing_else kdump-astray "$CRASH"
	came_to_end kdump-astray
}

# On Zen 3 and Zen 4, a kernel with the mitigation of speculative return stack overflow returns
# through a thunk that is apart from the other thunks. A branch through this thunk must be printed
# as one line.
ring0_thunk() {
	case ",$CONFIG," in
	*,mitigations,*) ;;
	*) return ;;
	esac
	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	strict thunk "$(lbr_machine amd),model=1,family=25" smp=1 before="$LAB" expect=splat \
		append="sysctl.kernel.panic_on_oops=1" -- crash end task
	console_says thunk "Speculative Return Stack Overflow: .*Safe RET"
	console_says thunk "<- bts_crash_work"
	if grep -q "srso_alias.* <- \| <- srso_alias" "$CASE_DIR/console"; then
		fail thunk.joined "a line has a branch in the thunk (see $CASE_DIR/console)"
	else
		pass thunk.joined
	fi
}

group_ring0() {
	ring0_units
	ring0_files
	scrubbed scrub
	ring0_crashes
	ring0_slow
	ring0_robust
	ring0_cfi
	ring0_words
	ring0_marks
	ring0_kdb
	ring0_races
	ring0_kdump
	ring0_thunk
}
