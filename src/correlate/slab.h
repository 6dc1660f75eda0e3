/*
 * Records of one size under small numbers: made in chunks that never move,
 * used again newest first, so that memory follows what is in use.
 */
#ifndef CORRELATE_SLAB_H
#define CORRELATE_SLAB_H

#include <stddef.h>
#include <stdint.h>

enum { SLAB_NONE = 0, SLAB_CHUNK_BITS = 9 };

struct slab {
	size_t size;		/* bytes of a record */
	char **chunks;
	uint32_t chunk_count;
	uint32_t made;		/* ids 1..made exist; the place of SLAB_NONE stays empty */
	uint32_t free;		/* first of those that were given back */
};

/* size: bytes of a record, at least 4. */
void slab_init(struct slab *slab, size_t size);
void slab_clear(struct slab *slab);
/* The id of a record whose content is undefined; never SLAB_NONE. */
uint32_t slab_take(struct slab *slab);
void slab_give_back(struct slab *slab, uint32_t id);

/* The record of an id that slab_take returned; it never moves. size: that of the slab, which the compiler shall know. */
static inline void *
slab_record(const struct slab *slab, size_t size, uint32_t id)
{
	return slab->chunks[id >> SLAB_CHUNK_BITS] + size * (id & ((1u << SLAB_CHUNK_BITS) - 1));
}

#endif
