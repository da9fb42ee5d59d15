# SPDX-License-Identifier: GPL-3.0-or-later
#
# This testcase is part of GDB, the GNU debugger.

# Procedures that the tests of branch tracing by ptrace share.

# Start recording by ptrace.  Return whether that has succeeded.  If the kernel, the
# machine or the target cannot do it, the test is unsupported.

proc record_by_ptrace {} {
    gdb_test_no_output "maint set btrace bts backend ptrace"

    set ok 0
    gdb_test_multiple "record btrace bts" "record btrace bts" {
	-re "This kernel has no PTRACE_BTS requests.*\r\n$::gdb_prompt $" {
	    unsupported $gdb_test_name
	}
	-re "This machine has no Branch Trace Store.*\r\n$::gdb_prompt $" {
	    unsupported $gdb_test_name
	}
	-re "You can't do that when your target is.*\r\n$::gdb_prompt $" {
	    unsupported $gdb_test_name
	}
	-re "Target does not support.*\r\n$::gdb_prompt $" {
	    unsupported $gdb_test_name
	}
	-re "^record btrace bts\r\n$::gdb_prompt $" {
	    pass $gdb_test_name
	    set ok 1
	}
    }
    return $ok
}

# Prepare the test program with OPTIONS and run it to main.  Return whether that
# has succeeded.

proc prepare_and_run { {options debug} } {
    if { [prepare_for_testing "failed to prepare" $::testfile $::srcfile \
	      $options] } {
	return 0
    }
    if { ![runto_main] } {
	return 0
    }
    return 1
}

# Return a list of the places of the recorded instructions from number FIRST on, COUNT
# at most.  A place is function+offset, or ?? if no function is known.

proc recorded_places { first count } {
    set places {}

    gdb_test_multiple "record instruction-history $first,+$count" \
	"places from $first on" {
	-re "^record instruction-history\[^\r\n\]*\r\n" {
	    exp_continue
	}
	-re "^\[0-9\]+\t\[ \]*0x\[0-9a-f\]+ <(\[^>\]*)>:\[^\r\n\]*\r\n" {
	    set place $expect_out(1,string)
	    if { [string first "+" $place] < 0 } {
		append place "+0"
	    }
	    lappend places $place
	    exp_continue
	}
	-re "^\[0-9\]+\t\[^\r\n\]*\r\n" {
	    lappend places "??"
	    exp_continue
	}
	-re "^$::gdb_prompt $" {
	}
    }
    return $places
}

# Return the number of the first recorded instruction at PLACE that has a number greater
# than AFTER, or 0 if there is none.  Look only at the first 1000 of these instructions.

proc number_of_place { place {after 0} } {
    set n [expr {$after + 1}]
    foreach is [recorded_places $n 1000] {
	if { $is == $place } {
	    return $n
	}
	incr n
    }
    return 0
}

# Check that the recording has no gap.  EXPECT is a pattern for the text of "info
# record" between "Recorded" and the number of gaps.

proc check_no_gap { {expect ""} } {
    if { $expect == "" } {
	set expect "$::decimal instructions in $::decimal functions"
    }
    gdb_test "info record" \
	"Branch Trace Store, by ptrace\\..*Recorded $expect \\\(0 gaps\\\).*" \
	"no gap"
}
