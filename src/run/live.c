/*
 * One thread polls: the interface, the signals, the clock, and what other
 * threads tell by an eventfd. It captures, decodes, compares and counts, and
 * waits for nobody: the stream of the other side is read by a thread of its own
 * (feed.c), what is written is written by others (writer.c).
 */
#include "run/live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/errors.h"
#include "capture/filter.h"
#include "capture/source_set.h"
#include "run/confine.h"
#include "run/engine.h"
#include "run/listener.h"
#include "run/live_output.h"
#include "run/tally.h"

enum {
	TICK_MS = 100,
	TICKS_PER_S = 1000 / TICK_MS,
	FIRST_INTERVAL_S = 2,		/* so soon there is something to see, whatever --interval is */
	/* After so long the ring has handed over all that came before. */
	HANDED_OVER_MS = 3 * DEVICE_HANDOVER_MS,
	SIGNAL_TWICE_MS = 500,		/* one that was meant once: timeout(1) sends it to the program and to its group */
	LAST_PACKETS_MS = 1000,		/* for the ring to hand over what it has */
	STREAM_GRACE_MS = 2000,		/* for the stream to come up to the end of the capture */
};

enum { POLL_SIGNALS, POLL_TIMER, POLL_WAKE, POLL_DEVICE, POLLS };

struct live {
	const struct options *options;
	struct log *log;
	struct rights *rights;
	struct save_config save;	/* how packets are saved, if they are */
	bool saves;
	struct listener *listener;
	struct device_counters counters, interval_counters;	/* now; at the interval's begin */
	struct ids *ids;
	struct live_output *output;
	struct tally *tally;
	const char **stream;		/* NULL-terminated; NULL: there is none */
	struct mountstats_watch *watch;	/* the client's own counters; NULL: not here */
	struct filter *filter;		/* of the stream; NULL: none */
	struct source_config source;
	struct pollfd polls[POLLS];
	int64_t started_us, next_us;	/* monotonic: of the run, of the next interval */
	int64_t from_ns;		/* where the interval began, by the wall clock */
	uint64_t interval_calls;	/* tally_calls where it began */
	int64_t lag_most_ns;		/* of the comparison, at the ends of intervals; -1: nothing was compared */
	int64_t end_ns;			/* when it was over, by the wall clock; valid with why_over */
	int64_t quiet_since_us;		/* monotonic: no packet since */
	int64_t rests_until_us;		/* monotonic: the interface, which was emptied */
	unsigned ticks;
	const char *why_over;		/* NULL: it goes on */
	bool device_over, enough, stream_waits, failed;
	int64_t signalled_us;		/* 0: no signal asked for the end */
};

static int64_t
wall_ns(void)
{
	return g_get_real_time() * NS_PER_US;
}

static void
wake(void *context)
{
	struct live *live = context;
	uint64_t one = 1;

	(void)!write(live->polls[POLL_WAKE].fd, &one, sizeof one);
}

static bool
set_error(GError **error, const char *what)
{
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: %s", what, g_strerror(errno));
	return false;
}

/* ---- what it starts with ---- */

static void
signals_taken(sigset_t *set)
{
	struct sigaction hangup;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGUSR1);
	/* nohup(1) has it ignored, and a signal that waits for its reader would not be */
	if (sigaction(SIGHUP, NULL, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

static bool
open_signals(struct live *live, GError **error)
{
	sigset_t set;

	signals_taken(&set);
	live->polls[POLL_SIGNALS].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return live->polls[POLL_SIGNALS].fd >= 0 || set_error(error, "signals");
}

/* Until there is something to report; unlike the end, which nobody has to wait for. */
static void
hold_report(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Signals come through a descriptor from here on, in this thread and those that it starts. */
static bool
take_signals(GError **error)
{
	sigset_t set;

	signals_taken(&set);
	return sigprocmask(SIG_BLOCK, &set, NULL) == 0 || set_error(error, "signals");
}

static bool
start_clock(struct live *live, GError **error)
{
	const struct itimerspec every = { .it_value.tv_nsec = TICK_MS * NS_PER_MS, .it_interval.tv_nsec = TICK_MS * NS_PER_MS };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	live->polls[POLL_TIMER].fd = fd;
	if (fd < 0 || timerfd_settime(fd, 0, &every, NULL) != 0)
		return set_error(error, "timer");
	live->polls[POLL_WAKE].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return live->polls[POLL_WAKE].fd >= 0 || set_error(error, "eventfd");
}

/* Everything that takes rights, and then they are given up: no packet was looked at so far. */
static bool
open_all(struct live *live, GError **error)
{
	const struct options *options = live->options;
	struct keeper_save save = { save_name, &live->save };

	for (unsigned i = 0; i < POLLS; i++)
		live->polls[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	live->saves = listener_saves(options, &live->save);
	live->rights = confine_begin(options, live->saves ? &save : NULL, error);
	if (live->rights == NULL || !rights_enter(live->rights, PHASE_OPEN, error))
		return false;
	live->listener = listener_new(options, live->log, error);
	if (live->listener == NULL || !open_signals(live, error) || !start_clock(live, error))
		return false;
	live->polls[POLL_DEVICE].fd = listener_fd(live->listener);
	if (options->filter != NULL && (live->filter = filter_new(options->filter, error)) == NULL)
		return false;
	live->source = (struct source_config){ .filter = live->filter, .keeper = rights_keeper(live->rights) };
	if (options->side != SIDE_SERVER)
		live->watch = mountstats_watch_new(wall_ns(), NULL);
	rights_protect_device(live->rights, live->polls[POLL_DEVICE].fd);
	return confine(live->rights, live->log, error);
}

/* Threads come only now. */
static bool
start_all(struct live *live, GError **error)
{
	const struct options *options = live->options;
	struct tally_config config;

	if (options->server->len > 0) {
		live->stream = g_new0(const char *, options->server->len + 1);
		memcpy(live->stream, options->server->pdata, options->server->len * sizeof *live->stream);
		if (!source_set_try(live->stream, &live->source, error))
			return false;
	}
	live->ids = ids_new();
	/* whoever waits here for the reader of a pipe can still be interrupted */
	live->output = live_output_new(options, live->ids, live->source.keeper, error);
	if (live->output == NULL ||
	    !listener_open_save(live->listener, live->saves ? &live->save : NULL, live->source.keeper, error) ||
	    !take_signals(error))
		return false;
	live_output_start(live->output, wake, live);
	live->log = live_output_log(live->output);
	listener_set_log(live->listener, live->log);
	listener_start(live->listener);
	config = (struct tally_config){
		.options = options,
		.side = options->side == SIDE_SERVER ? PAIR_SERVER : PAIR_CLIENT,
		.told = listener_told(live->listener),
		.stream = live->stream,
		.source = &live->source,
		.ids = live->ids,
		.each = live_output_each(live->output),
		.context = live->output,
		.wake = wake,
		.wake_context = live,
		.log = live->log,
	};
	live->tally = tally_new(&config);
	return true;
}

static void
close_all(struct live *live)
{
	tally_free(live->tally);
	live_output_free(live->output);
	ids_free(live->ids);
	listener_free(live->listener);
	g_free(live->stream);
	mountstats_watch_free(live->watch);
	filter_free(live->filter);
	for (unsigned i = 0; i < POLL_DEVICE; i++)
		if (live->polls[i].fd >= 0)
			close(live->polls[i].fd);
	rights_free(live->rights);
}

/* ---- reports ---- */

static const struct mountstats_delta *
counters_of_all(struct live *live)
{
	return live->watch != NULL ? mountstats_watch_total(live->watch, wall_ns()) : NULL;
}

/* True when there was nothing to report of. */
static bool
report(struct live *live, bool last)
{
	struct snapshot *snapshot;
	bool nothing;

	listener_drops(live->listener, &live->counters);
	snapshot = tally_report(live->tally, counters_of_all(live));
	nothing = snapshot_report(snapshot)->why_nothing != NULL;
	if (last && nothing)
		log_line(live->log, LOG_NORMAL, "correlate", "%s", snapshot_report(snapshot)->why_nothing);
	live_output_report(live->output, snapshot_report(snapshot), last);
	snapshot_free(snapshot);
	return nothing;
}

static void
end_interval(struct live *live)
{
	struct interval interval = { .from_ns = live->from_ns, .to_ns = wall_ns() };
	struct snapshot *snapshot;

	listener_drops(live->listener, &live->counters);
	interval.dropped_by_kernel = live->counters.dropped_by_kernel - live->interval_counters.dropped_by_kernel;
	interval.dropped_by_interface = live->counters.dropped_by_interface - live->interval_counters.dropped_by_interface;
	if (live->watch != NULL)
		interval.counters = mountstats_watch_interval(live->watch, interval.to_ns);
	snapshot = tally_interval(live->tally, &interval);
	live->lag_most_ns = max_ns(live->lag_most_ns, interval.lag_ns);
	live_output_interval(live->output, &interval);
	snapshot_free(snapshot);
	live->interval_counters = live->counters;
	live->interval_calls = tally_calls(live->tally);
	live->from_ns = interval.to_ns;
}

/* ---- what happens ---- */

static void
end(struct live *live, const char *why)
{
	if (live->why_over != NULL)
		return;
	live->why_over = why;
	live->end_ns = wall_ns();
}

static bool
take_packet(void *context, const struct packet *packet)
{
	struct live *live = context;

	/* behind the end there is nothing that came before it */
	live->enough |= live->why_over != NULL && packet->ts_ns > live->end_ns;
	if (live->enough)
		return false;
	if (live->why_over != NULL)
		live->quiet_since_us = g_get_monotonic_time();
	tally_push(live->tally, packet);
	live->enough = live->options->count > 0 && tally_calls(live->tally) >= live->options->count;
	if (live->enough)
		end(live, "so many calls were seen");
	return true;
}

static void
read_device(struct live *live)
{
	enum device_result result;
	GError *error = NULL;

	if (live->device_over)
		return;
	result = listener_read(live->listener, take_packet, live, &error);
	if (result == DEVICE_EMPTIED)
		live->rests_until_us = g_get_monotonic_time() + listener_rest_ms(live->listener) * INT64_C(1000);
	if (result != DEVICE_GONE)
		return;
	log_line(live->log, LOG_QUIET, "live", "%s", error->message);
	g_error_free(error);
	live->device_over = true;
	end(live, "the interface is gone");
}

static void
read_signals(struct live *live)
{
	struct signalfd_siginfo info;
	int64_t now_us = g_get_monotonic_time();

	while (read(live->polls[POLL_SIGNALS].fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGUSR1) {
			report(live, false);
			continue;
		}
		/* again: whoever sends it does not want to wait */
		if (live->signalled_us != 0 && now_us - live->signalled_us > SIGNAL_TWICE_MS * INT64_C(1000))
			_exit(EXIT_FAILED);
		if (live->signalled_us == 0)
			live->signalled_us = now_us;
		end(live, "a signal");
	}
}

static void
tick(struct live *live)
{
	int64_t now_us = g_get_monotonic_time();
	uint64_t records, hidden;

	tally_pass_time(live->tally, wall_ns() - HANDED_OVER_MS * (int64_t)NS_PER_MS);
	live_output_tick(live->output);
	listener_tick(live->listener);
	if (++live->ticks % TICKS_PER_S == 0) {
		tally_records(live->tally, &records, &hidden);
		listener_judge_snaplen(live->listener, records, hidden);
	}
	if (live_output_closed(live->output))
		end(live, "standard output was closed");
	if (live->options->duration_ns > 0 && (now_us - live->started_us) * NS_PER_US >= live->options->duration_ns)
		end(live, "the time is over");
	if (now_us < live->next_us || live->why_over != NULL)
		return;
	live->next_us += live->options->interval_ns / NS_PER_US;
	/* after a pause of the whole machine one is enough */
	if (live->next_us <= now_us)
		live->next_us = now_us + live->options->interval_ns / NS_PER_US;
	end_interval(live);
}

static void
drain(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof count);
}

/* What is waited for, and how long at most; -1: until it comes. */
static int
choose_polls(struct live *live)
{
	int64_t rest_us = live->rests_until_us - g_get_monotonic_time();

	live->polls[POLL_DEVICE].fd = live->device_over || rest_us > 0 ? -1 : listener_fd(live->listener);
	if (live->stream_waits)
		return 0;
	return live->device_over || rest_us <= 0 ? -1 : (int)((rest_us + 999) / 1000);
}

/* One turn: whatever there is, a bounded share of each. */
static void
turn(struct live *live)
{
	int timeout_ms = choose_polls(live);

	if (poll(live->polls, POLLS, timeout_ms) < 0 && errno != EINTR)
		return;
	if (live->polls[POLL_SIGNALS].revents != 0)
		read_signals(live);
	if (live->polls[POLL_WAKE].revents != 0)
		drain(live->polls[POLL_WAKE].fd);
	if (live->polls[POLL_DEVICE].revents != 0 || live->polls[POLL_TIMER].revents != 0)
		read_device(live);
	live->stream_waits = !tally_read_stream(live->tally);
	if (live->polls[POLL_TIMER].revents != 0) {
		drain(live->polls[POLL_TIMER].fd);
		tick(live);
	}
}

/* ---- the end ---- */

/* What came before the end, and is still in the ring. */
static void
read_last_packets(struct live *live)
{
	int64_t now_us = g_get_monotonic_time();
	int64_t until_us = now_us + LAST_PACKETS_MS * INT64_C(1000);

	live->quiet_since_us = now_us;
	while (!live->device_over && !live->enough && now_us < until_us &&
	    now_us - live->quiet_since_us < 2 * DEVICE_HANDOVER_MS * INT64_C(1000)) {
		turn(live);
		now_us = g_get_monotonic_time();
	}
}

/* The stream comes up to where the capture ended, if it is not far behind. */
static void
await_stream(struct live *live)
{
	int64_t until_us = g_get_monotonic_time() + STREAM_GRACE_MS * INT64_C(1000);

	while (tally_stream_goes_on(live->tally) && tally_lag_ns(live->tally) != 0 && g_get_monotonic_time() < until_us)
		turn(live);
	tally_stop_stream(live->tally);
	until_us = g_get_monotonic_time() + STREAM_GRACE_MS * INT64_C(1000);
	while (tally_stream_goes_on(live->tally) && g_get_monotonic_time() < until_us)
		turn(live);
}

/* From here on a signal ends the program at once. */
static void
release_signals(struct live *live)
{
	sigset_t set;

	read_signals(live);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int
finish(struct live *live)
{
	bool nothing, written;

	log_line(live->log, LOG_VERBOSE, "live", "ends: %s", live->why_over);
	read_last_packets(live);
	tally_end_interface(live->tally);
	await_stream(live);
	release_signals(live);
	tally_end(live->tally);
	/* what the run ends with is an interval, too: all of them together are the report */
	if (tally_calls(live->tally) > live->interval_calls)
		end_interval(live);
	if (live->lag_most_ns >= 0)
		log_line(live->log, LOG_NORMAL, "live", "the comparison with the other side was up to %.1f s behind",
		    (double)live->lag_most_ns / NS_PER_S);
	nothing = report(live, true);
	while (!live_output_is_written(live->output))
		g_usleep(TICK_MS * 10);
	written = listener_finish(live->listener);
	written &= live_output_finish(live->output);
	return !written || live->failed ? EXIT_FAILED : nothing ? EXIT_NOTHING : EXIT_REPORT;
}

int
live_run(const struct options *options, struct log *log)
{
	struct live live = { .options = options, .log = log, .lag_most_ns = -1 };
	GError *error = NULL;
	int status = EXIT_FAILED;

	hold_report();
	if (open_all(&live, &error) && start_all(&live, &error)) {
		log_line(live.log, LOG_NORMAL, "live", "listening on %s", options->interface);
		live.started_us = g_get_monotonic_time();
		live.from_ns = wall_ns();
		live.next_us = live.started_us +
		    MIN(options->interval_ns / NS_PER_US, FIRST_INTERVAL_S * (int64_t)G_USEC_PER_SEC);
		while (live.why_over == NULL)
			turn(&live);
		status = finish(&live);
	} else {
		log_line(log, LOG_QUIET, "live", "%s", error->message);
		status = g_error_matches(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE) ? EXIT_USAGE : EXIT_FAILED;
		g_error_free(error);
	}
	close_all(&live);
	return status;
}
