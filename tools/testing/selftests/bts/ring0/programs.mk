# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += ring0/crash ring0/files ring0/scrub

crash_SRCS := ring0/crash.c ring0/common.c
files_SRCS := ring0/files.c ring0/common.c
scrub_SRCS := ring0/scrub.c ring0/common.c
