/* Heads that are looked at before they are read: the walk, and what a source says of it. */
#include <criterion/criterion.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/ahead.h"
#include "capture/source.h"

enum { PACKETS = 300, HEAD = 16 };

/* Lengths in the way of captures: the same several times, small ones between, others at last. */
static uint32_t
length_of(unsigned number)
{
	return number % 23 == 22 ? 100 + number : number % 3 == 2 ? 66 : 1514;
}

/* Heads with the length at an offset, in memory of just that size. */
static uint8_t *
chain(uint32_t length_at, uint32_t head_len, size_t place[PACKETS], size_t *size)
{
	uint8_t *bytes;

	*size = 0;
	for (unsigned i = 0; i < PACKETS; i++) {
		place[i] = *size;
		*size += head_len + length_of(i);
	}
	bytes = calloc(1, *size);
	cr_assert_not_null(bytes);
	for (unsigned i = 0; i < PACKETS; i++) {
		uint32_t len = length_of(i);

		memcpy(bytes + place[i] + length_at, &len, sizeof len);
	}
	return bytes;
}

static struct ahead
ahead_of(const uint8_t *bytes, size_t size, uint32_t length_at, uint32_t head_len)
{
	return (struct ahead){
		.place = (uintptr_t)bytes,
		.end = (uintptr_t)bytes + size - length_at - sizeof(uint32_t) + 1,
		.length_at = length_at,
		.head_len = head_len,
	};
}

Test(ahead, every_head_is_met)
{
	static const uint32_t forms[][2] = { { 8, HEAD }, { 4, 0 } };

	for (unsigned form = 0; form < G_N_ELEMENTS(forms); form++) {
		size_t place[PACKETS], size;
		uint8_t *bytes = chain(forms[form][0], forms[form][1], place, &size);
		struct ahead ahead = ahead_of(bytes, size, forms[form][0], forms[form][1]);

		for (unsigned i = 0; i < PACKETS; i++) {
			cr_assert_eq(ahead.place - (uintptr_t)bytes, place[i], "form %u, packet %u", form, i);
			ahead_step(&ahead);
		}
		for (unsigned i = 0; i < 3; i++) {
			cr_assert_geq(ahead.place, ahead.end);
			ahead_step(&ahead);
		}
		free(bytes);
	}
}

/* The address sanitizer sees a look too far. */
Test(ahead, a_lying_length_ends_it)
{
	static const uint32_t lies[] = { 100000000, 0x7fffffff, 0xfffffff0, 0xffffffff };

	for (unsigned i = 0; i < G_N_ELEMENTS(lies); i++) {
		size_t place[PACKETS], size;
		uint8_t *bytes = chain(8, HEAD, place, &size);
		struct ahead ahead = ahead_of(bytes, size, 8, HEAD);

		memcpy(bytes + place[10] + 8, &lies[i], sizeof lies[i]);
		for (unsigned step = 0; step < PACKETS; step++)
			ahead_step(&ahead);
		cr_assert_eq(ahead.place, ahead.end);
		free(bytes);
	}
}

/* What was not read whole is not looked at. */
Test(ahead, cut_anywhere)
{
	size_t place[PACKETS], size;
	uint8_t *bytes = chain(8, HEAD, place, &size);

	for (size_t len = place[3]; len < place[5]; len++) {
		uint8_t *cut = malloc(len);
		struct ahead ahead = ahead_of(cut, len, 8, HEAD);

		cr_assert_not_null(cut);
		memcpy(cut, bytes, len);
		for (unsigned step = 0; step < 8; step++)
			ahead_step(&ahead);
		cr_assert_geq(ahead.place, ahead.end);
		free(cut);
	}
	free(bytes);
}

static char *
write_capture(const char *folder, uint32_t magic)
{
	g_autoptr(GByteArray) file = g_byte_array_new();
	bool swapped = magic == GUINT32_SWAP_LE_BE(0xa1b2c3d4);
	uint32_t header[6] = { magic, 0, 0, 0, 65535, 1 };
	uint16_t versions[2] = { 2, 4 };
	char *path = g_build_filename(folder, "ahead.pcap", NULL);

	for (unsigned i = 0; i < 2; i++)
		versions[i] = swapped ? GUINT16_SWAP_LE_BE(versions[i]) : versions[i];
	memcpy(&header[1], versions, sizeof versions);
	for (unsigned i = 4; i < 6; i++)
		header[i] = swapped ? GUINT32_SWAP_LE_BE(header[i]) : header[i];
	g_byte_array_append(file, (const uint8_t *)header, sizeof header);
	for (unsigned i = 0; i < PACKETS; i++) {
		uint32_t len = length_of(i), head[4] = { 1000 + i, 0, len, len };
		g_autofree uint8_t *payload = g_malloc0(len);

		for (unsigned j = 0; j < 4; j++)
			head[j] = swapped ? GUINT32_SWAP_LE_BE(head[j]) : head[j];
		g_byte_array_append(file, (const uint8_t *)head, sizeof head);
		g_byte_array_append(file, payload, len);
	}
	cr_assert(g_file_set_contents(path, (const char *)file->data, (gssize)file->len, NULL));
	return path;
}

/* How many heads the walk meets in what was read of the file: just those of the packets that come next. */
static unsigned
walk_beside(uint32_t magic)
{
	g_autofree char *folder = g_dir_make_tmp("nfscorr-ahead-XXXXXX", NULL);
	g_autofree char *path = write_capture(folder, magic);
	struct source *source = source_open(path, &(struct source_config){ 0 }, NULL);
	uintptr_t met[PACKETS];
	unsigned walked = 0;
	struct ahead ahead = { 0 };
	struct packet packet;

	cr_assert_not_null(source);
	cr_assert_eq(source_next(source, &packet, NULL), SOURCE_PACKET);
	for (source_look_ahead(source, &ahead); ahead.place < ahead.end && walked < PACKETS; ahead_step(&ahead))
		met[walked++] = ahead.place;
	for (unsigned i = 0; i < walked; i++) {
		cr_assert_eq(source_next(source, &packet, NULL), SOURCE_PACKET);
		cr_assert_eq((uintptr_t)packet.data - HEAD, met[i], "packet %u", i);
	}
	source_free(source);
	cr_assert_eq(g_remove(path), 0);
	cr_assert_eq(g_rmdir(folder), 0);
	return walked;
}

Test(ahead, a_source_tells_where_they_lie)
{
	cr_assert_gt(walk_beside(0xa1b2c3d4), 10);
}

/* Heads of the other byte order are not looked at. */
Test(ahead, a_source_tells_nothing_of_another_order)
{
	cr_assert_eq(walk_beside(GUINT32_SWAP_LE_BE(0xa1b2c3d4)), 0);
}
