/* SPDX-License-Identifier: GPL-2.0 */
/* Constants for C and assembly files. */
#ifndef METAL_DEFS_H
#define METAL_DEFS_H

/* Bits of CPUID.1: DS is in EDX. DTES64, DS_CPL and PDCM are in ECX. */
#define CPUID_DS		(1 << 21)
#define CPUID_DTES64		(1 << 2)
#define CPUID_DS_CPL		(1 << 4)

#define CPUID_PDCM		(1 << 15)

#define MSR_PMC0		0xc1
#define MSR_SYSENTER_CS		0x174
#define MSR_SYSENTER_ESP	0x175
#define MSR_SYSENTER_EIP	0x176
#define MSR_EVNTSEL0		0x186
#define MSR_MISC_ENABLE		0x1a0
#define MSR_LBR_SELECT		0x1c8
#define MSR_LBR_TOS		0x1c9
#define MSR_DEBUGCTL		0x1d9
#define MSR_FIXED_CTR0		0x309
#define MSR_PERF_CAPABILITIES	0x345
#define MSR_FIXED_CTRL		0x38d
#define MSR_GLOBAL_STATUS	0x38e
#define MSR_GLOBAL_CTRL		0x38f
#define MSR_GLOBAL_OVF_CTRL	0x390
#define MSR_DS_AREA		0x600
#define MSR_LBR_SHORT_FROM	0x40
#define MSR_LBR_SHORT_TO	0x60
#define MSR_LBR_FROM		0x680
#define MSR_LBR_TO		0x6c0
#define MSR_LBR_INFO		0xdc0
#define MSR_ARCH_LBR_INFO	0x1200
#define MSR_ARCH_LBR_CTL	0x14ce
#define MSR_ARCH_LBR_DEPTH	0x14cf
#define MSR_ARCH_LBR_FROM	0x1500
#define MSR_ARCH_LBR_TO		0x1600
#define MSR_EFER		0xc0000080
#define MSR_STAR		0xc0000081
#define MSR_LSTAR		0xc0000082
#define MSR_FMASK		0xc0000084
#define MSR_AMD_LBR_SELECT	0xc000010e
#define MSR_AMD_DBG_EXTN_CFG	0xc000010f
#define MSR_AMD_LBR_FROM	0xc0010300

/* FIRMWARE_DEBUGCTL is what the firmware leaves in DEBUGCTL with run.sh --debugctl. */
#define DBG_LBR			0x1
#define DBG_BTF			0x2
#ifdef NETBURST
#define DBG_TR			0x4
#define DBG_BTS			0x8
#define DBG_BTINT		0x10
#define DBG_OFF_OS		0x20
#define DBG_OFF_USR		0x40
#define DBG_ON			0xc
#define FIRMWARE_DEBUGCTL	DBG_BTINT
#else
#define NETBURST		0
#define DBG_TR			0x40
#define DBG_BTS			0x80
#define DBG_BTINT		0x100
#define DBG_OFF_OS		0x200
#define DBG_OFF_USR		0x400
#define DBG_ON			0xc0
#define FIRMWARE_DEBUGCTL	(DBG_FREEZE_LBRS | DBG_FREEZE_PERFMON)
#endif
#define DBG_FREEZE_LBRS		0x800
#define DBG_FREEZE_PERFMON	0x1000
#define DBG_STEP		0x3	/* LBR and BTF */

/* Bit numbers in LBR_SELECT */
#define LBR_NO_OS		0
#define LBR_NO_USR		1
#define LBR_JCC			2
#define LBR_CALL_REL		3
#define LBR_CALL_IND		4
#define LBR_RET			5
#define LBR_JMP_IND		6
#define LBR_JMP_REL		7
#define LBR_FAR			8
#define LBR_CALLSTACK		9

#define FL_TF			0x100
#define FL_IF			0x200
#define FL_VM			0x20000
#define FL_IOPL3		0x3000

#define CR0_PE			1
#define CR0_WP			(1 << 16)
#define CR0_PG			(1 << 31)
#define CR4_PSE			(1 << 4)
#define CR4_PAE			(1 << 5)
#define CR4_PCE			(1 << 8)
#define CR4_SMAP		(1 << 21)

/* SYSCALL, SYSRET, SYSENTER and SYSEXIT depend on the order of the first six. */
#define SEL_KCODE		0x08
#define SEL_KDATA		0x10
#define SEL_UCODE32		0x18
#define SEL_UDATA		0x20
#define SEL_UCODE		0x28
#define SEL_UDATA2		0x30
#define SEL_KCODE32		0x38
#define SEL_KCODE32_BASE	0x40
#define SEL_TSS			0x48
#define SEL_CALLGATE		0x58
#define SEL_TSS32_A		0x68
#define SEL_TSS32_B		0x70
#define SEL_TASKGATE		0x78
#define SEL_ABSENT		0x80
#define SEL_KCODE32_WRAP	0x88
#define SEL_LIMIT		0x90
#define RPL3			3

/* Bases of KCODE32_BASE and KCODE32_WRAP. With WRAP_BASE, addresses wrap at 4 GiB. */
#define CODE_BASE		0x80000
#define WRAP_BASE		0xfff00000
#define WRAP_OFFSET		0x100000	/* 4 GiB - WRAP_BASE */

/* A second mapping of the first GiB, 2 GiB below the top of the address space. */
#define HIGH			0xffffffff80000000

/* The window: 4 KiB pages for the Debug Store. By default, user mode cannot access them. */
#define WIN			0x40000000
#define WIN_PAGES		6
#define BUF			(WIN + 0x1000)
#define HOLE			0x40100000	/* behind the window's pages, never mapped */

#define APIC			0xfee00000
#define APIC_EOI		0xb0
#define APIC_SVR		0xf0
#define APIC_ICR		0x300
#define APIC_ICR_HIGH		0x310
#define APIC_LVTT		0x320
#define APIC_LVTPC		0x340
#define APIC_TMICT		0x380
#define APIC_TDCR		0x3e0
#define LVT_NMI			(4 << 8)
#define LVT_MASKED		(1 << 16)

#define VEC_DB			1
#define VEC_NMI			2
#define VEC_BP			3
#define VEC_OF			4
#define VEC_UD			6
#define VEC_NP			11
#define VEC_GP			13
#define VEC_PF			14
#define VEC_TIMER		0x41
#define VEC_IPI			0x42
#define VEC_PMI			0x43
#define VEC_TASK		0x50
#define VEC_EXIT		0x80

/*
 * Memory below 1 MiB: for copied code, of the second CPU or of virtual-8086 mode; for variables, a
 * Debug Store, and a stack
 */
#define LOW_CODE		0x9000
#define LOW_VARS		0xa000
#define LOW_DS			0xb000
#define LOW_STACK		0xe000

#define PORT_PM1A		0x604
#define PM1A_OFF		0x2000

/* Flags of a case, to be combined */
#define ONCE			1	/* run only without CPL filters, which would move the PMI */
#define LEGACY			2	/* protected mode without long mode */

#endif
