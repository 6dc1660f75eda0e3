#include "capture/source.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.h"
#include "capture/decompress.h"
#include "capture/file.h"
#include "capture/segment.h"

enum { MAGIC_BYTES = 8 };

struct source {
	struct source_facts facts;
	char *name;			/* as given */
	char *shown;			/* as messages name it */
	int fd;				/* -1 once it is taken by what follows */
	uint8_t first[MAGIC_BYTES];	/* bytes of the file, for which it is read before its format is known */
	size_t first_len;
	struct decompress *decompress;	/* of a compressed file */
	struct bytes *bytes;
	const struct file_format *format;
	void *file;
	const struct source_config *config;
	const struct filter *filter;	/* NULL: none */
	bool is_regular;
	bool is_stdin;
	bool is_given_up;	/* its start is not waited for any more */
	uint64_t frame;			/* of the last packet that was read */
	_Atomic uint64_t position;
};

/* What a file starts with. */
struct magic {
	uint8_t len;
	const char *bytes;
	const struct file_format *format;	/* of a capture, else NULL */
	const char *problem;	/* why it cannot be read, and what helps; for a message */
};

static const struct magic magics[] = {
	{ 4, "\xd4\xc3\xb2\xa1", &file_format_pcap, NULL },
	{ 4, "\xa1\xb2\xc3\xd4", &file_format_pcap, NULL },
	{ 4, "\x4d\x3c\xb2\xa1", &file_format_pcap, NULL },
	{ 4, "\xa1\xb2\x3c\x4d", &file_format_pcap, NULL },
	/* With an interface in each packet's header, as patched tcpdumps wrote it. */
	{ 4, "\x34\xcd\xb2\xa1", &file_format_pcap, NULL },
	{ 4, "\xa1\xb2\xcd\x34", &file_format_pcap, NULL },
	{ 4, "\x0a\x0d\x0d\x0a", &file_format_pcapng, NULL },
	{ 8, "snoop\0\0", &file_format_snoop, NULL },
	{ 3, "BZh", NULL, "compressed; decompress it first: bzip2 -d" },
};

static const struct magic *
find_magic(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < G_N_ELEMENTS(magics); i++)
		if (len >= magics[i].len && memcmp(bytes, magics[i].bytes, magics[i].len) == 0)
			return &magics[i];
	return NULL;
}

static bool
is_text(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!g_ascii_isprint(bytes[i]) && !g_ascii_isspace(bytes[i]))
			return false;
	return true;
}

static bool
fail(const struct source *source, GError **error, const char *problem)
{
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "%s: %s", source->shown, problem);
	return false;
}

static bool
open_file(struct source *source, GError **error)
{
	const struct source_config *config = source->config;
	struct stat status;

	source->fd = source->is_stdin ? dup(STDIN_FILENO) :
	    keeper_input(config->keeper, source->name, config->wait, config->wait_context);
	if (source->fd < 0 || fstat(source->fd, &status) != 0)
		return fail(source, error, g_strerror(errno));
	if (S_ISDIR(status.st_mode))
		return fail(source, error, "a directory, not a capture file");
	source->is_regular = S_ISREG(status.st_mode);
	if (source->is_regular)
		source->facts.bytes = (uint64_t)status.st_size;
	return true;
}

/* The first bytes, as many as there are; a pipe gives them in pieces. */
static bool
read_first(struct source *source)
{
	source->first_len = 0;
	while (source->first_len < MAGIC_BYTES) {
		ssize_t len;

		if (source->config->wait != NULL && !source->config->wait(source->config->wait_context, source->fd)) {
			source->is_given_up = true;
			return true;
		}
		len = read(source->fd, source->first + source->first_len, MAGIC_BYTES - source->first_len);

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return len == 0;
		source->first_len += (size_t)len;
	}
	return true;
}

/* A compressed file: what was read of it goes to a thread, its content comes out of a pipe. */
static bool
open_compressed(struct source *source, GError **error)
{
	source->facts.compression = decompress_format(source->first, source->first_len);
	if (source->facts.compression == NULL)
		return true;
	source->decompress = decompress_new(source->fd, source->first, source->first_len, &source->fd);
	if (source->decompress == NULL || !read_first(source))
		return fail(source, error, g_strerror(errno));
	if (source->first_len == 0) {
		const char *problem = source->is_given_up ? NULL : decompress_problem(source->decompress);

		return fail(source, error, problem != NULL ? problem : "empty (0 bytes, compressed)");
	}
	return true;
}

static bool
check_magic(struct source *source, GError **error)
{
	const struct magic *magic;

	if (!read_first(source))
		return fail(source, error, g_strerror(errno));
	if (source->first_len == 0)
		return fail(source, error, "empty (0 bytes)");
	if (!open_compressed(source, error))
		return false;
	magic = find_magic(source->first, source->first_len);
	if (magic == NULL && is_text(source->first, source->first_len))
		return fail(source, error, "a text file, not a capture");
	if (magic == NULL)
		return fail(source, error, "not a pcap, pcapng or snoop capture; "
		    "if Wireshark reads it, convert it: editcap -F pcap OLD NEW");
	if (magic->problem != NULL)
		return fail(source, error, magic->problem);
	source->format = magic->format;
	return true;
}

/* What the file has said so far. */
static void
take_facts(struct source *source)
{
	const struct file_facts *file = source->format->facts(source->file);
	struct source_facts *facts = &source->facts;

	facts->link_type = file->link_type;
	facts->snaplen = file->snaplen;
	facts->nanoseconds = file->nanoseconds;
	facts->dropped_by_kernel = file->dropped_by_kernel;
	facts->bad_blocks = file->bad_blocks;
	facts->comments = file->comments;
	memcpy(facts->comment, file->comment, sizeof facts->comment);
}

static bool
check_link(struct source *source, GError **error)
{
	int link_type = source->facts.link_type;
	const char *name = pcap_datalink_val_to_name(link_type);
	const char *description = pcap_datalink_val_to_description(link_type);
	g_autofree char *problem = NULL;

	/* a pcapng file without a packet need not have one */
	if (link_type < 0 || segment_knows_link(link_type))
		return true;
	problem = g_strdup_printf("link type %s (%s, %d) is not supported",
	    name != NULL ? name : "unnamed", description != NULL ? description : "unknown",
	    link_type);
	return fail(source, error, problem);
}

static bool
open_format(struct source *source, GError **error)
{
	char text[FILE_TEXT] = "";

	source->bytes = bytes_new(source->fd, source->first, source->first_len);
	if (source->bytes == NULL)
		return fail(source, error, g_strerror(ENOMEM));
	source->fd = -1;
	bytes_on_wait(source->bytes, source->config->wait, source->config->wait_context);
	source->file = source->format->open(source->bytes, text);
	if (source->file == NULL)
		return fail(source, error, text);
	source->facts.format = source->format->name;
	take_facts(source);
	return check_link(source, error);
}

/* Does the filter fit at all? A file without a packet may have no link type to ask for. */
static bool
set_filter(struct source *source, const struct filter *filter, GError **error)
{
	source->filter = filter;
	return filter == NULL || source->facts.link_type < 0 || filter_fits(filter, source->facts.link_type, error);
}

struct source *
source_open(const char *path, const struct source_config *config, GError **error)
{
	static const struct source_config plain;
	struct source *source = g_new0(struct source, 1);

	source->name = g_strdup(path);
	source->is_stdin = strcmp(path, "-") == 0;
	source->shown = source->is_stdin ? g_strdup("standard input") : g_filename_display_name(path);
	source->facts.name = source->name;
	source->facts.dropped_by_kernel = -1;
	source->facts.dropped_by_interface = -1;
	source->fd = -1;
	source->config = config != NULL ? config : &plain;
	if (open_file(source, error) && check_magic(source, error) &&
	    open_format(source, error) && set_filter(source, source->config->filter, error))
		return source;
	source_free(source);
	return NULL;
}

void
source_free(struct source *source)
{
	if (source == NULL)
		return;
	if (source->file != NULL)
		source->format->free(source->file);
	bytes_free(source->bytes);
	if (source->fd >= 0)
		close(source->fd);
	decompress_free(source->decompress);
	g_free(source->shown);
	g_free(source->name);
	g_free(source);
}

void
source_on_gone(struct source *source, source_gone_fn *gone, void *context)
{
	bytes_on_gone(source->bytes, gone, context);
}

static void
note_position(struct source *source)
{
	uint64_t position = 0;

	if (source->is_regular)
		position = source->decompress != NULL ? decompress_position(source->decompress) : source->bytes->passed;
	atomic_store_explicit(&source->position, position, memory_order_relaxed);
}

/* What was wrong with the compressed file: who unpacks it cannot tell while the pipe is full, or waits for more. */
static const char *
unpacking_problem(const struct source *source)
{
	return source->decompress != NULL && bytes_drain(source->bytes) ? decompress_problem(source->decompress) : NULL;
}

static enum source_result
broken(const struct source *source, enum file_result result, const char *lost, const char *problem, GError **error)
{
	if (problem != NULL)
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT, "%s: %s after packet %" G_GUINT64_FORMAT ": %s",
		    source->shown, source->facts.compression, source->frame, problem);
	else if (lost == NULL && result == FILE_CUT)
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT,
		    "%s: cut off in the middle of a packet, after packet %" G_GUINT64_FORMAT,
		    source->shown, source->frame);
	else if (lost == NULL && result == FILE_BLANK)
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT,
		    "%s: nothing but zeros after packet %" G_GUINT64_FORMAT, source->shown, source->frame);
	else
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED,
		    "%s: cannot be read after packet %" G_GUINT64_FORMAT ": %s",
		    source->shown, source->frame, lost != NULL ? lost : source->format->problem(source->file));
	return SOURCE_BROKEN;
}

/* No packet follows. */
static enum source_result
end(struct source *source, enum file_result result, GError **error)
{
	const char *lost = bytes_lost(source->bytes), *problem = unpacking_problem(source);

	note_position(source);
	take_facts(source);
	if (result == FILE_END && lost == NULL && problem == NULL)
		return SOURCE_END;
	return broken(source, result, lost, problem, error);
}

enum source_result
source_next(struct source *source, struct packet *packet, GError **error)
{
	enum file_result result;

	note_position(source);
	do {
		result = source->format->next(source->file, packet);
		if (result != FILE_PACKET && result != FILE_SKIPPED)
			return end(source, result, error);
		source->frame++;
	} while (result == FILE_SKIPPED || (source->filter != NULL && !filter_passes(source->filter, packet)));
	packet->frame = source->frame;
	return SOURCE_PACKET;
}

unsigned
source_more(struct source *source, struct packet *packets, unsigned most)
{
	const struct filter *filter = source->filter;
	const struct file_format *format = source->format;
	struct packet *packet = packets;

	bytes_hold(source->bytes, true);
	while (packet < packets + most) {
		enum file_result result;

		if (format->run != NULL && filter == NULL) {
			unsigned count = format->run(source->file, packet, (unsigned)(packets + most - packet), source->frame + 1);

			source->frame += count;
			packet += count;
			if (packet == packets + most)
				break;
		}
		result = format->next(source->file, packet);
		/* whatever else it is, source_next meets it again */
		if (result != FILE_PACKET && result != FILE_SKIPPED)
			break;
		packet->frame = ++source->frame;
		if (result == FILE_PACKET && (filter == NULL || filter_passes(filter, packet)))
			packet++;
	}
	bytes_hold(source->bytes, false);
	return (unsigned)(packet - packets);
}

void
source_look_ahead(const struct source *source, struct ahead *ahead)
{
	const struct bytes *bytes = source->bytes;

	ahead->place = ahead->end = 0;
	if (source->format->ahead == NULL || !source->format->ahead(source->file, ahead))
		return;
	ahead->place = (uintptr_t)bytes->place;
	ahead->end = (uintptr_t)bytes->filled - ahead->length_at - sizeof(uint32_t) + 1;
}

const struct source_facts *
source_facts(const struct source *source)
{
	return &source->facts;
}

const char *
source_interface(const struct source *source, unsigned number)
{
	return source->format->interface != NULL ? source->format->interface(source->file, number) : NULL;
}

uint64_t
source_position(const struct source *source)
{
	return atomic_load_explicit(&source->position, memory_order_relaxed);
}

bool
source_can_rewind(const struct source *source)
{
	return source->is_regular && !source->is_stdin;
}

static bool
stat_input(const char *path, struct stat *status)
{
	if (strcmp(path, "-") == 0)
		return fstat(STDIN_FILENO, status) == 0;
	return stat(path, status) == 0;
}

bool
source_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return stat_input(path, &a) && stat_input(other, &b) && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino;
}
