# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += ptrace/requests
GUEST_PROGS_32 += ptrace/requests
GUEST_PROGS_X32 += ptrace/requests

# In a kernel tree, the headers are where it installs them.
PTRACE_BTS_UAPI = $(if $(KSELFTEST),,-I$(BTS_DIR)../../../../arch/x86/include/uapi)

requests_SRCS := ptrace/requests.c ptrace/common.c
requests_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/lossless
lossless_SRCS := ptrace/lossless.c ptrace/common.c layer/common.c bench/generate.c \
	bench/source.c bench/sequence.S
lossless_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/orphans
orphans_SRCS := ptrace/orphans.c ptrace/common.c bench/source.c
orphans_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/inherit
inherit_SRCS := ptrace/inherit.c ptrace/common.c
inherit_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/example ptrace/badjump ptrace/demo
example_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += ptrace/price
price_SRCS := ptrace/price.c ptrace/common.c measure/peer.c
price_CFLAGS = $(PTRACE_BTS_UAPI)
# Apart from where the programs are that it traces
GUEST_PROGS += ptrace/busy
busy_SRCS := ptrace/busy.c ptrace/common.c bench/handover.c
busy_CFLAGS = $(PTRACE_BTS_UAPI) -Wl,-Ttext-segment=0x20000000
GUEST_PROGS += ptrace/many
many_SRCS := ptrace/many.c ptrace/common.c
many_CFLAGS = $(PTRACE_BTS_UAPI)
