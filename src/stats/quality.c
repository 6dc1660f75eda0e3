#include "stats/quality.h"

#include "base/arith.h"

enum { PPM = 1000000 };

/* What the rules look at. A rule of one capture looks at facts[capture]. */
struct evidence {
	const struct capture_facts *facts;
	unsigned count, capture;
	const struct correlate_facts *correlated;
	const struct clock_facts *clocks;
	const struct aggregate_totals *totals;
};

/* part of whole in parts per million; 0 of nothing. */
static uint64_t
ppm(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (uint64_t)((unsigned __int128)part * PPM / whole);
}

static double
percent(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static enum quality_level
level_of(uint64_t share_ppm, uint64_t usable_ppm, uint64_t poor_ppm)
{
	return share_ppm > poor_ppm ? QUALITY_POOR : share_ppm > usable_ppm ? QUALITY_USABLE : QUALITY_GOOD;
}

/* "server" or "client", and which one when there are several. */
static const struct capture_facts *
judged(const struct evidence *evidence, char who[32])
{
	const struct capture_facts *facts = &evidence->facts[evidence->capture];

	if (facts->side == PAIR_SERVER)
		g_snprintf(who, 32, "server");
	else if (evidence->count <= 2)
		g_snprintf(who, 32, "client");
	else
		g_snprintf(who, 32, "client %u", evidence->capture);
	return facts;
}

/* Seconds from the start of the capture. */
static double
since_start(const struct capture_facts *facts, int64_t at_ns)
{
	return ((double)at_ns - (double)facts->first_ns) / NS_PER_S;
}

/* A rule fills in level, count and text, and returns false when there is nothing to tell. */
typedef bool rule_fn(const struct evidence *evidence, struct quality_reason *reason);

static bool
judge_no_calls(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);

	if (facts->rpc.calls > 0)
		return false;
	reason->level = QUALITY_POOR;
	reason->count = facts->packets;
	reason->text = g_strdup_printf("%s capture: no NFS call in %" G_GUINT64_FORMAT " packets%s%s",
	    who, facts->packets, facts->truncated_packets > 0 ?
	    "; the snap length may have cut them away" : "",
	    facts->tcp.tls_connections + facts->udp.tls > 0 ? "; what there is is inside TLS" : "");
	return true;
}

/* The snap length hid headers of calls, so that it explains replies without call better than a loss does. */
static bool
cut_explains_orphans(const struct capture_facts *facts)
{
	return facts->rpc.hidden_records > 0 && facts->truncated_packets > 0;
}

/* So does a beginning in the middle of connections: the calls came before it. */
static bool
loss_explains_orphans(const struct capture_facts *facts)
{
	return !cut_explains_orphans(facts) && facts->tcp.mid_stream == 0;
}

/* How much NFS went by that nothing is known of cannot be told, so that any of it is a flaw. */
static bool
judge_tls(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	const struct stream_counters *tcp = &facts->tcp;
	g_autoptr(GString) text = g_string_new(NULL);

	if (tcp->tls_connections == 0 && facts->udp.tls == 0)
		return false;
	reason->level = level_of(ppm(tcp->tls_bytes, tcp->payload_bytes), TLS_USABLE_PPM, TLS_POOR_PPM);
	reason->count = tcp->tls_connections > 0 ? tcp->tls_connections : facts->udp.tls;
	g_string_printf(text, "%s capture: NFS inside TLS, whose calls cannot be read: ", who);
	if (tcp->tls_connections > 0)
		g_string_append_printf(text, "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " connections (%"
		    G_GUINT64_FORMAT " bytes, %.3g %% of the payload)", tcp->tls_connections, tcp->connections,
		    tcp->tls_bytes, percent(tcp->tls_bytes, tcp->payload_bytes));
	if (facts->udp.tls > 0)
		g_string_append_printf(text, "%s%" G_GUINT64_FORMAT " datagrams", tcp->tls_connections > 0 ? ", " : "",
		    facts->udp.tls);
	if (facts->rpc.tls_asked > 0)
		g_string_append_printf(text, "; calls that ask for it %" G_GUINT64_FORMAT ", replies that agree %"
		    G_GUINT64_FORMAT, facts->rpc.tls_asked, facts->rpc.tls_agreed);
	reason->text = g_string_free(g_steal_pointer(&text), FALSE);
	return true;
}

static bool
judge_lost(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	const struct stream_counters *tcp = &facts->tcp;
	uint64_t bytes = tcp->payload_bytes + tcp->lost_bytes;
	uint64_t unmatched = facts->rpc.outcomes[OP_LOST_IN_CAPTURE] +
	    (loss_explains_orphans(facts) ? facts->rpc.orphan_replies : 0);
	uint64_t calls = facts->rpc.calls + facts->rpc.orphan_replies;
	g_autoptr(GString) text = g_string_new(NULL);

	if (tcp->lost_segments == 0)
		return false;
	reason->level = level_of(MAX(ppm(tcp->lost_bytes, bytes), ppm(unmatched, calls)),
	    LOST_USABLE_PPM, LOST_POOR_PPM);
	reason->count = tcp->lost_segments;
	g_string_printf(text, "%s capture: segments acknowledged and never captured: %" G_GUINT64_FORMAT
	    " (%" G_GUINT64_FORMAT " bytes, %.3g %% of the payload)",
	    who, tcp->lost_segments, tcp->lost_bytes, percent(tcp->lost_bytes, bytes));
	if (tcp->first_loss_ns != 0)
		g_string_append_printf(text, ", %.3f to %.3f s after its start",
		    since_start(facts, tcp->first_loss_ns), since_start(facts, tcp->last_loss_ns));
	if (unmatched > 0)
		g_string_append_printf(text, "; calls without reply%s that may lie there: %" G_GUINT64_FORMAT
		    " (%.3g %%)", loss_explains_orphans(facts) ? " or replies without call" : "",
		    unmatched, percent(unmatched, calls));
	reason->text = g_string_free(g_steal_pointer(&text), FALSE);
	return true;
}

static bool
judge_kernel_drops(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	uint64_t dropped = (uint64_t)MAX(facts->dropped_by_kernel, 0);

	if (dropped == 0)
		return false;
	reason->level = level_of(ppm(dropped, dropped + facts->packets), LOST_USABLE_PPM, LOST_POOR_PPM);
	reason->count = dropped;
	reason->text = g_strdup_printf("%s capture: packets dropped by the kernel: %" G_GUINT64_FORMAT " (%.3g %%)",
	    who, dropped, percent(dropped, dropped + facts->packets));
	return true;
}

static bool
judge_one_way(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	const struct stream_counters *tcp = &facts->tcp;

	if (tcp->one_direction == 0)
		return false;
	reason->level = level_of(ppm(tcp->one_direction, tcp->rpc_connections),
	    ONE_WAY_USABLE_PPM, ONE_WAY_POOR_PPM);
	reason->count = tcp->one_direction;
	reason->text = g_strdup_printf("%s capture: RPC connections captured in one direction only: %"
	    G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT "; their calls cannot be timed",
	    who, tcp->one_direction, tcp->rpc_connections);
	return true;
}

static bool
judge_evicted(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	uint64_t calls = facts->rpc.outcomes[OP_EVICTED];

	if (calls == 0 && facts->tcp.evicted_connections == 0)
		return false;
	reason->level = level_of(MAX(ppm(calls, facts->rpc.calls),
	    ppm(facts->tcp.evicted_connections, facts->tcp.connections)), LOST_USABLE_PPM, LOST_POOR_PPM);
	reason->count = calls + facts->tcp.evicted_connections;
	reason->text = g_strdup_printf("%s capture: more than the tables of this program hold; it dropped %"
	    G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " calls and %" G_GUINT64_FORMAT " of %"
	    G_GUINT64_FORMAT " connections", who, calls, facts->rpc.calls,
	    facts->tcp.evicted_connections, facts->tcp.connections);
	return true;
}

static bool
judge_hidden(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	uint64_t hidden = facts->rpc.hidden_records;
	uint64_t headers = hidden + facts->rpc.calls + facts->rpc.retransmitted_calls + facts->rpc.replies;
	uint64_t orphans = cut_explains_orphans(facts) ? facts->rpc.orphan_replies : 0;
	g_autoptr(GString) text = g_string_new(NULL);

	if (hidden == 0)
		return false;
	reason->level = MAX(level_of(ppm(hidden, headers), HIDDEN_USABLE_PPM, HIDDEN_POOR_PPM),
	    level_of(ppm(orphans, facts->rpc.replies), ORPHAN_USABLE_PPM, PPM));
	reason->count = hidden;
	g_string_printf(text, "%s capture: RPC headers that the snap length", who);
	if (facts->snaplen > 0)
		g_string_append_printf(text, " of %" G_GUINT32_FORMAT " bytes", facts->snaplen);
	g_string_append_printf(text, " cut away: at least %" G_GUINT64_FORMAT " (%.3g %%); their calls are missing",
	    hidden, percent(hidden, headers));
	if (orphans > 0)
		g_string_append_printf(text, "; replies whose call is not in it: %" G_GUINT64_FORMAT " (%.3g %%)",
		    orphans, percent(orphans, facts->rpc.replies));
	reason->text = g_string_free(g_steal_pointer(&text), FALSE);
	return true;
}

static bool
judge_trouble(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);

	if (facts->trouble == NULL)
		return false;
	reason->level = QUALITY_USABLE;
	reason->count = 1;
	reason->text = g_strdup_printf("%s capture: reading stopped after %" G_GUINT64_FORMAT " packets: %s",
	    who, facts->packets, facts->trouble);
	return true;
}

static bool
judge_bad(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	uint64_t messages = facts->rpc.calls + facts->rpc.retransmitted_calls + facts->rpc.replies;
	uint64_t share = MAX(ppm(facts->bad_packets, facts->packets), ppm(facts->rpc.malformed, messages));
	g_autoptr(GString) text = g_string_new(NULL);

	if (share <= BAD_USABLE_PPM)
		return false;
	reason->level = level_of(share, BAD_USABLE_PPM, BAD_POOR_PPM);
	reason->count = facts->bad_packets + facts->rpc.malformed;
	g_string_printf(text, "%s capture: ", who);
	if (facts->bad_packets > 0)
		g_string_append_printf(text, "packets with cut or wrong headers: %" G_GUINT64_FORMAT " (%.3g %%)",
		    facts->bad_packets, percent(facts->bad_packets, facts->packets));
	if (facts->rpc.malformed > 0)
		g_string_append_printf(text, "%sRPC messages that contradict themselves: %" G_GUINT64_FORMAT " (%.3g %%)",
		    facts->bad_packets > 0 ? "; " : "", facts->rpc.malformed, percent(facts->rpc.malformed, messages));
	reason->text = g_string_free(g_steal_pointer(&text), FALSE);
	return true;
}

/* Unless they are explained by what was lost or cut. */
static bool
judge_orphans(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	uint64_t orphans = facts->rpc.orphan_replies;
	g_autofree char *before = NULL;

	if (orphans == 0 || cut_explains_orphans(facts) ||
	    (facts->tcp.lost_segments > 0 && loss_explains_orphans(facts)))
		return false;
	if (facts->tcp.mid_stream > 0)
		before = g_strdup_printf("; RPC connections that began before it: %" G_GUINT64_FORMAT " of %"
		    G_GUINT64_FORMAT, facts->tcp.mid_stream, facts->tcp.rpc_connections);
	else
		before = g_strdup("");
	reason->level = level_of(ppm(orphans, facts->rpc.replies), ORPHAN_USABLE_PPM, PPM);
	reason->count = orphans;
	reason->text = g_strdup_printf("%s capture: replies whose call is not in it: %" G_GUINT64_FORMAT
	    " (%.3g %%)%s", who, orphans, percent(orphans, facts->rpc.replies), before);
	return true;
}

static bool
judge_duplicates(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	GString *text;

	if (facts->duplicate_packets == 0)
		return false;
	reason->level = QUALITY_GOOD;
	reason->count = facts->duplicate_packets;
	text = g_string_new(NULL);
	g_string_printf(text, "%s capture: packets captured twice: %" G_GUINT64_FORMAT " (%.3g %%); "
	    "the first copy is used", who, facts->duplicate_packets,
	    percent(facts->duplicate_packets, facts->packets));
	capture_append_pairs(text, facts);
	reason->text = g_string_free(text, FALSE);
	return true;
}

static bool
judge_backward(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);

	if (facts->backward_max_ns < BACKWARD_STEP_NS)
		return false;
	reason->level = QUALITY_USABLE;
	reason->count = facts->backward_stamps;
	reason->text = g_strdup_printf("%s capture: packets stamped before an earlier one: %" G_GUINT64_FORMAT
	    " (%.3g %%), by %.6f s at most", who, facts->backward_stamps,
	    percent(facts->backward_stamps, facts->packets), (double)facts->backward_max_ns / NS_PER_S);
	return true;
}

static bool
judge_side(const struct evidence *evidence, struct quality_reason *reason)
{
	const struct capture_facts *facts = evidence->facts;

	if (evidence->correlated != NULL) {
		if (evidence->correlated->same_side) {
			reason->level = QUALITY_POOR;
			reason->text = g_strdup("both captures were made on the same side: there is no network between them");
		} else if (evidence->correlated->swapped) {
			reason->level = QUALITY_GOOD;
			reason->text = g_strdup("server and client were given the other way round; corrected");
		} else {
			return false;
		}
	} else {
		if (!facts->side_detected || facts->detected_side == facts->side)
			return false;
		reason->level = QUALITY_USABLE;
		reason->text = g_strdup_printf("the capture was taken for the %s's, but its TCP timing looks like the %s's",
		    facts->side == PAIR_SERVER ? "server" : "client",
		    facts->detected_side == PAIR_SERVER ? "server" : "client");
	}
	reason->count = 1;
	return true;
}

static bool
is_undecided(const struct correlate_facts *correlated)
{
	uint64_t decided = 0;

	for (unsigned match = 0; match < MATCHES; match++)
		decided += correlated->matches[match];
	return decided == 0 && correlated->evicted[PAIR_SERVER] + correlated->evicted[PAIR_CLIENT] == 0;
}

static bool
judge_common(const struct evidence *evidence, struct quality_reason *reason)
{
	const struct correlate_facts *correlated = evidence->correlated;
	uint64_t matched = evidence->totals->matched + evidence->totals->callbacks;
	uint64_t server = evidence->facts[0].rpc.calls, client = 0, fewer, common;

	if (correlated == NULL)
		return false;
	for (unsigned i = 1; i < evidence->count; i++)
		client += evidence->facts[i].rpc.calls;
	fewer = MIN(server, client);
	common = matched + correlated->matches[MATCH_PARTIAL];
	/* in an interval: the comparison has not come to any of its calls */
	if (is_undecided(correlated))
		return false;
	if (common > 0 && ppm(common, fewer) >= COMMON_USABLE_PPM)
		return false;
	reason->count = common;
	if (common == 0) {
		reason->level = QUALITY_POOR;
		reason->text = g_strdup_printf("no call is in both captures (server %" G_GUINT64_FORMAT
		    ", client %" G_GUINT64_FORMAT " calls)", server, client);
		return true;
	}
	reason->level = QUALITY_USABLE;
	reason->text = g_strdup_printf("calls in both captures: only %" G_GUINT64_FORMAT " (server %" G_GUINT64_FORMAT
	    ", client %" G_GUINT64_FORMAT "), within %.3f s", common, server, client,
	    ((double)correlated->overlap_last_ns - (double)correlated->overlap_first_ns) / NS_PER_S);
	return true;
}

static bool
common_is_low(const struct evidence *evidence)
{
	struct quality_reason reason = { 0 };
	bool low = judge_common(evidence, &reason);

	g_free(reason.text);
	return low;
}

/* The client, from 1, whose capture this one is once more; 0: none. Two hosts do not agree in all of this. */
static unsigned
copy_of(const struct evidence *evidence)
{
	const struct capture_facts *facts = &evidence->facts[evidence->capture];

	for (unsigned i = 1; i < evidence->capture; i++) {
		const struct capture_facts *other = &evidence->facts[i];

		if (other->packets == facts->packets && other->first_ns == facts->first_ns &&
		    other->last_ns == facts->last_ns && other->tcp.payload_bytes == facts->tcp.payload_bytes &&
		    other->rpc.calls == facts->rpc.calls)
			return i;
	}
	return 0;
}

/*
 * A client of its own: among several, one whose calls are not the server's
 * hides behind the others, and with one alone a server's capture that has few
 * calls looks whole. What the sum over all tells already is not told again.
 */
static bool
judge_client(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);

	if (evidence->correlated == NULL || evidence->capture == 0 || facts->rpc.calls == 0 ||
	    ppm(facts->paired_calls, facts->rpc.calls) >= CLIENT_COMMON_USABLE_PPM || copy_of(evidence) != 0 ||
	    evidence->totals->matched + evidence->totals->callbacks + evidence->correlated->matches[MATCH_PARTIAL] == 0 ||
	    (evidence->count <= 2 && common_is_low(evidence)))
		return false;
	reason->level = QUALITY_USABLE;
	reason->count = facts->paired_calls;
	if (facts->paired_calls == 0)
		reason->text = g_strdup_printf("%s capture (%s): none of its %" G_GUINT64_FORMAT " calls was matched; it is of "
		    "another time or another server", who, facts->name,
		    facts->rpc.calls);
	else
		reason->text = g_strdup_printf("%s capture (%s): only %" G_GUINT64_FORMAT " of its %" G_GUINT64_FORMAT
		    " calls (%.3g %%) are in the server's capture; the others are judged by nobody", who, facts->name,
		    facts->paired_calls, facts->rpc.calls, percent(facts->paired_calls, facts->rpc.calls));
	return true;
}

/* Its calls are counted twice, and which of the two a call is matched with is chance. */
static bool
judge_copy(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	unsigned copied = copy_of(evidence);

	if (copied == 0 || facts->rpc.calls == 0)
		return false;
	reason->level = QUALITY_USABLE;
	reason->count = facts->rpc.calls;
	reason->text = g_strdup_printf("%s capture (%s) is that of client %u once more: as many packets and calls, from the "
	    "same first to the same last stamp; leave it out, its calls are counted twice", who, facts->name, copied);
	return true;
}

/* An offset that was given and that the calls refute: a request would arrive before it was sent. */
static bool
judge_given_clock(const struct evidence *evidence, struct quality_reason *reason)
{
	char who[32];
	const struct capture_facts *facts = judged(evidence, who);
	const struct clock_facts *clock;

	if (evidence->clocks == NULL || evidence->capture == 0)
		return false;
	clock = &evidence->clocks[evidence->capture - 1];
	if (clock->mode != CLOCK_GIVEN || ppm(facts->against_clock, facts->paired_calls) <= AGAINST_CLOCK_PPM)
		return false;
	reason->level = QUALITY_USABLE;
	reason->count = facts->against_clock;
	reason->text = g_strdup_printf("%s capture: the offset given with --clock contradicts %" G_GUINT64_FORMAT
	    " matched calls (%.3g %%): by it, their request or reply arrives before it was sent; --clock=auto finds an "
	    "offset that fits", who, facts->against_clock,
	    percent(facts->against_clock, facts->paired_calls));
	return true;
}

static bool
judge_steps(const struct evidence *evidence, struct quality_reason *reason)
{
	const struct clock_step *first = NULL;

	if (evidence->clocks == NULL)
		return false;
	for (unsigned i = 0; i + 1 < evidence->count; i++) {
		const struct clock_facts *clock = &evidence->clocks[i];

		reason->count += clock->steps;
		if (first == NULL && clock->steps > 0)
			first = &clock->step[0];
	}
	if (first == NULL)
		return false;
	reason->level = QUALITY_USABLE;
	reason->text = g_strdup_printf("jumps of the offset between the clocks: %" G_GUINT64_FORMAT
	    ", the first by %.6f s, %.3f s after the start of the server's capture", reason->count,
	    (double)first->step_ns / NS_PER_S, since_start(evidence->facts, first->at_ns));
	return true;
}

static bool
judge_translated(const struct evidence *evidence, struct quality_reason *reason)
{
	if (evidence->correlated == NULL || evidence->correlated->translated == 0)
		return false;
	reason->level = QUALITY_GOOD;
	reason->count = evidence->correlated->translated;
	reason->text = g_strdup_printf("connections with other addresses or ports in the other capture (NAT, a virtual "
	    "address, a proxy): %" G_GUINT64_FORMAT "; paired by XID and content", reason->count);
	return true;
}

/* Most calls take longer in the server than on the whole: not the stamps are wrong, but what they are taken for. */
static bool
is_reversed(const struct aggregate_totals *totals)
{
	return totals->server_ns > totals->total_ns && ppm(totals->negative, totals->matched) > REVERSED_PPM;
}

static bool
judge_reversed(const struct evidence *evidence, struct quality_reason *reason)
{
	const struct aggregate_totals *totals = evidence->totals;
	const struct capture_facts *server = evidence->facts;

	if (evidence->correlated == NULL || !is_reversed(totals))
		return false;
	reason->level = QUALITY_POOR;
	reason->count = totals->negative;
	reason->text = g_strdup_printf("matched calls that take longer in the server than on the whole: %" G_GUINT64_FORMAT
	    " (%.3g %%); the captures are the wrong way round%s: exchange them, or leave --swap out", totals->negative,
	    percent(totals->negative, totals->matched), server->side_detected && server->detected_side == PAIR_CLIENT ?
	    ", as their round trips say, too" : "");
	return true;
}

static bool
judge_negative(const struct evidence *evidence, struct quality_reason *reason)
{
	const struct aggregate_totals *totals = evidence->totals;

	if (totals->negative == 0 || is_reversed(totals))
		return false;
	reason->level = level_of(ppm(totals->negative, totals->matched), NEGATIVE_USABLE_PPM, NEGATIVE_POOR_PPM);
	reason->count = totals->negative;
	reason->text = g_strdup_printf("matched calls with a part below zero: %" G_GUINT64_FORMAT " (%.3g %%); "
	    "the time stamps are less steady than the network is fast", totals->negative,
	    percent(totals->negative, totals->matched));
	return true;
}

/* One of several clients that made so few of their calls that its flaws cannot spoil the whole. */
static bool
is_minor(const struct evidence *evidence)
{
	uint64_t calls = 0;

	if (evidence->capture == 0 || evidence->count <= 2)
		return false;
	for (unsigned i = 1; i < evidence->count; i++)
		calls += evidence->facts[i].rpc.calls;
	return ppm(evidence->facts[evidence->capture].rpc.calls, calls) <= MINOR_CLIENT_PPM;
}

/* Calls that waited for their counterpart until the table was full: often they have none. */
static bool
judge_given_up(const struct evidence *evidence, struct quality_reason *reason)
{
	const struct correlate_facts *correlated = evidence->correlated;
	uint64_t calls;

	if (correlated == NULL)
		return false;
	calls = correlated->evicted[PAIR_SERVER] + correlated->evicted[PAIR_CLIENT];
	if (calls == 0)
		return false;
	reason->level = QUALITY_GOOD;
	reason->count = calls;
	reason->text = g_strdup_printf("calls without a counterpart that no longer fit into the table and were given up: %"
	    G_GUINT64_FORMAT " of the server, %" G_GUINT64_FORMAT " of clients", correlated->evicted[PAIR_SERVER],
	    correlated->evicted[PAIR_CLIENT]);
	return true;
}

static const struct rule {
	const char *id;
	bool each_capture;	/* asked of every capture; else once */
	rule_fn *judge;
	enum quality_cause cause;
} rules[] = {
	{ "capture-swapped", false, judge_side, CAUSE_OTHER },
	{ "capture-swapped", false, judge_reversed, CAUSE_OTHER },
	{ "capture-overlap", true, judge_no_calls, CAUSE_OTHER },
	{ "capture-overlap", false, judge_common, CAUSE_OTHER },
	{ "capture-overlap", true, judge_client, CAUSE_OTHER },
	{ "capture-overlap", true, judge_copy, CAUSE_OTHER },
	{ "capture-overlap", false, judge_given_up, CAUSE_OTHER },
	{ "tls-hidden", true, judge_tls, CAUSE_OTHER },
	{ "capture-drops", true, judge_lost, CAUSE_LOST },
	{ "capture-drops", true, judge_kernel_drops, CAUSE_KERNEL },
	{ "capture-drops", true, judge_one_way, CAUSE_ONE_WAY },
	{ "capture-drops", true, judge_evicted, CAUSE_OTHER },
	{ "capture-truncated", true, judge_hidden, CAUSE_HIDDEN },
	{ "capture-truncated", true, judge_trouble, CAUSE_TROUBLE },
	{ "capture-truncated", true, judge_bad, CAUSE_OTHER },
	{ "capture-truncated", true, judge_orphans, CAUSE_OTHER },
	{ "clock-step", false, judge_steps, CAUSE_OTHER },
	{ "clock-step", true, judge_given_clock, CAUSE_OTHER },
	{ "clock-step", true, judge_backward, CAUSE_OTHER },
	{ "faster-than-network", false, judge_negative, CAUSE_OTHER },
	{ "address-translation", false, judge_translated, CAUSE_OTHER },
	{ "capture-duplicates", true, judge_duplicates, CAUSE_OTHER },
};

static void
reason_clear(void *reason)
{
	g_free(((struct quality_reason *)reason)->text);
}

/* Behind the reasons that are as serious: the order of the rules stays. */
static void
reason_insert(struct quality *quality, const struct quality_reason *reason)
{
	unsigned at = quality->reasons->len;

	while (at > 0 && g_array_index(quality->reasons, struct quality_reason, at - 1).level < reason->level)
		at--;
	g_array_insert_val(quality->reasons, at, *reason);
	quality->level = MAX(quality->level, reason->level);
}

struct quality *
quality_judge(const struct capture_facts *facts, unsigned count,
    const struct correlate_facts *correlated, const struct clock_facts *clocks, const struct aggregate_totals *totals)
{
	struct quality *quality = g_new0(struct quality, 1);
	struct evidence evidence = {
		.facts = facts, .count = count, .correlated = correlated, .clocks = clocks, .totals = totals,
	};

	quality->reasons = g_array_new(FALSE, FALSE, sizeof(struct quality_reason));
	g_array_set_clear_func(quality->reasons, reason_clear);
	for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
		unsigned times = rules[i].each_capture ? count : 1;

		for (evidence.capture = 0; evidence.capture < times; evidence.capture++) {
			struct quality_reason reason = { .id = rules[i].id, .cause = rules[i].cause };

			if (!rules[i].judge(&evidence, &reason))
				continue;
			if (rules[i].each_capture && reason.level == QUALITY_POOR && is_minor(&evidence))
				reason.level = QUALITY_USABLE;
			reason_insert(quality, &reason);
		}
	}
	return quality;
}

void
quality_free(struct quality *quality)
{
	if (quality == NULL)
		return;
	g_array_unref(quality->reasons);
	g_free(quality);
}
