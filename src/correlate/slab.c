#include "correlate/slab.h"

#include <glib.h>

void
slab_init(struct slab *slab, size_t size)
{
	*slab = (struct slab){ .size = size };
}

void
slab_clear(struct slab *slab)
{
	for (uint32_t i = 0; i < slab->chunk_count; i++)
		g_free(slab->chunks[i]);
	g_free(slab->chunks);
	slab_init(slab, slab->size);
}

uint32_t
slab_take(struct slab *slab)
{
	uint32_t id = slab->free;

	if (id != SLAB_NONE) {
		slab->free = *(uint32_t *)slab_record(slab, slab->size, id);
		return id;
	}
	if ((slab->made + 1) >> SLAB_CHUNK_BITS == slab->chunk_count) {
		slab->chunks = g_renew(char *, slab->chunks, slab->chunk_count + 1);
		slab->chunks[slab->chunk_count++] = g_malloc0(slab->size << SLAB_CHUNK_BITS);
	}
	return ++slab->made;
}

void
slab_give_back(struct slab *slab, uint32_t id)
{
	*(uint32_t *)slab_record(slab, slab->size, id) = slab->free;
	slab->free = id;
}
