# SPDX-License-Identifier: GPL-2.0
HOST_PROGS += vm/vmrun vm/counts vm/tsckhz
vmrun_SRCS := vm/vmrun.c vm/qmp.c vm/splats.c
