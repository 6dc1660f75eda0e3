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

static void
put32(GByteArray *file, bool swapped, uint32_t value)
{
	if (swapped)
		value = GUINT32_SWAP_LE_BE(value);
	g_byte_array_append(file, (const uint8_t *)&value, sizeof value);
}

static void
put_zeros(GByteArray *file, uint32_t len)
{
	g_autofree uint8_t *zeros = g_malloc0(len);

	g_byte_array_append(file, zeros, len);
}

static GByteArray *
make_pcap(bool swapped)
{
	GByteArray *file = g_byte_array_new();
	uint16_t versions[2] = { 2, 4 };

	put32(file, swapped, 0xa1b2c3d4);
	for (unsigned i = 0; i < 2; i++)
		versions[i] = swapped ? GUINT16_SWAP_LE_BE(versions[i]) : versions[i];
	g_byte_array_append(file, (const uint8_t *)versions, sizeof versions);
	put_zeros(file, 8);
	put32(file, swapped, 65535);
	put32(file, swapped, 1);
	for (unsigned i = 0; i < PACKETS; i++) {
		put32(file, swapped, 1000 + i);
		put32(file, swapped, 0);
		put32(file, swapped, length_of(i));
		put32(file, swapped, length_of(i));
		put_zeros(file, length_of(i));
	}
	return file;
}

/* A section, an interface, and enhanced packet blocks. */
static GByteArray *
make_pcapng(bool swapped)
{
	GByteArray *file = g_byte_array_new();
	const uint32_t version = swapped ? 0x00000100 : 1;

	put32(file, swapped, 0x0a0d0d0a);
	put32(file, swapped, 28);
	put32(file, swapped, 0x1a2b3c4d);
	g_byte_array_append(file, (const uint8_t *)&version, sizeof version);
	put_zeros(file, 8);
	put32(file, swapped, 28);
	put32(file, swapped, 1);
	put32(file, swapped, 20);
	put32(file, swapped, swapped ? 0x00010000 : 1);
	put32(file, swapped, 0);
	put32(file, swapped, 20);
	for (unsigned i = 0; i < PACKETS; i++) {
		uint32_t len = length_of(i), padded = (len + 3) & ~UINT32_C(3);

		put32(file, swapped, 6);
		put32(file, swapped, 32 + padded);
		put32(file, swapped, 0);
		put32(file, swapped, 0);
		put32(file, swapped, 1000 + i);
		put32(file, swapped, len);
		put32(file, swapped, len);
		put_zeros(file, padded);
		put32(file, swapped, 32 + padded);
	}
	return file;
}

/*
 * How many heads, of so many bytes, the walk meets in what was read of the file
 * behind its first packet: just those of the packets that come next.
 */
static unsigned
walk_beside(GByteArray *file, uint32_t head_len)
{
	g_autofree char *folder = g_dir_make_tmp("nfscorr-ahead-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "capture", NULL);
	uintptr_t met[PACKETS];
	unsigned walked = 0;
	struct ahead ahead = { 0 };
	struct source *source;
	struct packet packet;

	cr_assert(g_file_set_contents(path, (const char *)file->data, (gssize)file->len, NULL));
	g_byte_array_unref(file);
	source = source_open(path, &(struct source_config){ 0 }, NULL);
	cr_assert_not_null(source);
	cr_assert_eq(source_next(source, &packet, NULL), SOURCE_PACKET);
	for (source_look_ahead(source, &ahead); ahead.place < ahead.end && walked < PACKETS; ahead_step(&ahead))
		met[walked++] = ahead.place;
	for (unsigned i = 0; i < walked; i++) {
		cr_assert_eq(source_next(source, &packet, NULL), SOURCE_PACKET, "packet %u", i);
		cr_assert_eq((uintptr_t)packet.data - head_len, met[i], "packet %u", i);
	}
	source_free(source);
	cr_assert_eq(g_remove(path), 0);
	cr_assert_eq(g_rmdir(folder), 0);
	return walked;
}

Test(ahead, a_source_tells_where_they_lie)
{
	cr_assert_gt(walk_beside(make_pcap(false), HEAD), 10);
	cr_assert_gt(walk_beside(make_pcapng(false), 28), 10);
}

/* Heads of the other byte order are not looked at. */
Test(ahead, a_source_tells_nothing_of_another_order)
{
	cr_assert_eq(walk_beside(make_pcap(true), HEAD), 0);
	cr_assert_eq(walk_beside(make_pcapng(true), 28), 0);
}

/* The third packet's head is cut before the end of its captured length. */
Test(ahead, a_source_tells_of_whole_lengths_only)
{
	for (unsigned bytes = 1; bytes < 12; bytes++) {
		GByteArray *file = make_pcap(false);

		g_byte_array_set_size(file, 24 + 2 * HEAD + length_of(0) + length_of(1) + bytes);
		cr_assert_eq(walk_beside(file, HEAD), 1, "%u bytes", bytes);
	}
}
