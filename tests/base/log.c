#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/log.h"

/* A log that writes to memory. */
struct captured {
	char *text;
	size_t len;
	FILE *stream;
	struct log *log;
};

static void
captured_open(struct captured *captured, enum log_level level)
{
	captured->stream = open_memstream(&captured->text, &captured->len);
	captured->log = log_new(captured->stream, level);
}

/* What was printed; valid until captured_close. */
static const char *
captured_text(struct captured *captured)
{
	fflush(captured->stream);
	return captured->text;
}

static void
captured_close(struct captured *captured)
{
	fclose(captured->stream);
	free(captured->text);
}

Test(log, a_line_names_tool_and_module)
{
	struct captured captured;

	captured_open(&captured, LOG_NORMAL);
	log_line(captured.log, LOG_NORMAL, "source", "%s: %d packets", "a.pcap", 7);
	cr_assert_str_eq(captured_text(&captured), "nfscorr: source: a.pcap: 7 packets\n");
	log_free(captured.log);
	captured_close(&captured);
}

static unsigned
lines_at(enum log_level level)
{
	struct captured captured;
	unsigned lines = 0;

	captured_open(&captured, level);
	log_line(captured.log, LOG_QUIET, "m", "an error");
	log_line(captured.log, LOG_NORMAL, "m", "a note");
	log_line(captured.log, LOG_VERBOSE, "m", "a detail");
	log_free(captured.log);
	for (const char *c = captured_text(&captured); *c != '\0'; c++)
		lines += *c == '\n';
	captured_close(&captured);
	return lines;
}

Test(log, levels_include_those_below)
{
	cr_assert_eq(lines_at(LOG_QUIET), 1);
	cr_assert_eq(lines_at(LOG_NORMAL), 2);
	cr_assert_eq(lines_at(LOG_VERBOSE), 3);
}

Test(log, repeats_are_counted_and_told_once)
{
	struct captured captured;

	captured_open(&captured, LOG_NORMAL);
	for (int i = 0; i < 5; i++) {
		log_line(captured.log, LOG_NORMAL, "m", "again");
		log_line(captured.log, LOG_NORMAL, "m", "and again");
	}
	cr_assert_str_eq(captured_text(&captured), "nfscorr: m: again\nnfscorr: m: and again\n");
	log_flush(captured.log);
	cr_assert_str_eq(captured_text(&captured), "nfscorr: m: again\nnfscorr: m: and again\n"
	    "nfscorr: m: again (and 4 more)\nnfscorr: m: and again (and 4 more)\n");
	log_free(captured.log);		/* nothing new to tell */
	cr_assert_str_eq(captured_text(&captured), "nfscorr: m: again\nnfscorr: m: and again\n"
	    "nfscorr: m: again (and 4 more)\nnfscorr: m: and again (and 4 more)\n");
	captured_close(&captured);
}

Test(log, a_text_of_another_module_is_another_text)
{
	struct captured captured;

	captured_open(&captured, LOG_NORMAL);
	log_line(captured.log, LOG_NORMAL, "a", "text");
	log_line(captured.log, LOG_NORMAL, "b", "text");
	log_free(captured.log);
	cr_assert_str_eq(captured_text(&captured), "nfscorr: a: text\nnfscorr: b: text\n");
	captured_close(&captured);
}

/* The memory of texts is bounded; a forgotten text loses no count. */
Test(log, a_forgotten_text_tells_its_count)
{
	struct captured captured;

	captured_open(&captured, LOG_NORMAL);
	log_line(captured.log, LOG_NORMAL, "m", "old");
	log_line(captured.log, LOG_NORMAL, "m", "old");
	for (int i = 0; i < 100; i++)
		log_line(captured.log, LOG_NORMAL, "m", "new %d", i);
	cr_assert_not_null(strstr(captured_text(&captured), "nfscorr: m: old (and 1 more)\n"));
	log_free(captured.log);
	captured_close(&captured);
}

static void
check_escaped(const char *text, const char *expected)
{
	struct captured captured;
	g_autofree char *line = g_strdup_printf("nfscorr: m: %s\n", expected);

	captured_open(&captured, LOG_NORMAL);
	log_line(captured.log, LOG_NORMAL, "m", "%s", text);
	log_free(captured.log);
	cr_assert_str_eq(captured_text(&captured), line);
	captured_close(&captured);
}

Test(log, control_characters_are_escaped)
{
	check_escaped("a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd");
	check_escaped("\033[31mred\007", "\\x1b[31mred\\x07");
	check_escaped("\x7f", "\\x7f");
	check_escaped("\xc2\x9b" "31m", "\\xc2\\x9b" "31m");		/* CSI of C1 */
	check_escaped("\xe2\x80\xae" "abc", "\\xe2\\x80\\xae" "abc");	/* right-to-left override */
	check_escaped("\xe2\x80\xa8", "\\xe2\\x80\\xa8");		/* line separator */
}

Test(log, other_text_is_left_alone)
{
	check_escaped("Gr\xc3\xb6\xc3\x9f" "e \xe6\x97\xa5", "Gr\xc3\xb6\xc3\x9f" "e \xe6\x97\xa5");
	check_escaped("100 % \\", "100 % \\");
}

Test(log, invalid_utf8_is_escaped)
{
	check_escaped("a\xff\xfe" "b", "a\\xff\\xfe" "b");
	check_escaped("cut \xe6\x97", "cut \\xe6\\x97");
	check_escaped("\xc0\xaf", "\\xc0\\xaf");
}

enum { THREADS = 4, LINES = 500 };

static gpointer
write_lines(gpointer log)
{
	for (int i = 0; i < LINES; i++)
		log_line(log, LOG_NORMAL, "m", "line %d", i);
	return NULL;
}

/* Whatever the order, each line is whole and each text is told or counted. */
Test(log, threads_share_a_log)
{
	struct captured captured;
	GThread *threads[THREADS];
	unsigned told = 0;

	captured_open(&captured, LOG_NORMAL);
	for (int i = 0; i < THREADS; i++)
		threads[i] = g_thread_new("log", write_lines, captured.log);
	for (int i = 0; i < THREADS; i++)
		g_thread_join(threads[i]);
	log_free(captured.log);
	g_auto(GStrv) lines = g_strsplit(captured_text(&captured), "\n", -1);
	for (char **line = lines; *line != NULL && **line != '\0'; line++) {
		unsigned number, more;
		int fields = sscanf(*line, "nfscorr: m: line %u (and %u more)", &number, &more);

		cr_assert_geq(fields, 1, "%s", *line);
		told += fields == 2 ? more : 1;
	}
	cr_assert_eq(told, THREADS * LINES);
	captured_close(&captured);
}
