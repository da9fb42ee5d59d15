# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += ptrace/requests
GUEST_PROGS_32 += ptrace/requests
GUEST_PROGS_X32 += ptrace/requests

requests_SRCS := ptrace/requests.c guest/tracee.c
requests_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/lossless
lossless_SRCS := ptrace/lossless.c guest/tracee.c guest/known.c $(SYSTEM) guest/generate.c \
	guest/source.c guest/sequence.S
lossless_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/orphans
orphans_SRCS := ptrace/orphans.c guest/nobody.c guest/tracee.c $(SYSTEM) guest/source.c
orphans_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/giveway
giveway_SRCS := ptrace/giveway.c ptrace/intelbts.c guest/nobody.c guest/tracee.c $(SYSTEM) \
	guest/source.c
giveway_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/sibling
sibling_SRCS := ptrace/sibling.c guest/tracee.c $(SYSTEM) guest/source.c
sibling_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/exclude
exclude_SRCS := ptrace/exclude.c guest/nobody.c guest/tracee.c $(SYSTEM) guest/source.c
exclude_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/holders
holders_SRCS := ptrace/holders.c ptrace/intelbts.c guest/nobody.c guest/tracee.c $(SYSTEM) \
	guest/source.c
holders_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/worker
worker_SRCS := ptrace/worker.c ptrace/uring.c guest/nobody.c guest/tracee.c $(SYSTEM) guest/source.c
worker_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/ends
ends_SRCS := ptrace/ends.c guest/nobody.c guest/tracee.c $(SYSTEM) guest/source.c
ends_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/recordflags
GUEST_PROGS_32 += ptrace/recordflags
recordflags_SRCS := ptrace/recordflags.c guest/tracee.c
recordflags_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/failing
failing_SRCS := ptrace/failing.c guest/nth.c guest/nobody.c guest/tracee.c $(SYSTEM)
failing_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/lsm
lsm_SRCS := ptrace/lsm.c guest/nobody.c guest/tracee.c $(SYSTEM)
lsm_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/inherit
inherit_SRCS := ptrace/inherit.c guest/nobody.c guest/tracee.c $(SYSTEM)
inherit_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/example ptrace/badjump ptrace/demo
example_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/price
price_SRCS := ptrace/price.c ptrace/threads.c guest/tracee.c guest/peer.c
price_CFLAGS = $(PTRACE_BTS_UAPI)
# Link busy at an address that the traced programs do not use.
GUEST_PROGS += ptrace/busy
busy_SRCS := ptrace/busy.c guest/tracee.c guest/handover.c
busy_CFLAGS = $(PTRACE_BTS_UAPI) -Wl,-Ttext-segment=0x20000000
GUEST_PROGS += ptrace/many
many_SRCS := ptrace/many.c ptrace/threads.c guest/tracee.c
many_CFLAGS = $(PTRACE_BTS_UAPI)

# Programs of groups such as ptracerules and silicon.
RULES := lifetimes permissions signals
GUEST_PROGS += $(addprefix ptrace/,$(RULES))
GUEST_PROGS_32 += $(addprefix ptrace/,$(RULES))
GUEST_PROGS_X32 += ptrace/refusals
$(foreach p,$(RULES),$(eval $(call chained,$(p))))
GUEST_PROGS += ptrace/tracedsteps
GUEST_PROGS_32 += ptrace/tracedsteps
tracedsteps_SRCS := ptrace/tracedsteps.c guest/tracee.c guest/debugctl.c $(SYSTEM) \
	guest/walk.c guest/walk.S
tracedsteps_CFLAGS = $(PTRACE_BTS_UAPI) -isystem $(SELFTESTS)
GUEST_PROGS += ptrace/silicon
silicon_SRCS := ptrace/silicon.c guest/tracee.c guest/debugctl.c guest/lbrs.c $(RECORDER) \
	guest/walk.c guest/walk.S
silicon_CFLAGS = $(PTRACE_BTS_UAPI)
