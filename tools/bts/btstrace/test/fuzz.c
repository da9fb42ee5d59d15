// SPDX-License-Identifier: GPL-2.0
/*
 * A fuzzer for recorded traces and ELF files, which may come from a stranger. It needs
 * libFuzzer. If the first byte is 0x80 or more, an ELF file follows. Otherwise, a recorded
 * trace follows, and the byte selects the output, and whether all or only the last branches
 * are shown.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ident.h"
#include "jit.h"
#include "kernel.h"
#include "output.h"
#include "replay.h"

static void take_line(void *arg, u64 addr, const char *file, int line)
{
	(void)addr;
	(void)file;
	*(int *)arg = line;
}

static void fuzz_elf(const u8 *bytes, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct bt_elf *elf;
	struct bt_view view;
	struct bt_ident id;
	const char *file;
	u64 addr;
	size_t i;
	int line;

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	bt_ident_read(fd, &id);
	elf = bt_elf_open(fd, "fuzz");
	if (!elf)
		return;
	for (i = 0; i < elf->functions.nr && i < 50; i++) {
		if (!bt_elf_function(elf, elf->functions.fn[i].start))
			abort();
		bt_elf_view(elf, elf->functions.fn[i].start, &view);
		bt_function_name(&elf->functions.fn[i]);
	}
	bt_elf_lines(elf, take_line, &line);
	for (i = 0; i < 0x10000; i += 0x200)
		if (bt_elf_address(elf, i, &addr))
			bt_elf_line(elf, addr, &file, &line);
	bt_elf_close(elf);
}

static void fuzz_trace(const struct bt_output *out, bool last, const u8 *bytes, size_t len)
{
	struct bt_session s = { .out = out, .last = last ? 7 : 0 };

	text_open(&s.text, -1);
	bt_session_begin(&s);
	bt_file_replay(&s, bytes, len);
	bt_session_end(&s);
	free(s.text.buf);
	bt_modules_free();
	bt_kernel_free();
	bt_jit_free();
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t len);
int LLVMFuzzerTestOneInput(const u8 *bytes, size_t len)
{
	static const struct bt_output *const all[] = {
		&bt_out_plain, &bt_out_raw, &bt_out_json, &bt_out_calls, &bt_out_folded,
		&bt_out_perfetto, &bt_out_drcov, &bt_out_summary, &bt_out_crash, &bt_out_flow,
		&bt_out_lcov, &bt_out_profile, &bt_out_lines, &bt_out_loops, &bt_out_insn,
		&bt_out_crash,
	};

	if (!len)
		return 0;
	if (*bytes & 0x80)
		fuzz_elf(bytes + 1, len - 1);
	else
		fuzz_trace(all[*bytes & 15], *bytes & 16, bytes + 1, len - 1);
	return 0;
}
