// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ds.c, ds_store.c and ds_late.c, and the module parameter
 * /sys/module/ds_test/parameters/claim for tests in user space. Writing 1 claims BTS and calls
 * mark_cpu() for each possible CPU, writing 2 claims BTS and records on the online CPUs, writing 0
 * unclaims BTS.
 */
#include <linux/cpufeature.h>
#include <linux/delay.h>
#include <linux/jhash.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/time64.h>

#include <asm/cpu_entry_area.h>
#include <asm/debugctl.h>
#include <asm/ds.h>
#include <asm/intel_ds.h>
#include <asm/msr.h>

#include <kunit/resource.h>
#include <kunit/test.h>

#define BTS_FIELD	debugctl_bts_bits(DEBUGCTL_BTS)
#define CIRCULAR	debugctl_bts_bits(DEBUGCTLMSR_TR | DEBUGCTLMSR_BTS)

static char *bts_buffer(unsigned int cpu)
{
	return get_cpu_entry_area(cpu)->cpu_debug_buffers.bts_buffer;
}

/*
 * Overwrite the BTS buffer of a CPU, and the BTS positions of its store other than DS_BASE, so that
 * a test in user space notices if other code changes them. See claim_get().
 */
static void mark_cpu(unsigned int cpu)
{
	struct debug_store *ds = ds_store(cpu);
	u64 base = ds_read(ds, DS_BTS, DS_BASE);

	memset(bts_buffer(cpu), 0x40 + cpu, BTS_BUFFER_SIZE);
	ds_write(ds, DS_BTS, DS_INDEX, base + 8 * ds_layout.record);
	ds_write(ds, DS_BTS, DS_MAXIMUM, base + 9 * ds_layout.record);
	ds_write(ds, DS_BTS, DS_THRESHOLD, base + 7 * ds_layout.record);
}

/* Record all branches of this CPU in a circular buffer, without PMI. */
static void record_cpu(void *unused)
{
	struct debug_store *ds = ds_store(smp_processor_id());

	ds_write(ds, DS_BTS, DS_THRESHOLD,
		 ds_read(ds, DS_BTS, DS_MAXIMUM) + ds_layout.record);
	ds_bts_write(CIRCULAR);
}

static u64 read_msr(unsigned int cpu, u32 msr)
{
	u64 val = 0;

	WARN_ON(rdmsrq_on_cpu(cpu, msr, &val));

	return val;
}

static void test_layout_64(struct kunit *test)
{
	struct ds_layout on_64 = ds_choose_layout(true, true, true);
	struct ds_layout on_32 = ds_choose_layout(true, true, false);

	KUNIT_EXPECT_EQ(test, on_64.field, 8);
	KUNIT_EXPECT_EQ(test, on_64.record, 24);
	KUNIT_EXPECT_MEMEQ(test, &on_32, &on_64, sizeof(on_64));
}

static void test_layout_32(struct kunit *test)
{
	struct ds_layout layout = ds_choose_layout(true, false, false);

	KUNIT_EXPECT_EQ(test, layout.field, 4);
	KUNIT_EXPECT_EQ(test, layout.record, 12);
}

static void test_layout_none(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ds_choose_layout(false, false, false).field, 0);
	KUNIT_EXPECT_EQ(test, ds_choose_layout(false, true, true).field, 0);
	KUNIT_EXPECT_EQ(test, ds_choose_layout(true, false, true).field, 0);
	KUNIT_EXPECT_EQ(test, ds_choose_layout(true, false, true).record, 0);
}

/*
 * perf accesses a 64-bit store by struct debug_store. ds_read() and ds_write() access it by
 * ds_word_nr(). Compare the offsets.
 */
static void test_fields_64(struct kunit *test)
{
	static const struct {
		enum ds_part part;
		enum ds_field field;
		size_t offset;
	} at[] = {
		{ DS_BTS, DS_BASE, offsetof(struct debug_store, bts_buffer_base) },
		{ DS_BTS, DS_INDEX, offsetof(struct debug_store, bts_index) },
		{ DS_BTS, DS_MAXIMUM, offsetof(struct debug_store, bts_absolute_maximum) },
		{ DS_BTS, DS_THRESHOLD, offsetof(struct debug_store, bts_interrupt_threshold) },
		{ DS_PEBS, DS_BASE, offsetof(struct debug_store, pebs_buffer_base) },
		{ DS_PEBS, DS_INDEX, offsetof(struct debug_store, pebs_index) },
		{ DS_PEBS, DS_MAXIMUM, offsetof(struct debug_store, pebs_absolute_maximum) },
		{ DS_PEBS, DS_THRESHOLD, offsetof(struct debug_store, pebs_interrupt_threshold) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(at); i++)
		KUNIT_EXPECT_EQ(test, ds_word_nr(at[i].part, at[i].field) * sizeof(u64),
				at[i].offset);
}

static void test_words(struct kunit *test)
{
	u64 store[4] = {};

	ds_set_word(store, 1, sizeof(u64), 0x1122334455667788);
	KUNIT_EXPECT_EQ(test, store[1], 0x1122334455667788);
	KUNIT_EXPECT_EQ(test, ds_word(store, 1, sizeof(u64)), 0x1122334455667788);
	KUNIT_EXPECT_EQ(test, ds_word(store, 3, sizeof(u32)), 0x11223344);

	ds_set_word(store, 2, sizeof(u32), 0xfedcba9812345678);
	KUNIT_EXPECT_EQ(test, store[1], 0x1122334412345678);
	KUNIT_EXPECT_EQ(test, store[0] | store[2] | store[3], 0);
}

/*
 * Reference counts and claims, with the stores of this machine
 */

static void need_bts(struct kunit *test)
{
	if (!ds_has(DS_BTS))
		kunit_skip(test, "no BTS on this machine");
}

static void put_half(void *part)
{
	ds_put((unsigned long)part);
}

static void get_half(struct kunit *test, unsigned long part, int err)
{
	KUNIT_ASSERT_EQ(test, err, 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_half, (void *)part), 0);
}

static void get_bts(struct kunit *test)
{
	get_half(test, DS_BTS, ds_get_bts());
}

static void get_pebs(struct kunit *test, size_t size, size_t record)
{
	get_half(test, DS_PEBS, ds_get_pebs(size, record));
}

static void put(struct kunit *test, unsigned long part)
{
	kunit_release_action(test, put_half, (void *)part);
}

/* True if a test here has claimed BTS. False if claim_set() has, or, say, the flight recorder. */
static bool ds_test_claimed;

static int ds_test_claim(void)
{
	int err = ds_claim_bts(NULL);

	if (!err)
		ds_test_claimed = true;

	return err;
}

static void ds_test_unclaim(void)
{
	ds_test_claimed = false;
	ds_unclaim_bts();
}

/*
 * Claim BTS, or skip the test if that fails with -EBUSY. If the test does not unclaim BTS,
 * ds_test_exit() does.
 */
static void claim(struct kunit *test)
{
	int err = ds_test_claim();

	if (err == -EBUSY)
		kunit_skip(test, "BTS is in use");
	KUNIT_ASSERT_EQ(test, err, 0);
}

static bool area_here(void)
{
	guard(preempt)();

	return ds_area();
}

static void expect_area(struct kunit *test, bool loaded)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ(test, read_msr(cpu, MSR_IA32_DS_AREA),
				loaded ? (unsigned long)ds_store(cpu) : 0);
}

static void expect_default(struct kunit *test)
{
	unsigned long nr = BTS_BUFFER_SIZE / ds_layout.record;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct debug_store *ds = ds_store(cpu);
		u64 base = (unsigned long)bts_buffer(cpu);

		KUNIT_EXPECT_EQ(test, ds_read(ds, DS_BTS, DS_BASE), base);
		KUNIT_EXPECT_EQ(test, ds_read(ds, DS_BTS, DS_INDEX), base);
		KUNIT_EXPECT_EQ(test, ds_read(ds, DS_BTS, DS_MAXIMUM),
				base + nr * ds_layout.record);
		KUNIT_EXPECT_EQ(test, ds_read(ds, DS_BTS, DS_THRESHOLD),
				base + (nr - nr / 16) * ds_layout.record);
	}
}

static void test_references(struct kunit *test)
{
	bool before = area_here();

	need_bts(test);

	get_bts(test);
	get_bts(test);
	expect_area(test, true);
	expect_default(test);
	put(test, DS_BTS);
	expect_area(test, true);
	expect_default(test);
	put(test, DS_BTS);
	expect_area(test, before);
}

static void forget_pebs(void *unused)
{
	clear_bit(X86_FEATURE_PEBS, (unsigned long *)boot_cpu_data.x86_capability);
}

/*
 * Set X86_FEATURE_PEBS until the test ends: the PEBS half can be tested on a processor without
 * PEBS, as no code enables PEBS for this test. Return false if the layout of this machine's store
 * is not supported for PEBS.
 */
static bool have_pebs(struct kunit *test)
{
	if (!boot_cpu_has(X86_FEATURE_PEBS)) {
		set_cpu_cap(&boot_cpu_data, X86_FEATURE_PEBS);
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, forget_pebs, NULL), 0);
	}

	return ds_has(DS_PEBS);
}

static void expect_pebs(struct kunit *test, size_t size, size_t record)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		char *buffer = get_cpu_entry_area(cpu)->cpu_debug_buffers.pebs_buffer;
		struct debug_store *ds = ds_store(cpu);
		u64 base = size ? (unsigned long)buffer : 0;

		KUNIT_EXPECT_EQ(test, ds->pebs_buffer_base, base);
		KUNIT_EXPECT_EQ(test, ds->pebs_index, base);
		KUNIT_EXPECT_EQ(test, ds->pebs_absolute_maximum,
				base + (size ? size / record * record : 0));
		KUNIT_EXPECT_EQ(test, ds->pebs_interrupt_threshold, 0);
		if (size)
			memset(buffer, 0x55, size);
	}
}

static void test_halves(struct kunit *test)
{
	bool before = area_here();

	need_bts(test);
	if (!have_pebs(test)) {
		KUNIT_EXPECT_EQ(test, ds_get_pebs(PAGE_SIZE, 100), -EOPNOTSUPP);
		return;
	}
	if (ds_store(0)->pebs_buffer_base)
		kunit_skip(test, "perf uses PEBS, with other sizes");

	get_pebs(test, PAGE_SIZE, 100);
	expect_area(test, true);
	expect_pebs(test, PAGE_SIZE, 100);
	get_bts(test);
	expect_default(test);
	put(test, DS_PEBS);
	expect_area(test, true);
	expect_pebs(test, 0, 0);
	expect_default(test);
	get_pebs(test, PEBS_BUFFER_SIZE, 192);
	put(test, DS_BTS);
	expect_area(test, true);
	expect_pebs(test, PEBS_BUFFER_SIZE, 192);
	put(test, DS_PEBS);
	expect_area(test, before);
}

static void test_pebs_geometry(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ds_get_pebs(0, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, ds_get_pebs(PEBS_BUFFER_SIZE + 1, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, ds_get_pebs(PAGE_SIZE, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ds_get_pebs(PAGE_SIZE, PAGE_SIZE + 1), -EINVAL);
}

static void test_claim(struct kunit *test)
{
	bool before = area_here();

	if (!ds_has(DS_BTS)) {
		KUNIT_EXPECT_EQ(test, ds_test_claim(), -EOPNOTSUPP);
		kunit_skip(test, "no BTS on this machine");
	}

	claim(test);
	KUNIT_EXPECT_TRUE(test, ds_bts_claimed());
	KUNIT_EXPECT_EQ(test, ds_claim_bts(NULL), -EBUSY);
	expect_area(test, true);
	KUNIT_EXPECT_FALSE(test, ds_give_way(true));

	ds_test_unclaim();
	KUNIT_EXPECT_FALSE(test, ds_bts_claimed());
	expect_area(test, before);

	KUNIT_ASSERT_TRUE(test, ds_give_way(false));
	KUNIT_EXPECT_EQ(test, ds_test_claim(), -EBUSY);
	ds_end_give_way();
	claim(test);
	ds_test_unclaim();
}

/*
 * The hardware writes to the buffers of ds_store.c. ds_unclaim_bts() stops the hardware and resets
 * the positions. If the CPUs have the Meltdown bug, ds_unclaim_bts() also clears the buffers.
 */
static void test_record(struct kunit *test)
{
	unsigned int cpu;

	need_bts(test);
	get_bts(test);
	claim(test);
	on_each_cpu(record_cpu, NULL, 1);

	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, read_msr(cpu, MSR_IA32_DEBUGCTLMSR) & BTS_FIELD,
				CIRCULAR);
		KUNIT_EXPECT_NE(test, ds_word(bts_buffer(cpu), 0, ds_layout.field), 0);
	}

	ds_test_unclaim();
	expect_default(test);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, read_msr(cpu, MSR_IA32_DEBUGCTLMSR) & BTS_FIELD, 0);
		if (boot_cpu_has_bug(X86_BUG_CPU_MELTDOWN))
			KUNIT_EXPECT_NULL(test, memchr_inv(bts_buffer(cpu), 0, BTS_BUFFER_SIZE));
	}
	put(test, DS_BTS);
}

static u64 local_bts(void)
{
	u64 val;

	rdmsrq(MSR_IA32_DEBUGCTLMSR, val);

	return val & BTS_FIELD;
}

static void test_hold(struct kunit *test)
{
	bool has_pmi[3];
	u64 seen[5];

	need_bts(test);
	claim(test);

	scoped_guard(irqsave) {
		record_cpu(NULL);
		seen[0] = local_bts();
		has_pmi[0] = ds_bts_has_pmi();
		ds_bts_hold();
		seen[1] = local_bts();
		ds_bts_write(CIRCULAR | debugctl_bts_bits(DEBUGCTLMSR_BTINT));
		has_pmi[1] = ds_bts_has_pmi();
		ds_bts_write(0);
		has_pmi[2] = ds_bts_has_pmi();
		ds_bts_write(CIRCULAR);
		seen[2] = local_bts();
		ds_bts_release();
		seen[3] = local_bts();
		ds_bts_write(0);
		seen[4] = local_bts();
	}

	KUNIT_EXPECT_EQ(test, seen[0], CIRCULAR);
	KUNIT_EXPECT_EQ(test, seen[1], 0);
	KUNIT_EXPECT_EQ(test, seen[2], 0);
	KUNIT_EXPECT_EQ(test, seen[3], CIRCULAR);
	KUNIT_EXPECT_EQ(test, seen[4], 0);
	KUNIT_EXPECT_FALSE(test, has_pmi[0]);
	KUNIT_EXPECT_TRUE(test, has_pmi[1]);
	KUNIT_EXPECT_FALSE(test, has_pmi[2]);
	ds_test_unclaim();
}

/*
 * Creating and releasing an event of perf does not disturb BTS. If perf has no other event, this is
 * the first and the last event of perf.
 */
static void test_beside_perf(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type	= PERF_TYPE_HARDWARE,
		.config	= PERF_COUNT_HW_CPU_CYCLES,
		.size	= sizeof(attr),
		.pinned	= 1,
	};
	struct perf_event *event;
	unsigned int cpu;

	need_bts(test);
	claim(test);
	on_each_cpu(record_cpu, NULL, 1);

	event = perf_event_create_kernel_counter(&attr, raw_smp_processor_id(),
						 NULL, NULL, NULL);
	KUNIT_EXPECT_FALSE(test, IS_ERR(event));
	if (!IS_ERR(event))
		perf_event_release_kernel(event);

	expect_area(test, true);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, read_msr(cpu, MSR_IA32_DEBUGCTLMSR) & BTS_FIELD,
				CIRCULAR);
		KUNIT_EXPECT_EQ(test, ds_read(ds_store(cpu), DS_BTS, DS_BASE),
				(unsigned long)bts_buffer(cpu));
	}
	ds_test_unclaim();
}

/* Claim as many late PMIs as possible. */
static unsigned int late_pmis(void)
{
	unsigned int nr = 0;

	while (ds_claim_late_pmi())
		nr++;

	return nr;
}

/* At most two are expected, none of those that have arrived, and none after a second. */
static void test_late_pmis(struct kunit *test)
{
	unsigned int none, two, arrived, one, old, renewed;

	migrate_disable();
	late_pmis();
	none = late_pmis();
	ds_expect_late_pmi();
	ds_expect_late_pmi();
	ds_expect_late_pmi();
	two = late_pmis();
	ds_expect_late_pmi();
	ds_late_pmi_arrived();
	ds_late_pmi_arrived();
	arrived = late_pmis();
	ds_expect_late_pmi();
	ds_expect_late_pmi();
	ds_late_pmi_arrived();
	one = late_pmis();
	ds_expect_late_pmi();
	msleep(MSEC_PER_SEC + 100);
	old = late_pmis();
	ds_expect_late_pmi();
	msleep(MSEC_PER_SEC + 100);
	ds_expect_late_pmi();
	renewed = late_pmis();
	migrate_enable();

	KUNIT_EXPECT_EQ(test, none, 0);
	KUNIT_EXPECT_EQ(test, two, 2);
	KUNIT_EXPECT_EQ(test, arrived, 0);
	KUNIT_EXPECT_EQ(test, one, 1);
	KUNIT_EXPECT_EQ(test, old, 0);
	KUNIT_EXPECT_EQ(test, renewed, 1);
}

static struct kunit_case ds_cases[] = {
	KUNIT_CASE(test_layout_64),
	KUNIT_CASE(test_layout_32),
	KUNIT_CASE(test_layout_none),
	KUNIT_CASE(test_fields_64),
	KUNIT_CASE(test_words),
	KUNIT_CASE(test_references),
	KUNIT_CASE(test_halves),
	KUNIT_CASE(test_pebs_geometry),
	KUNIT_CASE(test_claim),
	KUNIT_CASE(test_record),
	KUNIT_CASE(test_hold),
	KUNIT_CASE(test_beside_perf),
	KUNIT_CASE_SLOW(test_late_pmis),
	{},
};

/* bts_claim.c keeps its claim for some time after the last trace. Make it end that claim. */
static int ds_test_init(struct kunit *test)
{
	if (ds_has(DS_BTS) && ds_give_way(false))
		ds_end_give_way();

	return 0;
}

/* If the test has left BTS claimed, unclaim BTS, and fail the test. */
static void ds_test_exit(struct kunit *test)
{
	bool leaked = ds_test_claimed;

	if (leaked)
		ds_test_unclaim();
	KUNIT_EXPECT_FALSE(test, leaked);
}

static struct kunit_suite ds_suite = {
	.name		= "x86_ds",
	.init		= ds_test_init,
	.exit		= ds_test_exit,
	.test_cases	= ds_cases,
};

kunit_test_suite(ds_suite);

/*
 * The module parameter. The kernel serializes writes to it.
 */

/* The parameter has claimed BTS. */
static bool claim_is_set;

static int claim_set(const char *val, const struct kernel_param *kp)
{
	unsigned int want, cpu;
	int ret;

	ret = kstrtouint(val, 0, &want);
	if (ret)
		return ret;

	if (!want) {
		if (!claim_is_set)
			return -ENXIO;
		claim_is_set = false;
		ds_unclaim_bts();
		return 0;
	}

	ret = ds_claim_bts(NULL);
	if (ret)
		return ret;

	claim_is_set = true;
	if (want == 1) {
		for_each_possible_cpu(cpu)
			mark_cpu(cpu);
	} else {
		on_each_cpu(record_cpu, NULL, 1);
	}

	return 0;
}

/*
 * Show "none" if BTS is not claimed, otherwise a line for each possible CPU, as far as a page has
 * room, with the positions of BTS and a hash of the buffer. A test in user space compares the lines
 * to find out whether the positions or the buffer have changed.
 */
static int claim_get(char *buf, const struct kernel_param *kp)
{
	unsigned int cpu, field;
	int len = 0;

	if (!ds_bts_claimed())
		return sysfs_emit(buf, "none\n");

	for_each_possible_cpu(cpu) {
		len += sysfs_emit_at(buf, len, "%u:", cpu);
		for (field = 0; field < DS_NR_FIELDS; field++)
			len += sysfs_emit_at(buf, len, " %llx",
					     ds_read(ds_store(cpu), DS_BTS, field));
		len += sysfs_emit_at(buf, len, " %x\n",
				     jhash(bts_buffer(cpu), BTS_BUFFER_SIZE, 0));
	}

	return len;
}

static const struct kernel_param_ops claim_ops = {
	.set	= claim_set,
	.get	= claim_get,
};
module_param_cb(claim, &claim_ops, NULL, 0600);
