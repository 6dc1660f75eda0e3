#include "run/listener.h"

#include <inttypes.h>

#include "base/arith.h"
#include "capture/ports.h"
#include "run/saver.h"

struct listener {
	const struct options *options;
	struct log *log;
	struct device *device;
	struct source_facts told;
	struct snaplen snaplen;
	struct save *files;		/* until the saver has them */
	struct saver *saver;		/* NULL: nothing is saved */
	struct keeper_save save_names;
	struct save_config save;
	struct keeper *keeper;
	listener_packet_fn *take;		/* during listener_read */
	void *context;
	uint64_t left_out_told;
	bool link_lost_told;
	bool failed;
};

bool
listener_saves(const struct options *options, struct save_config *save)
{
	*save = (struct save_config){
		.path = options->write_path,
		.file_bytes = options->write_bytes,
		.seconds = options->write_seconds,
		.files = options->write_files,
		.snaplen = options->snaplen > 0 ? options->snaplen : SNAPLEN_DEFAULT,
		.snaplen_most = options->snaplen > 0 ? 0 : DEVICE_SNAPLEN_MOST,
		.begin_ns = g_get_real_time() * NS_PER_US,
	};
	return options->write_path != NULL;
}

/* The ports that NFS has here, in a filter. */
static char *
filter_of_ports(const struct options *options, struct log *log)
{
	struct ports *ports = ports_new((const uint16_t *)(void *)options->ports->data, options->ports->len);
	g_autofree char *described = NULL;
	char *filter;

	ports_find(ports);
	filter = ports_filter(ports);
	described = ports_describe(ports);
	log_line(log, LOG_VERBOSE, "live", "ports: %s", described);
	ports_free(ports);
	return filter;
}

struct listener *
listener_new(const struct options *options, struct log *log, GError **error)
{
	struct listener *listener = g_new0(struct listener, 1);
	g_autofree char *of_ports = options->filter == NULL ? filter_of_ports(options, log) : NULL;
	struct device_config config = {
		.name = options->interface,
		.filter = of_ports != NULL ? of_ports : options->filter,
		.behind_tags = of_ports != NULL,
		.buffer_kib = options->buffer_kib,
	};

	listener->options = options;
	listener->log = log;
	snaplen_begin(&listener->snaplen);
	config.snaplen = options->snaplen > 0 ? options->snaplen : listener->snaplen.bytes;
	listener->device = device_open(&config, error);
	if (listener->device == NULL) {
		g_free(listener);
		return NULL;
	}
	if (!device_filters_in_kernel(listener->device))
		log_line(log, LOG_NORMAL, "live", "%s: the kernel does not take the filter; every packet is looked at here, "
		    "which costs more", options->interface);
	listener->told = (struct source_facts){ .name = options->interface, .format = "live",
	    .link_type = device_link_type(listener->device), .snaplen = config.snaplen, .nanoseconds = true };
	return listener;
}

static int
open_saved(void *context, uint64_t number, int64_t seconds)
{
	struct listener *listener = context;

	return keeper_open_save(listener->keeper, &listener->save_names, number, seconds);
}

bool
listener_open_save(struct listener *listener, const struct save_config *save, struct keeper *keeper, GError **error)
{
	if (save == NULL)
		return true;
	listener->save = *save;
	listener->save.link_type = listener->told.link_type;
	listener->save_names = (struct keeper_save){ save_name, &listener->save };
	listener->keeper = keeper;
	listener->files = save_new(&listener->save, open_saved, listener, error);
	return listener->files != NULL;
}

void
listener_start(struct listener *listener)
{
	if (listener->files != NULL)
		listener->saver = saver_new(g_steal_pointer(&listener->files));
}

void
listener_free(struct listener *listener)
{
	if (listener == NULL)
		return;
	saver_free(listener->saver);
	save_free(listener->files);
	device_free(listener->device);
	g_free(listener);
}

void
listener_set_log(struct listener *listener, struct log *log)
{
	listener->log = log;
}

int
listener_fd(const struct listener *listener)
{
	return device_fd(listener->device);
}

unsigned
listener_rest_ms(const struct listener *listener)
{
	return device_rest_ms(listener->device);
}

static void
take_packet(void *context, const struct packet *packet)
{
	struct listener *listener = context;

	if (listener->take(listener->context, packet) && listener->saver != NULL)
		saver_push(listener->saver, packet);
}

enum device_result
listener_read(struct listener *listener, listener_packet_fn *take, void *context, GError **error)
{
	listener->take = take;
	listener->context = context;
	return device_read(listener->device, take_packet, listener, error);
}

const struct source_facts *
listener_told(const struct listener *listener)
{
	return &listener->told;
}

void
listener_drops(struct listener *listener, struct device_counters *counters)
{
	device_counters(listener->device, counters);
	listener->told.dropped_by_kernel = (int64_t)counters->dropped_by_kernel;
	listener->told.dropped_by_interface = (int64_t)counters->dropped_by_interface;
}

static void
tell_error(struct listener *listener)
{
	GError *error = saver_error(listener->saver);

	if (error == NULL)
		return;
	log_line(listener->log, LOG_QUIET, "save", "%s; no more packets are saved", error->message);
	g_error_free(error);
	listener->failed = true;
}

static void
tell_link(struct listener *listener)
{
	if (device_has_link(listener->device) != listener->link_lost_told)
		return;
	listener->link_lost_told = !listener->link_lost_told;
	log_line(listener->log, LOG_NORMAL, "live", listener->link_lost_told ? "%s: the link is down" :
	    "%s: the link is up again", listener->options->interface);
}

void
listener_tick(struct listener *listener)
{
	tell_link(listener);
	if (listener->saver == NULL)
		return;
	saver_flush(listener->saver);
	tell_error(listener);
	if (saver_left_out(listener->saver) > 0 && listener->left_out_told == 0) {
		log_line(listener->log, LOG_QUIET, "save", "%s is written more slowly than packets come: some are not saved",
		    listener->options->write_path);
		listener->left_out_told = 1;
	}
}

void
listener_judge_snaplen(struct listener *listener, uint64_t records, uint64_t hidden)
{
	struct device_counters drops;
	struct snaplen_counts counts = { .records = records, .hidden = hidden };
	GError *error = NULL;

	if (listener->options->snaplen > 0)
		return;
	listener_drops(listener, &drops);
	counts.dropped = drops.dropped_by_kernel;
	if (!snaplen_is_short(&listener->snaplen, &counts))
		return;
	if (listener->saver != NULL)
		saver_set_snaplen(listener->saver, listener->snaplen.bytes);
	if (!device_set_snaplen(listener->device, listener->snaplen.bytes, &error)) {
		log_line(listener->log, LOG_NORMAL, "live", "the snap length stays: %s", error->message);
		g_error_free(error);
		return;
	}
	listener->told.snaplen = listener->snaplen.bytes;
	log_line(listener->log, LOG_NORMAL, "live", "the snap length hides more than 1 %% of the records: it is raised to %"
	    PRIu32 " bytes", listener->snaplen.bytes);
}

bool
listener_finish(struct listener *listener)
{
	uint64_t left_out;

	if (listener->saver == NULL)
		return true;
	left_out = saver_left_out(listener->saver);
	saver_free(g_steal_pointer(&listener->saver));
	if (left_out > 0)
		log_line(listener->log, LOG_QUIET, "save", "packets that are not in %s: %" PRIu64,
		    listener->options->write_path, left_out);
	return !listener->failed && left_out == 0;
}
