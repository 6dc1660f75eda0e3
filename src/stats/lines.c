#include "stats/lines.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/arith.h"
#include "stats/rows.h"

enum {
	SLOTS = 4 * LINES_MAX,
	OCTAVES = 40,			/* of bit/s */
	STEPS = 32,			/* linear, in each of them: at most 3 % wide */
	STEP_BITS = 5,
	CHUNK_NS = NS_PER_MS,		/* a chunk lasts at least so long ... */
	CHUNK_FRAMES = 4,		/* ... and has at least so many frames */
	/*
	 * A gap longer than both ends a chunk and is not counted. Cards hand over
	 * what came within some 100 us at once, so that shorter gaps mean nothing.
	 */
	GAP_NS = 200 * NS_PER_US,
	GAP_MOST_S = 60,		/* a gap that long is a pause whatever came before it */
	GAP_SPACINGS = 4,		/* mean distances of the frames of the chunk, or of the one before */
	/*
	 * A frame that takes more or less than so many per cent of its share of its
	 * chunk, and UNEVEN_NS, makes the chunk uneven: its rate is a mean of pauses
	 * and bursts, and a line lets nothing through faster than its rate.
	 */
	LATE = 160,
	EARLY = 60,
	UNEVEN_NS = 100 * NS_PER_US,
	PEAK_PART = 8,			/* a peak is wide by this part of its rate on either side */
};

/* No frame in so short a time, however small, is slower than one of a byte in this. */
#define QUICK_NS_MOST (UINT64_C(1) << 32)

G_STATIC_ASSERT(2 * UNEVEN_NS < QUICK_NS_MOST);

/* What was moved at rates of one bucket. */
struct at_rate {
	int64_t time_ns;
	uint64_t bytes;
};

/* Frames that follow one another closely: how far that has come, and what is carried over to the next. */
struct chunk {
	int64_t start_ns, last_ns;	/* the frame before its first, its last */
	uint64_t bytes, wire_bytes;
	uint64_t quick_ns, quick_bytes;	/* of the frame that fastest_ns is of; QUICK_NS_MOST and 1: of none, or a slow one */
	double slowest_ns, fastest_ns;	/* a byte of the frame that took longest or shortest for its size, UNEVEN_NS granted */
	int64_t spacing_ns;		/* mean distance of frames in the last chunk */
	uint32_t frames;
	uint32_t open;
};

struct line {
	struct chunk chunk;		/* of a line of lines: out of date while it has an only line */
	uint8_t from[16], to[16];
	struct line *together;		/* that of all lines to the same end; NULL while it is not known */
	bool is_only;			/* the open chunk of that is this one's */
	enum line_end end;
	struct line *only;		/* of a line of lines: the one whose chunk it has; NULL: none */
	int64_t uneven_ns;		/* in chunks without a rate */
	uint64_t earlier_bytes;		/* all that came before the open chunk */
	struct at_rate *rate;		/* OCTAVES * STEPS; NULL until a chunk is closed */
};

struct lines {
	struct line line[LINES_MAX];
	unsigned count;
	struct line together[2];	/* of all clients: to them, to their servers */
	struct line *last[2];		/* found last, by direction of the segment */
	struct line *noted[2];		/* those of them that a call was of last, between these hosts */
	uint8_t noted_client[16], noted_server[16];
	uint8_t slot[SLOTS];		/* number + 1; 0: free. Few lines, so that collisions are bounded */
};

static void
forget_fastest(struct chunk *chunk)
{
	chunk->fastest_ns = INFINITY;
	chunk->quick_ns = QUICK_NS_MOST;
	chunk->quick_bytes = 1;
}

struct lines *
lines_new(void)
{
	struct lines *lines = g_new0(struct lines, 1);

	for (unsigned i = 0; i < LINES_MAX; i++)
		forget_fastest(&lines->line[i].chunk);
	forget_fastest(&lines->together[0].chunk);
	forget_fastest(&lines->together[1].chunk);
	return lines;
}

void
lines_free(struct lines *lines)
{
	if (lines == NULL)
		return;
	for (unsigned i = 0; i < lines->count; i++)
		g_free(lines->line[i].rate);
	g_free(lines->together[0].rate);
	g_free(lines->together[1].rate);
	g_free(lines);
}

static bool
is_line(const struct line *line, const uint8_t from[16], const uint8_t to[16])
{
	return (address_difference(line->from, from) | address_difference(line->to, to)) == 0;
}

/* The line between two hosts; NULL when it is not there and not to be made, or no room is left. */
static struct line *
find_line(struct lines *lines, const uint8_t from[16], const uint8_t to[16], bool make)
{
	uint8_t key[32];
	size_t at;
	struct line *line;

	memcpy(key, from, 16);
	memcpy(key + 16, to, 16);
	at = XXH3_64bits(key, sizeof(key)) % SLOTS;
	for (; lines->slot[at] != 0; at = (at + 1) % SLOTS) {
		line = &lines->line[lines->slot[at] - 1];
		if (is_line(line, from, to))
			return line;
	}
	if (!make || lines->count == LINES_MAX)
		return NULL;
	line = &lines->line[lines->count++];
	memcpy(line->from, from, sizeof(line->from));
	memcpy(line->to, to, sizeof(line->to));
	lines->slot[at] = (uint8_t)lines->count;
	return line;
}

static unsigned
bucket_of(uint64_t rate_bps)
{
	unsigned octave;

	if (rate_bps < STEPS)
		return 0;
	octave = 63 - (unsigned)__builtin_clzll(rate_bps);
	if (octave >= OCTAVES)
		return OCTAVES * STEPS - 1;
	return octave * STEPS + (unsigned)(rate_bps >> (octave - STEP_BITS)) % STEPS;
}

static double
bucket_middle(unsigned bucket)
{
	double octave = (double)(UINT64_C(1) << bucket / STEPS);

	return octave * (1 + (bucket % STEPS + 0.5) / STEPS);
}

static bool
is_uneven(const struct chunk *chunk, int64_t time_ns)
{
	double share_ns = (double)time_ns / (double)chunk->wire_bytes;

	return chunk->slowest_ns * 100 > share_ns * LATE || chunk->fastest_ns * 100 < share_ns * EARLY;
}

/* Headers take their share of a line, so that the rate is that of whole frames. */
static G_GNUC_NO_INLINE void
close_chunk(struct line *line)
{
	struct chunk *chunk = &line->chunk;
	int64_t time_ns = duration_ns(chunk->start_ns, chunk->last_ns);
	struct at_rate *rate;

	if (chunk->frames > 0 && is_uneven(chunk, time_ns)) {
		line->uneven_ns = sum_ns(line->uneven_ns, time_ns);
		chunk->spacing_ns = time_ns / chunk->frames;
	} else if (chunk->frames > 0 && time_ns > 0) {
		if (line->rate == NULL)
			line->rate = g_new0(struct at_rate, OCTAVES * STEPS);
		rate = &line->rate[bucket_of((uint64_t)((double)chunk->wire_bytes * 8e9 / (double)time_ns))];
		rate->time_ns = sum_ns(rate->time_ns, time_ns);
		rate->bytes += chunk->bytes;
		chunk->spacing_ns = time_ns / chunk->frames;
	}
	chunk->start_ns = chunk->last_ns;
	chunk->frames = 0;
	line->earlier_bytes += chunk->bytes;
	chunk->bytes = chunk->wire_bytes = 0;
	chunk->slowest_ns = 0;
	forget_fastest(chunk);
}

/* Where every gap seems to be a pause, the line has become slower than it was taken for. */
static bool
is_pause(struct chunk *chunk, int64_t gap_ns)
{
	int64_t spacing_ns = chunk->frames > 0 ? (chunk->last_ns - chunk->start_ns) / chunk->frames : chunk->spacing_ns;

	if (gap_ns / NS_PER_S >= GAP_MOST_S)
		return true;
	if (gap_ns <= GAP_NS || gap_ns / GAP_SPACINGS <= spacing_ns)
		return false;
	if (chunk->frames == 0)
		chunk->spacing_ns = spacing_ns == 0 ? gap_ns : 2 * spacing_ns;
	return true;
}

/* A frame of so many bytes took so long, UNEVEN_NS granted. */
static void
note_fastest(struct chunk *chunk, uint64_t took_ns, uint32_t wire_bytes)
{
	double byte_ns = (double)took_ns / wire_bytes;

	if (byte_ns >= chunk->fastest_ns)
		return;
	chunk->fastest_ns = byte_ns;
	chunk->quick_ns = MIN(took_ns, QUICK_NS_MOST);
	chunk->quick_bytes = took_ns < QUICK_NS_MOST ? wire_bytes : 1;
}

/* Whether it is a chunk. */
static inline bool
is_over(const struct chunk *chunk)
{
	return chunk->last_ns - chunk->start_ns >= CHUNK_NS && chunk->frames >= CHUNK_FRAMES;
}

static inline void
add_frame(struct chunk *chunk, int64_t ts_ns, uint32_t wire_bytes, uint32_t payload_bytes)
{
	chunk->last_ns = ts_ns;
	chunk->frames++;
	chunk->bytes += payload_bytes;
	chunk->wire_bytes += wire_bytes;
}

static void
line_add(struct line *line, int64_t ts_ns, uint32_t wire_bytes, uint32_t payload_bytes)
{
	struct chunk *chunk = &line->chunk;
	int64_t gap_ns;

	if (!chunk->open || ts_ns < chunk->last_ns || is_pause(chunk, duration_ns(chunk->last_ns, ts_ns))) {
		close_chunk(line);
		chunk->start_ns = chunk->last_ns = ts_ns;
		chunk->open = true;
		line->earlier_bytes += payload_bytes;
		return;
	}
	gap_ns = ts_ns - chunk->last_ns;
	/* slowest_ns is not below zero */
	if (gap_ns > UNEVEN_NS)
		chunk->slowest_ns = MAX(chunk->slowest_ns, (double)(gap_ns - UNEVEN_NS) / wire_bytes);
	note_fastest(chunk, (uint64_t)gap_ns + UNEVEN_NS, wire_bytes);
	add_frame(chunk, ts_ns, wire_bytes, payload_bytes);
	if (is_over(chunk))
		close_chunk(line);
}

/* All lines together have a chunk of their own again, as it is now. */
static void
end_only(struct line *together)
{
	if (together->only == NULL)
		return;
	together->chunk = together->only->chunk;
	together->only->is_only = false;
	together->only = NULL;
}

/* As long as no other line brings anything, what all have together is this one's, if it begins alike. */
static void
begin_only(struct line *line)
{
	if (memcmp(&line->chunk, &line->together->chunk, sizeof(line->chunk)) != 0)
		return;
	line->is_only = true;
	line->together->only = line;
}

static G_GNUC_NO_INLINE void
add_notable(struct lines *lines, const struct flow_key *key, uint8_t direction, const struct packet *packet,
    uint32_t payload_bytes)
{
	const uint8_t *from = key->address[direction], *to = key->address[!direction];
	struct line *line = lines->last[direction];

	if (line == NULL || !is_line(line, from, to))
		line = find_line(lines, from, to, true);
	if (line == NULL)
		return;
	lines->last[direction] = line;
	if (line->together != NULL)
		end_only(line->together);
	line_add(line, packet->ts_ns, packet->wire_len, payload_bytes);
	if (line->together != NULL) {
		line_add(line->together, packet->ts_ns, packet->wire_len, payload_bytes);
		begin_only(line);
	}
}

static G_GNUC_NO_INLINE void
close_chunks(struct line *line)
{
	end_only(line->together);
	if (is_over(&line->chunk))
		close_chunk(line);
	if (is_over(&line->together->chunk))
		close_chunk(line->together);
	begin_only(line);
}

/* A frame that is close behind the one before it and no faster than the fastest of its chunk changes sums alone. */
static inline bool
is_common(const struct chunk *chunk, int64_t ts_ns, uint32_t wire_bytes)
{
	uint64_t gap_ns = (uint64_t)ts_ns - (uint64_t)chunk->last_ns;

	return ts_ns >= chunk->last_ns && gap_ns <= UNEVEN_NS &&
	    (gap_ns + UNEVEN_NS) * chunk->quick_bytes >= chunk->quick_ns * wire_bytes;
}

/* The same where other lines bring something, too. */
static G_GNUC_NO_INLINE void
add_shared(struct lines *lines, const struct flow_key *key, uint8_t direction, const struct packet *packet,
    uint32_t payload_bytes)
{
	struct line *line = lines->last[direction];
	struct line *together = line->together;

	if (together == NULL || together->only != NULL || !is_common(&together->chunk, packet->ts_ns, packet->wire_len)) {
		add_notable(lines, key, direction, packet, payload_bytes);
		return;
	}
	add_frame(&line->chunk, packet->ts_ns, packet->wire_len, payload_bytes);
	add_frame(&together->chunk, packet->ts_ns, packet->wire_len, payload_bytes);
	if (is_over(&line->chunk) || is_over(&together->chunk))
		close_chunks(line);
}

void
lines_add(struct lines *lines, const struct flow_key *key, uint8_t direction, const struct packet *packet,
    uint32_t payload_bytes)
{
	struct line *line = lines->last[direction];

	if (line == NULL || !is_line(line, key->address[direction], key->address[!direction]) ||
	    !is_common(&line->chunk, packet->ts_ns, packet->wire_len)) {
		add_notable(lines, key, direction, packet, payload_bytes);
	} else if (G_UNLIKELY(!line->is_only)) {
		add_shared(lines, key, direction, packet, payload_bytes);
	} else {
		add_frame(&line->chunk, packet->ts_ns, packet->wire_len, payload_bytes);
		if (is_over(&line->chunk))
			close_chunks(line);
	}
}

void
lines_note(struct lines *lines, const struct net_endpoint *client, const struct net_endpoint *server)
{
	if (lines->noted[0] == lines->last[0] && lines->noted[1] == lines->last[1] &&
	    (address_difference(lines->noted_client, client->address) |
	    address_difference(lines->noted_server, server->address)) == 0)
		return;
	memcpy(lines->noted, lines->last, sizeof(lines->noted));
	memcpy(lines->noted_client, client->address, sizeof(lines->noted_client));
	memcpy(lines->noted_server, server->address, sizeof(lines->noted_server));
	for (unsigned direction = 0; direction < 2; direction++) {
		struct line *line = lines->last[direction];
		bool to_client;

		if (line == NULL)
			continue;
		to_client = is_line(line, server->address, client->address);
		if (!to_client && !is_line(line, client->address, server->address))
			continue;
		if (line->is_only)
			end_only(line->together);
		line->end = to_client ? LINE_TO_CLIENT : LINE_TO_SERVER;
		line->together = &lines->together[!to_client];
	}
}

void
lines_break(struct lines *lines)
{
	end_only(&lines->together[0]);
	end_only(&lines->together[1]);
	for (unsigned i = 0; i < lines->count; i++) {
		close_chunk(&lines->line[i]);
		lines->line[i].chunk.open = false;
	}
	for (unsigned i = 0; i < 2; i++) {
		close_chunk(&lines->together[i]);
		lines->together[i].chunk.open = false;
	}
}

static uint64_t
all_bytes(const struct line *line)
{
	return line->earlier_bytes + (line->only != NULL ? line->only : line)->chunk.bytes;
}

static void
line_merge(struct line *line, const struct line *part)
{
	line->earlier_bytes += all_bytes(part);
	line->uneven_ns = sum_ns(line->uneven_ns, part->uneven_ns);
	if (part->end != LINE_UNKNOWN)
		line->end = part->end;
	if (part->rate == NULL)
		return;
	if (line->rate == NULL)
		line->rate = g_new0(struct at_rate, OCTAVES * STEPS);
	for (unsigned bucket = 0; bucket < OCTAVES * STEPS; bucket++) {
		line->rate[bucket].time_ns = sum_ns(line->rate[bucket].time_ns, part->rate[bucket].time_ns);
		line->rate[bucket].bytes += part->rate[bucket].bytes;
	}
}

void
lines_merge(struct lines *into, const struct lines *from)
{
	for (unsigned i = 0; i < from->count; i++) {
		const struct line *part = &from->line[i];
		struct line *line = find_line(into, part->from, part->to, true);

		if (line != NULL)
			line_merge(line, part);
	}
	for (unsigned i = 0; i < 2; i++)
		line_merge(&into->together[i], &from->together[i]);
}

/* now less earlier, NULL: nothing. Times that stopped at the end of 64 bits stand still. */
static void
line_since(struct line *since, const struct line *earlier, const struct line *now)
{
	*since = (struct line){ .end = now->end, .uneven_ns = now->uneven_ns, .earlier_bytes = all_bytes(now) };
	memcpy(since->from, now->from, sizeof(since->from));
	memcpy(since->to, now->to, sizeof(since->to));
	since->rate = g_memdup2(now->rate, OCTAVES * STEPS * sizeof(*now->rate));
	if (earlier == NULL)
		return;
	since->uneven_ns -= earlier->uneven_ns;
	since->earlier_bytes -= all_bytes(earlier);
	for (unsigned bucket = 0; earlier->rate != NULL && bucket < OCTAVES * STEPS; bucket++) {
		since->rate[bucket].time_ns -= earlier->rate[bucket].time_ns;
		since->rate[bucket].bytes -= earlier->rate[bucket].bytes;
	}
}

struct lines *
lines_since(const struct lines *earlier, const struct lines *now)
{
	struct lines *since = lines_new();

	since->count = now->count;
	memcpy(since->slot, now->slot, sizeof(since->slot));
	for (unsigned i = 0; i < now->count; i++) {
		/* in the order in which they came, so that earlier has them under the same number */
		const struct line *before = earlier != NULL && i < earlier->count ? &earlier->line[i] : NULL;

		line_since(&since->line[i], before, &now->line[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		line_since(&since->together[i], earlier != NULL ? &earlier->together[i] : NULL, &now->together[i]);
	return since;
}

uint64_t
lines_bytes(const struct lines *lines, enum line_end end)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < lines->count; i++)
		if (lines->line[i].end == end)
			bytes += all_bytes(&lines->line[i]);
	return bytes;
}

/* The chunk that is still open is left out: it is one of many, or there is nothing to tell. */
static void
peak_of(const struct line *line, struct line_peak *peak)
{
	*peak = (struct line_peak){ .all_bytes = all_bytes(line), .moving_ns = line->uneven_ns };
	for (unsigned bucket = 0; line->rate != NULL && bucket < OCTAVES * STEPS; bucket++)
		peak->moving_ns = sum_ns(peak->moving_ns, line->rate[bucket].time_ns);
	for (unsigned middle = 0; line->rate != NULL && middle < OCTAVES * STEPS; middle++) {
		double low = bucket_middle(middle) * (1 - 1.0 / PEAK_PART);
		double high = bucket_middle(middle) * (1 + 1.0 / PEAK_PART);
		int64_t time_ns = 0;
		uint64_t bytes = 0;

		if (line->rate[middle].time_ns == 0)
			continue;
		for (unsigned i = bucket_of((uint64_t)low); i <= bucket_of((uint64_t)high); i++) {
			time_ns = sum_ns(time_ns, line->rate[i].time_ns);
			bytes += line->rate[i].bytes;
		}
		if (time_ns <= peak->time_ns)
			continue;
		peak->time_ns = time_ns;
		peak->bytes = bytes;
		peak->rate_bps = (int64_t)((double)bytes * 8e9 / (double)time_ns);
	}
}

bool
lines_peak(const struct lines *lines, enum line_end end, const struct net_endpoint *client, struct line_peak *peak)
{
	*peak = (struct line_peak){ 0 };
	for (unsigned i = 0; i < lines->count; i++) {
		const struct line *line = &lines->line[i];
		struct line_peak found;

		if (line->end != end || (client != NULL && memcmp(end == LINE_TO_CLIENT ? line->to : line->from,
		    client->address, sizeof(client->address)) != 0))
			continue;
		peak_of(line, &found);
		if (found.time_ns > peak->time_ns)
			*peak = found;
	}
	return peak->time_ns > 0;
}

bool
lines_peak_together(const struct lines *lines, enum line_end end, struct line_peak *peak)
{
	peak_of(&lines->together[end == LINE_TO_SERVER], peak);
	return peak->time_ns > 0;
}
