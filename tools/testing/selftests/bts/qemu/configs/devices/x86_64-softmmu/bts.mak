# SPDX-License-Identifier: GPL-2.0-or-later
# The machine "pc", without devices that no test of the Debug Store uses.

CONFIG_I440FX=y
CONFIG_ISA_DEBUG=y
CONFIG_WDT_IB6300ESB=y
