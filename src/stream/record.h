/*
 * The begin and the end of a record (RFC 5531 section 11), for those who follow
 * the marks: records.c, and plain.h where a segment is a record of its own.
 */
#ifndef STREAM_RECORD_H
#define STREAM_RECORD_H

#include <glib.h>
#include <nfscorr/xdr.h>

#include "stream/connection.h"

enum {
	MARK_LEN = 4,
	HEAD_LEAST = 24,	/* a call up to its procedure: with less, wait while more comes */
	TRUSTED = 64,		/* records in a row after which a found place counts as right */
	RECORDS_MOST = 255,	/* that are counted since a place was found */
};

#define RECORD_LAST_FRAGMENT (UINT32_C(1) << 31)

/* What is known of a record that begins. */
static inline uint8_t
record_flags(const struct record_state *state)
{
	return state->since_resync < state->unproven ? RECORD_UNPROVEN : 0;
}

/* With the first byte of its mark. Member by member: the others are written before they are read. */
static inline void
record_begin(struct record_state *state, struct connection *connection, uint8_t direction, const struct slice *slice)
{
	struct rpc_record *record = &state->record;

	record->connection = &connection->info;
	record->direction = direction;
	record->flags = record_flags(state);
	record->first_ns = slice->seen_ns;
	record->first_frame = slice->frame;
	record->first_order = slice->order;
	record->first_acked = slice->acked;
	record->begin_offset = slice->offset;
	record->total_len = 0;
	record->token = 0;
	state->waited = slice->waited;
	state->alignment = (int8_t)(slice->offset & 3);
	state->copy_len = 0;
	state->head_done = state->headless = false;
}

/* All of it has come: its place was right. */
static inline void
record_is_over(struct record_state *state, uint32_t total_len)
{
	bool proven = state->since_resync >= state->unproven;

	state->phase = RECORD_AT_MARK;
	if (G_UNLIKELY(state->since_resync < RECORDS_MOST))
		state->since_resync++;
	if (G_UNLIKELY(total_len > state->largest) && proven)
		state->largest = total_len;
}

/* Whether a segment is a record, no more and no less: in one fragment, with enough of its head. Most small ones are. */
static inline bool
record_is_whole(const struct connection *connection, const struct record_state *state, const struct segment *segment)
{
	return state->phase == RECORD_AT_MARK && state->mark_have == 0 && !connection->tls &&
	    segment->payload_cap_len >= MARK_LEN + HEAD_LEAST && segment->payload_wire_len <= MARK_LEN + RECORD_MAX &&
	    xdr_load32(segment->payload) == (RECORD_LAST_FRAGMENT | (segment->payload_wire_len - MARK_LEN));
}

#endif
