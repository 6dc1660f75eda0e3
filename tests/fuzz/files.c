#include "files.h"

#include <glib.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arith.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_BYTES = 8, PACKETS_MOST = 65536 };

/* What was made of a place in the file. */
struct seen {
	enum file_result result;
	struct packet packet;	/* without its data */
	uint64_t hash;		/* of its data */
};

static void
check(bool holds)
{
	if (!holds)
		abort();
}

/* As source.c opens a file: its first bytes are read before its format is known. */
static struct bytes *
open_bytes(const uint8_t *data, size_t size)
{
	uint8_t first[FIRST_BYTES];
	int fd = memfd_create("file", 0);
	struct bytes *bytes;
	ssize_t len;

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	len = read(fd, first, sizeof first);
	check(len >= 0);
	bytes = bytes_new(fd, first, (size_t)len);
	check(bytes != NULL);
	return bytes;
}

static void
check_facts(const struct file_facts *facts)
{
	check(facts->dropped_by_kernel >= -1 && facts->comments <= FILE_COMMENTS);
	for (unsigned i = 0; i < facts->comments; i++)
		check(facts->comment[i] != NULL);
}

/* Its bytes lie in what was read of the file, behind where the one before it ended. */
static void
check_packet(const struct packet *packet, const struct bytes *bytes, uint64_t before)
{
	check(packet->cap_len <= packet->wire_len && packet->cap_len <= FILE_CAPTURED_MOST);
	check(packet->ts_ns >= 0 && packet->ts_ns <= (INT64_C(1) << 32) * NS_PER_S);
	check(packet->data + packet->cap_len <= bytes->place);
	check((uint64_t)(bytes->place - packet->data) <= bytes->passed - before);
}

static GArray *
read_file(const struct file_format *format, const uint8_t *data, size_t size)
{
	GArray *all = g_array_new(FALSE, TRUE, sizeof(struct seen));
	struct bytes *bytes = open_bytes(data, size);
	char text[FILE_TEXT] = "";
	void *file = format->open(bytes, text);
	struct seen seen = { .result = FILE_PACKET };

	check(file != NULL || text[0] != '\0');
	while (file != NULL && all->len < PACKETS_MOST && (seen.result == FILE_PACKET || seen.result == FILE_SKIPPED)) {
		uint64_t before = bytes->passed;

		seen = (struct seen){ 0 };
		seen.result = format->next(file, &seen.packet);
		check(bytes->passed <= size && bytes_left(bytes) <= size - bytes->passed);
		check_facts(format->facts(file));
		if (seen.result == FILE_PACKET) {
			check_packet(&seen.packet, bytes, before);
			seen.hash = XXH3_64bits(seen.packet.data, seen.packet.cap_len);
			seen.packet.data = NULL;
		} else {
			seen.packet = (struct packet){ 0 };
		}
		check(seen.result != FILE_BROKEN || format->problem(file)[0] != '\0');
		check((seen.result != FILE_PACKET && seen.result != FILE_SKIPPED) || bytes->passed > before);
		g_array_append_val(all, seen);
	}
	if (file != NULL)
		format->free(file);
	bytes_free(bytes);
	return all;
}

static bool
is_same(const struct seen *a, const struct seen *b)
{
	return a->result == b->result && a->hash == b->hash && a->packet.ts_ns == b->packet.ts_ns &&
	    a->packet.cap_len == b->packet.cap_len && a->packet.wire_len == b->packet.wire_len &&
	    a->packet.link_type == b->packet.link_type;
}

void
fuzz_file(const struct file_format *format, const uint8_t *data, size_t size)
{
	size_t cut = size > 0 ? XXH3_64bits(data, size) % size : 0;
	GArray *whole = read_file(format, data, size), *part = read_file(format, data, cut);

	/* the last one of the shorter file tells that it is cut; a longer one may not even open */
	check(part->len <= MAX(whole->len, 1));
	for (guint i = 0; i + 1 < part->len; i++)
		check(is_same(&g_array_index(whole, struct seen, i), &g_array_index(part, struct seen, i)));
	g_array_free(whole, TRUE);
	g_array_free(part, TRUE);
}
