#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/errors.h"
#include "stats/mountstats.h"

enum {
	PIECE_BYTES = 64 << 10,		/* asked for at a time; the kernel gives a page or so */
	FILE_MOST_BYTES = 16 << 20,	/* no more is read of one file: some 5000 mounts */
};

struct mountstats_watch {
	int stats, mountinfo;		/* -1: not there */
	GString *stats_text, *mountinfo_text;
	struct mountstats *latest;	/* at the end of the latest interval */
	struct mountstats_delta *interval;
	struct mountstats_delta *before;	/* all intervals that are over */
	struct mountstats_delta *total;
};

/* The whole file, anew from its begin; false when reading fails. */
static bool
read_whole(int fd, GString *text)
{
	g_string_set_size(text, 0);
	while (text->len < FILE_MOST_BYTES) {
		gsize len = text->len;
		ssize_t got;

		g_string_set_size(text, len + PIECE_BYTES);
		do {
			got = pread(fd, text->str + len, PIECE_BYTES, (off_t)len);
		} while (got < 0 && errno == EINTR);
		g_string_set_size(text, len + (gsize)MAX(got, 0));
		if (got <= 0)
			return got == 0;
	}
	return true;
}

/* NULL when mountstats cannot be read. Without mountinfo mounts are told apart by where they are. */
static struct mountstats *
read_now(struct mountstats_watch *watch, int64_t now_ns)
{
	if (!read_whole(watch->stats, watch->stats_text))
		return NULL;
	if (watch->mountinfo < 0 || !read_whole(watch->mountinfo, watch->mountinfo_text))
		g_string_set_size(watch->mountinfo_text, 0);
	return mountstats_parse(watch->stats_text->str, watch->stats_text->len, watch->mountinfo_text->str,
	    watch->mountinfo_text->len, now_ns);
}

struct mountstats_watch *
mountstats_watch_files(const char *stats, const char *mountinfo, int64_t now_ns, GError **error)
{
	struct mountstats_watch *watch = g_new0(struct mountstats_watch, 1);
	int why;

	watch->stats = open(stats, O_RDONLY | O_CLOEXEC);
	why = errno;
	watch->mountinfo = mountinfo == NULL ? -1 : open(mountinfo, O_RDONLY | O_CLOEXEC);
	watch->stats_text = g_string_new(NULL);
	watch->mountinfo_text = g_string_new(NULL);
	if (watch->stats >= 0) {
		watch->latest = read_now(watch, now_ns);
		why = errno;
	}
	if (watch->latest == NULL) {
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "%s: %s", stats, g_strerror(why));
		mountstats_watch_free(watch);
		return NULL;
	}
	watch->before = mountstats_difference(watch->latest, watch->latest);
	return watch;
}

struct mountstats_watch *
mountstats_watch_new(int64_t now_ns, GError **error)
{
	return mountstats_watch_files("/proc/self/mountstats", "/proc/self/mountinfo", now_ns, error);
}

void
mountstats_watch_free(struct mountstats_watch *watch)
{
	if (watch == NULL)
		return;
	if (watch->stats >= 0)
		close(watch->stats);
	if (watch->mountinfo >= 0)
		close(watch->mountinfo);
	g_string_free(watch->stats_text, TRUE);
	g_string_free(watch->mountinfo_text, TRUE);
	mountstats_free(watch->latest);
	mountstats_delta_free(watch->interval);
	mountstats_delta_free(watch->before);
	mountstats_delta_free(watch->total);
	g_free(watch);
}

/* Nothing to tell where no NFS is mounted. */
static const struct mountstats_delta *
worth_telling(const struct mountstats_delta *delta)
{
	return delta->mount_count > 0 || delta->left_out > 0 ? delta : NULL;
}

const struct mountstats_delta *
mountstats_watch_interval(struct mountstats_watch *watch, int64_t now_ns)
{
	struct mountstats *now = read_now(watch, now_ns);

	if (now == NULL)
		return NULL;
	mountstats_delta_free(watch->interval);
	watch->interval = mountstats_difference(watch->latest, now);
	mountstats_delta_add(watch->before, watch->interval);
	mountstats_free(watch->latest);
	watch->latest = now;
	return worth_telling(watch->interval);
}

const struct mountstats_delta *
mountstats_watch_total(struct mountstats_watch *watch, int64_t now_ns)
{
	struct mountstats *now = read_now(watch, now_ns);
	struct mountstats_delta *since;

	mountstats_delta_free(watch->total);
	watch->total = g_new0(struct mountstats_delta, 1);
	watch->total->from_ns = watch->before->from_ns;
	mountstats_delta_add(watch->total, watch->before);
	if (now != NULL) {
		since = mountstats_difference(watch->latest, now);
		mountstats_delta_add(watch->total, since);
		mountstats_delta_free(since);
		mountstats_free(now);
	}
	return worth_telling(watch->total);
}
