// SPDX-License-Identifier: GPL-2.0
/* A module with a single variable. The program overlap watches it, and unloads the module. */
#include <linux/delay.h>
#include <linux/module.h>

int bts_watched_variable;

/* The number of milliseconds that loading the module takes. */
static uint slow;
module_param(slow, uint, 0400);

static int __init watched_init(void)
{
	msleep(slow);
	return 0;
}

static void __exit watched_exit(void)
{
}

module_init(watched_init);
module_exit(watched_exit);

MODULE_DESCRIPTION("A variable for the test bench to watch");
MODULE_LICENSE("GPL");
