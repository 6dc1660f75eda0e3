#include "run/progress.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { FIRST_US = 1000 * 1000, EVERY_US = 250 * 1000 };

struct progress {
	int64_t started_us, next_us;
	bool shown;
};

struct progress *
progress_new(bool wanted)
{
	struct progress *progress;

	if (!wanted || !isatty(STDERR_FILENO))
		return NULL;
	progress = g_new0(struct progress, 1);
	progress->started_us = g_get_monotonic_time();
	progress->next_us = progress->started_us + FIRST_US;
	return progress;
}

void
progress_free(struct progress *progress)
{
	if (progress == NULL)
		return;
	if (progress->shown)
		fputs("\r\033[K", stderr);
	g_free(progress);
}

bool
progress_due(struct progress *progress)
{
	return progress != NULL && g_get_monotonic_time() >= progress->next_us;
}

void
progress_show(struct progress *progress, uint64_t done, uint64_t all, uint64_t calls)
{
	int64_t now_us = g_get_monotonic_time();
	double seconds = (double)(now_us - progress->started_us) / 1e6;
	double megabytes = (double)done / 1e6;

	progress->next_us = now_us + EVERY_US;
	progress->shown = true;
	if (all > 0 && done > 0)
		fprintf(stderr, "\r\033[K%3.0f %% of %.0f MB, %.0f MB/s, %" PRIu64 " calls, %.0f s left",
		    100.0 * (double)done / (double)all, (double)all / 1e6, megabytes / seconds, calls,
		    seconds * ((double)all / (double)done - 1));
	else
		fprintf(stderr, "\r\033[K%" PRIu64 " calls, %.0f s", calls, seconds);
	fflush(stderr);
}
