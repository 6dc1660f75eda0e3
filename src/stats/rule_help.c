#include "stats/rule_help.h"

#include <string.h>

#include "correlate/ids.h"
#include "stats/flight.h"
#include "stats/transit.h"

enum {
	WINDOW_USE = 70,	/* per cent of what was ever under way that is so on average */
};

const char *
percent_words(char text[PERCENT_SIZE], double share)
{
	g_snprintf(text, PERCENT_SIZE, "%.*f %%", share < 0.0995 ? 1 : 0, PERCENT * share);
	return text;
}

char *
client_words(const struct facts *facts, unsigned client)
{
	const struct capture_facts *capture = &facts->captures[1 + client];
	char name[LABEL_SIZE];

	if (facts->capture_count <= 2)
		return g_strdup("");
	if (facts->ids == NULL || !capture->has_endpoints)
		return g_strdup_printf(" (client %u)", 1 + client);
	label_address(facts->ids, &capture->client, name);
	return g_strdup_printf(" (client %s)", name);
}

struct side_sum
side_sum(const struct facts *facts, enum pair_side side)
{
	struct side_sum sum = { 0 };

	for (unsigned capture = 0; capture < facts->capture_count; capture++) {
		unsigned count;
		const struct side_row *const *rows;

		if (facts->captures[capture].side != side)
			continue;
		rows = aggregate_side(facts->aggregate, capture, &count);
		for (unsigned i = 0; i < count; i++) {
			sum.calls += rows[i]->latency[side].count;
			sum.latency_ns += rows[i]->latency[side].sum_ns;
			sum.estimated += rows[i]->server_estimate.count;
			sum.estimate_ns += rows[i]->server_estimate.sum_ns;
		}
	}
	return sum;
}

/* From data to its acknowledgement, as the server sees it; 0: not known. */
static double
reply_round_trip_ns(const struct facts *facts)
{
	const struct dist *trips = &facts->captures[0].tcp.round_trip[1];
	double sum_ns = 0, count = 0;

	for (unsigned client = 0; client + 1 < facts->capture_count; client++) {
		const struct dist *way = &aggregate_transit(facts->aggregate, client)->data[PAIR_CLIENT];

		sum_ns += (double)way->sum_ns;
		count += (double)way->count;
	}
	if (count > 0)
		return sum_ns / count;
	return trips->count > 0 ? (double)dist_quantile(trips, 500) : 0;
}

/* Little's law: what is under way on average is the rate times how long it takes. */
bool
replies_wait_for_window(const struct facts *facts)
{
	const struct capture_facts *server = &facts->captures[0];
	const struct flight *flight = aggregate_flight(facts->aggregate, 0);
	double busy_ns = (double)(flight_span_ns(flight) - flight_idle_ns(flight)), mean_bytes;

	if (server->side != PAIR_SERVER || server->lines == NULL || busy_ns <= 0 || server->tcp.unacked_bytes[1] == 0)
		return false;
	mean_bytes = (double)lines_bytes(server->lines, LINE_TO_CLIENT) * reply_round_trip_ns(facts) / busy_ns;
	return mean_bytes * PERCENT >= (double)server->tcp.unacked_bytes[1] * WINDOW_USE;
}

/* Addresses of servers, each once. */
struct servers {
	uint8_t (*address)[16];
	unsigned count;
};

static void
servers_add(struct servers *servers, const uint8_t address[16])
{
	for (unsigned i = 0; i < servers->count; i++)
		if (memcmp(servers->address[i], address, sizeof servers->address[i]) == 0)
			return;
	servers->address = g_realloc_n(servers->address, servers->count + 1, sizeof *servers->address);
	memcpy(servers->address[servers->count++], address, sizeof *servers->address);
}

static void
add_servers(struct servers *servers, const struct facts *facts, enum concurrency_table table, uint32_t top)
{
	for (unsigned i = 0; i < facts->capture_count; i++) {
		const struct concurrency *concurrency = aggregate_concurrency(facts->aggregate, i);
		g_autofree const struct concurrency_row **rows = NULL;
		unsigned count = 0;

		if (facts->captures[i].side == PAIR_CLIENT && concurrency != NULL)
			rows = concurrency_rows(concurrency, table, &count);
		for (unsigned j = 0; j < count; j++) {
			struct depth_plateau plateau;

			if (top == 0 || (depth_plateau(&rows[j]->depth, 2, &plateau) && plateau.top == top))
				servers_add(servers, rows[j]->server.address);
		}
	}
}

void
sum_counters(const struct facts *facts, enum concurrency_table table, uint32_t top, struct mountstats_sums *sums)
{
	struct servers all = { 0 }, wanted = { 0 };

	if (facts->counters == NULL)
		return;
	add_servers(&all, facts, CONCURRENCY_CONNECTIONS, 0);
	add_servers(&wanted, facts, table, top);
	for (unsigned i = 0; i < wanted.count; i++)
		mountstats_sum(sums, facts->counters, wanted.address[i], all.count == 1);
	g_free(all.address);
	g_free(wanted.address);
}
