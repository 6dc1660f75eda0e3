#include "run/values.h"

#include <string.h>

#include "base/arith.h"
#include "base/errors.h"

enum { SECONDS_DIGITS = 9, SECONDS_LEAST_NS = 100 * NS_PER_MS };

bool
value_wrong(GError **error, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE, "%s", text);
	g_free(text);
	return false;
}

bool
value_number(const char *name, const char *text, int64_t least, int64_t most, int64_t *value, GError **error)
{
	char *end;

	*value = g_ascii_strtoll(text, &end, 10);
	if (*text == '\0' || *end != '\0' || *value < least || *value > most)
		return value_wrong(error, "%s%s%s%s: not a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
		    name[1] != '\0' ? "--" : "-", name, name[1] != '\0' ? "=" : " ", text, least, most);
	return true;
}

bool
value_choice(const char *name, const char *text, const char *const *choices, unsigned count, unsigned *choice,
    GError **error)
{
	GString *list;

	for (*choice = 0; *choice < count; (*choice)++)
		if (strcmp(text, choices[*choice]) == 0)
			return true;
	list = g_string_new(NULL);
	for (unsigned i = 0; i < count; i++)
		g_string_append_printf(list, "%s%s", i > 0 ? ", " : "", choices[i]);
	value_wrong(error, "--%s=%s: not one of %s", name, text, list->str);
	g_string_free(list, TRUE);
	return false;
}

bool
value_size(const char *name, const char *text, uint64_t *bytes, GError **error)
{
	static const char units[] = "KMGT";
	char *end;
	const char *unit;
	uint64_t value = g_ascii_strtoull(text, &end, 10);
	unsigned shift = 0;

	unit = *end != '\0' ? strchr(units, g_ascii_toupper(*end)) : NULL;
	if (unit != NULL) {
		shift = 10 * ((unsigned)(unit - units) + 1);
		end++;
	}
	if (*text == '-' || end == text || *end != '\0' || value == 0 || value > UINT64_MAX >> (shift + 1))
		return value_wrong(error, "--%s=%s: not a size such as 512M or 4G", name, text);
	*bytes = value << shift;
	return true;
}

/* "5.25" as nanoseconds; false unless it is that and nothing else. */
static bool
parse_seconds(const char *text, int64_t *ns)
{
	int64_t unit_ns = NS_PER_S;
	unsigned digits = 0;

	*ns = 0;
	for (; g_ascii_isdigit(*text) && digits < SECONDS_DIGITS; text++, digits++)
		*ns = *ns * 10 + g_ascii_digit_value(*text) * (int64_t)NS_PER_S;
	if (*text == '.')
		for (text++; g_ascii_isdigit(*text) && unit_ns > 1; text++, digits++) {
			unit_ns /= 10;
			*ns += g_ascii_digit_value(*text) * unit_ns;
		}
	return digits > 0 && *text == '\0';
}

bool
value_seconds(const char *name, const char *text, int64_t *ns, GError **error)
{
	if (!parse_seconds(text, ns) || *ns < SECONDS_LEAST_NS)
		return value_wrong(error, "--%s=%s: not a number of seconds such as 5 or 0.5; 0.1 is the least", name, text);
	return true;
}
