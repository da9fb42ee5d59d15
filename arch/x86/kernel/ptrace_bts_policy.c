// SPDX-License-Identifier: GPL-2.0
/*
 * PTRACE_BTS_*: the sysctl kernel.ptrace_bts, which tells whether a tracer needs CAP_PERFMON or
 * CAP_SYS_ADMIN, or whether all requests are refused, except PTRACE_BTS_F_END.
 * ptrace_bts_request.c checks all other permissions.
 */

#include <linux/capability.h>
#include <linux/init.h>
#include <linux/sysctl.h>
#include <linux/user_namespace.h>

#include "ptrace_bts_internal.h"

enum {
	PTRACE_BTS_PTRACER,
	PTRACE_BTS_PERFMON,
	PTRACE_BTS_NOBODY,
};

static int sysctl_ptrace_bts __read_mostly = PTRACE_BTS_PTRACER;

/**
 * ptrace_bts_perfmon - tell whether current has CAP_PERFMON, or CAP_SYS_ADMIN
 *
 * The test is not audited: by default, a tracer without these capabilities may trace as well.
 *
 * Return: true if so.
 */
bool ptrace_bts_perfmon(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_PERFMON) ||
	       ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

/**
 * ptrace_bts_allowed - tell whether the sysctl kernel.ptrace_bts allows a tracer to trace
 * @perfmon: ptrace_bts_perfmon() of the tracer
 *
 * Return: true if so.
 */
bool ptrace_bts_allowed(bool perfmon)
{
	int needs = READ_ONCE(sysctl_ptrace_bts);

	return needs == PTRACE_BTS_PTRACER || (needs == PTRACE_BTS_PERFMON && perfmon);
}

static const struct ctl_table ptrace_bts_sysctls[] = {
	{
		.procname	= "ptrace_bts",
		.data		= &sysctl_ptrace_bts,
		.maxlen		= sizeof(sysctl_ptrace_bts),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_TWO,
	},
};

static int __init ptrace_bts_policy_init(void)
{
	register_sysctl_init("kernel", ptrace_bts_sysctls);

	return 0;
}
late_initcall(ptrace_bts_policy_init);
