#include "stats/findings.h"

#include "stats/remedies.h"
#include "stats/rule_help.h"
#include "stats/rules.h"

struct findings {
	GArray *found;		/* struct finding */
	struct mountstats_sums counters;
};

/*
 * Server, network, client, capture; a rule that asks whether another one holds
 * stands below it.
 */
static const struct rule {
	const char *id;
	enum component component;
	finding_rule_fn *judge;
	const struct remedies *remedies;
} rules[] = {
	{ "server-thread-saturation", COMPONENT_SERVER, rule_server_thread_saturation, &remedies_threads },
	{ "server-slow-service", COMPONENT_SERVER, rule_server_slow_service, &remedies_slow_service },
	{ "jukebox-delay", COMPONENT_SERVER, rule_jukebox_delay, &remedies_jukebox },
	{ "network-path-delay", COMPONENT_NETWORK, rule_network_path_delay, &remedies_path_delay },
	{ "network-bandwidth", COMPONENT_NETWORK, rule_network_bandwidth, &remedies_bandwidth },
	{ "network-loss", COMPONENT_NETWORK, rule_network_loss, &remedies_loss },
	{ "slot-count-too-high", COMPONENT_SERVER, rule_slot_count, &remedies_too_many_slots },
	{ "session-slot-saturation", COMPONENT_CLIENT, rule_session_slots, &remedies_session_slots },
	{ "client-slot-saturation", COMPONENT_CLIENT, rule_client_slots, &remedies_client_slots },
	{ "serial-client", COMPONENT_CLIENT, rule_serial_client, &remedies_serial_client },
	{ "idle-wire", COMPONENT_CLIENT, rule_idle_wire, &remedies_idle_wire },
	{ "address-translation", COMPONENT_CAPTURE, rule_address_translation, NULL },
	{ "tls-hidden", COMPONENT_CAPTURE, rule_tls_hidden, &remedies_tls },
	{ "capture-drops", COMPONENT_CAPTURE, rule_capture_drops, &remedies_capture },
	{ "capture-truncated", COMPONENT_CAPTURE, rule_capture_truncated, &remedies_capture },
	{ "capture-overlap", COMPONENT_CAPTURE, rule_capture_overlap, &remedies_capture },
	{ "capture-swapped", COMPONENT_CAPTURE, rule_capture_swapped, &remedies_order },
	{ "capture-duplicates", COMPONENT_CAPTURE, rule_capture_duplicates, &remedies_capture },
	{ "clock-step", COMPONENT_CAPTURE, rule_clock_step, &remedies_clock },
};

unsigned
findings_rules(void)
{
	return G_N_ELEMENTS(rules);
}

const struct remedies *
findings_remedies(unsigned rule)
{
	return rules[rule].remedies;
}

static void
finding_clear(void *data)
{
	struct finding *finding = data;

	g_free(finding->text);
	g_free(finding->doubt);
}

struct findings *
findings_judge(const struct facts *facts)
{
	struct findings *findings = g_new0(struct findings, 1);

	findings->found = g_array_new(FALSE, FALSE, sizeof(struct finding));
	g_array_set_clear_func(findings->found, finding_clear);
	sum_counters(facts, CONCURRENCY_CONNECTIONS, 0, &findings->counters);
	for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
		struct finding finding = { .id = rules[i].id, .component = rules[i].component };

		/* poor captures support findings about themselves only, as they support no verdict */
		if (facts->quality->level == QUALITY_POOR && rules[i].component != COMPONENT_CAPTURE)
			continue;
		if (rules[i].remedies != NULL)
			finding.remedies = *rules[i].remedies;
		if (rules[i].judge(facts, findings, &finding))
			g_array_append_val(findings->found, finding);
		else
			finding_clear(&finding);
	}
	return findings;
}

void
findings_free(struct findings *findings)
{
	if (findings == NULL)
		return;
	g_array_unref(findings->found);
	g_free(findings);
}

unsigned
findings_count(const struct findings *findings)
{
	return findings == NULL ? 0 : findings->found->len;
}

const struct finding *
findings_at(const struct findings *findings, unsigned number)
{
	return &g_array_index(findings->found, struct finding, number);
}

const struct mountstats_sums *
findings_counters(const struct findings *findings)
{
	return &findings->counters;
}

const struct finding *
findings_of(const struct findings *findings, const char *id)
{
	for (unsigned i = 0; i < findings_count(findings); i++)
		if (g_str_equal(findings_at(findings, i)->id, id))
			return findings_at(findings, i);
	return NULL;
}

/* What is beyond the limit is left out rather than written elsewhere; tests/stats/findings.c looks. */
static struct finding_value *
add_value(struct finding *finding, const char *key, enum value_kind kind)
{
	struct finding_value *value = &finding->value[MIN(finding->values, FINDING_VALUES - 1)];

	if (finding->values < FINDING_VALUES)
		finding->values++;
	*value = (struct finding_value){ .key = key, .kind = kind, .known = true };
	return value;
}

void
finding_count(struct finding *finding, const char *key, uint64_t count)
{
	add_value(finding, key, VALUE_COUNT)->integer = (int64_t)MIN(count, INT64_MAX);
}

void
finding_ns(struct finding *finding, const char *key, int64_t ns)
{
	add_value(finding, key, VALUE_NS)->integer = ns;
}

void
finding_stamp(struct finding *finding, const char *key, int64_t ns)
{
	add_value(finding, key, VALUE_STAMP)->integer = ns;
}

void
finding_share(struct finding *finding, const char *key, double share)
{
	add_value(finding, key, VALUE_SHARE)->real = share;
}

void
finding_real(struct finding *finding, const char *key, double real)
{
	add_value(finding, key, VALUE_REAL)->real = real;
}

void
finding_bps(struct finding *finding, const char *key, int64_t bps)
{
	add_value(finding, key, VALUE_BPS)->integer = bps;
}

void
finding_word(struct finding *finding, const char *key, const char *word)
{
	add_value(finding, key, VALUE_WORD)->word = word;
}

void
finding_unknown(struct finding *finding, const char *key)
{
	add_value(finding, key, VALUE_COUNT)->known = false;
}
