#include "trace/server.h"

#include "trace/load.h"
#include "trace/rpcgen.h"
#include "trace/tcp.h"

static struct sim *
sim_of(const struct call *call)
{
	return call->lane->client->host.sim;
}

static void
put(struct queue *queue, struct call *call)
{
	if (queue->last != NULL)
		queue->last->queued = call;
	else
		queue->first = call;
	queue->last = call;
}

/* NULL: there is none. */
static struct call *
take(struct queue *queue)
{
	struct call *call = queue->first;

	if (call == NULL)
		return NULL;
	queue->first = call->queued;
	if (queue->first == NULL)
		queue->last = NULL;
	call->queued = NULL;
	return call;
}

static void
join_turns(struct server *server, struct lane *lane)
{
	lane->turn_next = NULL;
	if (server->turn_last != NULL)
		server->turn_last->turn_next = lane;
	else
		server->turn_first = lane;
	server->turn_last = lane;
}

static void
wait_for_thread(struct server *server, struct call *call)
{
	struct lane *lane = call->lane;

	if (!sim_of(call)->config->turns) {
		put(&server->threads_queue, call);
		return;
	}
	if (lane->threads_queue.first == NULL)
		join_turns(server, lane);
	put(&lane->threads_queue, call);
}

/* NULL: none waits. */
static struct call *
next_waiting(struct server *server)
{
	struct lane *lane = server->turn_first;
	struct call *call;

	if (lane == NULL)
		return take(&server->threads_queue);
	server->turn_first = lane->turn_next;
	if (server->turn_first == NULL)
		server->turn_last = NULL;
	call = take(&lane->threads_queue);
	if (lane->threads_queue.first != NULL)
		join_turns(server, lane);
	return call;
}

static void
start(struct call *call)
{
	struct sim *sim = sim_of(call);
	int64_t service_ns = trace_rng_draw_ns(&sim->service_rng,
		&sim->config->service[call->procedure]);

	call->lane->server->idle_threads--;
	call->started_ns = sim->now_ns;
	trace_events_add(sim->events, sim->now_ns + service_ns, EVENT_SERVED, call);
}

static void
reply(struct call *call)
{
	struct half *half = &call->conn->half[REPLIES];

	/* On a dead connection the reply stays in the cache until the call comes again. */
	if (!call->unanswered && trace_tcp_can_send(half) && call->conn->server_knows)
		trace_tcp_send(half, trace_rpc_reply(sim_of(call), call), 0);
}

void
trace_server_call(struct conn *conn, struct call *call)
{
	struct server *server = call->lane->server;
	struct sim *sim = sim_of(call);

	call->conn = conn;
	if (call->served != NOT_SEEN) {
		sim->totals.duplicate_requests++;
		if (call->served == ANSWERED)
			reply(call);
		return;
	}
	call->served = IN_SERVER;
	call->arrived_ns = sim->now_ns;
	trace_call_ref(call);
	if (server->idle_threads > 0)
		start(call);
	else
		wait_for_thread(server, call);
}

/* The thread is free, the call is answered. */
static void
finish(struct call *call)
{
	struct server *server = call->lane->server;
	struct call *next = next_waiting(server);

	call->served = ANSWERED;
	call->served_ns = sim_of(call)->now_ns;
	reply(call);
	server->idle_threads++;
	if (next != NULL)
		start(next);
	trace_call_unref(call);
}

static void
use_disk(struct call *call)
{
	struct sim *sim = sim_of(call);
	int64_t storage_ns = trace_rng_draw_ns(&sim->service_rng,
		&sim->config->storage[call->procedure]);

	call->lane->server->busy_disks++;
	call->disk_wait_ns = sim->now_ns - call->disk_wanted_ns;
	trace_events_add(sim->events, sim->now_ns + storage_ns, EVENT_STORED, call);
}

void
trace_server_served(struct call *call)
{
	struct server *server = call->lane->server;
	const struct trace_config *config = sim_of(call)->config;

	call->disk_wanted_ns = sim_of(call)->now_ns;
	if (config->storage[call->procedure].a_ns == 0)
		finish(call);
	else if (config->disks == 0 || server->busy_disks < config->disks)
		use_disk(call);
	else
		put(&server->disks_queue, call);
}

void
trace_server_stored(struct call *call)
{
	struct server *server = call->lane->server;
	struct call *next = take(&server->disks_queue);

	server->busy_disks--;
	if (next != NULL)
		use_disk(next);
	finish(call);
}
