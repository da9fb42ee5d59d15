// SPDX-License-Identifier: GPL-2.0
/*
 * A tracer block-steps the thread that runs a KVM guest. DEBUGCTL.BTF must be off in the guest and
 * on after the guest. KVM of the stock kernel reads DEBUGCTL before it runs the guest, and writes
 * the value back later. If an NMI writes DEBUGCTL in between, KVM must not undo the write.
 *
 * nested MODULE kept|lost: kept: a kernel that keeps what the NMI wrote; lost: the stock kernel,
 * which loses it
 */
#include <linux/kvm.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../guest/debugctl.h"
#include "vcpu.h"

#define CPU		0

extern const char guest_code[], guest_code_end[];
extern const char behind_syscall[], first_target[];

/* Shared with the tracee, which runs the guest. */
struct vm {
	char memory[GUEST_SIZE] __attribute__((aligned(4096)));
	uint32_t exit_reason;
	int32_t error;
};

static struct vm *vm;

static int real_mode_vcpu(int vm_fd)
{
	struct kvm_userspace_memory_region region = {
		.memory_size = GUEST_SIZE,
		.userspace_addr = (unsigned long)vm->memory,
	};
	struct kvm_regs regs = {
		.rip = GUEST_CODE,
		.rsp = GUEST_STACK,
		.rflags = 2,
	};
	uint16_t *vector = (uint16_t *)(vm->memory + 1 * 4);
	struct kvm_sregs sregs;
	int vcpu;

	memcpy(vm->memory + GUEST_CODE, guest_code, guest_code_end - guest_code);
	vector[0] = GUEST_HANDLER;
	vcpu = ioctl(vm_fd, KVM_CREATE_VCPU, 0);
	if (ioctl(vm_fd, KVM_SET_USER_MEMORY_REGION, &region) || vcpu < 0 ||
	    ioctl(vcpu, KVM_GET_SREGS, &sregs))
		give_up("cannot make a virtual machine");
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	if (ioctl(vcpu, KVM_SET_SREGS, &sregs) || ioctl(vcpu, KVM_SET_REGS, &regs))
		give_up("cannot set the registers of the virtual CPU");
	return vcpu;
}

/*
 * Call KVM_RUN between an INT3 and the first branch. At the stop for the INT3, the tracer begins
 * to block-step, so BTF is on when KVM_RUN is called.
 */
__attribute__((noinline))
static void run_vcpu(void *unused)
{
	int kvm = open("/dev/kvm", O_RDWR);
	int vm_fd = ioctl(kvm, KVM_CREATE_VM, 0);
	struct kvm_run *run;
	long ret;
	int vcpu;

	(void)unused;
	if (kvm < 0 || vm_fd < 0)
		give_up("/dev/kvm");
	vcpu = real_mode_vcpu(vm_fd);
	run = mmap(NULL, ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), PROT_READ | PROT_WRITE,
		   MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED)
		give_up("mmap of the virtual CPU");
	asm volatile("int3\n\tsyscall\n"
		     "behind_syscall:\n\tnop\n\tjmp first_target\n\tnop\n"
		     "first_target:\n\tint3\n"
		     : "=a" (ret)
		     : "0" (SYS_ioctl), "D" (vcpu), "S" (KVM_RUN), "d" (0)
		     : "rcx", "r11", "memory");
	vm->error = ret;
	vm->exit_reason = run->exit_reason;
}

static const char *tracee_ip(pid_t pid)
{
	return (const char *)ptrace(PTRACE_PEEKUSER, pid,
				    offsetof(struct user, regs.rip), 0);
}

/*
 * When a system call that is stepped over ends, the kernel reports a stop, without a #DB. The next
 * block-step goes to the target of the next branch.
 */
static void step_over_guest(pid_t pid)
{
	ptrace(PTRACE_SINGLEBLOCK, pid, 0, 0);
	wait_stop(pid, SIGTRAP);
	ok(tracee_ip(pid) == behind_syscall, "the tracee stops behind KVM_RUN (%p)",
	   tracee_ip(pid));
}

static void finish_tracee(pid_t pid)
{
	uint16_t steps;

	ptrace(PTRACE_SINGLEBLOCK, pid, 0, 0);
	wait_stop(pid, SIGTRAP);
	ok(tracee_ip(pid) == first_target, "and at the next branch's target (%p)",
	   tracee_ip(pid));
	ptrace(PTRACE_CONT, pid, 0, 0);
	wait_stop(pid, SIGTRAP);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, NULL, 0);
	memcpy(&steps, vm->memory + GUEST_COUNT, sizeof(steps));
	ok(!vm->error && vm->exit_reason == KVM_EXIT_HLT && steps == GUEST_STEPS,
	   "the guest ended with %d, exit reason %u, and took %u steps of %u", vm->error,
	   vm->exit_reason, steps, GUEST_STEPS);
}

/*
 * The guest's count of #DBs shows whether BTF was off in the guest. The stops show that block-step
 * goes on after KVM_RUN, not whether KVM_RUN has kept BTF: the switch to the tracee sets BTF again.
 */
static void guest_with_block_step(void)
{
	pid_t pid = start_traced(run_vcpu, NULL);

	ptrace(PTRACE_CONT, pid, 0, 0);
	wait_stop(pid, SIGTRAP);
	step_over_guest(pid);
	finish_tracee(pid);
}

static void nmi_before_guest(bool kept)
{
	struct lab_window window = {
		.function = "svm_vcpu_run",
		.action = LAB_NMI_SETS_LBR,
	};
	unsigned int off = 0, hits;
	struct lab_state state;
	pid_t pid;

	lab(LAB_SET_LBR, &off);
	pid = start_traced(run_vcpu, NULL);
	ptrace(PTRACE_CONT, pid, 0, 0);
	wait_stop(pid, SIGTRAP);
	lab(LAB_OPEN_WINDOW, &window);
	step_over_guest(pid);
	lab(LAB_WINDOW_HITS, &hits);
	state = lab_read();
	ok(hits == 1, "the window before the guest was hit");
	ok(!!(state.msr & DEBUGCTL_LBR_BIT) == kept,
	   "what the NMI wrote before the guest ran is %s (MSR %#llx)",
	   kept ? "kept" : "lost", state.msr);
	lab(LAB_SET_LBR, &off);
	finish_tracee(pid);
}

int main(int argc, char *argv[])
{
	if (argc != 3 || (strcmp(argv[2], "kept") && strcmp(argv[2], "lost"))) {
		fprintf(stderr, "usage: %s MODULE kept|lost\n", argv[0]);
		return 2;
	}
	plan(8);
	vm = mmap(NULL, sizeof(*vm), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		  -1, 0);
	if (vm == MAP_FAILED)
		give_up("mmap");
	load_lab(argv[1]);
	pin_to(CPU);
	guest_with_block_step();
	memset(vm, 0, sizeof(*vm));
	nmi_before_guest(!strcmp(argv[2], "kept"));
	return finish();
}
