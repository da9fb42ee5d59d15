/* SPDX-License-Identifier: GPL-3.0-or-later

   This testcase is part of GDB, the GNU debugger.  */

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int
parent_work (int n)
{
  return n + 1;
}

static int
child_work (int n)
{
  return n + 2;
}

static void
child (void)
{
  int n = child_work (1);	/* child */

  _exit (n - 3);		/* child end */
}

int
main (void)
{
  pid_t pid;
  int n;

#ifdef USE_VFORK
  pid = vfork ();
#else
  pid = fork ();
#endif
  if (pid == 0)
    child ();
  n = parent_work (1);		/* parent */
  n = parent_work (n);		/* parent recorded */
  waitpid (pid, NULL, 0);
  return n - 3;			/* parent end */
}
