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
	if (server->idle_threads > 0) {
		start(call);
		return;
	}
	if (server->last != NULL)
		server->last->queued = call;
	else
		server->first = call;
	server->last = call;
}

void
trace_server_served(struct call *call)
{
	struct server *server = call->lane->server;
	struct call *next = server->first;

	call->served = ANSWERED;
	call->served_ns = sim_of(call)->now_ns;
	reply(call);
	server->idle_threads++;
	if (next != NULL) {
		server->first = next->queued;
		if (server->first == NULL)
			server->last = NULL;
		next->queued = NULL;
		start(next);
	}
	trace_call_unref(call);
}
