/* SPDX-License-Identifier: GPL-2.0 */
/* Writes a recorded trace. See chunk.h for the format. */
#ifndef BTSTRACE_WRITER_H
#define BTSTRACE_WRITER_H

#include "space.h"

struct bt_writer;

struct bt_writer *bt_writer_open(int fd);
int bt_writer_error(const struct bt_writer *w);
int bt_writer_close(struct bt_writer *w);
void bt_writer_drop(struct bt_writer *w);
void bt_write_thread(struct bt_writer *w, pid_t tid, pid_t tgid, bool is64, const char *comm);
void bt_write_maps(struct bt_writer *w, pid_t tid, const char *maps, size_t len,
		   struct bt_space *space);
void bt_write_records(struct bt_writer *w, pid_t tid, const struct x86_bts_record *rec, size_t n,
		      struct bt_space *space);
void bt_write_jit(struct bt_writer *w, pid_t tid, const char *text, size_t len);
void bt_write_exec(struct bt_writer *w, pid_t tid, pid_t old, bool is64, const char *comm);
void bt_write_note(struct bt_writer *w, pid_t tid, const char *what);
void bt_write_ended_at(struct bt_writer *w, pid_t tid, u64 addr);
void bt_write_exit(struct bt_writer *w, pid_t tid, const char *how);

#endif
