/*
 * Segments out of a fuzzer's bytes: what the streams' targets feed on.
 */
#ifndef FUZZ_SEGMENTS_H
#define FUZZ_SEGMENTS_H

#include "capture/segment.h"

/*
 * Takes the next segment of one of four connections from the input; false at
 * its end. packet and segment stay valid until the next call; the payload
 * points into the input.
 */
struct fuzz_input {
	const uint8_t *at;
	const uint8_t *end;
	int64_t now_ns;
	uint64_t frame;
	uint32_t next_seq[4][2];
	struct packet packet;
	struct flow_key key;
};
bool fuzz_next_segment(struct fuzz_input *input, struct segment *segment);

#endif
