# SPDX-License-Identifier: GPL-2.0
HOST_PROGS += oracle/oracle

oracle_SRCS := $(addprefix oracle/,oracle.c branches.c compare.c decode.c execlog.c image.c selftest.c)
oracle_LDLIBS := -lZydis
