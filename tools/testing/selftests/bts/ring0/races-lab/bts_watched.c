// SPDX-License-Identifier: GPL-2.0
/*
 * A module with two variables. The program overlap watches them, and unloads the module. Loading it
 * takes as long as one of the parameters is set.
 */
#include <linux/async.h>
#include <linux/delay.h>
#include <linux/module.h>

int bts_watched_variable;
int bts_watched_init_variable __initdata;

/* Stay in the init function. */
static bool early;
module_param(early, bool, 0600);

/* Keep the memory of the init function after that has returned. */
static bool late;
module_param(late, bool, 0600);

static void wait_late(void *data, async_cookie_t cookie)
{
	while (READ_ONCE(late))
		msleep(20);
}

static int __init watched_init(void)
{
	while (READ_ONCE(early))
		msleep(20);
	/* The memory of this function is freed when all asynchronous functions have ended. */
	if (late)
		async_schedule(wait_late, NULL);

	return bts_watched_init_variable;
}

static void __exit watched_exit(void)
{
}

module_init(watched_init);
module_exit(watched_exit);

MODULE_DESCRIPTION("Variables for the test bench to watch");
MODULE_LICENSE("GPL");
