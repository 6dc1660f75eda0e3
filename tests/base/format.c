#include <criterion/criterion.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

Test(format, durations)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0ns" }, { 1, "1ns" }, { -999, "-999ns" }, { 1000, "1.00us" }, { 9994, "9.99us" },
		{ 9996, "10.0us" }, { 99949, "99.9us" }, { 99960, "100us" }, { 999499, "999us" },
		{ 999500, "1.00ms" }, { -12345678, "-12.3ms" }, { 999500000, "1.00s" },
		{ INT64_C(18100000), "18.1ms" }, { INT64_C(998600000000), "999s" },
		{ INT64_C(1234000000000), "1234s" }, { INT64_C(86400000000000), "86400s" },
		{ INT64_C(99999600000000), "1.16d" }, { INT64_C(864000000000000), "10.0d" },
		{ INT64_C(863956800000000000), ">9999d" }, { INT64_MIN, "<-9999d" }, { INT64_MAX, ">9999d" },
	};
	char text[FORMAT_SIZE];

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		cr_assert_str_eq(format_duration(text, cases[i].ns), cases[i].text, "%ld: %s, not %s",
		    (long)cases[i].ns, format_duration(text, cases[i].ns), cases[i].text);
	for (int64_t ns = 1; ns < INT64_MAX / 10; ns = ns * 10 - ns / 3 + 1) {
		cr_assert_leq(strlen(format_duration(text, ns)), 7);
		cr_assert_leq(strlen(format_duration(text, -ns)), 7, "%s", format_duration(text, -ns));
	}
}

Test(format, counts_and_rates)
{
	char text[FORMAT_SIZE];

	cr_assert_str_eq(format_count(text, 0), "0");
	cr_assert_str_eq(format_count(text, 99999999), "99999999");
	cr_assert_str_eq(format_count(text, 100000000), "100M");
	cr_assert_str_eq(format_count(text, UINT64_MAX), "18.4E");
	cr_assert_str_eq(format_short(text, 0), "0");
	cr_assert_str_eq(format_short(text, 12), "12");
	cr_assert_str_eq(format_short(text, 0.3), "0.30");
	cr_assert_str_eq(format_short(text, 9999), "9999");
	cr_assert_str_eq(format_short(text, 9999.6), "10.0k");
	cr_assert_str_eq(format_short(text, 123456789), "123M");
	cr_assert_str_eq(format_short(text, 1e30), ">999E");
}

Test(format, shares)
{
	char text[FORMAT_SIZE];

	cr_assert_str_eq(format_share(text, true, 0.806), "81%");
	cr_assert_str_eq(format_share(text, true, -0.05), "-5.0%");
	cr_assert_str_eq(format_share(text, true, 0.0041), "0.4%");
	cr_assert_str_eq(format_share(text, true, 0.0996), "10%");
	cr_assert_str_eq(format_share(text, true, 1), "100%");
	cr_assert_str_eq(format_share(text, true, 1e9), ">999%");
	cr_assert_leq(strlen(format_share(text, true, -1e9)), 5);
	cr_assert_str_eq(format_share(text, false, 0.5), "-");
}

Test(format, stamps)
{
	char text[FORMAT_SIZE + 8];

	cr_assert_str_eq(format_stamp(text, INT64_C(1700000000123999999)), "2023-11-14 22:13:20.123");
	cr_assert_str_eq(format_stamp(text, 0), "1970-01-01 00:00:00.000");
	cr_assert_str_eq(format_stamp(text, -1), "1969-12-31 23:59:59.999");
	cr_assert_gt(strlen(format_stamp(text, INT64_MAX)), 0);
	cr_assert_gt(strlen(format_stamp(text, INT64_MIN)), 0);
}

static char *
wrapped(const char *lead, const char *text)
{
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	print_wrapped(out, lead, text);
	fclose(out);
	return page;
}

Test(format, paragraphs)
{
	g_autofree char *words = g_strnfill(200, 'x');
	char *page = wrapped("  - ", "one");

	cr_assert_str_eq(page, "  - one\n");
	free(page);
	page = wrapped("  - ", "");
	cr_assert_str_eq(page, "  - \n");
	free(page);
	/* 76 columns behind the lead: 200 characters are three lines. */
	page = wrapped("  - ", words);
	cr_assert_eq(strlen(page), 3 * 4 + 200 + 3);
	cr_assert_eq(strcspn(page, "\n"), 80);
	free(page);
	page = wrapped("", "a\tb\xff");
	cr_assert_str_eq(page, "a\\x09b\\xff\n");
	free(page);
	/* Seven words of ten fill the line. */
	page = wrapped("    ", "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 tail");
	cr_assert_str_eq(page, "    0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789\n"
	    "    tail\n");
	free(page);
	/* A number keeps its unit. */
	page = wrapped("    ", "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 01234 (100 % of it");
	cr_assert_str_eq(page, "    0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 01234\n"
	    "    (100 % of it\n");
	free(page);
}
