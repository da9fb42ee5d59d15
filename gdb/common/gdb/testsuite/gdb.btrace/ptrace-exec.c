/* SPDX-License-Identifier: GPL-3.0-or-later

   This testcase is part of GDB, the GNU debugger.  */

#include <unistd.h>

static int
old_work (int n)
{
  return n + 1;
}

static int
new_work (int n)
{
  return n + 2;
}

int
main (int argc, char **argv)
{
  int n = argc;

  if (n == 1)
    {
      n = old_work (n);			/* old */
      execl (argv[0], argv[0], "again", (char *) NULL);
      return n;
    }
  n = new_work (n);			/* new */
  return n - 4;				/* end */
}
