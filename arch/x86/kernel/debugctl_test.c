// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the arbitration of DEBUGCTL. Some of them write DEBUGCTL of the CPU on which
 * they run, with interrupts off.
 */

#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/irqflags.h>

#include <asm/apic.h>
#include <asm/debugctl.h>
#include <asm/debugctl_claim.h>
#include <asm/nmi.h>

#define UNOWNED		(DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI | DEBUGCTLMSR_RTM_DEBUG)
#define OWNED		(DEBUGCTL_STEP | DEBUGCTL_LBR | DEBUGCTL_BTS | \
			 DEBUGCTL_SMM | DEBUGCTL_BUSLOCK)

#define NR_NMIS		1000
/* If an NMI has not arrived after so many writes of DEBUGCTL, stop waiting for it. */
#define NMI_MAX_WRITES	1000000

/* peek() and poke() access the MSR without the functions under test. */
static unsigned long peek(void)
{
	u64 val;

	rdmsrq(MSR_IA32_DEBUGCTLMSR, val);
	return val;
}

static void poke(unsigned long val)
{
	wrmsrq(MSR_IA32_DEBUGCTLMSR, val);
}

/* The state to be restored after a test has changed the register */
struct debugctl_state {
	unsigned long flags;
	unsigned long copy;
};

static void start_alone(struct debugctl_state *state)
{
	local_irq_save(state->flags);
	state->copy = debugctl_get();
}

/*
 * Restore only the step field and freeze-in-SMM. An NMI may have changed the fields of LBR and BTS,
 * unless the test has claimed them.
 */
static void end_alone(struct debugctl_state *state)
{
	__debugctl_change(DEBUGCTL_STEP | DEBUGCTL_SMM, state->copy);
	debugctl_sync();
	local_irq_restore(state->flags);
}

static void release(void *mask)
{
	debugctl_release((unsigned long)mask);
}

/* Claim fields until the test ends. Skip the test if they are in use. */
static void claim(struct kunit *test, unsigned long mask)
{
	if (debugctl_claim(mask))
		kunit_skip(test, "LBR or BTS is in use");
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, release, (void *)mask));
}

/* Skip the test where DEBUGCTL is not usable: some hypervisors ignore writes of BTF. */
static void need_register(struct kunit *test)
{
	struct debugctl_state state;
	unsigned long val;

	if (!debugctl_exists())
		kunit_skip(test, "the processor has no DEBUGCTL");
	start_alone(&state);
	debugctl_write_field(DEBUGCTL_STEP, DEBUGCTLMSR_BTF);
	val = peek();
	end_alone(&state);
	if (!(val & DEBUGCTLMSR_BTF))
		kunit_skip(test, "DEBUGCTL does not keep BTF");
}

static void debugctl_test_owners(struct kunit *test)
{
	static const unsigned long masks[] = {
		DEBUGCTL_STEP, DEBUGCTL_LBR, DEBUGCTL_BTS, DEBUGCTL_SMM, DEBUGCTL_BUSLOCK,
	};
	unsigned long seen = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		KUNIT_EXPECT_EQ(test, seen & masks[i], 0UL);
		KUNIT_EXPECT_TRUE(test, debugctl_in_one_field(masks[i]));
		seen |= masks[i];
	}
	KUNIT_EXPECT_EQ(test, seen, OWNED);
	KUNIT_EXPECT_EQ(test, seen & UNOWNED, 0UL);
	KUNIT_EXPECT_TRUE(test, debugctl_in_one_field(DEBUGCTLMSR_FREEZE_LBRS_ON_PMI));
	KUNIT_EXPECT_FALSE(test, debugctl_in_one_field(DEBUGCTL_STEP | DEBUGCTLMSR_LBR));
	KUNIT_EXPECT_FALSE(test, debugctl_in_one_field(DEBUGCTLMSR_RTM_DEBUG));
	KUNIT_EXPECT_FALSE(test, debugctl_in_one_field(DEBUGCTL_BTS | BIT(5)));
}

/* The BTS field of this CPU model has the right bits, and no bit that another owner uses there. */
static void debugctl_test_bts(struct kunit *test)
{
	bool netburst = boot_cpu_data.x86_vendor == X86_VENDOR_INTEL && boot_cpu_data.x86 == 15;
	unsigned long field = debugctl_bts_bits(DEBUGCTL_BTS);

	KUNIT_EXPECT_EQ(test, field, netburst ? 0x7cUL : 0x7c0UL);
	KUNIT_EXPECT_EQ(test, debugctl_bts_bits(DEBUGCTLMSR_BTS_OFF_USR),
			netburst ? 0x40UL : 0x400UL);
	KUNIT_EXPECT_EQ(test, field, DEBUGCTL_BTS >> debugctl_bts_shift);
	KUNIT_EXPECT_EQ(test, field & (DEBUGCTL_STEP | DEBUGCTL_LBR | DEBUGCTL_SMM), 0UL);
	if (field & DEBUGCTL_BUSLOCK)
		KUNIT_EXPECT_FALSE(test, boot_cpu_has(X86_FEATURE_BUS_LOCK_DETECT));
}

static void debugctl_test_bad_claims(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, debugctl_claim(0), -EINVAL);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTLMSR_LBR), -EINVAL);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_BTS | DEBUGCTLMSR_LBR), -EINVAL);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_BTS | UNOWNED), -EINVAL);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_STEP), -EBUSY);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_SMM), -EBUSY);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_BUSLOCK), -EBUSY);
}

static void debugctl_test_claims(struct kunit *test)
{
	if (debugctl_claim(DEBUGCTL_LBR | DEBUGCTL_BTS))
		kunit_skip(test, "LBR or BTS is in use");
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_LBR), -EBUSY);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_BTS), -EBUSY);

	/* If one field is not free, the whole claim is refused. */
	debugctl_release(DEBUGCTL_BTS);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_LBR | DEBUGCTL_BTS), -EBUSY);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_BTS), 0);

	debugctl_release(DEBUGCTL_LBR | DEBUGCTL_BTS);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_LBR), 0);
	debugctl_release(DEBUGCTL_LBR);
}

static int debugctl_taken, debugctl_yielded;

static void debugctl_test_take(void)
{
	debugctl_taken++;
}

static void debugctl_test_yield(void)
{
	debugctl_yielded++;
}

static const struct debugctl_yielder debugctl_test_yielder = {
	.mask	= DEBUGCTL_LBR,
	.take	= debugctl_test_take,
	.give_up = debugctl_test_yield,
};

/* Wait until the yielding owner has taken its field @times times, 10 s at most. */
static int debugctl_taken_by_now(int times)
{
	int i;

	for (i = 0; i < 500 && READ_ONCE(debugctl_taken) < times; i++)
		msleep(20);
	return READ_ONCE(debugctl_taken);
}

/*
 * The yielding owner has its field while no other owner has claimed the field. After a release, it
 * takes the field back a little later.
 */
static void debugctl_test_yields(struct kunit *test)
{
	static const struct debugctl_yielder bad = { .mask = DEBUGCTLMSR_LBR };

	debugctl_taken = 0;
	debugctl_yielded = 0;
	claim(test, DEBUGCTL_BTS);
	KUNIT_EXPECT_EQ(test, debugctl_claim_yielding(&bad), -EINVAL);
	if (debugctl_claim_yielding(&debugctl_test_yielder))
		kunit_skip(test, "the flight recorder yields LBR");
	KUNIT_EXPECT_EQ(test, debugctl_taken, 1);
	KUNIT_EXPECT_EQ(test, debugctl_claim_yielding(&debugctl_test_yielder), -EBUSY);

	/* If a claim fails, the yielding owner keeps its field. */
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_LBR | DEBUGCTL_BTS), -EBUSY);
	KUNIT_EXPECT_EQ(test, debugctl_yielded, 0);

	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_LBR), 0);
	KUNIT_EXPECT_EQ(test, debugctl_yielded, 1);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_LBR), -EBUSY);
	KUNIT_EXPECT_EQ(test, debugctl_yielded, 1);
	debugctl_release(DEBUGCTL_LBR);
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_LBR), 0);
	KUNIT_EXPECT_EQ(test, debugctl_yielded, 1);
	debugctl_release(DEBUGCTL_LBR);
	KUNIT_EXPECT_EQ(test, debugctl_taken, 1);
	KUNIT_EXPECT_EQ(test, debugctl_taken_by_now(2), 2);
	debugctl_release_yielding();
	KUNIT_EXPECT_EQ(test, debugctl_yielded, 2);

	/* The yielding owner may register and unregister while its field is claimed. */
	KUNIT_EXPECT_EQ(test, debugctl_claim(DEBUGCTL_LBR), 0);
	KUNIT_EXPECT_EQ(test, debugctl_claim_yielding(&debugctl_test_yielder), 0);
	KUNIT_EXPECT_EQ(test, debugctl_taken, 2);
	debugctl_release(DEBUGCTL_LBR);
	debugctl_release_yielding();
	KUNIT_EXPECT_EQ(test, debugctl_yielded, 2);
	/* The owner is gone before it could take the field back. */
	msleep(2000);
	KUNIT_EXPECT_EQ(test, debugctl_taken, 2);
}

static void debugctl_test_write_field(struct kunit *test)
{
	struct debugctl_state state;
	unsigned long on, msr_on, off, msr_off;

	need_register(test);
	start_alone(&state);
	debugctl_write_field(DEBUGCTL_STEP, OWNED);
	on = debugctl_get();
	msr_on = peek();
	debugctl_write_field(DEBUGCTL_STEP, 0);
	off = debugctl_get();
	msr_off = peek();
	end_alone(&state);

	/* Bits of the value outside of the mask are ignored. */
	KUNIT_EXPECT_EQ(test, on, state.copy | DEBUGCTLMSR_BTF);
	KUNIT_EXPECT_EQ(test, off, state.copy & ~DEBUGCTLMSR_BTF);
	KUNIT_EXPECT_EQ(test, msr_on, on);
	KUNIT_EXPECT_EQ(test, msr_off, off);
}

static void debugctl_test_try_field(struct kunit *test)
{
	struct debugctl_state state;
	unsigned long copy, msr, want;
	unsigned long same_msr;
	int same, err;

	need_register(test);
	start_alone(&state);
	want = (state.copy & DEBUGCTL_SMM) ^ DEBUGCTL_SMM;
	poke(state.copy ^ DEBUGCTLMSR_BTF);
	same = debugctl_try_field(DEBUGCTL_SMM, state.copy & DEBUGCTL_SMM);
	same_msr = peek();
	poke(state.copy);
	err = debugctl_try_field(DEBUGCTL_SMM, want);
	copy = debugctl_get();
	msr = peek();
	end_alone(&state);

	/* The MSR is not written if the copy has the value already. */
	KUNIT_EXPECT_EQ(test, same, 0);
	KUNIT_EXPECT_EQ(test, same_msr, state.copy ^ DEBUGCTLMSR_BTF);
	/* Not every processor has the bit. The bit changes in both copy and MSR, or in neither. */
	if (!err)
		KUNIT_EXPECT_EQ(test, copy, (state.copy & ~DEBUGCTL_SMM) | want);
	else
		KUNIT_EXPECT_EQ(test, copy, state.copy);
	KUNIT_EXPECT_EQ(test, msr, copy);
}

static void debugctl_test_sync(struct kunit *test)
{
	unsigned long cleared, synced, resumed, kept, exited;
	struct debugctl_state state;

	need_register(test);
	start_alone(&state);
	debugctl_write_field(DEBUGCTL_STEP, DEBUGCTLMSR_BTF);

	/* Clear BTF in the MSR, as a #DB does. */
	poke(debugctl_get() & ~DEBUGCTLMSR_BTF);
	debugctl_sync();
	synced = peek();

	/* Clear the MSR, as S3 does. */
	poke(0);
	debugctl_resume();
	resumed = peek();

	/* Clear the MSR, as the exit of a VMX guest does. */
	poke(0);
	debugctl_vm_exit(DEBUGCTLMSR_LBR | DEBUGCTLMSR_BTF | state.copy);
	kept = peek();
	debugctl_vm_exit(0);
	exited = peek();

	debugctl_clear_copy(DEBUGCTLMSR_BTF);
	cleared = debugctl_get();
	end_alone(&state);

	KUNIT_EXPECT_EQ(test, synced, state.copy | DEBUGCTLMSR_BTF);
	KUNIT_EXPECT_EQ(test, resumed, state.copy | DEBUGCTLMSR_BTF);
	KUNIT_EXPECT_EQ(test, kept, 0UL);
	KUNIT_EXPECT_EQ(test, exited, (state.copy | DEBUGCTLMSR_BTF) & ~DEBUGCTLMSR_LBR);
	KUNIT_EXPECT_EQ(test, cleared, state.copy & ~DEBUGCTLMSR_BTF);
}

/*
 * debugctl_cpu_init() clears what the firmware or another kernel may have left set, and keeps other
 * bits. Where the processor has BTS, the bit that it has to keep is BTINT, without TR and BTS: then
 * the processor stores no records.
 */
static void debugctl_test_cpu_init(struct kunit *test)
{
	const unsigned long cleared = DEBUGCTLMSR_LBR | DEBUGCTLMSR_BTF |
				      DEBUGCTLMSR_FREEZE_LBRS_ON_PMI |
				      DEBUGCTLMSR_FREEZE_PERFMON_ON_PMI;
	struct debugctl_state state;
	unsigned long kept, left, copy, msr;

	need_register(test);
	/* Claim LBR and BTS, so that no NMI changes the copy during debugctl_cpu_init(). */
	claim(test, DEBUGCTL_LBR | DEBUGCTL_BTS);
	start_alone(&state);
	kept = state.copy;
	if (boot_cpu_has(X86_FEATURE_BTS))
		kept |= debugctl_bts_bits(DEBUGCTLMSR_BTINT);
	/* Not every processor has all these bits. */
	if (wrmsrq_safe(MSR_IA32_DEBUGCTLMSR, kept | cleared))
		poke(kept | DEBUGCTLMSR_BTF);
	left = peek();
	this_cpu_write(debugctl_copy, 0);
	debugctl_cpu_init();
	copy = debugctl_get();
	msr = peek();
	debugctl_write_bts(0);
	end_alone(&state);

	KUNIT_EXPECT_TRUE(test, left & DEBUGCTLMSR_BTF);
	KUNIT_EXPECT_EQ(test, copy, kept & ~cleared);
	KUNIT_EXPECT_EQ(test, msr, copy);
}

/*
 * debugctl_emergency_stop_bts() clears no field but BTS. Where the processor has BTS, the test sets
 * BTINT without TR and BTS, so that the processor stores no records.
 */
static void debugctl_test_emergency(struct kunit *test)
{
	const unsigned long btint =
		boot_cpu_has(X86_FEATURE_BTS) ? debugctl_bts_bits(DEBUGCTLMSR_BTINT) : 0;
	struct debugctl_state state;
	unsigned long written, copy, msr;

	need_register(test);
	claim(test, DEBUGCTL_BTS);
	start_alone(&state);
	debugctl_write_field(DEBUGCTL_STEP, DEBUGCTLMSR_BTF);
	debugctl_write_bts(btint);
	written = peek();
	debugctl_emergency_stop_bts();
	copy = debugctl_get();
	msr = peek();
	end_alone(&state);

	KUNIT_EXPECT_EQ(test, written & debugctl_bts_bits(DEBUGCTL_BTS), btint);
	KUNIT_EXPECT_EQ(test, copy, (state.copy & ~debugctl_bts_mask) | DEBUGCTLMSR_BTF);
	KUNIT_EXPECT_EQ(test, msr, copy);
}

#ifdef CONFIG_X86_LOCAL_APIC
static unsigned long nmi_bit;
static bool nmi_on;
static unsigned int nmi_count;
static int nmi_cpu = -1;

static int nmi_flips_bit(unsigned int type, struct pt_regs *regs)
{
	if (smp_processor_id() != nmi_cpu)
		return NMI_DONE;
	nmi_on = !nmi_on;
	WRITE_ONCE(nmi_count, nmi_count + 1);
	debugctl_write_field(DEBUGCTL_LBR, nmi_on ? nmi_bit : 0);
	return NMI_HANDLED;
}

/*
 * Return a bit of DEBUGCTL_LBR that stays set in the MSR after it was written; 0 if no bit does.
 * With architectural LBRs, LBR does not.
 */
static unsigned long kept_bit(void)
{
	static const unsigned long bits[] = { DEBUGCTLMSR_LBR, DEBUGCTLMSR_FREEZE_LBRS_ON_PMI };
	struct debugctl_state state;
	unsigned long kept = 0;
	int i;

	start_alone(&state);
	for (i = 0; i < ARRAY_SIZE(bits) && !kept; i++) {
		if (!debugctl_try_field(bits[i], bits[i]))
			kept = peek() & bits[i];
		debugctl_try_field(bits[i], state.copy & bits[i]);
	}
	end_alone(&state);
	return kept;
}

/*
 * Send NR_NMIS NMIs to this CPU, one after the other, but stop if one does not arrive. Until an NMI
 * has arrived, write the step field, so that the NMI may interrupt debugctl_write_field(). Count in
 * @differed the NMIs after which the copy or the MSR is wrong. Return the number of NMIs that have
 * arrived.
 */
static unsigned int race_nmis(unsigned long *differed)
{
	unsigned int i, spins, writes = 0;

	for (i = 0; i < NR_NMIS; i++) {
		__apic_send_IPI(nmi_cpu, NMI_VECTOR);
		for (spins = 0; READ_ONCE(nmi_count) == i && spins < NMI_MAX_WRITES; spins++)
			debugctl_write_field(DEBUGCTL_STEP, writes++ & 1 ? DEBUGCTLMSR_BTF : 0);
		/* Do not wait for more NMIs if this one is lost: interrupts are off. */
		if (READ_ONCE(nmi_count) == i)
			break;
		if (peek() != debugctl_get() || nmi_on != !!(peek() & nmi_bit))
			(*differed)++;
	}
	return nmi_count;
}

static void debugctl_test_nmi(struct kunit *test)
{
	struct debugctl_state state;
	unsigned long differed = 0;
	unsigned int nmis;

	need_register(test);
	if (!boot_cpu_has(X86_FEATURE_APIC))
		kunit_skip(test, "no local APIC to send an NMI with");
	claim(test, DEBUGCTL_LBR);
	nmi_bit = kept_bit();
	if (!nmi_bit)
		kunit_skip(test, "DEBUGCTL keeps no bit of the LBRs");
	KUNIT_ASSERT_EQ(test, 0, register_nmi_handler(NMI_LOCAL, nmi_flips_bit, 0,
						      "debugctl_test"));
	start_alone(&state);
	nmi_on = state.copy & nmi_bit;
	nmi_count = 0;
	nmi_cpu = smp_processor_id();
	nmis = race_nmis(&differed);
	nmi_cpu = -1;
	debugctl_write_field(DEBUGCTL_LBR, state.copy);
	end_alone(&state);
	unregister_nmi_handler(NMI_LOCAL, "debugctl_test");

	KUNIT_EXPECT_EQ(test, nmis, NR_NMIS);
	KUNIT_EXPECT_EQ(test, differed, 0UL);
}
#endif

static struct kunit_case debugctl_test_cases[] = {
	KUNIT_CASE(debugctl_test_owners),
	KUNIT_CASE(debugctl_test_bts),
	KUNIT_CASE(debugctl_test_bad_claims),
	KUNIT_CASE(debugctl_test_claims),
	KUNIT_CASE(debugctl_test_yields),
	KUNIT_CASE(debugctl_test_write_field),
	KUNIT_CASE(debugctl_test_try_field),
	KUNIT_CASE(debugctl_test_sync),
	KUNIT_CASE(debugctl_test_cpu_init),
	KUNIT_CASE(debugctl_test_emergency),
#ifdef CONFIG_X86_LOCAL_APIC
	KUNIT_CASE(debugctl_test_nmi),
#endif
	{},
};

static struct kunit_suite debugctl_test_suite = {
	.name = "debugctl",
	.test_cases = debugctl_test_cases,
};

kunit_test_suite(debugctl_test_suite);
