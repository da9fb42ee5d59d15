// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts of branch traces: claiming the hardware source, and giving it back
 *
 * While the hardware source is claimed, perf and KVM cannot use features that exclude BTS.
 * The first context that needs the source claims it. When no such context is left, the source is
 * given back: at once if a freeze is in force, otherwise after BTS_LINGER, or as soon as perf or
 * KVM needs it. If all contexts that need the source have BTS_YIELDS, KVM may also take the source
 * away from them, and so may perf for a user who may monitor performance. Then the contexts are
 * revoked: they keep their records, but record no branches until the source is claimed again.
 */

#define pr_fmt(fmt) "x86/bts: " fmt

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "bts_internal.h"

/* See the locking rules in bts.c. */
DEFINE_MUTEX(bts_mutex);

/* The contexts that need the source. Changes under bts_mutex. */
static LIST_HEAD(bts_holders);

static bool bts_claimed;
#define BTS_LINGER	(5 * HZ)

/*
 * A context because of which the source was refused to perf or KVM: [0] for a user who may not
 * monitor performance, [1] for a user who may, and for KVM. NULL if the source was not refused, or
 * if the context is gone. While this is set, the source is refused without another message in the
 * log.
 */
static const struct bts_context *bts_obstacles[2];

static bool bts_give_way(bool privileged);

static void bts_source_end(void)
{
	lockdep_assert_held(&bts_mutex);

	if (!bts_claimed)
		return;
	bts_source->put();
	bts_claimed = false;
	WRITE_ONCE(bts_cpl_skewed, false);
	bts_forget_freezes();
}

static void bts_linger_work(struct work_struct *work)
{
	guard(cpus_read_lock)();
	guard(mutex)(&bts_mutex);
	if (!bts_users)
		bts_source_end();
}

static DECLARE_DELAYED_WORK(bts_linger, bts_linger_work);

/**
 * bts_source_claim - claim the hardware source, unless it is claimed already
 *
 * Called under bts_mutex and cpus_read_lock().
 *
 * Return: 0, or an error of ->get() of struct bts_source.
 */
int bts_source_claim(void)
{
	int err;

	lockdep_assert_held(&bts_mutex);

	if (bts_claimed)
		return 0;
	err = bts_source->get(bts_give_way);
	if (err)
		return err;
	bts_claimed = true;
	/* Each CPU records again for the contexts from its next ->resume() on. */
	WRITE_ONCE(bts_revoked, false);

	return 0;
}

/**
 * bts_source_get - if a context needs the hardware source, claim it and count the context
 * @ctx: the context
 *
 * Called like bts_source_claim().
 *
 * Return: like bts_source_claim().
 */
int bts_source_get(struct bts_context *ctx)
{
	int err;

	if (ctx->source->software)
		return 0;
	err = bts_source_claim();
	if (err)
		return err;
	WRITE_ONCE(bts_users, bts_users + 1);
	list_add_tail(&ctx->holder, &bts_holders);

	return 0;
}

/**
 * bts_source_put - undo bts_source_get()
 * @ctx: the context
 *
 * Called like bts_source_claim().
 */
void bts_source_put(struct bts_context *ctx)
{
	int i;

	lockdep_assert_held(&bts_mutex);

	if (ctx->source->software)
		return;
	list_del(&ctx->holder);
	for (i = 0; i < ARRAY_SIZE(bts_obstacles); i++) {
		if (bts_obstacles[i] == ctx)
			WRITE_ONCE(bts_obstacles[i], NULL);
	}
	WRITE_ONCE(bts_users, bts_users - 1);
	if (bts_users)
		return;

	WRITE_ONCE(bts_revoked, false);
	/* If the source is frozen, no context is left that could get its records: drop them. */
	if (bts_freeze_in_force())
		bts_source_end();
	else if (bts_claimed)
		mod_delayed_work(system_dfl_wq, &bts_linger, BTS_LINGER);
}

/*
 * Mark a gap in the contexts of the current task. This CPU has no contexts of its own: these never
 * have BTS_YIELDS, so bts_obstacle() would have found them.
 */
static void bts_revoke(struct bts_call *call)
{
	if (call->paused)
		bts_deliver_gap();
	else
		bts_drop_frozen_of_owner();
}

static void bts_revoke_here(void *unused)
{
	struct bts_call call = { .func = bts_revoke };

	bts_call_here(&call);
}

/* Find a context that keeps the source: one without BTS_YIELDS, or any one if not @privileged. */
static const struct bts_context *bts_obstacle(bool privileged)
{
	const struct bts_context *ctx;

	list_for_each_entry(ctx, &bts_holders, holder) {
		if (!privileged || !(ctx->attr.flags & BTS_YIELDS))
			return ctx;
	}

	return NULL;
}

/*
 * The size of a name in the log or in debugfs. A task can choose its comm, so comm is escaped: each
 * of its bytes becomes four characters at most.
 */
#define BTS_NAME	(sizeof("task -2147483648 ") + 4 * TASK_COMM_LEN)

static void bts_name(const struct bts_context *ctx, char *name)
{
	const char *comm;

	if (ctx->cpu >= 0) {
		scnprintf(name, BTS_NAME, "cpu %d", ctx->cpu);
		return;
	}
	comm = ctx->task->comm;
	scnprintf(name, BTS_NAME, "task %d %*pE", task_pid_nr(ctx->task),
		  (int)strnlen(comm, TASK_COMM_LEN), comm);
}

static void bts_tell_obstacle(const struct bts_context *ctx)
{
	char name[BTS_NAME];

	bts_name(ctx, name);
	pr_info_ratelimited("in use by %s of %s (%u traces, see debugfs x86/bts)\n",
			    ctx->attr.flags & BTS_FLIGHT ? "the flight recorder" : "a trace",
			    name, bts_users);
}

/*
 * Give the hardware back to perf or KVM, or return false if a context keeps it. @privileged is true
 * for KVM, and for a user of perf who may monitor performance. bts_revoke() marks a gap in the
 * live contexts now. Until the source is claimed again, bts_want() marks one in the contexts of
 * other tasks when they run.
 */
static bool bts_take_back(bool privileged)
{
	const struct bts_context *obstacle;

	guard(mutex)(&bts_mutex);

	obstacle = bts_obstacle(privileged);
	if (obstacle) {
		WRITE_ONCE(bts_obstacles[privileged], obstacle);
		bts_tell_obstacle(obstacle);
		return false;
	}
	if (bts_users) {
		WRITE_ONCE(bts_revoked, true);
		on_each_cpu(bts_revoke_here, NULL, 1);
	}
	bts_source_end();

	return true;
}

static bool bts_give_way(bool privileged)
{
	bool given;

	/* KVM may call this often for a guest: do not search the list of contexts each time. */
	if (READ_ONCE(bts_obstacles[privileged]))
		return false;

	/*
	 * For an event that joins a group, perf holds the mutex of the group's
	 * perf_event_context. CPU hotplug takes that mutex inside cpus_write_lock(), so
	 * cpus_read_lock() could deadlock here.
	 */
	if (!cpus_read_trylock())
		return false;
	given = bts_take_back(privileged);
	cpus_read_unlock();

	return given;
}

/*
 * /sys/kernel/debug/x86/bts: the state of the hardware source, and a line for each context that
 * needs it
 */

static const struct {
	u32		flag;
	const char	*name;
} bts_flag_names[] = {
	{ BTS_USER,	"user" },
	{ BTS_KERNEL,	"kernel" },
	{ BTS_ENTRY,	"entry" },
	{ BTS_SCHED,	"sched" },
	{ BTS_STOP_FULL,	"stop" },
	{ BTS_IDLE,	"idle" },
	{ BTS_FLIGHT,	"flight" },
	{ BTS_YIELDS,	"yields" },
	{ BTS_SOFT_FILTER,	"soft_filter" },
	{ BTS_MONOTONIC, "monotonic" },
};

static void bts_show_context(struct seq_file *m, const struct bts_context *ctx)
{
	char name[BTS_NAME];
	int i;

	bts_name(ctx, name);
	seq_printf(m, "%s records %u", name, ctx->attr.nr);
	for (i = 0; i < ARRAY_SIZE(bts_flag_names); i++) {
		if (ctx->attr.flags & bts_flag_names[i].flag)
			seq_printf(m, " %s", bts_flag_names[i].name);
	}
	seq_putc(m, '\n');
}

static int bts_holders_show(struct seq_file *m, void *unused)
{
	const char *state = "free";
	const struct bts_context *ctx;

	guard(mutex)(&bts_mutex);
	if (bts_claimed)
		state = bts_users ? "held" : "kept";
	else if (bts_users)
		state = "revoked";
	seq_printf(m, "%s traces %u\n", state, bts_users);
	list_for_each_entry(ctx, &bts_holders, holder)
		bts_show_context(m, ctx);

	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bts_holders);

static int __init bts_claim_init(void)
{
	if (bts_source->id)
		debugfs_create_file("bts", 0400, arch_debugfs_dir, NULL, &bts_holders_fops);

	return 0;
}
late_initcall(bts_claim_init);
