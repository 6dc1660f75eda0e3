#include "trace/pcapout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct pcap_out {
	FILE *file;
	char *path;
	char *buffer;
	const struct trace_capture *capture;
	int error;	/* errno of the first failure */
};

enum { BUFFER_BYTES = 1 << 20 };

static const uint32_t magics[] = {
	[TRACE_MICROSECONDS] = 0xa1b2c3d4,
	[TRACE_NANOSECONDS] = 0xa1b23c4d,
	[TRACE_MODIFIED] = 0xa1b2cd34,	/* microseconds and eight more bytes a packet */
};

static uint32_t
ordered32(const struct trace_capture *capture, uint32_t value)
{
	return capture->big_endian ? GUINT32_TO_BE(value) : GUINT32_TO_LE(value);
}

static void
put(struct pcap_out *out, const void *bytes, size_t len)
{
	if (out->error == 0 && fwrite(bytes, 1, len, out->file) != len)
		out->error = errno;
}

static void
set_error(const struct pcap_out *out, int code, GError **error)
{
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "%s: %s", out->path,
		g_strerror(code));
}

struct pcap_out *
trace_pcap_open(const char *path, const struct trace_capture *capture, uint32_t link_type,
	GError **error)
{
	struct pcap_out *out = g_new0(struct pcap_out, 1);
	uint32_t versions = capture->big_endian
		? GUINT32_TO_BE(2u << 16 | 4) : GUINT32_TO_LE(4u << 16 | 2);
	uint32_t header[6] = {
		ordered32(capture, magics[capture->magic]), versions, 0, 0,
		ordered32(capture, (uint32_t)MIN(capture->snaplen_bytes, INT32_MAX)),
		ordered32(capture, link_type),
	};

	out->path = g_strdup(path);
	out->capture = capture;
	out->file = fopen(path, "wb");
	if (out->file == NULL) {
		set_error(out, errno, error);
		g_free(out->path);
		g_free(out);
		return NULL;
	}
	out->buffer = g_malloc(BUFFER_BYTES);
	setvbuf(out->file, out->buffer, _IOFBF, BUFFER_BYTES);
	put(out, header, sizeof header);
	return out;
}

void
trace_pcap_write(struct pcap_out *out, int64_t at_ns, const uint8_t *bytes,
	uint32_t captured_bytes, uint32_t wire_bytes)
{
	const struct trace_capture *capture = out->capture;
	uint32_t fraction = (uint32_t)(at_ns % 1000000000);
	uint32_t header[6] = {
		ordered32(capture, (uint32_t)(at_ns / 1000000000)),
		ordered32(capture,
			capture->magic == TRACE_NANOSECONDS ? fraction : fraction / 1000),
		ordered32(capture, captured_bytes),
		ordered32(capture, wire_bytes),
		ordered32(capture, 2),	/* interface index; then protocol, packet type: 0 */
		0,
	};

	put(out, header, capture->magic == TRACE_MODIFIED ? 24 : 16);
	put(out, bytes, captured_bytes);
}

bool
trace_pcap_close(struct pcap_out *out, GError **error)
{
	int code;

	if (fclose(out->file) != 0 && out->error == 0)
		out->error = errno;
	code = out->error;
	if (code != 0)
		set_error(out, code, error);
	g_free(out->buffer);
	g_free(out->path);
	g_free(out);
	return code == 0;
}

int64_t
trace_pcap_resolution(const struct trace_capture *capture, int64_t at_ns)
{
	return capture->magic == TRACE_NANOSECONDS ? at_ns : at_ns - at_ns % 1000;
}
