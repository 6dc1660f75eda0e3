/*
 * A packet while its headers are taken off one by one: what is left of it.
 *
 *      data          data + cap_len      data + wire_len
 *       |  captured bytes  |  cut off by snaplen  |
 */
#ifndef CAPTURE_LAYER_H
#define CAPTURE_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/words.h"

enum layer_result {
	LAYER_FOUND,	/* the header was taken off, what follows is for us */
	LAYER_OTHER,	/* something else follows */
	LAYER_FRAGMENT,	/* a piece of a datagram follows */
	LAYER_CUT,	/* the capture does not hold the whole header */
	LAYER_BAD,	/* lengths that contradict one another */
};

struct layer {
	const uint8_t *data;	/* borrowed with the packet */
	uint32_t cap_len;	/* bytes at data */
	uint32_t wire_len;	/* bytes the wire carried; at least cap_len */
};

static inline uint16_t
load_be16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t
load_be32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
	    (uint32_t)bytes[2] << 8 | bytes[3];
}

/* LAYER_FOUND when len bytes can be read at data, else what that means. */
static inline enum layer_result
layer_need(const struct layer *layer, uint32_t len)
{
	if (layer->cap_len >= len)
		return LAYER_FOUND;
	return layer->wire_len >= len ? LAYER_CUT : LAYER_BAD;
}

/* Takes off len bytes; layer_need(len) has held. */
static inline void
layer_skip(struct layer *layer, uint32_t len)
{
	layer->data += len;
	layer->cap_len -= len;
	layer->wire_len -= len;
}

/* Sets the length of what the wire carried; captured bytes beyond it are padding. */
static inline void
layer_trim(struct layer *layer, uint32_t wire_len)
{
	layer->wire_len = wire_len;
	if (layer->cap_len > wire_len)
		layer->cap_len = wire_len;
}

#endif
