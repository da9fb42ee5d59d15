/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BTS_PTRACE_CHAIN_H
#define BTS_PTRACE_CHAIN_H

#define CHAIN_LENGTH	32	/* branches in a pass */
#define CHAIN_LINK	3	/* bytes of a JMP and the NOP after it, in chain.S */

#ifndef __ASSEMBLER__

/* See chain.S. */
__attribute__((noreturn)) void chain(void);
extern const char chain_top[], chain_first[], chain_count[], chain_again[], chain_back[],
	chain_end[];
extern unsigned long chain_passes;

#endif
#endif /* BTS_PTRACE_CHAIN_H */
