/*
 * FINDINGS: what the captures prove, on what evidence, and what to change.
 */
#include <glib.h>

#include "base/format.h"
#include "report/text.h"
#include "report/words.h"

static void
append_value(GString *line, const struct finding_value *value)
{
	char text[FORMAT_SIZE + 8];

	if (!value->known) {
		g_string_append(line, "not known");
		return;
	}
	switch (value->kind) {
	case VALUE_COUNT:
		g_string_append(line, format_count(text, (uint64_t)value->integer));
		break;
	case VALUE_NS:
		g_string_append(line, format_duration(text, value->integer));
		break;
	case VALUE_STAMP:
		g_string_append(line, format_stamp(text, value->integer));
		break;
	case VALUE_SHARE:
		g_string_append(line, format_share(text, true, value->real));
		break;
	case VALUE_REAL:
		g_string_append(line, format_short(text, value->real));
		break;
	case VALUE_BPS:
		g_string_append_printf(line, "%sbit/s", format_short(text, (double)value->integer));
		break;
	case VALUE_WORD:
		g_string_append(line, value->word);
		break;
	}
}

static void
print_evidence(const struct page *page, const struct finding *finding)
{
	g_autoptr(GString) line = g_string_new("");

	if (finding->values == 0)
		return;
	for (unsigned i = 0; i < finding->values; i++) {
		g_string_append_printf(line, "%s%s ", i > 0 ? ", " : "", finding->value[i].key);
		append_value(line, &finding->value[i]);
	}
	print_wrapped(page->out, "     evidence: ", line->str);
}

/* Lines to be pasted: as they are. */
static void
print_command(const struct page *page, const char *command)
{
	g_auto(GStrv) lines = command != NULL ? g_strsplit(command, "\n", -1) : NULL;

	for (unsigned i = 0; lines != NULL && lines[i] != NULL; i++)
		fprintf(page->out, "         %s\n", lines[i]);
}

static void
print_remedies(const struct page *page, const struct remedies *remedies)
{
	if (remedies->count == 0)
		return;
	fputs("     what to do:\n", page->out);
	for (unsigned i = 0; i < remedies->count; i++) {
		const struct remedy *remedy = &remedies->remedy[i];
		g_autofree char *line = remedy->setting != NULL ?
		    g_strdup_printf("%s: %s", remedy->system, remedy->setting) : g_strdup(remedy->system);

		print_wrapped(page->out, "     - ", line);
		print_command(page, remedy->command);
		if (remedy->note != NULL)
			print_wrapped(page->out, "       ", remedy->note);
	}
}

void
text_findings(const struct page *page)
{
	const struct findings *findings = page->report->findings;

	if (findings_count(findings) == 0) {
		fputs(page->report->quality->level == QUALITY_POOR ?
		    "Findings: none, poor captures support none but about themselves\n" : "Findings: none\n", page->out);
		return;
	}
	page_heading(page, "FINDINGS");
	for (unsigned i = 0; i < findings_count(findings); i++) {
		const struct finding *finding = findings_at(findings, i);
		g_autofree char *lead = g_strdup_printf("  %u. ", i + 1);
		g_autofree char *title = g_strdup_printf("%s (%s, confidence %s)", finding->id,
		    component_words[finding->component], confidence_words[finding->confidence]);

		print_wrapped(page->out, lead, title);
		print_wrapped(page->out, "     ", finding->text);
		if (finding->doubt != NULL)
			print_wrapped(page->out, "     ", finding->doubt);
		print_evidence(page, finding);
		print_remedies(page, &finding->remedies);
	}
}
