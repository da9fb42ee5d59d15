# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += strace/straced
