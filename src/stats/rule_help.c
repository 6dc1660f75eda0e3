#include "stats/rule_help.h"

#include "correlate/ids.h"

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
