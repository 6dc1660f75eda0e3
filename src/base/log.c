#include "base/log.h"

#include <stdarg.h>
#include <string.h>

enum { RECENT_LINES = 16 };

struct recent {
	char *line;		/* owned, without its line feed; NULL: free */
	guint64 repeats;	/* since it was printed */
};

struct log {
	FILE *stream;
	enum log_level level;
	GMutex lock;		/* of all below */
	struct recent recent[RECENT_LINES];
	unsigned oldest;	/* the entry to be forgotten next */
};

struct log *
log_new(FILE *stream, enum log_level level)
{
	struct log *log = g_new0(struct log, 1);

	log->stream = stream;
	log->level = level;
	g_mutex_init(&log->lock);
	return log;
}

/* Format characters count as control characters: some of them reorder the line. */
static gboolean
shown_as_is(gunichar c)
{
	return !g_unichar_iscntrl(c) && g_unichar_type(c) != G_UNICODE_FORMAT &&
	    g_unichar_type(c) != G_UNICODE_LINE_SEPARATOR &&
	    g_unichar_type(c) != G_UNICODE_PARAGRAPH_SEPARATOR;
}

/* Appends the text; every byte of a character that is not shown becomes \xNN. */
static void
append_escaped(GString *line, const char *text)
{
	while (*text != '\0') {
		gunichar c = g_utf8_get_char_validated(text, -1);
		gboolean valid = c != (gunichar)-1 && c != (gunichar)-2;
		const char *end = valid ? g_utf8_next_char(text) : text + 1;

		if (valid && shown_as_is(c))
			g_string_append_len(line, text, end - text);
		else
			for (const char *byte = text; byte < end; byte++)
				g_string_append_printf(line, "\\x%02x", (unsigned char)*byte);
		text = end;
	}
}

/* One write for the whole line, so that lines of other processes do not mix with it. */
static void
put_line(struct log *log, const char *line, guint64 repeats)
{
	g_autoptr(GString) out = g_string_new(line);

	if (repeats > 0)
		g_string_append_printf(out, " (and %" G_GUINT64_FORMAT " more)", repeats);
	g_string_append_c(out, '\n');
	fwrite(out->str, 1, out->len, log->stream);
	fflush(log->stream);
}

static void
settle(struct log *log, struct recent *recent)
{
	if (recent->repeats > 0)
		put_line(log, recent->line, recent->repeats);
	recent->repeats = 0;
}

void
log_line(struct log *log, enum log_level level, const char *module, const char *format, ...)
{
	g_autoptr(GString) line = NULL;
	g_autofree char *text = NULL;
	struct recent *forgotten;
	va_list arguments;

	if (level > log->level)
		return;
	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	line = g_string_new("nfscorr: ");
	g_string_append_printf(line, "%s: ", module);
	append_escaped(line, text);

	g_mutex_lock(&log->lock);
	for (unsigned i = 0; i < RECENT_LINES; i++) {
		if (log->recent[i].line != NULL && strcmp(log->recent[i].line, line->str) == 0) {
			log->recent[i].repeats++;
			g_mutex_unlock(&log->lock);
			return;
		}
	}
	forgotten = &log->recent[log->oldest];
	log->oldest = (log->oldest + 1) % RECENT_LINES;
	settle(log, forgotten);
	g_free(forgotten->line);
	forgotten->line = g_strdup(line->str);
	put_line(log, line->str, 0);
	g_mutex_unlock(&log->lock);
}

void
log_flush(struct log *log)
{
	g_mutex_lock(&log->lock);
	for (unsigned i = 0; i < RECENT_LINES; i++)
		settle(log, &log->recent[i]);
	g_mutex_unlock(&log->lock);
}

void
log_free(struct log *log)
{
	if (log == NULL)
		return;
	log_flush(log);
	for (unsigned i = 0; i < RECENT_LINES; i++)
		g_free(log->recent[i].line);
	g_mutex_clear(&log->lock);
	g_free(log);
}
