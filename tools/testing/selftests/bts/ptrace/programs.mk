# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += ptrace/requests
GUEST_PROGS_32 += ptrace/requests
GUEST_PROGS_X32 += ptrace/requests

requests_SRCS := ptrace/requests.c ptrace/common.c
requests_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/lossless
lossless_SRCS := ptrace/lossless.c ptrace/common.c layer/common.c $(SYSTEM) bench/generate.c \
	bench/source.c bench/sequence.S
lossless_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/orphans
orphans_SRCS := ptrace/orphans.c ptrace/nobody.c ptrace/common.c $(SYSTEM) bench/source.c
orphans_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/giveway
giveway_SRCS := ptrace/giveway.c ptrace/intelbts.c ptrace/nobody.c ptrace/common.c $(SYSTEM) \
	bench/source.c
giveway_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/sibling
sibling_SRCS := ptrace/sibling.c ptrace/common.c $(SYSTEM) bench/source.c
sibling_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/exclude
exclude_SRCS := ptrace/exclude.c ptrace/nobody.c ptrace/common.c $(SYSTEM) bench/source.c
exclude_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/holders
holders_SRCS := ptrace/holders.c ptrace/intelbts.c ptrace/nobody.c ptrace/common.c $(SYSTEM) \
	bench/source.c
holders_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/worker
worker_SRCS := ptrace/worker.c ptrace/uring.c ptrace/nobody.c ptrace/common.c $(SYSTEM) bench/source.c
worker_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/ends
ends_SRCS := ptrace/ends.c ptrace/nobody.c ptrace/common.c $(SYSTEM) bench/source.c
ends_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/recordflags
GUEST_PROGS_32 += ptrace/recordflags
recordflags_SRCS := ptrace/recordflags.c ptrace/common.c
recordflags_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/failing
failing_SRCS := ptrace/failing.c ptrace/nth.c ptrace/nobody.c ptrace/common.c $(SYSTEM)
failing_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/lsm
lsm_SRCS := ptrace/lsm.c ptrace/nobody.c ptrace/common.c
lsm_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/inherit
inherit_SRCS := ptrace/inherit.c ptrace/common.c
inherit_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/example ptrace/badjump ptrace/demo
example_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/price
price_SRCS := ptrace/price.c ptrace/threads.c ptrace/common.c measure/peer.c
price_CFLAGS = $(PTRACE_BTS_UAPI)
# Link busy at an address that the programs do not use which it traces.
GUEST_PROGS += ptrace/busy
busy_SRCS := ptrace/busy.c ptrace/common.c bench/handover.c
busy_CFLAGS = $(PTRACE_BTS_UAPI) -Wl,-Ttext-segment=0x20000000
GUEST_PROGS += ptrace/many
many_SRCS := ptrace/many.c ptrace/threads.c ptrace/common.c
many_CFLAGS = $(PTRACE_BTS_UAPI)

# Programs of group ptracerules, besides those of the kselftest
RULES := lifetimes permissions signals
GUEST_PROGS += $(addprefix ptrace/,$(RULES))
GUEST_PROGS_32 += $(addprefix ptrace/,$(RULES))
GUEST_PROGS_X32 += ptrace/refusals
$(foreach p,$(RULES),$(eval $(call chained,$(p))))
GUEST_PROGS += ptrace/tracedsteps
GUEST_PROGS_32 += ptrace/tracedsteps
tracedsteps_SRCS := ptrace/tracedsteps.c ptrace/common.c debugctl/common.c $(SYSTEM) \
	debugctl/walk.c debugctl/walk.S
tracedsteps_CFLAGS = $(PTRACE_BTS_UAPI) -isystem $(SELFTESTS)
GUEST_PROGS += ptrace/silicon
silicon_SRCS := ptrace/silicon.c ptrace/common.c debugctl/common.c $(SYSTEM) debugctl/walk.c \
	debugctl/walk.S
silicon_CFLAGS = $(PTRACE_BTS_UAPI)

# Programs of group step.
GUEST_PROGS += ptrace/rewrites
rewrites_SRCS := ptrace/rewrites.c ptrace/common.c
rewrites_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/invisible
GUEST_PROGS_32 += ptrace/invisible
GUEST_PROGS_X32 += ptrace/invisible
invisible_SRCS := ptrace/invisible.c ptrace/invisible_ways.S ptrace/common.c
invisible_CFLAGS = $(PTRACE_BTS_UAPI) -no-pie
GUEST_PROGS += ptrace/odd
GUEST_PROGS_32 += ptrace/odd
odd_SRCS := ptrace/odd.c ptrace/odd.S ptrace/common.c $(SYSTEM)
odd_CFLAGS = $(PTRACE_BTS_UAPI) -no-pie
GUEST_PROGS += ptrace/twice
twice_SRCS := ptrace/twice.c ptrace/common.c
twice_CFLAGS = $(PTRACE_BTS_UAPI)
# A program for twice to trace.
GUEST_PROGS += ptrace/unusual
unusual_SRCS := ptrace/unusual.c bench/workload.c bench/sequence.S bench/faults.S
