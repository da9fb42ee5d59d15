// SPDX-License-Identifier: GPL-2.0
/*
 * Check that a KVM guest that only branches does not overwrite the host kernel's last branches in
 * the LBRs.
 *
 *   guestlbr
 */
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../guest/recorder.h"
#include "../guest/lbrs.h"

#define GUEST_CPU	1
#define CODE		0x1000
#define SIZE		0x2000

/* Run a guest in real mode: a jump to itself, at privilege level 0. */
static void *run_guest(void *unused)
{
	static char memory[SIZE] __attribute__((aligned(4096)));
	struct kvm_userspace_memory_region region = {
		.memory_size = SIZE,
		.userspace_addr = (unsigned long)memory,
	};
	struct kvm_regs regs = { .rip = CODE, .rflags = 2 };
	int kvm = open("/dev/kvm", O_RDWR), vm = ioctl(kvm, KVM_CREATE_VM, 0), vcpu;
	struct kvm_sregs sregs;

	(void)unused;
	pin_to(GUEST_CPU);
	memcpy(memory + CODE, "\xeb\xfe", 2);
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) || vcpu < 0 ||
	    ioctl(vcpu, KVM_GET_SREGS, &sregs))
		give_up("cannot make a virtual machine");
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	if (ioctl(vcpu, KVM_SET_SREGS, &sregs) || ioctl(vcpu, KVM_SET_REGS, &regs))
		give_up("cannot set the registers of the virtual CPU");
	ioctl(vcpu, KVM_RUN, 0);
	give_up("the guest has ended");
}

static size_t host_branches(void)
{
	char *trace = get("per_cpu/cpu1/trace");
	size_t n = count_lines(trace, GUEST_CPU, NULL);

	printf("# %.300s\n", trace);
	free(trace);
	return n;
}

int main(void)
{
	pthread_t thread;
	size_t n;

	must_set("fold", "0");
	must_set("enable", "lbr");
	if (pthread_create(&thread, NULL, run_guest, NULL))
		give_up("pthread_create");
	usleep(500000);
	/* If this thread does not run on GUEST_CPU, the freeze interrupts the guest by an NMI. */
	must_set("freeze", "1");
	usleep(20000);
	n = host_branches();
	ok(n >= 8, "%zu branches of the host before the guest ran", n);
	must_set("freeze", "0");
	ok(lbr_of_kernel(GUEST_CPU), "recording goes on");
	return finish();
}
