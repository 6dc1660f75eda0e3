#include "base/format.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"

/* Three significant digits of a value in 0..999.5. */
static void
three_digits(char text[FORMAT_SIZE], double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	g_snprintf(text, FORMAT_SIZE, "%.*f%s", decimals, value, unit);
}

const char *
format_duration(char text[FORMAT_SIZE], int64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" } };
	static const double day_ns = 86400e9;
	char digits[FORMAT_SIZE];
	double size = fabs((double)ns);

	if (size < 1000) {
		g_snprintf(text, FORMAT_SIZE, "%dns", (int)ns);
		return text;
	}
	if (size / day_ns >= 9999.5)
		return ns < 0 ? "<-9999d" : ">9999d";
	digits[0] = '\0';
	for (size_t i = 0; i < G_N_ELEMENTS(units) && digits[0] == '\0'; i++) {
		if (size / units[i].ns < 999.5)
			three_digits(digits, size / units[i].ns, units[i].unit);
	}
	if (digits[0] == '\0' && size < 99999.5e9)
		g_snprintf(digits, sizeof(digits), "%.0fs", size / 1e9);
	if (digits[0] == '\0' && size / day_ns < 999.5)
		three_digits(digits, size / day_ns, "d");
	if (digits[0] == '\0')
		g_snprintf(digits, sizeof(digits), "%.0fd", size / day_ns);
	g_snprintf(text, FORMAT_SIZE, "%s%s", ns < 0 ? "-" : "", digits);
	return text;
}

/* A value of 1000 or more with a decimal suffix. */
static void
with_suffix(char text[FORMAT_SIZE], double value)
{
	static const char *const suffixes[] = { "k", "M", "G", "T", "P", "E" };

	for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++) {
		value /= 1000;
		if (value < 999.5) {
			three_digits(text, value, suffixes[i]);
			return;
		}
	}
	g_strlcpy(text, ">999E", FORMAT_SIZE);
}

const char *
format_count(char text[FORMAT_SIZE], uint64_t count)
{
	if (count < 100000000)
		g_snprintf(text, FORMAT_SIZE, "%" G_GUINT64_FORMAT, count);
	else
		with_suffix(text, (double)count);
	return text;
}

const char *
format_short(char text[FORMAT_SIZE], double value)
{
	if (value >= 9999.5)
		with_suffix(text, value);
	else if (value == floor(value) || value >= 999.5)
		g_snprintf(text, FORMAT_SIZE, "%.0f", value);
	else
		three_digits(text, value, "");
	return text;
}

const char *
format_share(char text[FORMAT_SIZE], bool known, double share)
{
	if (!known)
		g_strlcpy(text, "-", FORMAT_SIZE);
	else if (share >= 9.995 || share <= -9.995)
		g_strlcpy(text, share > 0 ? ">999%" : "<-9x", FORMAT_SIZE);
	else
		g_snprintf(text, FORMAT_SIZE, "%.*f%%", fabs(share) < 0.0995 ? 1 : 0, 100 * share);
	return text;
}

const char *
format_stamp(char text[FORMAT_SIZE + 8], int64_t ns)
{
	int64_t below_ns = ns % NS_PER_S < 0 ? ns % NS_PER_S + NS_PER_S : ns % NS_PER_S;
	int64_t seconds = ns / NS_PER_S - (ns % NS_PER_S < 0);
	g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(seconds);
	g_autofree char *day = date != NULL ? g_date_time_format(date, "%Y-%m-%d %H:%M:%S") : NULL;

	if (day == NULL)
		g_strlcpy(text, "-", FORMAT_SIZE + 8);
	else
		g_snprintf(text, FORMAT_SIZE + 8, "%s.%03d", day, (int)(below_ns / NS_PER_MS));
	return text;
}

static char *
printable(const char *text)
{
	GString *out = g_string_new(NULL);

	for (; *text != '\0'; text++) {
		if (g_ascii_isprint(*text))
			g_string_append_c(out, *text);
		else
			g_string_append_printf(out, "\\x%02x", (unsigned char)*text);
	}
	return g_string_free(out, FALSE);
}

/* How much of text goes on a line of so many columns. */
static size_t
line_length(const char *text, size_t columns)
{
	size_t len = strlen(text), at;

	if (len <= columns)
		return len;
	for (at = columns; at > 0; at--) {
		if (text[at] == ' ' && text[at + 1] != '%')
			return at;
	}
	return columns;
}

void
print_wrapped(FILE *out, const char *lead, const char *text)
{
	g_autofree char *ascii = printable(text);
	size_t indent = strlen(lead);
	const char *rest = ascii;

	fputs(lead, out);
	for (;;) {
		size_t len = line_length(rest, PAGE_COLUMNS - indent);

		fprintf(out, "%.*s\n", (int)len, rest);
		rest += len;
		rest += strspn(rest, " ");
		if (*rest == '\0')
			return;
		fprintf(out, "%*s", (int)indent, "");
	}
}
