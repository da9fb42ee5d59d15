// SPDX-License-Identifier: GPL-2.0
/*
 * A program with a bug: rename_command() copies a name that is too long into command.name,
 * overwrites the function pointer after it, and execute() calls an address without code.
 * A debugger's stack trace shows execute(), but not that rename_command() ran before.
 */
#include <stdio.h>
#include <string.h>

struct command {
	char name[8];
	void (*run)(const char *arg);
};

__attribute__((noipa))
static void greet(const char *arg)
{
	printf("hello, %s\n", arg);
}

static struct command command = { "greet", greet };

__attribute__((noipa))
static void rename_command(struct command *cmd, const char *name)
{
	char *p = cmd->name;

	/* no bounds check */
	do {
		*(volatile char *)p++ = *name;
	} while (*name++);
}

__attribute__((noipa))
static int execute(const struct command *cmd, const char *arg)
{
	cmd->run(arg);
	return 0;
}

int main(void)
{
	int ret = execute(&command, "world");

	rename_command(&command, "welcome-7777");
	return ret + execute(&command, "world");
}
