// SPDX-License-Identifier: GPL-2.0
/*
 * btstrace shows the branches of programs, as strace shows their system calls. See
 * btstrace(1).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "explain.h"
#include "follow.h"
#include "jit.h"
#include "kernel.h"
#include "options.h"
#include "output.h"
#include "pager.h"
#include "replay.h"

static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0666);

	if (fd < 0)
		bt_complain("%s: %s", path, strerror(errno));
	return fd;
}

/*
 * If standard input, output or error is closed, open /dev/null in its place. Without that, the
 * next file that is opened would become standard input, output or error. O_CLOEXEC: the command
 * does not inherit /dev/null.
 */
static void fill_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Returns a close-on-exec descriptor for the output, or -1 on failure. */
static int open_output(const struct options *o)
{
	int fd;

	if (o->output)
		return open_file(o->output, O_WRONLY | O_CREAT);
	fd = o->read ? STDOUT_FILENO : STDERR_FILENO;
	/* With FD_CLOEXEC, @fd is /dev/null: fill_standard() has opened it. */
	if (fcntl(fd, F_GETFD) & FD_CLOEXEC) {
		bt_complain("there is nowhere to write to: give -o FILE");
		return -1;
	}
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		bt_complain("cannot open the output: %s", strerror(errno));
	return fd;
}

/* Handle SIGBUS: a read of the mapped trace raises it if the file was truncated meanwhile. */
static void on_cut(int sig)
{
	static const char say[] = "btstrace: the recorded trace was cut short meanwhile\n";

	(void)sig;
	_exit(write(STDERR_FILENO, say, strlen(say)) < 0 ? BT_EXIT_USAGE : BT_EXIT_FILE);
}

static void tell_misfit(const char *path, const struct bt_ident *then, const struct bt_ident *now)
{
	int error = errno;
	char *was = bt_ident_text(then), *is = now ? bt_ident_text(now) : NULL;

	if (now)
		bt_complain("%s is not what was traced: %s, then it was %s", path, is, was);
	else if (error != ENOENT && error != ENOTDIR)
		bt_complain("%s cannot be read: %s: its functions have no names (%s)", path,
			    strerror(error), was);
	else
		bt_complain("%s is not there any more: its functions have no names (%s)", path,
			    was);
	free(was);
	free(is);
}

static int replay(struct bt_session *s, const char *path, bool force)
{
	int fd = open_file(path, O_RDONLY), status = 0;
	const char *wrong;
	struct stat st = {};
	u8 *bytes;

	if (fd < 0)
		return BT_EXIT_FILE;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		bt_complain(S_ISREG(st.st_mode) ? "%s: it is empty, no recorded trace" :
			    "%s: a recorded trace is a file, not a pipe or a device", path);
		close(fd);
		return BT_EXIT_FILE;
	}
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED) {
		bt_complain("%s: %s", path, strerror(errno));
		return BT_EXIT_FILE;
	}
	signal(SIGBUS, on_cut);
	/*
	 * Without a filter, an output without BT_OUT_PLACES shows no functions. Such an output is
	 * right even if programs have changed since.
	 */
	if ((s->filter || s->out->flags & BT_OUT_PLACES) &&
	    bt_file_check(bytes, st.st_size, tell_misfit) && !force) {
		bt_complain("put back what was traced, or show names that may be wrong: --force");
		munmap(bytes, st.st_size);
		return BT_EXIT_FILE;
	}
	wrong = bt_file_replay(s, bytes, st.st_size);
	if (wrong) {
		bt_complain("%s: %s", path, wrong);
		status = BT_EXIT_FILE;
	}
	munmap(bytes, st.st_size);
	return status;
}

static int trace(struct bt_session *s, const struct options *o)
{
	struct bt_follow *f = bt_follow_new(s, &o->how);
	int status = 0;
	size_t i;

	for (i = 0; i < o->nr_pids && !status; i++)
		status = bt_follow_attach(f, o->pids[i]);
	if (!status && o->command[0])
		status = bt_follow_start(f, o->command);
	if (!status)
		status = bt_follow_run(f);
	if (!status)
		status = bt_follow_status(f);
	bt_follow_free(f);
	return status;
}

static void say_closing(const struct bt_session *s, double seconds)
{
	const struct bt_counts *c = &s->told;

	fprintf(stderr, "btstrace: %llu branches, %llu lost, %llu gap%s, %llu thread%s, %.1f s\n",
		(unsigned long long)c->branches, (unsigned long long)c->lost,
		(unsigned long long)c->gaps, c->gaps == 1 ? "" : "s",
		(unsigned long long)s->nr_threads, s->nr_threads == 1 ? "" : "s", seconds);
}

/* struct files - whether the files of -o and -w existed before btstrace opened them */
struct files {
	bool output;
	bool write;
};

/*
 * Are both descriptors of one regular file? If the file did not exist yet, options_parse() has
 * only compared the paths.
 */
static bool is_same(int a, int b)
{
	struct stat sa, sb;

	return !fstat(a, &sa) && !fstat(b, &sb) && S_ISREG(sa.st_mode) &&
	       sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static bool is_there(const char *path)
{
	return path && !access(path, F_OK);
}

/*
 * Remove the file that btstrace has made by opening @path. If @path is a symbolic link, remove
 * its target.
 */
static void drop_file(const char *path)
{
	char *real = realpath(path, NULL);

	if (real)
		unlink(real);
	free(real);
}

/* Drop what was to be written: remove new files, and leave the others as they were. */
static void drop_files(struct bt_session *s, const struct options *o, const struct files *had)
{
	text_drop(&s->text);
	if (o->output && !had->output)
		drop_file(o->output);
	if (!s->record)
		return;
	bt_writer_drop(s->record);
	if (!had->write)
		drop_file(o->write);
}

/* Open the file of -w. Returns 0, or an exit status after a message. */
static int open_record(struct bt_session *s, const struct options *o)
{
	int fd = open_file(o->write, O_WRONLY | O_CREAT);

	if (fd < 0)
		return BT_EXIT_FILE;
	if (o->output && is_same(fd, s->text.fd)) {
		options_complain(SAME_FILE);
		close(fd);
		return BT_EXIT_USAGE;
	}
	s->record = bt_writer_open(fd);
	return 0;
}

static int close_files(struct bt_session *s, const struct options *o, int status)
{
	int error = s->record ? bt_writer_close(s->record) : 0;

	if (error) {
		bt_complain("%s: %s", o->write, strerror(error));
		status = BT_EXIT_FILE;
	}
	text_close(&s->text);
	/* Some file systems report only at close() that the disk is full. */
	if (close(s->text.fd) && !s->text.error)
		s->text.error = errno;
	if (!bt_pager_end())
		status = BT_EXIT_FILE;
	/* EPIPE is no error: the reader of the pipe needs no more. */
	if (s->text.error && s->text.error != EPIPE) {
		bt_complain("%s: %s", o->output ? o->output : "output", strerror(s->text.error));
		status = BT_EXIT_FILE;
	}
	return status;
}

/*
 * If @status is not negative, returns it: the exit status. Otherwise, ends by the signal -@status:
 * see bt_follow_status(). If this signal does not end btstrace, returns an exit status.
 */
static int end_like(int status)
{
	struct rlimit none = {};
	sigset_t set;

	if (status >= 0)
		return status;
	setrlimit(RLIMIT_CORE, &none);
	signal(-status, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, -status);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(-status);
	return 128 - status;
}

/*
 * Divide the memory of --memory: half is for the cache of struct bt_place, an eighth for the
 * calls of one thread, and the rest for the output.
 */
static void share_memory(struct bt_session *s, u64 bytes)
{
	bt_space_memory(bytes / 2);
	bt_calls_memory(bytes / 8);
	s->memory = MODE_SHARE(bytes);
}

static void say_short(const struct bt_session *s, u64 bytes)
{
	if (s->incomplete)
		bt_complain("--memory %lluM does not suffice: %s",
			    (unsigned long long)bytes / 1024 / 1024, s->incomplete);
}

/* Returns an exit status, or minus the number of the signal to end by. */
static int work(struct options *o)
{
	struct bt_session session = {};
	struct timespec begin, end;
	struct files had = { is_there(o->output), is_there(o->write) };
	int status, fd;

	fd = open_output(o);
	if (fd < 0)
		return BT_EXIT_FILE;
	session.width = bt_columns(fd);
	session.color = bt_wants_color(fd, o->color);
	if (o->read && !o->no_pager && !(o->out->flags & BT_OUT_BINARY))
		fd = bt_pager_start(fd);
	text_open(&session.text, fd);
	session.text.truncate = o->output;
	if (o->write) {
		status = open_record(&session, o);
		if (status) {
			drop_files(&session, o, &had);
			return status;
		}
	}
	if (o->read)
		signal(SIGPIPE, SIG_IGN);
	session.out = o->out;
	session.filter = o->filter;
	session.select = &o->select;
	session.last = o->last;
	session.times = o->times;
	share_memory(&session, o->memory);
	session.replayed = o->read;
	session.by_thread = o->by_thread;
	session.lines = o->lines;
	o->how.quiet = o->quiet;
	o->how.progress = o->how.full && !o->quiet && isatty(STDERR_FILENO) && !isatty(fd);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	bt_session_begin(&session);
	status = o->read ? replay(&session, o->read, o->force) : trace(&session, o);
	bt_session_end(&session);
	/* No thread was traced, because of an error or a signal: do not write empty tables. */
	if (status && !session.nr_threads)
		drop_files(&session, o, &had);
	clock_gettime(CLOCK_MONOTONIC, &end);
	status = close_files(&session, o, status);
	say_short(&session, o->memory);
	if (!o->quiet && o->how.full && !o->read && session.nr_threads)
		say_closing(&session, end.tv_sec - begin.tv_sec +
			    (end.tv_nsec - begin.tv_nsec) / 1e9);
	bt_modules_free();
	bt_jit_free();
	bt_kernel_free();
	return status;
}

int main(int argc, char **argv)
{
	struct options o = {};
	int status;

	fill_standard();
	status = options_parse(&o, argc, argv);
	if (status < 0)
		status = work(&o);
	bt_filter_free(o.filter);
	free(o.pids);
	return end_like(status);
}
