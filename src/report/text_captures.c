/*
 * What was read: a paragraph a capture, and the clocks.
 */
#include <glib.h>
#include <math.h>
#include <pcap/pcap.h>

#include "base/arith.h"
#include "base/format.h"
#include "report/text.h"
#include "report/words.h"
#include "stats/rows.h"

static void
capture_file(const struct page *page, unsigned number)
{
	const struct capture_facts *facts = &page->report->captures[number];
	g_autoptr(GString) line = g_string_new(NULL);
	char first[FORMAT_SIZE + 8], span[FORMAT_SIZE];

	/* The number by which clocks, reasons and slowest calls name it. */
	if (page->report->capture_count > 2 && number > 0)
		g_string_append_printf(line, "%u: ", number);
	g_string_append(line, facts->name);
	if (facts->file_count > 1)
		g_string_append_printf(line, " and %u more files", facts->file_count - 1);
	g_string_append_printf(line, ": %s", facts->format);
	if (facts->compression != NULL)
		g_string_append_printf(line, " in %s", facts->compression);
	for (unsigned i = 0; i < facts->link_type_count; i++) {
		const char *name = pcap_datalink_val_to_name(facts->link_types[i]);

		g_string_append_printf(line, ", %s", name != NULL ? name : "unknown link type");
	}
	if (facts->snaplen > 0)
		g_string_append_printf(line, ", snap length %" G_GUINT32_FORMAT, facts->snaplen);
	g_string_append(line, facts->nanoseconds ? ", stamps in ns" : ", stamps in us");
	print_wrapped(page->out, facts->side == PAIR_SERVER ? "  server  " : "  client  ", line->str);
	if (facts->packets == 0)
		return;
	g_string_printf(line, "%" G_GUINT64_FORMAT " packets in %s from %s UTC", facts->packets,
	    format_duration(span, duration_ns(facts->first_ns, facts->last_ns)), format_stamp(first, facts->first_ns));
	if (facts->truncated_packets > 0)
		g_string_append_printf(line, ", %" G_GUINT64_FORMAT " cut by the snap length", facts->truncated_packets);
	if (facts->dropped_by_kernel >= 0)
		g_string_append_printf(line, ", %" G_GINT64_FORMAT " dropped by the kernel", facts->dropped_by_kernel);
	if (facts->dropped_by_interface > 0)
		g_string_append_printf(line, ", %" G_GINT64_FORMAT " by the interface (of whatever kind)",
		    facts->dropped_by_interface);
	if (facts->bad_blocks > 0)
		g_string_append_printf(line, ", %" G_GUINT64_FORMAT " broken blocks skipped", facts->bad_blocks);
	print_wrapped(page->out, "          ", line->str);
}

static void
capture_tcp(const struct page *page, const struct capture_facts *facts)
{
	const struct stream_counters *tcp = &facts->tcp;
	const struct dist *trips = &tcp->round_trip[facts->side == PAIR_SERVER ? 1 : 0];
	g_autoptr(GString) line = g_string_new(NULL);
	char least[FORMAT_SIZE], half[FORMAT_SIZE];

	if (tcp->connections == 0 && facts->udp.flows > 0)
		return;
	g_string_printf(line, "TCP connections %" G_GUINT64_FORMAT ", with RPC %" G_GUINT64_FORMAT ", begun before the "
	    "capture %" G_GUINT64_FORMAT "; segments %" G_GUINT64_FORMAT ", retransmitted %" G_GUINT64_FORMAT
	    ", out of order %" G_GUINT64_FORMAT ", lost in the capture %" G_GUINT64_FORMAT ", zero window %"
	    G_GUINT64_FORMAT, tcp->connections, tcp->rpc_connections, tcp->mid_stream, tcp->segments,
	    tcp->retransmitted, tcp->out_of_order, tcp->lost_segments, tcp->zero_window);
	if (trips->count > 0)
		g_string_append_printf(line, "; round trip to the %s: min %s, p50 %s (n %" G_GUINT64_FORMAT ")",
		    side_words[1 - facts->side], format_duration(least, trips->min_ns),
		    format_duration(half, dist_quantile(trips, 500)), trips->count);
	print_wrapped(page->out, "          ", line->str);
}

static void
capture_udp(const struct page *page, const struct capture_facts *facts)
{
	const struct datagram_counters *udp = &facts->udp;
	g_autoptr(GString) line = g_string_new(NULL);

	if (udp->flows == 0)
		return;
	g_string_printf(line, "UDP flows with RPC %" G_GUINT64_FORMAT ", messages %" G_GUINT64_FORMAT
	    ", joined from fragments %" G_GUINT64_FORMAT ", lacking a fragment %" G_GUINT64_FORMAT, udp->flows,
	    udp->records, udp->joined, udp->incomplete);
	if (udp->headless > 0)
		g_string_append_printf(line, "; datagrams of any kind without their first fragment %" G_GUINT64_FORMAT,
		    udp->headless);
	print_wrapped(page->out, "          ", line->str);
}

/* A line only where there is any. */
static void
capture_tls(const struct page *page, const struct capture_facts *facts)
{
	g_autoptr(GString) line = g_string_new(NULL);

	if (facts->tcp.tls_connections + facts->udp.tls + facts->rpc.tls_asked == 0)
		return;
	g_string_printf(line, "TLS asked for by RPC %" G_GUINT64_FORMAT ", agreed %" G_GUINT64_FORMAT ", connections %"
	    G_GUINT64_FORMAT " with %" G_GUINT64_FORMAT " bytes that cannot be read", facts->rpc.tls_asked,
	    facts->rpc.tls_agreed, facts->tcp.tls_connections, facts->tcp.tls_bytes);
	if (facts->udp.tls > 0)
		g_string_append_printf(line, ", datagrams %" G_GUINT64_FORMAT, facts->udp.tls);
	print_wrapped(page->out, "          ", line->str);
}

static void
capture_rpc(const struct page *page, const struct capture_facts *facts)
{
	const struct rpc_counters *rpc = &facts->rpc;
	g_autoptr(GString) line = g_string_new(NULL);

	g_string_printf(line, "RPC calls %" G_GUINT64_FORMAT " = answered %" G_GUINT64_FORMAT " + unanswered %"
	    G_GUINT64_FORMAT " + lost in the capture %" G_GUINT64_FORMAT " + in flight %" G_GUINT64_FORMAT
	    " + evicted %" G_GUINT64_FORMAT "; sent again %" G_GUINT64_FORMAT ", replies without call %"
	    G_GUINT64_FORMAT ", hidden records %" G_GUINT64_FORMAT ", malformed %" G_GUINT64_FORMAT,
	    rpc->calls, rpc->outcomes[OP_ANSWERED], rpc->outcomes[OP_UNANSWERED],
	    rpc->outcomes[OP_LOST_IN_CAPTURE], rpc->outcomes[OP_IN_FLIGHT], rpc->outcomes[OP_EVICTED],
	    rpc->retransmitted_calls, rpc->orphan_replies, rpc->hidden_records, rpc->malformed);
	print_wrapped(page->out, "          ", line->str);
}

/* Seconds with all their nanoseconds. */
static void
append_seconds(GString *line, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	g_string_append_printf(line, "%c%" G_GUINT64_FORMAT ".%09" G_GUINT64_FORMAT " s", ns < 0 ? '-' : '+',
	    size / NS_PER_S, size % NS_PER_S);
}

/*
 * Durations are not rescaled: what the server's clock gains or loses while it
 * serves a call is in network. No call is longer in the server than on the
 * whole, so that the mean total is the worst of it.
 */
static void
append_drift(const struct page *page, GString *line, const struct clock_facts *clock)
{
	const struct aggregate_totals *totals = aggregate_totals(page->report->aggregate);
	double mean_ns, ppb;
	char most[FORMAT_SIZE], total[FORMAT_SIZE];

	if (!clock->has_drift || totals->matched == 0 || totals->total_ns <= 0)
		return;
	mean_ns = (double)totals->total_ns / (double)totals->matched;
	ppb = fabs((double)clock->drift_ppb) + (double)clock->drift_error_ppb;
	g_string_append_printf(line, "; by the drift, network is off by up to %s in a call of the mean total of %s",
	    format_duration(most, (int64_t)(mean_ns * ppb / 1e9)), format_duration(total, (int64_t)mean_ns));
}

static void
clock_line(const struct page *page, unsigned client)
{
	const struct clock_facts *clock = &page->report->clocks[client];
	g_autoptr(GString) line = g_string_new(NULL);
	char text[FORMAT_SIZE], stamp[FORMAT_SIZE + 8];

	if (page->report->capture_count > 2)
		g_string_append_printf(line, "client %u: ", client + 1);
	if (!clock->aligned) {
		g_string_append(line, "not aligned; request and reply cannot be told apart");
		print_wrapped(page->out, client == 0 ? "  clocks  " : "          ", line->str);
		return;
	}
	g_string_append(line, "server - client = ");
	append_seconds(line, clock->offset_ns);
	if (clock->mode == CLOCK_GIVEN) {
		g_string_append(line, " as given");
	} else {
		g_string_append_printf(line, " +- %s at %s UTC", format_duration(text, clock->error_ns),
		    format_stamp(stamp, clock->reference_ns));
		if (clock->has_drift)
			g_string_append_printf(line, "; drift %+.3f +- %.3f ppm", (double)clock->drift_ppb / 1000,
			    (double)clock->drift_error_ppb / 1000);
		g_string_append_printf(line, "; steps %" G_GUINT32_FORMAT, clock->steps);
		append_drift(page, line, clock);
	}
	print_wrapped(page->out, client == 0 ? "  clocks  " : "          ", line->str);
}

void
text_captures(const struct page *page)
{
	const struct report *report = page->report;

	page_heading(page, "CAPTURES");
	for (unsigned i = 0; i < report->capture_count; i++) {
		capture_file(page, i);
		capture_tcp(page, &report->captures[i]);
		capture_udp(page, &report->captures[i]);
		capture_rpc(page, &report->captures[i]);
		capture_tls(page, &report->captures[i]);
	}
	for (unsigned i = 0; report->two_sided && i + 1 < report->capture_count; i++)
		clock_line(page, i);
}
