# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += guest/init guest/hello guest/misbehave guest/kunit
GUEST_PROGS_32 += guest/init guest/kunit
init_SRCS := guest/init.c guest/counts.c

# Source shared by the tests of the flight recorder
RECORDER := guest/recorder.c $(SYSTEM)
