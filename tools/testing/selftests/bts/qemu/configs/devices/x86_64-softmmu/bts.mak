# SPDX-License-Identifier: GPL-2.0-or-later
# The machine "pc" and nothing that no test of the Debug Store plugs in.

CONFIG_I440FX=y
CONFIG_ISA_DEBUG=y
