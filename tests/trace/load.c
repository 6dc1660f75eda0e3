#include "trace/load.h"

#include <string.h>

#include "trace/nfs3.h"
#include "trace/rpcgen.h"
#include "trace/session.h"
#include "trace/tcp.h"
#include "trace/truth.h"

enum { FIRST_PORT = 700, PORTS = 320 };

static void issue(struct call *call);

static struct sim *
sim_of(const struct lane *lane)
{
	return lane->client->host.sim;
}

/* ---- a call's life ---- */

struct call *
trace_call_ref(struct call *call)
{
	call->refs++;
	return call;
}

void
trace_call_unref(struct call *call)
{
	if (--call->refs > 0)
		return;
	trace_truth_call(sim_of(call->lane)->truth, call);
	g_slice_free(struct call, call);
}

static bool
more_calls(const struct sim *sim)
{
	return sim->calls_made < (uint64_t)sim->config->calls
		&& (sim->config->duration_ns == 0 || sim->now_ns < sim->config->duration_ns);
}

static void
check_finished(struct sim *sim)
{
	if (sim->finished || more_calls(sim) || sim->calls_over < sim->calls_made)
		return;
	sim->finished = true;
	for (struct conn *conn = sim->conns; conn != NULL && sim->config->close_at_end && !sim->config->udp;
	    conn = conn->next)
		if (conn->state == CONN_OPEN)
			trace_tcp_close(conn, TRACE_CLIENT);
}

static void
choose_sizes(struct sim *sim, struct call *call)
{
	const struct trace_config *config = sim->config;
	struct trace_rng *rng = &sim->load_rng;
	bool write = call->procedure == NFS3_WRITE;
	int64_t size = write ? config->write_bytes : config->read_bytes;

	call->file = (uint32_t)trace_rng_below(rng, (uint64_t)config->files);
	if (call->procedure != NFS3_READ && !write)
		return;
	if (config->vary_sizes && size > 512) {
		unsigned doublings = (unsigned)g_bit_nth_msf((gulong)size / 512, -1);

		size = INT64_C(512) << trace_rng_below(rng, doublings + 1);
	}
	call->size = (uint32_t)size;
	call->moved = call->size;
	call->offset = trace_rng_below(rng, 1 << 20) * (uint64_t)size;
	if (config->sequential && call->caller != NULL) {
		call->file = (uint32_t)((call->caller - call->lane->client->caller) % config->files);
		call->offset = call->caller->next_offset;
		call->caller->next_offset += (uint64_t)size;
	}
	if (write)
		call->stable = trace_rng_chance(rng, config->file_sync)
			? NFS3_FILE_SYNC : NFS3_UNSTABLE;
	else if (trace_rng_below(rng, 64) == 0)
		call->moved = (uint32_t)trace_rng_below(rng, call->size);	/* end of file */
}

static void
choose_fate(struct sim *sim, struct call *call)
{
	const struct trace_config *config = sim->config;
	struct trace_rng *rng = &sim->load_rng;

	if (trace_rng_chance(rng, config->unanswered)) {
		call->unanswered = true;
	} else if (trace_rng_chance(rng, config->denied)) {
		call->outcome = RPC_VERSION_MISMATCH
			+ (enum rpc_outcome)trace_rng_below(rng, 2);
	} else if (trace_rng_chance(rng, config->accept_error)) {
		call->outcome = RPC_PROG_UNAVAIL + (enum rpc_outcome)trace_rng_below(rng, 5);
	} else if (call->procedure != NFS3_NULL && trace_rng_chance(rng, config->error_rate)) {
		call->status = trace_nfs3_error(rng, call->procedure);
	} else if (call->procedure != NFS3_NULL && trace_rng_chance(rng, config->jukebox)) {
		call->status = NFS3ERR_JUKEBOX;
	}
	if (call->unanswered || call->outcome != RPC_OK || call->status != 0)
		call->moved = 0;
}

static uint8_t
choose_procedure(struct sim *sim)
{
	double at = trace_rng_unit(&sim->load_rng) * sim->weight_sum;
	uint8_t procedure = 0;
	uint8_t last = 0;

	for (; procedure < TRACE_PROCEDURES; procedure++) {
		if (sim->config->weight[procedure] <= 0)
			continue;
		last = procedure;
		at -= sim->config->weight[procedure];
		if (at < 0)
			break;
	}
	return last;
}

/* Of which nothing is known but who makes it. */
static struct call *
blank_call(struct client *client, struct caller *caller)
{
	struct sim *sim = client->host.sim;
	struct call *call = g_slice_new0(struct call);

	call->refs = 1;
	call->id = sim->calls_made++;
	call->caller = caller;
	call->lane = &client->lane[client->next_lane++ % client->lanes];
	call->made_ns = sim->now_ns;
	for (unsigned side = 0; side < TRACE_SIDES; side++) {
		struct call_times never = { TRACE_NEVER, TRACE_NEVER };

		call->call_ideal[side] = call->call_shown[side] = never;
		call->reply_ideal[side] = call->reply_shown[side] = never;
	}
	return call;
}

/* Takes a slot, or waits for one. */
static void
take_slot(struct call *call)
{
	struct lane *lane = call->lane;

	if (lane->ready && lane->outstanding < lane->limit) {
		issue(call);
		return;
	}
	if (lane->waiting_last != NULL)
		lane->waiting_last->queued = call;
	else
		lane->waiting_first = call;
	lane->waiting_last = call;
}

static void
make_call(struct client *client, struct caller *caller)
{
	struct sim *sim = client->host.sim;
	struct call *call;

	if (!more_calls(sim)) {
		check_finished(sim);
		return;
	}
	call = blank_call(client, caller);
	call->procedure = choose_procedure(sim);
	choose_sizes(sim, call);
	choose_fate(sim, call);
	take_slot(call);
}

/* The same call under a new XID, on the same connection. */
static void
plan_retry(struct call *call)
{
	struct sim *sim = sim_of(call->lane);
	struct call *retry = blank_call(call->lane->client, call->caller);

	retry->lane = call->lane;
	retry->is_retry = true;
	retry->retry_of = call->id;
	retry->procedure = call->procedure;
	retry->file = call->file;
	retry->offset = call->offset;
	retry->size = retry->moved = call->size;
	retry->stable = call->stable;
	choose_fate(sim, retry);
	call->caller = NULL;
	trace_events_add(sim->events, sim->now_ns + sim->config->jukebox_delay_ns, EVENT_RETRY,
		retry);
}

void
trace_load_retry(struct call *call)
{
	call->made_ns = sim_of(call->lane)->now_ns;
	take_slot(call);
}

/* The next call that the lane's session takes before others can be made, if there is one. */
static void
set_up(struct lane *lane)
{
	enum set_up next = trace_session_next(lane);
	struct call *call;

	if (next == SET_UP_NOTHING)
		return;
	call = blank_call(lane->client, NULL);
	call->lane = lane;
	call->procedure = NFS3_NULL;
	call->set_up = next;
	issue(call);
}

static void
issue_waiting(struct lane *lane)
{
	while (lane->waiting_first != NULL && lane->ready && lane->outstanding < lane->limit) {
		struct call *waiting = lane->waiting_first;

		lane->waiting_first = waiting->queued;
		if (lane->waiting_first == NULL)
			lane->waiting_last = NULL;
		waiting->queued = NULL;
		issue(waiting);
	}
}

/* The slot is free again, the caller goes on, the client is done with the call. */
static void
over(struct call *call)
{
	struct lane *lane = call->lane;
	struct sim *sim = sim_of(lane);
	struct caller *caller = call->caller;

	if (call->previous != NULL)
		call->previous->next = call->next;
	else
		lane->first = call->next;
	if (call->next != NULL)
		call->next->previous = call->previous;
	else
		lane->last = call->previous;
	call->outstanding = false;
	lane->outstanding--;
	sim->calls_over++;
	trace_session_give(call);
	if (call->set_up != SET_UP_NOTHING)
		set_up(lane);
	trace_call_unref(call);
	issue_waiting(lane);
	if (caller != NULL)
		trace_events_add(sim->events, sim->now_ns
			+ trace_rng_draw_ns(&sim->load_rng, &sim->config->think),
			EVENT_CALLER, caller);
	check_finished(sim);
}

void
trace_load_reply(struct call *call)
{
	if (!call->outstanding)
		return;
	call->answered = true;
	sim_of(call->lane)->totals.answered++;
	if (call->status == NFS3ERR_JUKEBOX && sim_of(call->lane)->config->jukebox > 0)
		plan_retry(call);
	over(call);
}

/* ---- sending ---- */

static bool
xid_in_use(const struct lane *lane, uint32_t xid)
{
	for (const struct call *call = lane->first; call != NULL; call = call->next)
		if (call->xid == xid)
			return true;
	return false;
}

static uint32_t
next_xid(struct lane *lane)
{
	const struct trace_config *config = sim_of(lane)->config;
	uint64_t modulus = config->xid_modulus > 0
		? (uint64_t)config->xid_modulus : UINT64_C(1) << 32;
	bool repeats = config->xid_modulus > 0 || config->xid_restart;
	uint32_t xid;

	do
		xid = lane->xid_start + (uint32_t)(lane->xids++ % modulus);
	while (repeats && xid_in_use(lane, xid));
	return xid;
}

static void
end_connection(struct lane *lane)
{
	struct conn *conn = lane->conn;

	lane->reconnecting = true;
	switch ((enum trace_reconnect)sim_of(lane)->config->reconnect_how) {
	case TRACE_FIN:
		trace_tcp_close(conn, TRACE_CLIENT);
		break;
	case TRACE_RST:
		trace_tcp_abort(conn, TRACE_CLIENT);
		trace_load_disconnected(conn);
		break;
	case TRACE_SERVER_FIN:
		trace_tcp_close(conn, TRACE_SERVER);
		break;
	case TRACE_SERVER_RST:
		trace_tcp_abort(conn, TRACE_SERVER);
		break;
	}
}

/* Puts a copy on the lane's connection, if that is open. */
static void
send_copy(struct call *call)
{
	struct lane *lane = call->lane;
	struct sim *sim = sim_of(lane);
	struct half *half = lane->conn != NULL ? &lane->conn->half[CALLS] : NULL;
	int64_t pause_ns = 0;

	if (half == NULL || lane->conn->state != CONN_OPEN || !trace_tcp_can_send(half))
		return;
	if (call->copies++ == 0)
		memcpy(call->client_end, lane->conn->client_end, sizeof call->client_end);
	else
		sim->totals.retransmitted_calls++;
	if (call->procedure == NFS3_WRITE
	    && trace_rng_chance(&sim->load_rng, sim->config->call_pause))
		pause_ns = trace_rng_draw_ns(&sim->load_rng, &sim->config->call_pause_time);
	call->send_pause_ns += trace_tcp_send(half, trace_rpc_call(sim, call), pause_ns);
}

static void
arm_timer(struct lane *lane, int64_t at_ns)
{
	if (lane->timer_armed || at_ns == INT64_MAX)
		return;
	lane->timer_armed = true;
	trace_events_add(sim_of(lane)->events, at_ns, EVENT_LANE_TIMER, lane);
}

/* The call has a slot: its XID, its time-outs and its first copy. */
static void
issue(struct call *call)
{
	struct lane *lane = call->lane;
	struct sim *sim = sim_of(lane);
	const struct trace_config *config = sim->config;

	call->xid = next_xid(lane);
	trace_session_take(call);
	call->sent_ns = sim->now_ns;
	call->outstanding = true;
	call->previous = lane->last;
	if (lane->last != NULL)
		lane->last->next = call;
	else
		lane->first = call;
	lane->last = call;
	lane->outstanding++;
	sim->totals.calls++;
	call->timeo_ns = config->timeo_ns;
	call->timeo_at_ns = config->timeo_ns > 0 ? sim->now_ns + config->timeo_ns : INT64_MAX;
	call->give_up_at_ns = call->unanswered ? sim->now_ns + config->give_up_ns : INT64_MAX;
	send_copy(call);
	arm_timer(lane, MIN(call->timeo_at_ns, call->give_up_at_ns));
	lane->calls_here++;
	if (config->reconnect_calls > 0 && lane->calls_here >= config->reconnect_calls
	    && !lane->reconnecting && lane->conn != NULL && lane->conn->state == CONN_OPEN)
		end_connection(lane);
}

void
trace_load_timer(struct lane *lane)
{
	struct sim *sim = sim_of(lane);
	int64_t next_ns = INT64_MAX;
	struct call *next;

	/* Armed while calls are given up: what they make way for is looked at below. */
	for (struct call *call = lane->first; call != NULL; call = next) {
		next = call->next;
		if (call->give_up_at_ns <= sim->now_ns) {
			over(call);
			next = lane->first;
		}
	}
	for (struct call *call = lane->first; call != NULL; call = call->next) {
		if (call->timeo_at_ns <= sim->now_ns) {
			send_copy(call);
			call->timeo_ns *= 2;
			call->timeo_at_ns = sim->now_ns + call->timeo_ns;
		}
		next_ns = MIN(next_ns, MIN(call->timeo_at_ns, call->give_up_at_ns));
	}
	lane->timer_armed = false;
	arm_timer(lane, next_ns);
}

/* ---- connections ---- */

void
trace_load_connect(struct lane *lane)
{
	struct client *client = lane->client;
	const struct trace_config *config = client->host.sim->config;
	uint16_t port = (uint16_t)(FIRST_PORT + client->next_port % PORTS);

	if (lane->conn != NULL && config->reconnect_same_port)
		port = lane->conn->client_end[TRACE_CLIENT].port;
	else
		client->next_port++;
	lane->connect_armed = false;
	lane->calls_here = 0;
	if (config->xid_restart)
		lane->xids = 0;
	lane->conn = trace_tcp_connect(lane, port);
	if (config->udp)
		trace_load_connected(lane);
}

void
trace_load_connected(struct lane *lane)
{
	lane->reconnecting = false;
	for (struct call *call = lane->first; call != NULL; call = call->next)
		send_copy(call);
	if (lane->session.done == SET_UP_NOTHING)
		set_up(lane);
}

void
trace_load_disconnected(struct conn *conn)
{
	struct lane *lane = conn->lane;
	struct sim *sim = sim_of(lane);

	if (conn != lane->conn || lane->connect_armed || sim->finished)
		return;
	lane->reconnecting = true;
	lane->connect_armed = true;
	trace_events_add(sim->events, sim->now_ns + sim->config->reconnect_delay_ns,
		EVENT_CONNECT, lane);
}

/* ---- who makes calls ---- */

/* Now, or the start of the next period. */
static int64_t
working_time_ns(const struct sim *sim, bool surges)
{
	const struct trace_config *config = sim->config;
	int64_t every_ns = surges ? config->surge_every_ns : config->pause_every_ns;
	int64_t work_ns = surges ? config->surge_ns : every_ns - config->pause_ns;
	int64_t into_ns = every_ns > 0 ? sim->now_ns % every_ns : 0;

	return every_ns > 0 && into_ns >= work_ns ? sim->now_ns - into_ns + every_ns : sim->now_ns;
}

void
trace_load_caller(struct caller *caller)
{
	struct sim *sim = caller->client->host.sim;
	int64_t at_ns = working_time_ns(sim, caller->surges);

	if (at_ns > sim->now_ns)
		trace_events_add(sim->events, at_ns, EVENT_CALLER, caller);
	else
		make_call(caller->client, caller);
}

void
trace_load_arrival(struct client *client)
{
	struct sim *sim = client->host.sim;
	struct trace_distribution gap = { .kind = TRACE_EXPONENTIAL };

	if (working_time_ns(sim, false) == sim->now_ns)
		make_call(client, NULL);
	gap.a_ns = (int64_t)(1e9 / sim->config->rate);
	if (more_calls(sim))
		trace_events_add(sim->events, sim->now_ns
			+ trace_rng_draw_ns(&sim->load_rng, &gap), EVENT_ARRIVAL, client);
	else
		check_finished(sim);
}

static void
start_lanes(struct client *client)
{
	struct sim *sim = client->host.sim;
	const struct trace_config *config = sim->config;
	/* Clients without a capture have nothing to do with servers without one. */
	unsigned servers = client->index < (unsigned)config->clients ? sim->servers : 1;

	client->lanes = servers * (unsigned)config->nconnect;
	client->lane = g_new0(struct lane, client->lanes);
	for (unsigned i = 0; i < client->lanes; i++) {
		struct lane *lane = &client->lane[i];

		lane->client = client;
		lane->index = i;
		lane->server = &sim->server[i / (unsigned)config->nconnect];
		lane->xid_start = config->xid_start >= 0 ? (uint32_t)config->xid_start
			: (uint32_t)trace_rng_next(&sim->load_rng);
		lane->connect_armed = true;
		trace_events_add(sim->events, (int64_t)trace_rng_below(&sim->load_rng, 200000),
			EVENT_CONNECT, lane);
		trace_session_init(lane);
	}
}

void
trace_load_start(struct client *client)
{
	struct sim *sim = client->host.sim;
	unsigned callers = sim->config->rate > 0 ? 0
		: (unsigned)(sim->config->callers + sim->config->surge);

	start_lanes(client);
	trace_rpc_credential(sim, client);
	client->caller = g_new0(struct caller, callers + 1);
	for (unsigned i = 0; i < callers; i++) {
		client->caller[i].client = client;
		client->caller[i].surges = i >= (unsigned)sim->config->callers;
		trace_events_add(sim->events, (int64_t)trace_rng_below(&sim->load_rng, 1000000),
			EVENT_CALLER, &client->caller[i]);
	}
	if (callers == 0)
		trace_events_add(sim->events, 0, EVENT_ARRIVAL, client);
}

void
trace_load_stop(struct client *client)
{
	for (unsigned i = 0; i < client->lanes; i++)
		trace_session_clear(&client->lane[i]);
	g_free(client->lane);
	g_free(client->caller);
	g_free(client->credential);
}
