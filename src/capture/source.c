#include "capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.h"
#include "capture/file_libpcap.h"
#include "capture/file_pcap.h"
#include "capture/segment.h"

enum {
	MAGIC_BYTES = 8,
	POSITION_EVERY = 1024,	/* packets */
};

struct source {
	struct source_facts facts;
	char *name;			/* as given */
	char *shown;			/* as messages name it */
	int fd;				/* -1 once it is taken by what follows */
	uint8_t first[MAGIC_BYTES];	/* bytes of the file, for which it is read before its format is known */
	size_t first_len;
	struct bytes *bytes;		/* of a pcap file */
	struct file_pcap own;
	struct file_libpcap *foreign;	/* of a file that libpcap reads */
	pcap_t *pcap;			/* knows the file's header */
	struct bpf_program filter;
	bool has_filter;
	bool is_regular;
	bool is_stdin;
	source_gone_fn *gone;
	void *gone_context;
	struct packet lent;		/* of a file that libpcap reads: what goes with the next one; data NULL: none */
	uint64_t frame;			/* of the last packet that was read */
	_Atomic uint64_t position;
};

/* What a file starts with. */
struct magic {
	uint8_t len;
	const char *bytes;
	const char *format;	/* of a capture that can be read, else NULL */
	const char *problem;	/* why it cannot be read, and what helps; for a message */
	bool nanoseconds;
};

static const struct magic magics[] = {
	{ 4, "\xd4\xc3\xb2\xa1", "pcap", NULL, false },
	{ 4, "\xa1\xb2\xc3\xd4", "pcap", NULL, false },
	{ 4, "\x4d\x3c\xb2\xa1", "pcap", NULL, true },
	{ 4, "\xa1\xb2\x3c\x4d", "pcap", NULL, true },
	/* With an interface in each packet's header, as patched tcpdumps wrote it. */
	{ 4, "\x34\xcd\xb2\xa1", "pcap", NULL, false },
	{ 4, "\xa1\xb2\xcd\x34", "pcap", NULL, false },
	{ 4, "\x0a\x0d\x0d\x0a", "pcapng", NULL, false },
	{ 8, "snoop\0\0", NULL,
	  "a snoop capture, which is not read yet; convert it: editcap -F pcap OLD NEW", false },
	{ 2, "\x1f\x8b", NULL, "compressed; decompress it first: gzip -d", false },
	{ 4, "\x28\xb5\x2f\xfd", NULL, "compressed; decompress it first: zstd -d", false },
	{ 6, "\xfd" "7zXZ\0", NULL, "compressed; decompress it first: xz -d", false },
	{ 4, "\x04\x22\x4d\x18", NULL, "compressed; decompress it first: lz4 -d", false },
	{ 3, "BZh", NULL, "compressed; decompress it first: bzip2 -d", false },
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
	struct stat status;

	source->fd = source->is_stdin ? dup(STDIN_FILENO) : open(source->name, O_RDONLY | O_CLOEXEC);
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
	while (source->first_len < MAGIC_BYTES) {
		ssize_t len = read(source->fd, source->first + source->first_len, MAGIC_BYTES - source->first_len);

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return len == 0;
		source->first_len += (size_t)len;
	}
	return true;
}

static bool
check_magic(struct source *source, GError **error)
{
	const struct magic *magic;

	if (!read_first(source))
		return fail(source, error, g_strerror(errno));
	magic = find_magic(source->first, source->first_len);
	if (source->first_len == 0)
		return fail(source, error, "empty (0 bytes)");
	if (magic == NULL && is_text(source->first, source->first_len))
		return fail(source, error, "a text file, not a capture");
	if (magic == NULL)
		return fail(source, error, "not a pcap or pcapng capture; "
		    "if Wireshark reads it, convert it: editcap -F pcap OLD NEW");
	if (magic->problem != NULL)
		return fail(source, error, magic->problem);
	source->facts.format = magic->format;
	source->facts.nanoseconds = magic->nanoseconds;
	return true;
}

static bool
check_link(struct source *source, GError **error)
{
	int link_type = pcap_datalink(source->pcap);
	const char *name = pcap_datalink_val_to_name(link_type);
	const char *description = pcap_datalink_val_to_description(link_type);
	g_autofree char *problem = NULL;

	source->facts.link_type = link_type;
	if (segment_knows_link(link_type))
		return true;
	problem = g_strdup_printf("link type %s (%s, %d) is not supported",
	    name != NULL ? name : "unnamed", description != NULL ? description : "unknown",
	    link_type);
	return fail(source, error, problem);
}

static bool
open_foreign(struct source *source, GError **error)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	const char *problem;

	source->foreign = file_libpcap_new(source->fd, source->first, source->first_len, text, &problem);
	source->fd = -1;
	if (source->foreign == NULL)
		return fail(source, error, problem != NULL ? problem : "ends inside its file header");
	source->pcap = file_libpcap_pcap(source->foreign);
	return true;
}

/* libpcap reads the file's header and nothing else. */
static bool
open_own(struct source *source, GError **error)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	uint32_t magic;
	FILE *header;

	source->bytes = bytes_new(source->fd, source->first, source->first_len);
	if (source->bytes == NULL)
		return fail(source, error, g_strerror(ENOMEM));
	source->fd = -1;
	if (!bytes_look(source->bytes, FILE_PCAP_HEADER))
		return fail(source, error, source->bytes->error != 0 ? g_strerror(source->bytes->error) :
		    "ends inside its file header");
	header = fmemopen((void *)source->bytes->place, FILE_PCAP_HEADER, "r");
	if (header == NULL)
		return fail(source, error, g_strerror(errno));
	source->pcap = pcap_fopen_offline_with_tstamp_precision(header, PCAP_TSTAMP_PRECISION_NANO, text);
	if (source->pcap == NULL) {
		fclose(header);
		return fail(source, error, text);
	}
	memcpy(&magic, source->bytes->place, sizeof magic);
	file_pcap_init(&source->own, source->bytes, source->pcap, magic);
	bytes_pass(source->bytes, FILE_PCAP_HEADER);
	return true;
}

static bool
open_format(struct source *source, GError **error)
{
	bool is_own = strcmp(source->facts.format, "pcap") == 0;

	if (!(is_own ? open_own(source, error) : open_foreign(source, error)))
		return false;
	source->facts.snaplen = (uint32_t)pcap_snapshot(source->pcap);
	return check_link(source, error);
}

/*
 * The filter is not given to libpcap, which would not count the packets that it
 * drops: frame numbers are those of the file.
 */
static bool
set_filter(struct source *source, const char *filter, GError **error)
{
	if (filter == NULL)
		return true;
	if (pcap_compile(source->pcap, &source->filter, filter, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE, "filter '%s': %s",
		    filter, pcap_geterr(source->pcap));
		return false;
	}
	source->has_filter = true;
	return true;
}

struct source *
source_open(const char *path, const char *filter, GError **error)
{
	struct source *source = g_new0(struct source, 1);

	source->name = g_strdup(path);
	source->is_stdin = strcmp(path, "-") == 0;
	source->shown = source->is_stdin ? g_strdup("standard input") : g_filename_display_name(path);
	source->facts.name = source->name;
	source->facts.dropped_by_kernel = -1;
	source->fd = -1;
	if (open_file(source, error) && check_magic(source, error) &&
	    open_format(source, error) && set_filter(source, filter, error))
		return source;
	source_free(source);
	return NULL;
}

/* What libpcap lent out goes with the next packet. */
static void
take_back(struct source *source)
{
	const struct packet *lent = &source->lent;

	if (source->gone != NULL && lent->data != NULL)
		source->gone(source->gone_context, lent->data, lent->data + lent->cap_len);
	source->lent.data = NULL;
}

void
source_free(struct source *source)
{
	if (source == NULL)
		return;
	if (source->has_filter)
		pcap_freecode(&source->filter);
	if (source->foreign != NULL)
		take_back(source);
	else if (source->pcap != NULL)
		pcap_close(source->pcap);
	file_libpcap_free(source->foreign);
	bytes_free(source->bytes);
	if (source->fd >= 0)
		close(source->fd);
	g_free(source->shown);
	g_free(source->name);
	g_free(source);
}

void
source_on_gone(struct source *source, source_gone_fn *gone, void *context)
{
	source->gone = gone;
	source->gone_context = context;
	if (source->bytes != NULL)
		bytes_on_gone(source->bytes, gone, context);
}

static void
note_position(struct source *source)
{
	uint64_t position = 0;

	if (source->is_regular)
		position = source->bytes != NULL ? source->bytes->passed : file_libpcap_position(source->foreign);
	atomic_store_explicit(&source->position, position, memory_order_relaxed);
}

static enum source_result
broken(const struct source *source, enum file_result result, GError **error)
{
	const char *problem;

	switch (result) {
	case FILE_PACKET:
	case FILE_END:
		break;
	case FILE_CUT:
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT,
		    "%s: cut off in the middle of a packet, after packet %" G_GUINT64_FORMAT,
		    source->shown, source->frame);
		break;
	case FILE_BLANK:
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT,
		    "%s: nothing but zeros after packet %" G_GUINT64_FORMAT, source->shown, source->frame);
		break;
	case FILE_BROKEN:
		problem = source->foreign != NULL ? file_libpcap_problem(source->foreign) : source->own.problem;
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED,
		    "%s: cannot be read after packet %" G_GUINT64_FORMAT ": %s",
		    source->shown, source->frame, problem);
		break;
	}
	return SOURCE_BROKEN;
}

static bool
passes(const struct source *source, const struct packet *packet)
{
	struct pcap_pkthdr header = { .caplen = packet->cap_len, .len = packet->wire_len };

	return pcap_offline_filter(&source->filter, &header, packet->data) != 0;
}

static enum file_result
next_of_file(struct source *source, struct packet *packet)
{
	if (source->bytes != NULL)
		return file_pcap_next(&source->own, packet);
	take_back(source);
	return file_libpcap_next(source->foreign, packet);
}

enum source_result
source_next(struct source *source, struct packet *packet, GError **error)
{
	do {
		enum file_result result = next_of_file(source, packet);

		if (result != FILE_PACKET || source->frame % POSITION_EVERY == 0)
			note_position(source);
		if (result == FILE_END)
			return SOURCE_END;
		if (result != FILE_PACKET)
			return broken(source, result, error);
		source->frame++;
	} while (source->has_filter && !passes(source, packet));
	packet->link_type = source->facts.link_type;
	packet->frame = source->frame;
	if (source->foreign != NULL)
		source->lent = *packet;
	return SOURCE_PACKET;
}

const struct source_facts *
source_facts(const struct source *source)
{
	return &source->facts;
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
