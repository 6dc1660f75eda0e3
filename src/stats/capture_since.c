#include "stats/capture_since.h"

#include <glib.h>
#include <stddef.h>

#include "base/arith.h"

static uint64_t
grown(uint64_t earlier, uint64_t now)
{
	return now > earlier ? now - earlier : 0;
}

/* Counts that stand in a row. */
static void
counts_since(uint64_t *since, const uint64_t *earlier, const uint64_t *now, size_t count)
{
	for (size_t i = 0; i < count; i++)
		since[i] = grown(earlier[i], now[i]);
}

void
capture_facts_drop(struct capture_facts *facts)
{
	dist_clear(&facts->tcp.round_trip[0]);
	dist_clear(&facts->tcp.round_trip[1]);
	lines_free((struct lines *)facts->lines);
	facts->lines = NULL;
}

void
capture_facts_keep(struct capture_facts *kept, const struct capture_facts *now)
{
	capture_facts_drop(kept);
	*kept = *now;
	for (unsigned i = 0; i < 2; i++)
		dist_copy(&kept->tcp.round_trip[i], &now->tcp.round_trip[i]);
	kept->lines = now->lines != NULL ? lines_since(NULL, now->lines) : NULL;
}

/* unacked_bytes, the last of the counts, is the most so far. */
static void
tcp_since(struct stream_counters *since, const struct stream_counters *earlier, const struct stream_counters *now)
{
	G_STATIC_ASSERT(offsetof(struct stream_counters, connections) == 0);

	*since = *now;
	counts_since(&since->connections, &earlier->connections, &now->connections,
	    offsetof(struct stream_counters, unacked_bytes) / sizeof(since->connections));
	if (now->last_loss_ns == earlier->last_loss_ns)
		since->first_loss_ns = since->last_loss_ns = 0;
	else if (earlier->last_loss_ns != 0)
		since->first_loss_ns = MIN(earlier->last_loss_ns, now->last_loss_ns);
	for (unsigned i = 0; i < 2; i++)
		dist_since(&since->round_trip[i], &earlier->round_trip[i], &now->round_trip[i]);
}

static void
udp_since(struct datagram_counters *since, const struct datagram_counters *earlier,
    const struct datagram_counters *now)
{
	G_STATIC_ASSERT(offsetof(struct datagram_counters, flows) == 0);

	counts_since(&since->flows, &earlier->flows, &now->flows,
	    sizeof(struct datagram_counters) / sizeof(since->flows));
}

static void
rpc_since(struct rpc_counters *since, const struct rpc_counters *earlier, const struct rpc_counters *now)
{
	*since = (struct rpc_counters){
		.replies = grown(earlier->replies, now->replies),
		.orphan_replies = grown(earlier->orphan_replies, now->orphan_replies),
		.retransmitted_calls = grown(earlier->retransmitted_calls, now->retransmitted_calls),
		.hidden_records = grown(earlier->hidden_records, now->hidden_records),
		.malformed = grown(earlier->malformed, now->malformed),
		.tls_asked = grown(earlier->tls_asked, now->tls_asked),
		.tls_agreed = grown(earlier->tls_agreed, now->tls_agreed),
	};
	for (unsigned outcome = 0; outcome < OP_OUTCOMES; outcome++) {
		since->outcomes[outcome] = outcome == OP_IN_FLIGHT ? now->outcomes[outcome] :
		    grown(earlier->outcomes[outcome], now->outcomes[outcome]);
		since->calls += since->outcomes[outcome];
	}
}

void
capture_facts_since(struct capture_facts *since, const struct capture_facts *earlier,
    const struct capture_facts *now, int64_t from_ns, int64_t to_ns)
{
	*since = *now;
	since->first_ns = from_ns;
	since->last_ns = to_ns;
	since->packets = grown(earlier->packets, now->packets);
	since->truncated_packets = grown(earlier->truncated_packets, now->truncated_packets);
	since->duplicate_packets = grown(earlier->duplicate_packets, now->duplicate_packets);
	since->duplicates = NULL;	/* not told apart */
	since->fragments = grown(earlier->fragments, now->fragments);
	since->bad_blocks = grown(earlier->bad_blocks, now->bad_blocks);
	since->bad_packets = grown(earlier->bad_packets, now->bad_packets);
	since->backward_stamps = grown(earlier->backward_stamps, now->backward_stamps);
	since->backward_max_ns = since->backward_stamps > 0 ? now->backward_max_ns : 0;
	if (now->dropped_by_kernel >= 0 && earlier->dropped_by_kernel >= 0)
		since->dropped_by_kernel = max_ns(now->dropped_by_kernel - earlier->dropped_by_kernel, 0);
	if (now->dropped_by_interface >= 0 && earlier->dropped_by_interface >= 0)
		since->dropped_by_interface = max_ns(now->dropped_by_interface - earlier->dropped_by_interface, 0);
	tcp_since(&since->tcp, &earlier->tcp, &now->tcp);
	udp_since(&since->udp, &earlier->udp, &now->udp);
	rpc_since(&since->rpc, &earlier->rpc, &now->rpc);
	since->paired_calls = grown(earlier->paired_calls, now->paired_calls);
	since->against_clock = grown(earlier->against_clock, now->against_clock);
	since->lines = now->lines != NULL ? lines_since(earlier->lines, now->lines) : NULL;
}

void
correlate_facts_since(struct correlate_facts *since, const struct correlate_facts *earlier,
    const struct correlate_facts *now)
{
	*since = *now;
	counts_since(since->matches, earlier->matches, now->matches, MATCHES);
	counts_since(since->evicted, earlier->evicted, now->evicted, G_N_ELEMENTS(since->evicted));
	since->mispaired = grown(earlier->mispaired, now->mispaired);
	since->translated = grown(earlier->translated, now->translated);
	if (since->matches[MATCH_MATCHED] == 0)
		since->overlap_first_ns = since->overlap_last_ns = 0;
	else if (earlier->overlap_last_ns > 0)
		since->overlap_first_ns = earlier->overlap_last_ns;
}
