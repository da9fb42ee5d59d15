/* SPDX-License-Identifier: GPL-2.0 */
/* An event of a module, to which tests attach the trigger 'branches'. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM bts_crash

#if !defined(BTS_CRASH_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BTS_CRASH_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(bts_crash_mark,
	TP_PROTO(int n),
	TP_ARGS(n),
	TP_STRUCT__entry(
		__field(int, n)
	),
	TP_fast_assign(
		__entry->n = n;
	),
	TP_printk("n=%d", __entry->n)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE bts_crash_trace
#include <trace/define_trace.h>
