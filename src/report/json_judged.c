/*
 * JSON: quality, verdict and findings.
 */
#include <glib.h>

#include "report/json_value.h"
#include "report/words.h"

json_t *
block_quality(const struct quality *quality)
{
	json_t *object = json_object(), *reasons = json_array();

	for (unsigned i = 0; i < quality->reasons->len; i++) {
		const struct quality_reason *reason = &g_array_index(quality->reasons, struct quality_reason, i);
		json_t *entry = json_object();

		object_put(entry, "id", value_text(reason->id));
		object_put(entry, "count", value_count(reason->count));
		object_put(entry, "text", value_text(reason->text));
		object_put(entry, "leaves", value_text(quality_words[reason->level]));
		array_append(reasons, entry);
	}
	object_put(object, "verdict", value_text(quality_words[quality->level]));
	object_put(object, "reasons", reasons);
	return object;
}

json_t *
block_verdict(const struct verdict *verdict)
{
	json_t *object = json_object();

	object_put(object, "component", value_text(component_words[verdict->component]));
	object_put(object, "confidence", value_text(confidence_words[verdict->confidence]));
	object_put(object, "text", value_text(verdict->text));
	return object;
}

static json_t *
finding_value(const struct finding_value *value)
{
	if (!value->known)
		return json_null();
	switch (value->kind) {
	case VALUE_SHARE:
	case VALUE_REAL:
		return value_decimal(true, value->real);
	case VALUE_WORD:
		return value_text(value->word);
	default:
		return json_integer(value->integer);
	}
}

static json_t *
finding_evidence(const struct finding *finding)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < finding->values; i++)
		object_put(object, finding->value[i].key, finding_value(&finding->value[i]));
	return object;
}

static json_t *
finding_remedies(const struct remedies *remedies)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < remedies->count; i++) {
		const struct remedy *remedy = &remedies->remedy[i];
		json_t *object = json_object();

		object_put(object, "system", value_text(remedy->system));
		object_put(object, "setting", value_text(remedy->setting));
		object_put(object, "command", value_text(remedy->command));
		object_put(object, "note", value_text(remedy->note));
		array_append(array, object);
	}
	return array;
}

json_t *
block_findings(const struct findings *findings)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < findings_count(findings); i++) {
		const struct finding *finding = findings_at(findings, i);
		json_t *object = json_object();

		object_put(object, "id", value_text(finding->id));
		object_put(object, "component", value_text(component_words[finding->component]));
		object_put(object, "confidence", value_text(confidence_words[finding->confidence]));
		object_put(object, "text", value_text(finding->text));
		object_put(object, "doubt", value_text(finding->doubt));
		object_put(object, "evidence", finding_evidence(finding));
		object_put(object, "remedies", finding_remedies(&finding->remedies));
		array_append(array, object);
	}
	return array;
}
