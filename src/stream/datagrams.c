#include "stream/datagrams.h"

#include <glib.h>
#include <nfscorr/xdr.h>
#include <string.h>

#include "base/arith.h"
#include "capture/fragment_marks.h"
#include "stream/flow_table.h"

enum {
	JOINING = 256,			/* datagrams in fragments at the same time, in this shard */
	BUCKETS = 256,			/* a power of two */
	RPC_MIN = 20,			/* the shortest message: a call that is denied for its credential (RFC 5531 section 9) */
	/* A host gives up a datagram after 30 s (Linux: ipfrag_time); nobody waits where no second fragment was ever captured. */
	JOIN_S = 30,
	HOPELESS_MS = 100,
	NONE = JOINING,
};

/* A datagram of which some fragments were seen. */
struct joining {
	struct flow_key key;		/* its addresses; ports 0 */
	uint32_t id;
	uint8_t direction;		/* by the addresses */
	struct fragment_marks marks;
	int64_t begun_ns, newest_ns;	/* stamps of its first piece here, and of the latest that brought something */
	struct connection *connection;	/* of the record; NULL until the first fragment came, or when it is no RPC */
	bool begins;			/* the first fragment was seen */
	struct rpc_record record;
	uint16_t next;			/* in its bucket */
	uint16_t older, newer;		/* by begun_ns */
};

struct datagrams {
	struct stream_sink sink;
	struct datagram_counters counters;
	struct flow_table *flows;	/* NULL until the first message */
	uint64_t *next_serial;
	uint32_t connections;
	struct connection nobody;	/* asks the sink about a message whose flow is not known */
	bool fragments_captured;	/* other ones than the first of a datagram */
	struct joining *joining;	/* JOINING; NULL until the first fragment */
	uint16_t bucket[BUCKETS];
	uint16_t unused, oldest, newest;
};

struct datagrams *
datagrams_new(const struct stream_sink *sink, uint32_t connections, uint64_t *next_serial)
{
	struct datagrams *datagrams = g_new0(struct datagrams, 1);

	datagrams->sink = *sink;
	datagrams->connections = connections;
	datagrams->next_serial = next_serial;
	datagrams->nobody.caller = -1;
	datagrams->oldest = datagrams->newest = NONE;
	return datagrams;
}

void
datagrams_free(struct datagrams *datagrams)
{
	if (datagrams == NULL)
		return;
	flow_table_free(datagrams->flows);
	g_free(datagrams->joining);
	g_free(datagrams);
}

const struct datagram_counters *
datagrams_counters(const struct datagrams *datagrams)
{
	return &datagrams->counters;
}

void
datagram_counters_add(struct datagram_counters *sum, const struct datagram_counters *part)
{
	/* all members are counts */
	uint64_t *into = &sum->flows;
	const uint64_t *from = &part->flows;

	for (size_t i = 0; i < sizeof *sum / sizeof *into; i++)
		into[i] += from[i];
}

/* ---- flows ---- */

static void
open_flow(struct datagrams *datagrams, struct connection *flow)
{
	flow->info.serial = (*datagrams->next_serial)++;
	flow->info.datagrams = true;
	flow->phase = CONNECTION_TRACKED;
	flow->rpc = true;
	flow->caller = -1;
	for (int d = 0; d < 2; d++)
		flow->half[d].round_trip_ns = -1;
	datagrams->counters.flows++;
}

static void give_up(struct datagrams *datagrams, uint16_t at);

static void
evict_flow(struct datagrams *datagrams, struct connection *flow, int64_t ts_ns)
{
	datagrams->counters.evicted_flows++;
	for (uint16_t at = datagrams->oldest, newer; at != NONE; at = newer) {
		newer = datagrams->joining[at].newer;
		if (datagrams->joining[at].connection == flow)
			give_up(datagrams, at);
	}
	datagrams->sink.over(datagrams->sink.context, &flow->info, ts_ns, END_BY_EVICTION);
	flow_table_remove(datagrams->flows, flow);
}

/* The flow of a message, made if it is not there yet. */
static struct connection *
flow_of(struct datagrams *datagrams, const struct datagram *datagram, uint64_t hash)
{
	struct connection *flow, *evicted;
	bool made;

	if (datagrams->flows == NULL)
		datagrams->flows = flow_table_new(datagrams->connections);
	flow = flow_table_get(datagrams->flows, &datagram->key, hash, &made, &evicted);
	if (flow == NULL) {
		evict_flow(datagrams, evicted, datagram->packet->ts_ns);
		flow = flow_table_get(datagrams->flows, &datagram->key, hash, &made, &evicted);
	}
	if (made)
		open_flow(datagrams, flow);
	return flow;
}

/* The header of a DTLS record: type, version (1s' complement), epoch, number, length (RFC 6347 section 4.1). */
static bool
is_dtls(const struct datagram *datagram, uint32_t len)
{
	enum { HEADER_BYTES = 13, TYPE_FIRST = 20, TYPE_LAST = 23, MAJOR = 0xfe, MINOR_1_0 = 0xff, MINOR_1_2 = 0xfd };
	const uint8_t *header = datagram->payload;

	return datagram->payload_cap_len >= HEADER_BYTES && header[0] >= TYPE_FIRST && header[0] <= TYPE_LAST &&
	    header[1] == MAJOR && (header[2] == MINOR_1_0 || header[2] == MINOR_1_2) &&
	    ((uint32_t)header[11] << 8 | header[12]) <= len - HEADER_BYTES;
}

/*
 * The flow of a datagram that is an RPC message; NULL for another one. A reply
 * says little of itself: it takes a flow on which calls were seen, or the port.
 */
static struct connection *
recognise(struct datagrams *datagrams, const struct datagram *datagram, uint64_t hash)
{
	uint32_t len = datagram->datagram_len - UDP_HEADER_LEN;
	const struct connection *known = datagrams->flows == NULL ? NULL :
	    flow_table_find(datagrams->flows, &datagram->key, hash);
	const struct connection *asked = known != NULL ? known : &datagrams->nobody;
	enum header_verdict verdict;

	if (len < RPC_MIN || datagram->payload_cap_len < 2 * 4)
		return NULL;
	verdict = datagrams->sink.header(datagrams->sink.context, &asked->info, datagram->direction, datagram->payload,
	    MIN(datagram->payload_cap_len, len), len);
	if (verdict == HEADER_NO && (asked->info.tls_expected || stream_expects(&datagrams->sink, &datagram->key, true)))
		datagrams->counters.tls += is_dtls(datagram, len);
	if (verdict == HEADER_NO || (verdict == HEADER_MAYBE && known == NULL && !stream_expects(&datagrams->sink, &datagram->key, true)))
		return NULL;
	return flow_of(datagrams, datagram, hash);
}

/* Gives the sink the head of a record; false when it is no message. */
static bool
begin(struct datagrams *datagrams, struct rpc_record *record, struct connection *flow,
    const struct datagram *datagram, uint64_t order)
{
	*record = (struct rpc_record){
		.connection = &flow->info,
		.direction = datagram->direction,
		.first_ns = datagram->packet->ts_ns,
		.first_frame = datagram->packet->frame,
		.first_order = order,
		.total_len = datagram->datagram_len - UDP_HEADER_LEN,
		.head = datagram->payload,
		.head_cap = datagram->payload_cap_len,
		.head_beyond = XDR_HOLE,
	};
	flow->info.captured[datagram->direction] = true;
	if (datagrams->sink.head(datagrams->sink.context, record) == HEAD_NOT_RPC)
		return false;
	record->head = NULL;
	datagrams->counters.records++;
	return true;
}

static void
end(struct datagrams *datagrams, struct rpc_record *record, int64_t ts_ns)
{
	record->last_ns = ts_ns;
	datagrams->sink.end(datagrams->sink.context, record);
}

/* ---- fragments ---- */

static void
make_joining(struct datagrams *datagrams)
{
	datagrams->joining = g_new(struct joining, JOINING);
	for (unsigned i = 0; i < BUCKETS; i++)
		datagrams->bucket[i] = NONE;
	for (uint16_t i = 0; i < JOINING; i++)
		datagrams->joining[i].newer = i + 1;
	datagrams->unused = 0;
}

static uint16_t *
bucket_of(struct datagrams *datagrams, const struct flow_key *addresses, uint32_t id)
{
	uint32_t mixed = id ^ xdr_load32(addresses->address[0] + 12) ^ xdr_load32(addresses->address[1] + 12);

	return &datagrams->bucket[(mixed * 0x9e3779b1U) >> 24 & (BUCKETS - 1)];
}

static void
unlink_joining(struct datagrams *datagrams, uint16_t at)
{
	struct joining *joining = &datagrams->joining[at];
	uint16_t *from = bucket_of(datagrams, &joining->key, joining->id);

	while (*from != at)
		from = &datagrams->joining[*from].next;
	*from = joining->next;
	*(joining->older != NONE ? &datagrams->joining[joining->older].newer : &datagrams->oldest) = joining->newer;
	*(joining->newer != NONE ? &datagrams->joining[joining->newer].older : &datagrams->newest) = joining->older;
	joining->newer = datagrams->unused;
	datagrams->unused = at;
}

/* A fragment of it is missing, and nobody waits for it any more. */
static void
give_up(struct datagrams *datagrams, uint16_t at)
{
	struct joining *joining = &datagrams->joining[at];

	if (!joining->begins)
		datagrams->counters.headless++;
	if (joining->connection != NULL) {
		datagrams->counters.incomplete++;
		datagrams->sink.abandon(datagrams->sink.context, &joining->record);
	}
	unlink_joining(datagrams, at);
}

/* The addresses of a piece without its ports, which only the first fragment has. */
static struct flow_key
addresses_of(const struct datagram *datagram)
{
	struct flow_key addresses = { .port = { 0, 0 } };

	/* with equal addresses on both ends the ports may have exchanged two equal things */
	memcpy(addresses.address, datagram->key.address, sizeof addresses.address);
	return addresses;
}

static uint16_t
find_joining(struct datagrams *datagrams, const struct flow_key *addresses, const struct datagram *datagram)
{
	uint16_t at = *bucket_of(datagrams, addresses, datagram->id);

	for (; at != NONE; at = datagrams->joining[at].next) {
		const struct joining *joining = &datagrams->joining[at];

		if (joining->id == datagram->id && joining->direction == datagram->address_direction &&
		    memcmp(&joining->key, addresses, sizeof *addresses) == 0)
			break;
	}
	return at;
}

static uint16_t
add_joining(struct datagrams *datagrams, const struct flow_key *addresses, const struct datagram *datagram)
{
	uint16_t *bucket = bucket_of(datagrams, addresses, datagram->id);
	uint16_t at = datagrams->unused;
	struct joining *joining = &datagrams->joining[at];

	datagrams->unused = joining->newer;
	*joining = (struct joining){ .key = *addresses, .id = datagram->id, .direction = datagram->address_direction,
		.begun_ns = datagram->packet->ts_ns, .newest_ns = datagram->packet->ts_ns,
		.next = *bucket, .older = datagrams->newest, .newer = NONE };
	*bucket = at;
	*(datagrams->newest != NONE ? &datagrams->joining[datagrams->newest].newer : &datagrams->oldest) = at;
	datagrams->newest = at;
	return at;
}

static bool
is_hopeless(const struct datagrams *datagrams, const struct joining *joining, int64_t now_ns)
{
	int64_t wait_ns = datagrams->fragments_captured ? JOIN_S * (int64_t)NS_PER_S : HOPELESS_MS * (int64_t)NS_PER_MS;

	return now_ns - joining->begun_ns > wait_ns;
}

static void
push_fragment(struct datagrams *datagrams, const struct datagram *datagram, uint64_t hash, uint64_t order)
{
	struct flow_key addresses = addresses_of(datagram);
	struct joining *joining;
	uint16_t at;

	if (datagrams->joining == NULL)
		make_joining(datagrams);
	datagrams->fragments_captured |= datagram->offset > 0;
	at = find_joining(datagrams, &addresses, datagram);
	if (at != NONE && is_hopeless(datagrams, &datagrams->joining[at], datagram->packet->ts_ns)) {
		/* another datagram with its number */
		give_up(datagrams, at);
		at = NONE;
	}
	if (at == NONE) {
		if (datagrams->unused == NONE)
			give_up(datagrams, datagrams->oldest);
		at = add_joining(datagrams, &addresses, datagram);
	}
	joining = &datagrams->joining[at];
	switch (fragment_marks_add(&joining->marks, datagram->offset, datagram->wire_len, datagram->more)) {
	case FRAGMENT_BAD:
		return;
	case FRAGMENT_NEW:
		joining->newest_ns = max_ns(joining->newest_ns, datagram->packet->ts_ns);
		break;
	case FRAGMENT_COPY:
		break;
	}
	if (datagram->begins && !joining->begins) {
		struct connection *flow = recognise(datagrams, datagram, hash);

		joining = &datagrams->joining[at];
		joining->begins = true;
		if (flow != NULL && begin(datagrams, &joining->record, flow, datagram, order))
			joining->connection = flow;
	}
	if (!joining->begins || !fragment_marks_complete(&joining->marks))
		return;
	if (joining->connection != NULL) {
		datagrams->counters.joined++;
		end(datagrams, &joining->record, joining->newest_ns);
	}
	unlink_joining(datagrams, at);
}

/* ---- what a pipeline calls ---- */

void
datagrams_push(struct datagrams *datagrams, const struct datagram *datagram, uint64_t flow_hash, uint64_t order)
{
	struct connection *flow;
	struct rpc_record record;

	if (datagram->fragment) {
		push_fragment(datagrams, datagram, flow_hash, order);
		return;
	}
	flow = recognise(datagrams, datagram, flow_hash);
	if (flow != NULL && begin(datagrams, &record, flow, datagram, order))
		end(datagrams, &record, datagram->packet->ts_ns);
}

void
datagrams_tick(struct datagrams *datagrams, int64_t now_ns)
{
	while (datagrams->oldest != NONE && is_hopeless(datagrams, &datagrams->joining[datagrams->oldest], now_ns))
		give_up(datagrams, datagrams->oldest);
}

void
datagrams_clock_set_back(struct datagrams *datagrams)
{
	while (datagrams->oldest != NONE)
		give_up(datagrams, datagrams->oldest);
}

void
datagrams_finish(struct datagrams *datagrams, int64_t now_ns)
{
	uint32_t capacity = datagrams->flows == NULL ? 0 : flow_table_capacity(datagrams->flows);

	while (datagrams->oldest != NONE)
		give_up(datagrams, datagrams->oldest);
	for (uint32_t i = 0; i < capacity; i++) {
		struct connection *flow = flow_table_at(datagrams->flows, i);

		if (flow->phase == CONNECTION_FREE)
			continue;
		datagrams->sink.over(datagrams->sink.context, &flow->info, now_ns, END_OF_CAPTURE);
		flow->phase = CONNECTION_CLOSED;
	}
}
