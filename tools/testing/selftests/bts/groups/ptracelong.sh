# SPDX-License-Identifier: GPL-2.0
# ptracelong (slow): PTRACE_BTS_*: long runs, security modules, and the oracle's check of a program
# shellcheck shell=bash

# shellcheck source=ptrace.sh
. "$B/groups/ptrace.sh"
# shellcheck source=shared/oracle.sh
. "$B/groups/shared/oracle.sh"

# Compare every branch of busybox within user mode with the emulator's log. Leave out entries into
# the kernel and returns: the trace has no entries, and its returns have no source address.
real_program() {
	local before=$FAILED

	strict busybox "${WINDOW[@]}" mem=1024 tools=busybox timeout=3000 stall=1500 -- \
		busy 500000 /usr/bin/busybox awk \
		'BEGIN { for (i = 0; i < 1500; i++) s = s i % 7; print length(s) }'
	judge busybox branches=500000,jcc,jmp,call,ret,indirect,syscall equal \
		--elf "$(readlink -f "$(command -v busybox)")" --user-addresses
	[ "$FAILED" -gt "$before" ] || rm -f "$CASE_DIR/exec.log"
}

# Kernels where security modules refuse requests, or where allocations fail.
denied() {
	local deny=config=$CONFIG,deny secret=append=lockdown=confidentiality

	strict lsm-none "$deny" -- lsm none
	strict lsm-integrity "$deny" append=lockdown=integrity -- lsm integrity
	strict lsm-confidentiality "$deny" "$secret" -- lsm confidentiality
	strict lsm-unfiltered "$deny" append=lockdown=integrity cpu="$CPU,-ds-cpl" -- lsm integrity
	strict failing "$deny" smp=2 -- failing
}

group_ptracelong() {
	strict lossless-long smp=2 pti=on mem=512 timeout=900 -- lossless 10000000 65536
	strict orphans-long smp=2 timeout=1800 stall=900 -- orphans 10000
	strict ends-long smp=2 timeout=1800 stall=900 -- ends 100000
	strict many mem=2048 smp=2 timeout=1800 stall=900 -- many 10000
	strict worker config="$CONFIG,vhost" smp=2 -- worker
	real_program
	denied
}
