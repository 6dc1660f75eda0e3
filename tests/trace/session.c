#include "trace/session.h"

uint32_t
trace_minor(const struct trace_config *config)
{
	return config->nfs > TRACE_NFS4_0 ? (uint32_t)(config->nfs - TRACE_NFS4_0) : 0;
}

void
trace_session_init(struct lane *lane)
{
	const struct trace_config *config = lane->client->host.sim->config;
	struct session *session = &lane->session;

	lane->limit = config->slots;
	lane->ready = trace_minor(config) == 0;
	if (lane->ready)
		return;
	session->granted = config->session_slots > 0 ? config->session_slots : config->slots;
	session->slot = g_new0(struct session_slot, (gsize)session->granted);
	lane->limit = MIN(lane->limit, session->granted);
}

void
trace_session_clear(struct lane *lane)
{
	g_free(lane->session.slot);
}

enum set_up
trace_session_next(struct lane *lane)
{
	if (lane->ready || lane->session.done == SET_UP_SESSION) {
		lane->ready = true;
		return SET_UP_NOTHING;
	}
	return ++lane->session.done;
}

void
trace_session_take(struct call *call)
{
	struct session *session = &call->lane->session;
	uint32_t highest = 0;

	if (session->granted == 0 || call->set_up != SET_UP_NOTHING)
		return;
	call->slot = 0;
	while (session->slot[call->slot].used)
		call->slot++;
	session->slot[call->slot].used = true;
	call->slot_sequence = ++session->slot[call->slot].sequence;
	for (uint32_t i = 0; i < session->granted; i++)
		if (session->slot[i].used)
			highest = i;
	call->slot_used_highest = highest;
}

void
trace_session_give(struct call *call)
{
	struct session *session = &call->lane->session;

	if (session->granted > 0 && call->set_up == SET_UP_NOTHING)
		session->slot[call->slot].used = false;
}

bool
trace_session_put_id(XDR *xdr, const struct lane *lane)
{
	uint32_t words[4] = { 0x7777, lane->client->index, lane->index, 0x5e551040 };
	bool good = true;

	for (unsigned i = 0; good && i < 4; i++)
		good = xdr_uint32_t(xdr, &words[i]);
	return good;
}
