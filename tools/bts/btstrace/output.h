/* SPDX-License-Identifier: GPL-2.0 */
/* The outputs, one for each format */
#ifndef BTSTRACE_OUTPUT_H
#define BTSTRACE_OUTPUT_H

#include "session.h"
#include "tree.h"

extern const struct bt_output bt_out_crash;
extern const struct bt_output bt_out_plain;
extern const struct bt_output bt_out_raw;
extern const struct bt_output bt_out_json;
extern const struct bt_output bt_out_insn;
extern const struct bt_output bt_out_calls;
extern const struct bt_output bt_out_folded;
extern const struct bt_output bt_out_flow;
extern const struct bt_output bt_out_perfetto;
extern const struct bt_output bt_out_drcov;
extern const struct bt_output bt_out_lcov;
extern const struct bt_output bt_out_profile;
extern const struct bt_output bt_out_lines;
extern const struct bt_output bt_out_loops;
extern const struct bt_output bt_out_summary;

/* Returns the output with this name, or NULL. */
const struct bt_output *bt_output_find(const char *name);

#endif
