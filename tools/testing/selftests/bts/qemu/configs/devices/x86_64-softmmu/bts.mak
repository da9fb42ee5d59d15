# SPDX-License-Identifier: GPL-2.0-or-later
# The machine "pc", without most optional devices. Group remains uses the watchdog, i6300esb.

CONFIG_I440FX=y
CONFIG_ISA_DEBUG=y
CONFIG_WDT_IB6300ESB=y
