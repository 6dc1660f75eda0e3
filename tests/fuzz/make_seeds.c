/*
 * make_seeds CAPTURE DIR: seeds for the targets out of a capture. The
 * segments of each connection as fuzz_stream takes them, and each direction's
 * messages as fuzz_rpc_header and fuzz_decoders take them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nfscorr/xdr.h>

#include "capture/segment.h"
#include "capture/source.h"

enum { STREAM_SEED_BYTES = 6000, MESSAGES = 60, WIRE_MOST = 1020 };

static FILE *
open_seed(const char *dir, const char *target, unsigned number)
{
	g_autofree char *folder = g_build_filename(dir, target, NULL);
	g_autofree char *path = g_strdup_printf("%s/seed-%u", folder, number);
	FILE *file;

	g_mkdir_with_parents(folder, 0777);
	file = fopen(path, "wb");
	if (file == NULL) {
		fprintf(stderr, "make_seeds: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return file;
}

/* A segment as a step of segments.c, without displacement; long payloads are cut down. */
static size_t
write_step(FILE *file, const struct segment *segment, unsigned flow)
{
	uint32_t wire = MIN(segment->payload_wire_len, WIRE_MOST) & ~3u;
	uint32_t cap = MIN(segment->payload_cap_len, wire) & ~3u;
	uint8_t step[10] = { (uint8_t)(flow | (unsigned)segment->direction << 2), segment->flags, 0, 0, 1,
		(uint8_t)(wire >> 2), cap < wire ? (uint8_t)(128 + (wire - cap) / 4) : 0, 1, 1, 0 };

	fwrite(step, 1, sizeof step, file);
	fwrite(segment->payload, 1, cap, file);
	return sizeof step + cap;
}

/* A message at a segment's start, for the targets that take one message. */
static void
write_message(const char *dir, const struct segment *segment, unsigned number)
{
	uint32_t len = MIN(segment->payload_cap_len - 4, 400);
	uint8_t lead[4] = { 0, 0, (uint8_t)(len >> 8), (uint8_t)len };
	FILE *file = open_seed(dir, "rpc_header", number);

	fwrite(lead, 1, 4, file);
	fwrite(segment->payload + 4, 1, len, file);
	fclose(file);
	/* the arguments of an AUTH_SYS call of NFSv3 begin somewhere behind the header: close enough */
	file = open_seed(dir, "decoders", number);
	lead[0] = 0;
	lead[1] = len > 24 ? (uint8_t)(segment->payload[27] << 1 | (segment->payload[11] & 1)) : 0;
	fwrite(lead, 1, 4, file);
	fwrite(segment->payload + MIN(segment->payload_cap_len, 28), 1, len > 24 ? len - 24 : 0, file);
	fclose(file);
}

int
main(int argc, char **argv)
{
	struct source *source;
	struct packet packet;
	struct segment segment;
	struct flow_key key;
	unsigned seeds = 0, messages = 0;
	size_t bytes = 0;
	FILE *stream = NULL;

	if (argc != 3 || (source = source_open(argv[1], NULL, NULL)) == NULL) {
		fprintf(stderr, "usage: make_seeds CAPTURE DIR\n");
		return 2;
	}
	while (source_next(source, &packet, NULL) == SOURCE_PACKET && seeds < MESSAGES) {
		if (segment_parse(&packet, &segment, &key) != SEGMENT_TCP)
			continue;
		if (stream == NULL || bytes > STREAM_SEED_BYTES) {
			if (stream != NULL)
				fclose(stream);
			stream = open_seed(argv[2], "stream", seeds++);
			bytes = 0;
		}
		bytes += write_step(stream, &segment, key.port[0] & 1);
		if (segment.payload_cap_len > 32 && segment.payload[0] & 0x80 && messages < MESSAGES)
			write_message(argv[2], &segment, messages++);
	}
	if (stream != NULL)
		fclose(stream);
	source_free(source);
	return 0;
}
