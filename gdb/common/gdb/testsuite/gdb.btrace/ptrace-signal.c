/* SPDX-License-Identifier: GPL-3.0-or-later

   This testcase is part of GDB, the GNU debugger.  */

#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

/* ptrace-signal.exp refers to the instructions of these two functions by their
   offsets.  */

/* Send signal SIG to process PID.  */
extern void send_signal (long pid, long sig);

/* Raise SIGSEGV.  */
extern void fault (void);

asm (".text\n"
     ".globl send_signal\n"
     ".type send_signal, @function\n"
     "send_signal:\n"
     "	mov	$62, %eax\n"		/* +0: kill */
     "	syscall\n"			/* +5 */
     "	nop\n"				/* +7: here the signal arrives */
     "	ret\n"				/* +8 */
     ".size send_signal, . - send_signal\n"
     ".globl fault\n"
     ".type fault, @function\n"
     "fault:\n"
     "	xor	%eax, %eax\n"		/* +0 */
     "	mov	(%rax), %rax\n"		/* +2: here it faults */
     "	ret\n"				/* +5 */
     ".size fault, . - fault\n");

static volatile int handled;
static sigjmp_buf env;

static void
plain_handler (int sig)
{
  handled++;
}

/* Skip the instruction at fault + 2, which has raised the signal.  */

static void
fault_handler (int sig, siginfo_t *info, void *context)
{
  ((ucontext_t *) context)->uc_mcontext.gregs[REG_RIP] += 3;
}

static void
nesting_handler (int sig)
{
  send_signal (getpid (), SIGUSR1);
}

static void
jumping_handler (int sig)
{
  siglongjmp (env, 1);
}

static void
handle (int sig, void (*handler) (int))
{
  struct sigaction action;

  memset (&action, 0, sizeof (action));
  action.sa_handler = handler;
  sigaction (sig, &action, NULL);
}

int
main (void)
{
  struct sigaction action;
  pid_t pid = getpid ();

  handle (SIGUSR1, plain_handler);
  handle (SIGUSR2, nesting_handler);
  handle (SIGHUP, jumping_handler);
  memset (&action, 0, sizeof (action));
  action.sa_sigaction = fault_handler;
  action.sa_flags = SA_SIGINFO;
  sigaction (SIGSEGV, &action, NULL);

  send_signal (pid, SIGUSR1);		/* plain */
  fault ();				/* fault */
  send_signal (pid, SIGUSR2);		/* nested */
  if (sigsetjmp (env, 1) == 0)		/* jump */
    send_signal (pid, SIGHUP);
  return handled - 2;			/* end */
}
