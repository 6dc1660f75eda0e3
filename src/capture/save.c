#include "capture/save.h"

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/errors.h"
#include "capture/file.h"

enum {
	BUFFER_BYTES = 1 << 20,
	NAME_BYTES = 4096,
	FILE_HEADER_BYTES = 24,
	SNAPLEN_AT = 16,	/* in the header of a file */
	RECORD_HEADER_BYTES = 16,
};

/*
 * Before each packet, in the byte order of the host:
 *
 *	seconds  nanoseconds  bytes kept  bytes on the wire     (32 bits each)
 */
enum { RECORD_SECONDS, RECORD_NANOSECONDS, RECORD_KEPT, RECORD_WIRE, RECORD_WORDS };

struct save {
	struct save_config config;
	char *path;
	save_open_fn *open;
	void *context;
	uint8_t header[FILE_HEADER_BYTES];
	gint snaplen;		/* atomic */
	uint32_t told;		/* by the header of the present file */
	bool is_regular;
	int fd;
	bool over;
	uint64_t number;	/* of the file since the last change of time */
	uint64_t turns;		/* files that ended by time */
	int64_t begin_s;	/* of the file, or of its numbering */
	uint64_t file_bytes;	/* written and in memory */
	uint64_t packets;
	int64_t flushed_ns;	/* by the packets' clock */
	size_t used;
	uint8_t buffer[BUFFER_BYTES];
};

/* ---- names ---- */

/* Digits of the largest number, which is one less than there are files; as tcpdump has it. */
static int
number_digits(const struct save_config *config)
{
	int digits = 0;

	if (config->file_bytes > 0 && config->files > 0)
		for (unsigned last = config->files - 1; last > 0; last /= 10)
			digits++;
	return digits;
}

/* The user's own format is the point of it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool
format_time(char *name, size_t size, const char *format, int64_t seconds)
{
	time_t time = (time_t)seconds;
	struct tm local;

	return localtime_r(&time, &local) != NULL && strftime(name, size, format, &local) > 0;
}
#pragma GCC diagnostic pop

char *
save_name(const void *context, uint64_t number, int64_t seconds)
{
	const struct save_config *config = context;
	int digits = number_digits(config);
	char name[NAME_BYTES];

	if (config->seconds == 0 || !format_time(name, sizeof name, config->path, seconds))
		g_strlcpy(name, config->path, sizeof name);
	if (number == 0 && digits == 0)
		return g_strdup(name);
	return g_strdup_printf("%s%0*" G_GUINT64_FORMAT, name, digits, number);
}

/* ---- files ---- */

static int
open_by_name(void *context, uint64_t number, int64_t seconds)
{
	const struct save *save = context;
	g_autofree char *name = save_name(&save->config, number, seconds);

	return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

static bool
fail(struct save *save, int code, GError **error)
{
	g_autofree char *name = save_name(&save->config, save->number, save->begin_s);

	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, "cannot write %s: %s", name, g_strerror(code));
	save->over = true;
	return false;
}

/*
 * How many of the bytes written lie in whole records: in the buffer there is
 * nothing but whole ones, behind the file's header if it begins there.
 */
static size_t
whole_bytes(const struct save *save, size_t written)
{
	size_t whole = 0, next = 0;

	if (save->file_bytes == save->used)
		next = FILE_HEADER_BYTES;
	while (next <= written) {
		uint32_t kept;

		whole = next;
		if (next + RECORD_HEADER_BYTES > save->used)
			break;
		memcpy(&kept, save->buffer + next + RECORD_KEPT * sizeof kept, sizeof kept);
		next += RECORD_HEADER_BYTES + kept;
	}
	return whole;
}

static bool
write_out(struct save *save, GError **error)
{
	size_t written = 0;
	off_t end;
	int code;

	while (written < save->used) {
		ssize_t len = write(save->fd, save->buffer + written, save->used - written);

		if (len > 0) {
			written += (size_t)len;
		} else if (len == 0 || errno != EINTR) {
			code = len == 0 ? EIO : errno;
			end = lseek(save->fd, 0, SEEK_CUR);
			if (end >= (off_t)written)
				(void)!ftruncate(save->fd, end - (off_t)(written - whole_bytes(save, written)));
			save->used = 0;
			return fail(save, code, error);
		}
	}
	save->used = 0;
	return true;
}

/* The header by libpcap, which knows how the file numbers link types. */
static bool
make_header(struct save *save)
{
	pcap_t *dead = pcap_open_dead_with_tstamp_precision(save->config.link_type, (int)save->config.snaplen,
	    PCAP_TSTAMP_PRECISION_NANO);
	char *bytes = NULL;
	size_t len = 0;
	FILE *memory = dead != NULL ? open_memstream(&bytes, &len) : NULL;
	pcap_dumper_t *dumper = memory != NULL ? pcap_dump_fopen(dead, memory) : NULL;

	if (dumper != NULL)
		pcap_dump_close(dumper);
	else if (memory != NULL)
		fclose(memory);
	if (dead != NULL)
		pcap_close(dead);
	if (len == FILE_HEADER_BYTES)
		memcpy(save->header, bytes, FILE_HEADER_BYTES);
	free(bytes);
	return len == FILE_HEADER_BYTES;
}

static void
put_snaplen(struct save *save, uint32_t snaplen)
{
	save->told = snaplen;
	memcpy(save->header + SNAPLEN_AT, &snaplen, sizeof snaplen);
}

/* What was written of a pipe cannot be changed: its header says the most there can be. */
static bool
begin_file(struct save *save, GError **error)
{
	int fd = save->open(save->context, save->number, save->begin_s);
	uint32_t snaplen = (uint32_t)g_atomic_int_get(&save->snaplen);
	struct stat status;

	if (fd < 0)
		return fail(save, errno, error);
	save->fd = fd;
	save->is_regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
	put_snaplen(save, save->is_regular ? snaplen : MAX(snaplen, save->config.snaplen_most));
	memcpy(save->buffer, save->header, FILE_HEADER_BYTES);
	save->used = save->file_bytes = FILE_HEADER_BYTES;
	return write_out(save, error);
}

static bool
end_file(struct save *save, GError **error)
{
	int fd = save->fd;

	if (!write_out(save, error))
		return false;
	save->fd = -1;
	return close(fd) == 0 || fail(save, errno, error);
}

/* A header that says less than what follows makes readers cut it. */
static bool
follow_snaplen(struct save *save, GError **error)
{
	uint32_t snaplen = (uint32_t)g_atomic_int_get(&save->snaplen);

	if (!save->is_regular || snaplen == save->told)
		return true;
	put_snaplen(save, snaplen);
	return pwrite(save->fd, &snaplen, sizeof snaplen, SNAPLEN_AT) == (ssize_t)sizeof snaplen ||
	    fail(save, errno, error);
}

/* ---- rotation ---- */

/* Whether the time of the present file is up; it begins anew with the packet that shows it. */
static bool
turn_by_time(struct save *save, int64_t now_s, GError **error)
{
	if (save->config.seconds == 0 || now_s - save->begin_s < (int64_t)save->config.seconds)
		return true;
	if (!end_file(save, error))
		return false;
	save->turns++;
	if (save->config.file_bytes == 0 && save->config.files > 0 && save->turns >= save->config.files) {
		save->over = true;
		return true;
	}
	save->begin_s = now_s;
	save->number = 0;
	return begin_file(save, error);
}

static bool
turn_by_size(struct save *save, GError **error)
{
	if (save->config.file_bytes == 0 || save->file_bytes <= save->config.file_bytes)
		return true;
	if (!end_file(save, error))
		return false;
	save->number++;
	if (save->config.files > 0 && save->number >= save->config.files)
		save->number = 0;
	return begin_file(save, error);
}

/* ---- packets ---- */

struct save *
save_new(const struct save_config *config, save_open_fn *open, void *context, GError **error)
{
	struct save *save = g_new0(struct save, 1);

	save->config = *config;
	save->path = g_strdup(config->path);
	save->config.path = save->path;
	save->open = open != NULL ? open : open_by_name;
	save->context = open != NULL ? context : save;
	save->fd = -1;
	save->snaplen = (gint)config->snaplen;
	save->begin_s = config->begin_ns / NS_PER_S;
	save->flushed_ns = config->begin_ns;
	if (make_header(save) ? begin_file(save, error) : fail(save, ENOMEM, error))
		return save;
	save_free(save);
	return NULL;
}

void
save_free(struct save *save)
{
	if (save == NULL)
		return;
	if (!save->over)
		(void)write_out(save, NULL);
	if (save->fd >= 0)
		close(save->fd);
	g_free(save->path);
	g_free(save);
}

static void
put_record(struct save *save, const struct packet *packet)
{
	uint32_t kept = MIN(packet->cap_len, FILE_CAPTURED_MOST);
	const uint32_t record[RECORD_WORDS] = {
		[RECORD_SECONDS] = (uint32_t)(packet->ts_ns / NS_PER_S),
		[RECORD_NANOSECONDS] = (uint32_t)(packet->ts_ns % NS_PER_S),
		[RECORD_KEPT] = kept,
		[RECORD_WIRE] = packet->wire_len,
	};

	memcpy(save->buffer + save->used, record, sizeof record);
	memcpy(save->buffer + save->used + sizeof record, packet->data, kept);
	save->used += sizeof record + kept;
	save->file_bytes += sizeof record + kept;
	save->packets++;
}

bool
save_packet(struct save *save, const struct packet *packet, GError **error)
{
	if (save->over)
		return true;
	if (!turn_by_time(save, packet->ts_ns / NS_PER_S, error) || !turn_by_size(save, error))
		return false;
	if (save->over)
		return true;
	if (!follow_snaplen(save, error))
		return false;
	if (save->used + RECORD_HEADER_BYTES + MIN(packet->cap_len, FILE_CAPTURED_MOST) > BUFFER_BYTES &&
	    !write_out(save, error))
		return false;
	put_record(save, packet);
	if (packet->ts_ns - save->flushed_ns < NS_PER_S)
		return true;
	save->flushed_ns = packet->ts_ns;
	return write_out(save, error);
}

bool
save_flush(struct save *save, GError **error)
{
	return save->over || write_out(save, error);
}

void
save_set_snaplen(struct save *save, uint32_t snaplen)
{
	g_atomic_int_set(&save->snaplen, (gint)snaplen);
}

bool
save_is_over(const struct save *save)
{
	return save->over;
}

uint64_t
save_packets(const struct save *save)
{
	return save->packets;
}
