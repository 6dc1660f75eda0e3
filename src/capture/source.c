#include "capture/source.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/errors.h"
#include "capture/segment.h"

enum {
	BUFFER_BYTES = 1 << 20,	/* the default one of 4 KiB halves the speed */
	BUFFER_ALIGNMENT = 4096,	/* the kernel copies faster to the start of a page */
	MAGIC_BYTES = 8,
	POSITION_EVERY = 1024,	/* packets */
};

struct source {
	struct source_facts facts;
	char *name;			/* as given */
	char *shown;			/* as messages name it */
	FILE *file;			/* the pcap's, once there is one */
	char *buffer;			/* of the file; freed after it */
	pcap_t *pcap;
	struct bpf_program filter;
	bool has_filter;
	bool is_regular;
	bool is_stdin;
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

	if (source->is_stdin) {
		/* libpcap leaves stdin open, so that its buffer would outlive the source. */
		int copy = dup(STDIN_FILENO);

		source->file = copy >= 0 ? fdopen(copy, "rb") : NULL;
		if (source->file == NULL && copy >= 0)
			close(copy);
	} else {
		source->file = fopen(source->name, "rbe");
	}
	if (source->file == NULL || fstat(fileno(source->file), &status) != 0)
		return fail(source, error, g_strerror(errno));
	if (S_ISDIR(status.st_mode))
		return fail(source, error, "a directory, not a capture file");
	source->is_regular = S_ISREG(status.st_mode);
	if (source->is_regular)
		source->facts.bytes = (uint64_t)status.st_size;
	source->buffer = aligned_alloc(BUFFER_ALIGNMENT, BUFFER_BYTES);
	if (source->buffer == NULL)
		return fail(source, error, g_strerror(ENOMEM));
	setvbuf(source->file, source->buffer, _IOFBF, BUFFER_BYTES);
	return true;
}

/* Looks at the first bytes and puts them back, which also works in a pipe. */
static bool
check_magic(struct source *source, GError **error)
{
	uint8_t bytes[MAGIC_BYTES];
	size_t len = fread(bytes, 1, sizeof(bytes), source->file);
	const struct magic *magic = find_magic(bytes, len);

	if (ferror(source->file))
		return fail(source, error, g_strerror(errno));
	if (len == 0)
		return fail(source, error, "empty (0 bytes)");
	if (magic == NULL && is_text(bytes, len))
		return fail(source, error, "a text file, not a capture");
	if (magic == NULL)
		return fail(source, error, "not a pcap or pcapng capture; "
		    "if Wireshark reads it, convert it: editcap -F pcap OLD NEW");
	if (magic->problem != NULL)
		return fail(source, error, magic->problem);
	for (size_t i = len; i > 0; i--)
		if (ungetc(bytes[i - 1], source->file) == EOF)
			return fail(source, error, "its first bytes cannot be read again");
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
open_pcap(struct source *source, GError **error)
{
	char message[PCAP_ERRBUF_SIZE] = "";

	source->pcap = pcap_fopen_offline_with_tstamp_precision(source->file,
	    PCAP_TSTAMP_PRECISION_NANO, message);
	if (source->pcap == NULL) {
		if (feof(source->file))
			return fail(source, error, "ends inside its file header");
		return fail(source, error, message);
	}
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
	if (open_file(source, error) && check_magic(source, error) &&
	    open_pcap(source, error) && set_filter(source, filter, error))
		return source;
	source_free(source);
	return NULL;
}

void
source_free(struct source *source)
{
	if (source == NULL)
		return;
	if (source->has_filter)
		pcap_freecode(&source->filter);
	if (source->pcap != NULL)
		pcap_close(source->pcap);	/* closes the file as well */
	else if (source->file != NULL)
		fclose(source->file);
	free(source->buffer);
	g_free(source->shown);
	g_free(source->name);
	g_free(source);
}

static void
note_position(struct source *source)
{
	off_t position = source->is_regular ? ftello(source->file) : 0;

	if (position > 0)
		atomic_store_explicit(&source->position, (uint64_t)position, memory_order_relaxed);
}

/* What a file that was laid out in advance holds where nothing was written. */
static bool
is_blank(const struct pcap_pkthdr *header)
{
	return header->caplen == 0 && header->len == 0 && header->ts.tv_sec == 0 &&
	    header->ts.tv_usec == 0;
}

static enum source_result
broken(const struct source *source, GError **error)
{
	if (feof(source->file))
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT,
		    "%s: cut off in the middle of a packet, after packet %" G_GUINT64_FORMAT,
		    source->shown, source->frame);
	else
		g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED,
		    "%s: cannot be read after packet %" G_GUINT64_FORMAT ": %s",
		    source->shown, source->frame, pcap_geterr(source->pcap));
	return SOURCE_BROKEN;
}

static enum source_result
blank(const struct source *source, GError **error)
{
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_CUT,
	    "%s: nothing but zeros after packet %" G_GUINT64_FORMAT, source->shown, source->frame);
	return SOURCE_BROKEN;
}

/*
 * Seconds are 32 bits wide in a pcap, unsigned today (draft-ietf-opsawg-pcap);
 * libpcap reads them as signed. A pcapng may claim any; bounded like the others,
 * so that the difference of two stamps always fits.
 */
static int64_t
stamp_ns(const struct source *source, const struct timeval *stamp)
{
	int64_t seconds = stamp->tv_sec;

	if (source->facts.format[4] == '\0')
		seconds = (uint32_t)seconds;
	return CLAMP(seconds, 0, UINT32_MAX) * NS_PER_S + CLAMP(stamp->tv_usec, 0, NS_PER_S - 1);
}

enum source_result
source_next(struct source *source, struct packet *packet, GError **error)
{
	struct pcap_pkthdr *header;
	const unsigned char *data;

	do {
		int status = pcap_next_ex(source->pcap, &header, &data);

		if (status != 1 || source->frame % POSITION_EVERY == 0)
			note_position(source);
		if (status == PCAP_ERROR_BREAK)
			return SOURCE_END;
		if (status != 1)
			return broken(source, error);
		if (is_blank(header))
			return blank(source, error);
		source->frame++;
	} while (source->has_filter && pcap_offline_filter(&source->filter, header, data) == 0);
	packet->ts_ns = stamp_ns(source, &header->ts);
	packet->cap_len = header->caplen;
	packet->wire_len = MAX(header->len, header->caplen);
	packet->link_type = source->facts.link_type;
	packet->frame = source->frame;
	packet->data = data;
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
