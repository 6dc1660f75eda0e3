#include <criterion/criterion.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "report/report.h"

static char *
commands(enum capture_system system, const struct capture_targets *targets)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	how_to_capture(system, targets, out);
	fclose(out);
	return text;
}

static size_t
widest(const char *text)
{
	size_t most = 0;

	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		most = len > most ? len : most;
		text += len + (text[len] == '\n');
	}
	return most;
}

Test(how_to_capture, names_are_those_of_the_option)
{
	static const char *const names[] = { "linux", "solaris", "ontap", "onefs" };

	for (unsigned i = 0; i < CAPTURE_SYSTEMS; i++)
		cr_assert_str_eq(capture_system_names[i], names[i]);
}

Test(how_to_capture, every_system_fits_the_page_and_names_its_tool)
{
	static const char *const tools[] = { "tcpdump -i DEV -s 512", "snoop -q -d DEV -s 512", "network tcpdump start",
	    "isi_netlogger" };
	struct capture_targets targets = { .port = 2049 };

	for (unsigned i = 0; i < CAPTURE_SYSTEMS; i++) {
		char *text = commands(i, &targets);

		cr_assert_leq(widest(text), PAGE_COLUMNS);
		cr_assert_not_null(strstr(text, tools[i]));
		cr_assert_not_null(strstr(text, "SERVER"));
		cr_assert_not_null(strstr(text, "CLIENT"));
		cr_assert_null(strchr(text, '{'));
		free(text);
	}
}

Test(how_to_capture, the_last_line_names_the_files)
{
	struct capture_targets targets = { .port = 2049 };

	for (unsigned i = 0; i < CAPTURE_SYSTEMS; i++) {
		char *text = commands(i, &targets);
		bool ends = g_str_has_suffix(text, i == CAPTURE_SOLARIS ?
		    "Then: nfscorr server.snoop client.snoop\n" : "Then: nfscorr server.pcap client.pcap\n");

		free(text);
		cr_assert(ends);
	}
}

Test(how_to_capture, known_hosts_are_filled_in)
{
	/* The longest addresses that there are. */
	struct capture_targets targets = {
		.server = "fd00:1111:2222:3333:4444:5555:6666:7777", .client = "fd00:8888:9999:aaaa:bbbb:cccc:dddd:eeee",
		.port = 20049,
	};

	for (unsigned i = 0; i < CAPTURE_SYSTEMS; i++) {
		char *text = commands(i, &targets);

		cr_assert_not_null(strstr(text, targets.server));
		cr_assert_not_null(strstr(text, targets.client));
		cr_assert_not_null(strstr(text, "20049"));
		cr_assert_null(strstr(text, "2049'"), "no placeholder is left");
		cr_assert_leq(widest(text), 120);
		free(text);
	}
}
