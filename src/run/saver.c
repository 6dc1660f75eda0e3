#include "run/saver.h"

#include <string.h>

enum {
	CHUNK_BYTES = 512 << 10,	/* more than any packet has */
	CHUNKS = 32,			/* on their way, 16 MiB */
};

/* Packets one behind the other, each with its bytes behind it, aligned as it is. */
struct chunk {
	size_t used;
	bool last;
	_Alignas(struct packet) uint8_t bytes[CHUNK_BYTES];
};

struct saver {
	struct save *save;		/* the thread's */
	GThread *thread;
	GAsyncQueue *full, *empty;
	struct chunk *filling;		/* NULL between chunks */
	unsigned made;			/* chunks */
	uint64_t left_out;
	GError *error;			/* set by the thread, then is_over */
	gint is_over;			/* atomic */
	bool told;
};

static size_t
aligned(size_t len)
{
	size_t unit = _Alignof(struct packet);

	return (len + unit - 1) / unit * unit;
}

static void
write_chunk(struct saver *saver, const struct chunk *chunk)
{
	for (size_t at = 0; at < chunk->used && saver->error == NULL;) {
		struct packet packet;

		memcpy(&packet, chunk->bytes + at, sizeof packet);
		packet.data = chunk->bytes + at + sizeof packet;
		save_packet(saver->save, &packet, &saver->error);
		at += sizeof packet + aligned(packet.cap_len);
	}
	if (saver->error == NULL)
		save_flush(saver->save, &saver->error);
	if (saver->error != NULL)
		g_atomic_int_set(&saver->is_over, 1);
}

static gpointer
run(gpointer data)
{
	struct saver *saver = data;
	bool last = false;

	while (!last) {
		struct chunk *chunk = g_async_queue_pop(saver->full);

		if (!g_atomic_int_get(&saver->is_over))
			write_chunk(saver, chunk);
		last = chunk->last;
		g_async_queue_push(saver->empty, chunk);
	}
	return NULL;
}

struct saver *
saver_new(struct save *save)
{
	struct saver *saver = g_new0(struct saver, 1);

	saver->save = save;
	saver->full = g_async_queue_new_full(g_free);
	saver->empty = g_async_queue_new_full(g_free);
	saver->thread = g_thread_new("save", run, saver);
	return saver;
}

void
saver_free(struct saver *saver)
{
	if (saver == NULL)
		return;
	if (saver->filling == NULL)
		saver->filling = g_new0(struct chunk, 1);
	saver->filling->last = true;
	saver_flush(saver);
	g_thread_join(saver->thread);
	save_free(saver->save);
	g_async_queue_unref(saver->full);
	g_async_queue_unref(saver->empty);
	g_clear_error(&saver->error);
	g_free(saver);
}

/* One with room for so much; NULL: the disk is behind. */
static struct chunk *
chunk_for(struct saver *saver, size_t len)
{
	if (saver->filling != NULL && saver->filling->used + len > CHUNK_BYTES)
		saver_flush(saver);
	if (saver->filling != NULL)
		return saver->filling;
	saver->filling = g_async_queue_try_pop(saver->empty);
	if (saver->filling == NULL && saver->made < CHUNKS) {
		saver->filling = g_new(struct chunk, 1);
		saver->made++;
	}
	if (saver->filling != NULL) {
		saver->filling->used = 0;
		saver->filling->last = false;
	}
	return saver->filling;
}

void
saver_push(struct saver *saver, const struct packet *packet)
{
	size_t len = sizeof *packet + aligned(packet->cap_len);
	struct chunk *chunk = len <= CHUNK_BYTES ? chunk_for(saver, len) : NULL;

	if (chunk == NULL) {
		saver->left_out++;
		return;
	}
	memcpy(chunk->bytes + chunk->used, packet, sizeof *packet);
	memcpy(chunk->bytes + chunk->used + sizeof *packet, packet->data, packet->cap_len);
	chunk->used += len;
}

void
saver_flush(struct saver *saver)
{
	if (saver->filling != NULL && (saver->filling->used > 0 || saver->filling->last))
		g_async_queue_push(saver->full, g_steal_pointer(&saver->filling));
}

void
saver_set_snaplen(struct saver *saver, uint32_t snaplen)
{
	save_set_snaplen(saver->save, snaplen);
}

uint64_t
saver_left_out(const struct saver *saver)
{
	return saver->left_out;
}

GError *
saver_error(struct saver *saver)
{
	if (saver->told || !g_atomic_int_get(&saver->is_over))
		return NULL;
	saver->told = true;
	return g_error_copy(saver->error);
}
