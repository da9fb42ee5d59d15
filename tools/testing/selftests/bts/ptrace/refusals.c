// SPDX-License-Identifier: GPL-2.0
/*
 * Invalid requests: the kernel must return the right errno, and must not change the trace. Also
 * valid requests that are similar, PTRACE_BTS_READ, ARCH_GET_PTRACE_BTS, and the layout of the
 * structures.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "tracing.h"

#define ROOM	100
#define PASSES	2
#define MAX	(1u << 24)

FIXTURE(check)
{
	pid_t pid;
	struct x86_bts_record before[ROOM];
	size_t nr;
	/* A page that is followed by one without access (PROT_NONE) */
	char *page;
	size_t size;
};

static size_t get_all(pid_t pid, struct x86_bts_record *rec)
{
	size_t i = 0;

	while (i < ROOM && !bts(PTRACE_BTS_GET, pid, rec + i, i))
		i++;
	return i;
}

/* Get the newest branch. Skip returns from interrupts that came after it. */
static int newest_branch(pid_t pid, struct x86_bts_record *rec)
{
	int i = 0, ret;

	do {
		ret = bts(PTRACE_BTS_GET, pid, rec, i++);
	} while (!ret && rec->type == X86_BTS_LEAVE);

	return ret;
}

FIXTURE_SETUP(check)
{
	self->size = sysconf(_SC_PAGESIZE);
	self->page = mmap(NULL, 2 * self->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->page);
	ASSERT_EQ(0, mprotect(self->page + self->size, self->size, PROT_NONE));
	self->pid = start_chain();
	must_trace(self->pid, TRACE, ROOM, 0);
	run_chain(self->pid, PASSES);
	self->nr = get_all(self->pid, self->before);
	ASSERT_LE(PASSES * CHAIN_LENGTH, self->nr);
}

FIXTURE_TEARDOWN(check)
{
	end_chain(self->pid);
}

/*
 * Check that size, flags, signal and records are unchanged. Another run of chain() must add its
 * branches to the trace.
 */
#define EXPECT_UNCHANGED() do {							\
	struct ptrace_bts_status _status = bts_status(self->pid);		\
	struct x86_bts_record _after[ROOM];						\
										\
	EXPECT_EQ(RECORDS(ROOM), _status.size);					\
	EXPECT_EQ(TRACE, _status.flags);					\
	EXPECT_EQ(0, _status.signal);						\
	EXPECT_EQ(self->nr, get_all(self->pid, _after));			\
	EXPECT_EQ(0, memcmp(self->before, _after, RECORDS(self->nr)));		\
	run_chain(self->pid, 1);						\
	EXPECT_LE(_status.next + CHAIN_LENGTH, bts_status(self->pid).next);	\
	EXPECT_EQ(0, newest_branch(self->pid, _after));				\
	EXPECT_EQ((uintptr_t)chain_back, _after[0].branch.from);		\
} while (0)

/* The layout is the same for callers of every ABI, without holes. */
TEST(layout)
{
	EXPECT_EQ(24, sizeof(struct x86_bts_record));
	EXPECT_EQ(2, offsetof(struct x86_bts_record, flags));
	EXPECT_EQ(4, offsetof(struct x86_bts_record, info));
	EXPECT_EQ(8, offsetof(struct x86_bts_record, branch.from));
	EXPECT_EQ(16, offsetof(struct x86_bts_record, branch.to));
	EXPECT_EQ(16, offsetof(struct x86_bts_record, event.pid));
	EXPECT_EQ(20, offsetof(struct x86_bts_record, event.cpu));
	EXPECT_EQ(16, offsetof(struct x86_bts_record, lost.count));
	EXPECT_EQ(24, sizeof(struct ptrace_bts_config));
	EXPECT_EQ(12, offsetof(struct ptrace_bts_config, bts_size));
	EXPECT_EQ(20, offsetof(struct ptrace_bts_config, clock));
	EXPECT_EQ(72, sizeof(struct ptrace_bts_status));
	EXPECT_EQ(16, offsetof(struct ptrace_bts_status, held));
	EXPECT_EQ(40, offsetof(struct ptrace_bts_status, gaps));
	EXPECT_EQ(56, offsetof(struct ptrace_bts_status, next));
	EXPECT_EQ(68, offsetof(struct ptrace_bts_status, state));
	EXPECT_EQ(24, sizeof(struct ptrace_bts_read));
	EXPECT_EQ(8, offsetof(struct ptrace_bts_read, records));
	EXPECT_EQ(20, offsetof(struct ptrace_bts_read, flags));
	EXPECT_EQ(32, sizeof(struct ptrace_bts_info));
	EXPECT_EQ(28, offsetof(struct ptrace_bts_info, clocks));
}

static int info_of(void *info)
{
	return syscall(SYS_arch_prctl, ARCH_GET_PTRACE_BTS, info) ? -errno : 0;
}

/* A program can query the sources of records (Debug Store, trap flag) without a tracee. */
TEST(info)
{
	struct ptrace_bts_info info = { .size = sizeof(info), };

	ASSERT_EQ(0, info_of(&info));
	EXPECT_EQ(sizeof(info), info.size);
	/* The default is the Debug Store if there is one. The trap flag must also be a source. */
	EXPECT_EQ(info.sources & 1 << PTRACE_BTS_SOURCE_DS ? PTRACE_BTS_SOURCE_DS :
							      PTRACE_BTS_SOURCE_STEP,
		  info.source);
	EXPECT_EQ(1 << PTRACE_BTS_SOURCE_STEP, info.sources & ~(1 << PTRACE_BTS_SOURCE_DS));
	EXPECT_EQ(TRACE | SCHED | SIGNAL | ALLOC | STOP_FULL | INHERIT | ENTRY |
		  PTRACE_BTS_F_END | (info.source == PTRACE_BTS_SOURCE_DS ? KERNEL : 0),
		  info.flags);
	EXPECT_EQ(RECORDS(1), info.bts_size);
	EXPECT_EQ(MAX, info.max_records);
	EXPECT_EQ(1 << PTRACE_BTS_CLOCK_SCHED | 1 << PTRACE_BTS_CLOCK_MONOTONIC, info.clocks);
	/* Query a given source: first the default, then each of the two. */
	EXPECT_EQ(0, info_of(&info));
	info.source = PTRACE_BTS_SOURCE_STEP;
	EXPECT_EQ(0, info_of(&info));
	EXPECT_EQ(PTRACE_BTS_SOURCE_STEP, info.source);
	EXPECT_FALSE(info.flags & KERNEL);
	EXPECT_EQ(0, info.record_flags);
	info.source = PTRACE_BTS_SOURCE_DS;
	EXPECT_EQ(bts_info().source == PTRACE_BTS_SOURCE_DS ? 0 : -ENODEV, info_of(&info));
}

TEST(info_is_refused)
{
	size_t page = sysconf(_SC_PAGESIZE), i;
	static const uint32_t small[] = { 0, 1, 4, 7, };
	struct ptrace_bts_info *info;
	char *start, *end;

	start = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)start);
	ASSERT_EQ(0, mprotect(start + page, page, PROT_NONE));
	info = (void *)start;
	for (i = 0; i < ARRAY_SIZE(small); i++) {
		info->size = small[i];
		EXPECT_EQ(-EINVAL, info_of(info)) TH_LOG("size %u", small[i]);
	}
	info->size = 4097;
	EXPECT_EQ(-E2BIG, info_of(info));
	info->size = sizeof(*info);
	info->source = PTRACE_BTS_SOURCE_STEP + 1;
	EXPECT_EQ(-ENODEV, info_of(info));
	EXPECT_EQ(-EFAULT, info_of(NULL));
	/* The kernel fills as much as the caller has room for, and no more. */
	end = start + page;
	info = (void *)(end - 8);
	info->size = 8;
	info->source = PTRACE_BTS_SOURCE_ANY;
	EXPECT_EQ(0, info_of(info));
	EXPECT_EQ(sizeof(*info), info->size);
	EXPECT_EQ(bts_info().source, info->source);
	info->size = 12;
	EXPECT_EQ(-EFAULT, info_of(info));
	/* The size is tested before the kernel reads more. */
	info = (void *)(end - 4);
	info->size = 4;
	EXPECT_EQ(-EINVAL, info_of(info));
	munmap(start, 2 * page);
}

static int config_of(pid_t pid, struct ptrace_bts_config config)
{
	return bts(PTRACE_BTS_CONFIG, pid, &config, sizeof(config));
}

TEST_F(check, config_that_is_valid)
{
	struct ptrace_bts_config config = { .size = 24, .flags = TRACE | ALLOC, };

	EXPECT_EQ(0, config_of(self->pid, config));
	EXPECT_EQ(24, bts_status(self->pid).size);
	config.size = 47;
	EXPECT_EQ(0, config_of(self->pid, config));
	EXPECT_EQ(24, bts_status(self->pid).size);
	config.bts_size = RECORDS(1);
	EXPECT_EQ(0, config_of(self->pid, config));
	config.size = 0;
	config.flags = TRACE | SCHED;
	EXPECT_EQ(0, config_of(self->pid, config));
	config.flags = 0;
	EXPECT_EQ(0, config_of(self->pid, config));
	config.flags = PTRACE_BTS_F_END;
	EXPECT_EQ(0, config_of(self->pid, config));
	EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_SIZE, self->pid, NULL, 0));
}

TEST_F(check, unknown_flags)
{
	int bit;

	for (bit = 9; bit < 32; bit++) {
		EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE | 1u << bit, 0, 0))
			TH_LOG("flag %#x", 1u << bit);
		EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE | ALLOC | 1u << bit, 240, 0));
	}
	EXPECT_UNCHANGED();
}

TEST_F(check, flags_without_a_purpose)
{
	static const uint32_t flags[] = { 0, STOP_FULL, INHERIT, STOP_FULL | INHERIT, };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		EXPECT_EQ(-EINVAL, bts_config(self->pid, flags[i] | ALLOC, 240, 0))
			TH_LOG("flags %#x", flags[i]);
	EXPECT_EQ(-EINVAL, bts_config(self->pid, SIGNAL | ALLOC, 240, SIGUSR1));
	EXPECT_UNCHANGED();
}

/* PTRACE_BTS_F_END must be the only flag, and size, signal and source must be 0. */
TEST_F(check, end_with_more)
{
	struct ptrace_bts_config config = { .flags = PTRACE_BTS_F_END, };
	static const uint32_t flags[] = { TRACE, SCHED, SIGNAL, ALLOC, INHERIT, };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		EXPECT_EQ(-EINVAL, bts_config(self->pid, PTRACE_BTS_F_END | flags[i], 0, 0))
			TH_LOG("flags %#x", flags[i]);
	EXPECT_EQ(-EINVAL, bts_config(self->pid, PTRACE_BTS_F_END, 24, 0));
	EXPECT_EQ(-EINVAL, bts_config(self->pid, PTRACE_BTS_F_END, 0, SIGUSR1));
	config.source = PTRACE_BTS_SOURCE_DS;
	EXPECT_EQ(-EINVAL, config_of(self->pid, config));
	/* ALLOC with a size of 0 is invalid, and does not end the trace. */
	EXPECT_EQ(-EINVAL, bts_config(self->pid, ALLOC, 0, 0));
	EXPECT_UNCHANGED();
}

TEST_F(check, sources)
{
	struct ptrace_bts_config config = { .size = RECORDS(ROOM), .flags = TRACE | ALLOC, };
	static const uint32_t bad[] = { PTRACE_BTS_SOURCE_STEP + 1, 1u << 31, UINT_MAX, };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		config.source = bad[i];
		EXPECT_EQ(-ENODEV, config_of(self->pid, config)) TH_LOG("source %u", bad[i]);
	}
	config.source = PTRACE_BTS_SOURCE_STEP;
	config.size = 0;
	config.flags = TRACE;
	EXPECT_EQ(-EINVAL, config_of(self->pid, config));
	EXPECT_UNCHANGED();
	config.size = RECORDS(ROOM);
	config.flags = TRACE | ALLOC;
	EXPECT_EQ(0, config_of(self->pid, config));
	EXPECT_EQ(PTRACE_BTS_SOURCE_STEP, bts_status(self->pid).source);
	config.source = PTRACE_BTS_SOURCE_ANY;
	EXPECT_EQ(0, config_of(self->pid, config));
	EXPECT_EQ(bts_info().source, bts_status(self->pid).source);
	config.source = bts_info().source;
	EXPECT_EQ(0, config_of(self->pid, config));
	EXPECT_EQ(config.source, bts_status(self->pid).source);
}

/* The trap flag cannot record the kernel, neither in a new trace nor in an existing one. */
TEST_F(check, kernel_by_steps)
{
	struct ptrace_bts_config config = {
		.size = RECORDS(ROOM),
		.flags = TRACE | KERNEL | ALLOC,
		.source = PTRACE_BTS_SOURCE_STEP,
	};

	EXPECT_EQ(-EOPNOTSUPP, config_of(self->pid, config));
	EXPECT_UNCHANGED();
	config.flags = TRACE | ENTRY | ALLOC;
	EXPECT_EQ(0, config_of(self->pid, config));
	EXPECT_EQ(-EOPNOTSUPP, bts_config(self->pid, TRACE | KERNEL, 0, 0));
	EXPECT_EQ(TRACE | ENTRY, bts_status(self->pid).flags);
	EXPECT_EQ(0, bts_config(self->pid, TRACE, 0, 0));
}

TEST_F(check, clocks)
{
	struct ptrace_bts_config config = { .size = RECORDS(ROOM), .flags = TRACE | ALLOC, };
	static const uint32_t bad[] = { PTRACE_BTS_CLOCK_MONOTONIC + 1, UINT_MAX, };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		config.clock = bad[i];
		EXPECT_EQ(-EINVAL, config_of(self->pid, config)) TH_LOG("clock %u", bad[i]);
	}
	config.clock = PTRACE_BTS_CLOCK_MONOTONIC;
	config.size = 0;
	config.flags = TRACE;
	EXPECT_EQ(-EINVAL, config_of(self->pid, config));
	EXPECT_UNCHANGED();
}

TEST_F(check, entry_without_trace)
{
	EXPECT_EQ(-EINVAL, bts_config(self->pid, ENTRY | ALLOC, 240, 0));
	EXPECT_EQ(-EINVAL, bts_config(self->pid, ENTRY | SCHED | ALLOC, 240, 0));
	EXPECT_EQ(-EINVAL, bts_config(self->pid, ENTRY, 0, 0));
	EXPECT_UNCHANGED();
}

static uint64_t memory_size(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/* Invalid sizes of a ring, among them those that could overflow a calculation. */
TEST_F(check, size_of_the_trace)
{
	static const uint32_t bad[] = {
		0, 1, 23, RECORDS(MAX) + 24, RECORDS(MAX) + 47, INT_MAX, UINT_MAX,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE | ALLOC, bad[i], 0))
			TH_LOG("size %u", bad[i]);
	/* If the largest size exceeds the memory of this machine, it must fail with ENOMEM. */
	if (memory_size() < RECORDS(MAX))
		EXPECT_EQ(-ENOMEM, bts_config(self->pid, TRACE | ALLOC, RECORDS(MAX), 0));
	EXPECT_UNCHANGED();
}

TEST_F(check, size_without_alloc)
{
	EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE, RECORDS(ROOM), 0));
	EXPECT_EQ(-EINVAL, bts_config(self->pid, 0, 1, 0));
	EXPECT_UNCHANGED();
}

TEST_F(check, signal_numbers)
{
	static const uint32_t bad[] = { 65, 128, 1u << 31, UINT_MAX, };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE | SIGNAL, 0, bad[i]))
			TH_LOG("signal %u", bad[i]);
		EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE | SIGNAL | ALLOC, 240, bad[i]));
	}
	EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE, 0, SIGUSR1));
	EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE | ALLOC, 240, SIGUSR1));
	EXPECT_UNCHANGED();
	/* Signal 0 means a stop without a signal. */
	for (i = 0; i <= 64; i++) {
		EXPECT_EQ(0, bts_config(self->pid, TRACE | SIGNAL, 0, i));
		EXPECT_EQ(i, bts_status(self->pid).signal);
	}
}

TEST_F(check, size_of_a_record)
{
	struct ptrace_bts_config config = { .flags = TRACE, };
	static const uint32_t bad[] = { 1, 16, 23, 25, 48, UINT_MAX, };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		config.bts_size = bad[i];
		EXPECT_EQ(-EINVAL, config_of(self->pid, config)) TH_LOG("bts_size %u", bad[i]);
	}
	EXPECT_UNCHANGED();
}

TEST_F(check, stop_full_needs_alloc)
{
	EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE | STOP_FULL, 0, 0));
	EXPECT_UNCHANGED();
	must_trace(self->pid, TRACE | STOP_FULL, ROOM, 0);
	EXPECT_EQ(-EINVAL, bts_config(self->pid, TRACE, 0, 0));
	EXPECT_EQ(-EINVAL, bts_config(self->pid, 0, 0, 0));
	EXPECT_EQ(TRACE | STOP_FULL, bts_status(self->pid).flags);
	EXPECT_EQ(0, bts_config(self->pid, STOP_FULL, 0, 0));
}

/*
 * The structure can grow: fields beyond the caller's size count as 0, and bytes that the
 * kernel does not know must be 0.
 */
TEST_F(check, size_of_the_configuration)
{
	struct ptrace_bts_config *config = (void *)self->page;
	static const unsigned long good[] = { 8, 9, 12, 16, 17, 20, 24, 25, 4095, 4096, };
	static const unsigned long big[] = { 4097, 1ul << 31, -1ul, };
	unsigned int i;

	config->flags = TRACE;
	for (i = 0; i < 4; i++)
		EXPECT_EQ(-EINVAL, bts(PTRACE_BTS_CONFIG, self->pid, config, i));
	for (i = 0; i < ARRAY_SIZE(big); i++)
		EXPECT_EQ(-E2BIG, bts(PTRACE_BTS_CONFIG, self->pid, config, big[i]))
			TH_LOG("size %#lx", big[i]);
	self->page[24] = 1;
	EXPECT_EQ(-E2BIG, bts(PTRACE_BTS_CONFIG, self->pid, config, 25));
	EXPECT_EQ(0, bts(PTRACE_BTS_CONFIG, self->pid, config, 24));
	self->page[24] = 0;
	self->page[4095] = 1;
	EXPECT_EQ(-E2BIG, bts(PTRACE_BTS_CONFIG, self->pid, config, 4096));
	EXPECT_EQ(0, bts(PTRACE_BTS_CONFIG, self->pid, config, 4095));
	self->page[4095] = 0;
	EXPECT_UNCHANGED();
	for (i = 0; i < ARRAY_SIZE(good); i++)
		EXPECT_EQ(0, bts(PTRACE_BTS_CONFIG, self->pid, config, good[i]))
			TH_LOG("size %lu", good[i]);
	/* With 4 bytes, the kernel reads only config->size. The flags count as 0. */
	EXPECT_EQ(0, bts(PTRACE_BTS_CONFIG, self->pid, config, 4));
	EXPECT_EQ(0, bts_status(self->pid).flags);
}

TEST_F(check, bad_pointers)
{
	char *end = self->page + self->size;
	char *const bad[] = { NULL, end, end - 1, (char *)-4096l, (char *)LONG_MIN, };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_CONFIG, self->pid, bad[i], 16));
		EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_STATUS, self->pid, bad[i], 64));
		EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_GET, self->pid, bad[i], 0));
		EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_DRAIN, self->pid, bad[i], 24));
		EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_DRAIN, self->pid, bad[i], 240));
		EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_READ, self->pid, bad[i], 24));
	}
	EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_CONFIG, self->pid, end - 15, 16));
	EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_GET, self->pid, end - 23, 0));
	EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_DRAIN, self->pid, end - 23, 240));
	EXPECT_UNCHANGED();
}

/*
 * The part of the structure that the kernel knows is not readable. The kernel must check the
 * bytes behind that part first, and fail with E2BIG if they are not 0.
 */
TEST_F(check, bad_pointer_and_good_tail)
{
	char *start = mmap(NULL, 2 * self->size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *good = start + self->size;

	ASSERT_NE(MAP_FAILED, (void *)start);
	ASSERT_EQ(0, mprotect(start, self->size, PROT_NONE));
	EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_CONFIG, self->pid, good - 24, 32));
	good[7] = 1;
	EXPECT_EQ(-E2BIG, bts(PTRACE_BTS_CONFIG, self->pid, good - 24, 32));
	munmap(start, 2 * self->size);
	EXPECT_UNCHANGED();
}

TEST_F(check, status_at_the_end_of_a_page)
{
	char *end = self->page + self->size;

	EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_STATUS, self->pid, end - 32, 72));
	EXPECT_EQ(72, bts(PTRACE_BTS_STATUS, self->pid, end - 32, 32));
	EXPECT_EQ(72, bts(PTRACE_BTS_STATUS, self->pid, end - 72, 73));
}

TEST_F(check, size_of_the_status)
{
	struct ptrace_bts_status full = bts_status(self->pid);
	static const unsigned long big[] = { 4097, 1ul << 31, -1ul, };
	unsigned long size, i;

	for (i = 0; i < ARRAY_SIZE(big); i++)
		EXPECT_EQ(72, bts(PTRACE_BTS_STATUS, self->pid, self->page, big[i]));
	EXPECT_EQ(72, bts(PTRACE_BTS_STATUS, self->pid, NULL, 0));
	for (size = 0; size <= 4096; size = size < 80 ? size + 1 : size * 2) {
		memset(self->page, 0x5a, self->size);
		ASSERT_EQ(72, bts(PTRACE_BTS_STATUS, self->pid, self->page, size));
		for (i = 0; i < self->size; i++) {
			char want = i < size && i < 72 ? ((char *)&full)[i] : 0x5a;

			ASSERT_EQ(want, self->page[i])
				TH_LOG("byte %lu of a status of %lu", i, size);
		}
	}
}

TEST_F(check, index_of_get)
{
	static const unsigned long bad[] = { ROOM, INT_MAX, 1ul << 31, -1ul, };
	struct x86_bts_record rec = { .type = 77 };
	unsigned int i;

	EXPECT_EQ(0, bts(PTRACE_BTS_GET, self->pid, &rec, self->nr - 1));
	/* An index without a record must not return an old record. */
	rec.type = 77;
	EXPECT_EQ(-EINVAL, bts(PTRACE_BTS_GET, self->pid, &rec, self->nr));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, bts(PTRACE_BTS_GET, self->pid, &rec, bad[i]))
			TH_LOG("index %#lx", bad[i]);
	EXPECT_EQ(77, rec.type);
	EXPECT_UNCHANGED();
	EXPECT_EQ(0, bts(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
	EXPECT_EQ(-EINVAL, bts(PTRACE_BTS_GET, self->pid, &rec, 0));
}

/* PTRACE_BTS_DRAIN returns whole records, and not more than there is room for. */
TEST_F(check, size_of_drain)
{
	static const unsigned long small[] = { 0, 1, 8, 16, 23, };
	char *end = self->page + self->size;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(small); i++)
		EXPECT_EQ(-EINVAL, bts(PTRACE_BTS_DRAIN, self->pid, self->page, small[i]));
	EXPECT_UNCHANGED();
	must_trace(self->pid, TRACE, ROOM, 0);
	run_chain(self->pid, PASSES);
	memset(self->page, 0x5a, self->size);
	EXPECT_EQ(1, bts(PTRACE_BTS_DRAIN, self->pid, self->page, 47));
	for (i = 24; i < self->size; i++)
		ASSERT_EQ(0x5a, self->page[i]) TH_LOG("byte %u after a drain of 47", i);
	EXPECT_EQ(3, bts(PTRACE_BTS_DRAIN, self->pid, end - 72, 72));
	EXPECT_LT(0, bts(PTRACE_BTS_DRAIN, self->pid, self->page, INT_MAX));
	EXPECT_EQ(0, bts(PTRACE_BTS_DRAIN, self->pid, self->page, -1ul));
	EXPECT_EQ(0, bts(PTRACE_BTS_DRAIN, self->pid, NULL, 24));
}

static int must_read(pid_t pid, uint64_t first, void *records, uint32_t count, uint32_t flags,
		     uint64_t *began)
{
	struct ptrace_bts_read arg = {
		.first = first,
		.records = (uintptr_t)records,
		.count = count,
		.flags = flags,
	};
	int ret = bts(PTRACE_BTS_READ, pid, &arg, sizeof(arg));

	*began = arg.first;
	return ret;
}

TEST_F(check, arguments_of_read)
{
	struct x86_bts_record rec[ROOM];
	struct ptrace_bts_read *arg = (void *)self->page;
	uint64_t next = bts_status(self->pid).next, began;
	unsigned int i;

	EXPECT_EQ(self->nr, next);
	for (i = 1; i < 32; i++)
		EXPECT_EQ(-EINVAL, must_read(self->pid, 0, rec, ROOM, 1u << i, &began))
			TH_LOG("flag %#x", 1u << i);
	EXPECT_EQ(-EINVAL, must_read(self->pid, next + 1, rec, ROOM, 0, &began));
	EXPECT_EQ(-EINVAL, must_read(self->pid, -1ull, rec, ROOM, 0, &began));
	EXPECT_EQ(-EFAULT, must_read(self->pid, 0, NULL, ROOM, 0, &began));
	/* A failed copy of a record does not remove older ones. */
	for (i = 0; i < next; i++)
		EXPECT_EQ(-EFAULT, must_read(self->pid, i, NULL, ROOM, PTRACE_BTS_READ_CONSUME,
					     &began));
	*arg = (struct ptrace_bts_read){ .records = (uintptr_t)rec, .count = ROOM, };
	for (i = 0; i < sizeof(*arg); i++)
		EXPECT_EQ(-EINVAL, bts(PTRACE_BTS_READ, self->pid, arg, i));
	EXPECT_EQ(-E2BIG, bts(PTRACE_BTS_READ, self->pid, arg, 4097));
	self->page[sizeof(*arg)] = 1;
	EXPECT_EQ(-E2BIG, bts(PTRACE_BTS_READ, self->pid, arg, sizeof(*arg) + 1));
	/* If the argument cannot be written back, no record is removed. */
	arg->flags = PTRACE_BTS_READ_CONSUME;
	ASSERT_EQ(0, mprotect(self->page, self->size, PROT_READ));
	EXPECT_EQ(-EFAULT, bts(PTRACE_BTS_READ, self->pid, arg, sizeof(*arg)));
	EXPECT_UNCHANGED();
}

/* Records are numbered, and keep their numbers. */
TEST_F(check, read_in_place)
{
	struct x86_bts_record rec[ROOM];
	uint64_t next = bts_status(self->pid).next, began, from;
	size_t i;

	for (from = 0; from <= next; from++) {
		ASSERT_EQ((int)(next - from), must_read(self->pid, from, rec, ROOM, 0, &began));
		ASSERT_EQ(from, began);
		for (i = 0; i < next - from; i++)
			ASSERT_EQ(0, memcmp(rec + i, &self->before[self->nr - 1 - from - i],
					    RECORDS(1)));
	}
	EXPECT_EQ(3, must_read(self->pid, 2, rec, 3, 0, &began));
	EXPECT_EQ(0, must_read(self->pid, 2, rec, 0, 0, &began));
	EXPECT_EQ(2, began);
	EXPECT_UNCHANGED();
}

/*
 * PTRACE_BTS_READ_CONSUME removes the records that were read, and all older ones. Newer ones keep
 * their numbers.
 */
TEST_F(check, read_and_consume)
{
	struct x86_bts_record rec[ROOM];
	uint64_t next = bts_status(self->pid).next, began;

	EXPECT_EQ(2, must_read(self->pid, 3, rec, 2, PTRACE_BTS_READ_CONSUME, &began));
	EXPECT_EQ(0, memcmp(rec, &self->before[self->nr - 1 - 3], RECORDS(1)));
	EXPECT_EQ(next - 5, bts_status(self->pid).held);
	EXPECT_EQ(next, bts_status(self->pid).next);
	/* Records that were consumed do not count as overwritten. */
	EXPECT_EQ(0, bts_status(self->pid).overwritten);
	EXPECT_EQ((int)next - 5, must_read(self->pid, 0, rec, ROOM, 0, &began));
	EXPECT_EQ(5, began);
	EXPECT_EQ(0, memcmp(rec, &self->before[self->nr - 1 - 5], RECORDS(1)));
	EXPECT_EQ(0, bts(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
	EXPECT_EQ(next, bts_status(self->pid).next);
	EXPECT_EQ(0, must_read(self->pid, 0, rec, ROOM, 0, &began));
	EXPECT_EQ(next, began);
}

/* A reader that is too late learns the number of the oldest record that is left. */
TEST_F(check, read_what_was_overwritten)
{
	struct x86_bts_record rec[ROOM];
	uint64_t began;

	run_chain(self->pid, 2 * ROOM / CHAIN_LENGTH);
	EXPECT_EQ(ROOM, must_read(self->pid, 0, rec, ROOM, 0, &began));
	EXPECT_LT(ROOM, bts_status(self->pid).next);
	EXPECT_EQ(bts_status(self->pid).next - ROOM, began);
	EXPECT_EQ(began, bts_status(self->pid).overwritten);
}

/* A DRAIN that cannot store all records removes only those that it has stored. */
TEST_F(check, drain_into_half_a_buffer)
{
	struct x86_bts_record *last = (void *)(self->page + self->size - RECORDS(5) - 12);
	struct x86_bts_record rest[ROOM];
	size_t i;

	EXPECT_EQ(5, bts(PTRACE_BTS_DRAIN, self->pid, last, RECORDS(ROOM)));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(0, memcmp(last + i, &self->before[self->nr - 1 - i], RECORDS(1)));
	EXPECT_EQ(self->nr - 5, must_drain(self->pid, rest, ROOM));
	for (i = 5; i < self->nr; i++)
		ASSERT_EQ(0, memcmp(rest + i - 5, &self->before[self->nr - 1 - i], RECORDS(1)));
}

/* SIZE and CLEAR ignore their address and data. */
TEST_F(check, arguments_that_are_ignored)
{
	EXPECT_EQ((int)self->nr, bts(PTRACE_BTS_SIZE, self->pid, (void *)1, -1ul));
	EXPECT_EQ(0, bts(PTRACE_BTS_CLEAR, self->pid, (void *)1, -1ul));
	EXPECT_EQ(0, bts(PTRACE_BTS_SIZE, self->pid, NULL, 0));
}

/* Without a trace, requests that need one must fail with ENXIO, not ESRCH. */
TEST_F(check, no_trace)
{
	struct ptrace_bts_status status;
	struct x86_bts_record rec;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(i ? -ENXIO : 0, bts_end(self->pid));
		EXPECT_EQ(-ENXIO, bts_config(self->pid, TRACE, 0, 0));
		EXPECT_EQ(-ENXIO, bts_config(self->pid, 0, 0, 0));
		EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_STATUS, self->pid, &status, sizeof(status)));
		EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_SIZE, self->pid, NULL, 0));
		EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_GET, self->pid, &rec, 0));
		EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_DRAIN, self->pid, &rec, 24));
		EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_CLEAR, self->pid, NULL, 0));
		EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_READ, self->pid, NULL, 0));
	}
	/* DRAIN and STATUS look for the trace before they check arguments. CONFIG checks first. */
	EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_DRAIN, self->pid, NULL, 0));
	EXPECT_EQ(-ENXIO, bts(PTRACE_BTS_STATUS, self->pid, NULL, 0));
	EXPECT_EQ(-EINVAL, bts_config(self->pid, ENTRY, 0, 0));
}

static void expect_esrch(struct __test_metadata *_metadata, pid_t pid, const char *who)
{
	struct ptrace_bts_status status;
	struct x86_bts_record rec;

	EXPECT_EQ(-ESRCH, bts_config(pid, TRACE | ALLOC, 240, 0)) TH_LOG("CONFIG of %s", who);
	EXPECT_EQ(-ESRCH, bts(PTRACE_BTS_STATUS, pid, &status, sizeof(status)));
	EXPECT_EQ(-ESRCH, bts(PTRACE_BTS_SIZE, pid, NULL, 0)) TH_LOG("SIZE of %s", who);
	EXPECT_EQ(-ESRCH, bts(PTRACE_BTS_GET, pid, &rec, 0)) TH_LOG("GET of %s", who);
	EXPECT_EQ(-ESRCH, bts(PTRACE_BTS_CLEAR, pid, NULL, 0)) TH_LOG("CLEAR of %s", who);
	EXPECT_EQ(-ESRCH, bts(PTRACE_BTS_DRAIN, pid, &rec, 24)) TH_LOG("DRAIN of %s", who);
}

TEST_F(check, no_such_tracee)
{
	siginfo_t info;
	pid_t other;

	expect_esrch(_metadata, INT_MAX, "nobody");
	expect_esrch(_metadata, getpid(), "itself");
	expect_esrch(_metadata, 1, "a process that is not traced");
	EXPECT_UNCHANGED();

	/* a running tracee */
	ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, self->pid, &chain_passes, -1l));
	ASSERT_EQ(0, ptrace(PTRACE_CONT, self->pid, NULL, NULL));
	expect_esrch(_metadata, self->pid, "a running tracee");

	/* a zombie */
	kill(self->pid, SIGKILL);
	ASSERT_EQ(0, waitid(P_PID, self->pid, &info, WEXITED | WNOWAIT));
	expect_esrch(_metadata, self->pid, "a zombie");
	ASSERT_EQ(self->pid, waitpid(self->pid, NULL, 0));
	expect_esrch(_metadata, self->pid, "a former tracee");

	/* the tracee of another tracer */
	self->pid = start_chain();
	other = fork();
	if (!other) {
		expect_esrch(_metadata, self->pid, "the tracee of another");
		_exit(_metadata->exit_code);
	}
	ASSERT_EQ(other, waitpid(other, NULL, 0));
}

/* Requests with numbers next to those of PTRACE_BTS_* do not exist. */
TEST_F(check, other_requests)
{
	EXPECT_EQ(-EIO, bts(39, self->pid, NULL, 0));
	EXPECT_EQ(-EIO, bts(47, self->pid, NULL, 0));
}

TEST_HARNESS_MAIN
