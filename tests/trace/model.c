/*
 * Makes the hosts, runs the events, closes the files.
 */
#include <string.h>

#include "trace/capture.h"
#include "trace/config.h"
#include "trace/load.h"
#include "trace/network.h"
#include "trace/rpcgen.h"
#include "trace/server.h"
#include "trace/sim.h"
#include "trace/tcp.h"
#include "trace/truth.h"

enum { NFS_PORT = 2049 };

static const int64_t longest_silence_ns = INT64_C(3600000000000);

/* Networks, 10.x/16 or fd00:x::/32. */
enum network { NET_SERVERS = 1, NET_CLIENTS = 2, NET_TRANSLATED = 8, NET_VIRTUAL = 9 };

int64_t
trace_clock_ns(const struct host *host, int64_t ideal_ns)
{
	const struct trace_clock *clock = host->clock;
	/* Seconds and the rest apart: a product of both would not fit into 64 bits. */
	int64_t drift_ns = ideal_ns / 1000000000 * clock->drift_ppb
		+ ideal_ns % 1000000000 * clock->drift_ppb / 1000000000;
	int64_t at_ns = host->sim->config->start_ns + ideal_ns + clock->offset_ns + drift_ns;

	for (int64_t i = 0; i < clock->steps.count; i++)
		if (ideal_ns >= clock->steps.step[i].at_ns)
			at_ns += clock->steps.step[i].by_ns;
	return at_ns;
}

static void
set_address(const struct sim *sim, enum trace_side side, enum network network, unsigned index,
	uint8_t *address)
{
	memset(address, 0, 16);
	if (sim->config->capture[side].ip_version == 6) {
		address[0] = 0xfd;
		address[3] = (uint8_t)network;
		address[14] = (uint8_t)((index + 1) >> 8);
		address[15] = (uint8_t)(index + 1);
	} else {
		address[0] = 10;
		address[1] = (uint8_t)network;
		address[2] = (uint8_t)(index / 250);
		address[3] = (uint8_t)(index % 250 + 1);
	}
}

static void
init_server(struct sim *sim, unsigned index)
{
	struct server *server = &sim->server[index];

	server->host.sim = sim;
	server->host.side = TRACE_SERVER;
	server->host.clock = &sim->config->server_clock;
	server->index = index;
	server->idle_threads = sim->config->threads;
	for (unsigned side = 0; side < TRACE_SIDES; side++) {
		bool virtual = side == TRACE_CLIENT && sim->config->virtual_server;

		set_address(sim, side, virtual ? NET_VIRTUAL : NET_SERVERS, index,
			server->end[side].address);
		server->end[side].port = NFS_PORT;
	}
}

static void
init_client(struct sim *sim, unsigned index)
{
	struct client *client = &sim->client[index];
	int64_t nat = sim->config->nat;
	bool translated = nat == TRACE_NAT_ADDRESS || nat == TRACE_NAT_BOTH || nat == TRACE_NAT_ONE;

	client->host.sim = sim;
	client->host.side = TRACE_CLIENT;
	client->host.clock = &sim->config->client_clock[MIN(index, TRACE_CLOCKS - 1)];
	client->index = index;
	set_address(sim, TRACE_CLIENT, NET_CLIENTS, index, client->address[TRACE_CLIENT]);
	set_address(sim, TRACE_SERVER, translated ? NET_TRANSLATED : NET_CLIENTS,
		nat == TRACE_NAT_ONE ? 0 : index, client->address[TRACE_SERVER]);
}

static void
init_sim(struct sim *sim, const struct trace_config *config)
{
	sim->config = config;
	sim->events = trace_events_new();
	trace_rng_init(&sim->load_rng, config->seed, 1);
	trace_rng_init(&sim->service_rng, config->seed, 2);
	trace_rng_init(&sim->network_rng, config->seed, 3);
	trace_rng_init(&sim->tcp_rng, config->seed, 4);
	trace_rng_init(&sim->record_rng, config->seed, 5);
	for (unsigned i = 0; i < TRACE_PROCEDURES; i++)
		sim->weight_sum += config->weight[i];
	sim->servers = 1 + (unsigned)config->extra_servers;
	sim->server = g_new0(struct server, sim->servers);
	for (unsigned i = 0; i < sim->servers; i++)
		init_server(sim, i);
	sim->clients = (unsigned)(config->clients + config->extra_clients);
	sim->client = g_new0(struct client, sim->clients);
	for (unsigned i = 0; i < sim->clients; i++)
		init_client(sim, i);
	trace_payload_fill(sim);
}

static bool
open_files(struct sim *sim, const struct trace_output *output, GError **error)
{
	enum { FIRST_STREAM = 1000 };

	sim->truth = trace_truth_open(sim, output->truth_csv, error);
	if (sim->truth == NULL)
		return false;
	if (output->server != NULL) {
		struct host *host = &sim->server[0].host;

		host->capture = trace_capture_open(sim, host, output->server, FIRST_STREAM, error);
		if (host->capture == NULL)
			return false;
	}
	for (unsigned i = 0; output->client != NULL && i < (unsigned)sim->config->clients; i++) {
		struct host *host = &sim->client[i].host;

		if (output->client[i] == NULL)
			continue;
		host->capture = trace_capture_open(sim, host, output->client[i],
			FIRST_STREAM + 1 + i, error);
		if (host->capture == NULL)
			return false;
	}
	return true;
}

static void
run_event(const struct event *event)
{
	switch (event->kind) {
	case EVENT_CALLER:
		trace_load_caller(event->subject);
		break;
	case EVENT_ARRIVAL:
		trace_load_arrival(event->subject);
		break;
	case EVENT_TRANSMIT:
		trace_network_transmit(event->subject);
		break;
	case EVENT_RECEIVE:
		trace_network_receive(event->subject);
		break;
	case EVENT_GRO:
		trace_network_gro(event->subject);
		break;
	case EVENT_CORK:
		trace_tcp_cork(event->subject);
		break;
	case EVENT_RTO:
		trace_tcp_rto(event->subject);
		break;
	case EVENT_DELAYED_ACK:
		trace_tcp_delayed_ack(event->subject);
		break;
	case EVENT_KEEPALIVE:
		trace_tcp_keepalive(event->subject);
		break;
	case EVENT_READ:
		trace_tcp_read(event->subject);
		break;
	case EVENT_PAUSE_END:
		trace_tcp_pause_end(event->subject);
		break;
	case EVENT_RETRY:
		trace_load_retry(event->subject);
		break;
	case EVENT_SERVED:
		trace_server_served(event->subject);
		break;
	case EVENT_STORED:
		trace_server_stored(event->subject);
		break;
	case EVENT_LANE_TIMER:
		trace_load_timer(event->subject);
		break;
	case EVENT_CONNECT:
		trace_load_connect(event->subject);
		break;
	}
}

/* False when it would go on for ever: only TCP still speaks, to an end that never answers. */
static bool
run(struct sim *sim)
{
	struct event event;
	uint64_t progress = 0;
	int64_t progress_ns = 0;
	bool ends = true;

	for (unsigned i = 0; i < sim->clients; i++)
		trace_load_start(&sim->client[i]);
	while (ends && trace_events_next(sim->events, &event)) {
		sim->now_ns = event.at_ns;
		run_event(&event);
		if (sim->calls_made + sim->calls_over != progress) {
			progress = sim->calls_made + sim->calls_over;
			progress_ns = sim->now_ns;
		}
		ends = sim->now_ns - progress_ns < longest_silence_ns;
	}
	/* What no packet can change any more. */
	while (sim->conns != NULL) {
		struct conn *conn = sim->conns;

		sim->conns = conn->next;
		trace_tcp_free(conn);
	}
	return ends;
}

static bool
close_files(struct sim *sim, GError **error)
{
	bool good = true;

	for (unsigned i = 0; i < sim->servers + sim->clients; i++) {
		struct host *host = i < sim->servers ? &sim->server[i].host
			: &sim->client[i - sim->servers].host;

		/* The first error is the one that is told. */
		if (host->capture != NULL
		    && !trace_capture_close(host->capture, good ? error : NULL))
			good = false;
	}
	if (sim->truth != NULL && !trace_truth_close(sim->truth, good ? error : NULL))
		good = false;
	return good;
}

static void
clear_sim(struct sim *sim)
{
	for (unsigned i = 0; i < sim->clients; i++)
		trace_load_stop(&sim->client[i]);
	trace_events_free(sim->events);
	g_free(sim->server);
	g_free(sim->client);
	g_free(sim->pool);
}

bool
trace_make(const struct trace_config *config, const struct trace_output *output, GError **error)
{
	struct sim sim = { 0 };
	bool good;

	if (!trace_config_check(config, error))
		return false;
	init_sim(&sim, config);
	good = open_files(&sim, output, error);
	if (good && !run(&sim)) {
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			"the trace does not end: no call was made or over for an hour");
		good = false;
	} else if (good) {
		if (output->truth_json != NULL)
			good = trace_truth_json(&sim, output->truth_json, error);
	}
	if (!close_files(&sim, good ? error : NULL))
		good = false;
	clear_sim(&sim);
	return good;
}
