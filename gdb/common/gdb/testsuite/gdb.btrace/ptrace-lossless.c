/* SPDX-License-Identifier: GPL-3.0-or-later

   This testcase is part of GDB, the GNU debugger.  */

static volatile int sum;

static void
work (int n)
{
  sum += n;
}

int
main (void)
{
  int i;

  sum = 0;			/* begin */
  for (i = 0; i < 1000; i++)
    work (i);
  return sum == 0;		/* end */
}
