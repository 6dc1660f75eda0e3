/*
 * The packets of the last moments, found by a hash of what two copies of one
 * packet share. A ring holds them in the order of the capture; each entry leads
 * to the one before it with the same head, so that nothing is ever removed:
 * what the ring has overwritten is known by its serial number. What is found
 * depends on the packets only, never on the seed.
 *
 * Most packets need not be looked for: they go on where their flow was. Sequence
 * and acknowledgement number of a flow never go back, so that none that came
 * before can be a copy of a packet that is further than all of them. Such a packet
 * is noted with its header as it is, and hashed when one is looked for.
 */
#include "capture/duplicates.h"

#include <glib.h>

#include "base/arith.h"
#include "capture/layer.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	WINDOW_NS = 10 * NS_PER_MS,
	NAMELESS_NS = 100 * NS_PER_US,	/* of packets without an identification: a host can send the same bytes again */
	DATAGRAM_HASHED = 64,	/* bytes of a datagram's payload: XID, procedure, the beginning of the arguments */
	RING = DUPLICATES_RING,
	HEADS = DUPLICATES_HEADS,
	STEP_MOST = DUPLICATES_STEP_MOST,
	STAMPED = DUPLICATES_STAMPED,
};

/* All that are in the ring went on by so little together that one is before another. */
G_STATIC_ASSERT(RING < (int)FLOW_FORGOTTEN && RING * (int64_t)STEP_MOST <= INT64_C(1) << 30);

/* Every packet writes one. */
G_STATIC_ASSERT(sizeof(struct duplicates_entry) == 64);

/* Of the TCP header and behind it. */
enum { SEQUENCE = 4, FLAGS = 12, URGENT = 18, OPTIONS = 20 };

struct duplicates *
duplicates_new(void)
{
	struct duplicates *duplicates = g_new0(struct duplicates, 1);

	duplicates->seed = (uint64_t)g_random_int() << 32 | g_random_int();
	duplicates->serial = duplicates->hashed = RING + 1;
	return duplicates;
}

void
duplicates_free(struct duplicates *duplicates)
{
	g_free(duplicates);
}

/* Both halves of the product. */
static uint64_t
fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Of all that two copies have in common and two packets have not: addresses and
 * ports (the flow's hash, one way), lengths, and the TCP header. The TTL, the traffic
 * class and the link header may differ between copies, and so may the checksum:
 * before the device fills it in, it is that of the pseudo header.
 *
 *	4    seq  8  ack  12  flags, window  16 checksum  18 urgent  20 options, mostly 12 bytes
 *
 * This is all but the options. *flags goes with them.
 */
static inline uint64_t
hash_fixed(uint64_t seed, const uint8_t *header, uint64_t lengths, uint64_t flow_hash, uint64_t *flags)
{
	*flags = load32(header + FLAGS) | (uint64_t)load16(header + URGENT) << 32;
	return fold(load64(header + SEQUENCE) ^ seed, (lengths * UINT64_C(0xd6e8feb86659fd93)) ^ flow_hash);
}

static inline uint64_t
lengths_of(uint32_t payload_len, uint16_t ip_id)
{
	return (uint64_t)payload_len << 32 | ip_id;
}

static uint64_t
hash_any(uint64_t seed, const struct segment *segment, uint64_t lengths, uint64_t flow_hash)
{
	uint64_t flags, fixed = hash_fixed(seed, segment->header, lengths, flow_hash, &flags);
	uint64_t options = XXH3_64bits_withSeed(segment->header + OPTIONS, segment->header_len - OPTIONS, seed);

	return fixed ^ fold(flags ^ ~seed, options ^ flow_hash);
}

/* With 12 bytes of options. */
static inline uint64_t
hash_stamped(uint64_t seed, const uint8_t *header, uint64_t lengths, uint64_t flow_hash)
{
	const uint8_t *options = header + OPTIONS;
	uint64_t flags, fixed = hash_fixed(seed, header, lengths, flow_hash, &flags);

	return fixed ^ fold(load64(options) ^ ~seed, load32(options + 8) ^ flags * UINT64_C(0x9e3779b97f4a7c15) ^ flow_hash);
}

static uint16_t *
head_of(struct duplicates *duplicates, uint64_t hash)
{
	return &duplicates->heads[hash % HEADS];
}

/* The entry can be found from now on. */
static void
put_in(struct duplicates *duplicates, uint64_t hash, struct capture_point point)
{
	struct duplicates_entry *entry = duplicates_entry(duplicates, duplicates->hashed);
	uint16_t *head = head_of(duplicates, hash);

	entry->hash = hash;
	entry->before = *head;
	entry->kind_and_way = (uint8_t)(point.kind | point.way << 4);
	entry->number = point.number;
	*head = (uint16_t)duplicates->hashed++;
}

/* All that are in the ring, whose turn it is now that one is looked for. */
static void
hash_noted(struct duplicates *duplicates)
{
	if (duplicates->serial - duplicates->hashed > RING)
		duplicates->hashed = duplicates->serial - RING;
	while (duplicates->hashed < duplicates->serial) {
		const struct duplicates_entry *entry = duplicates_entry(duplicates, duplicates->hashed);
		uint64_t lengths = lengths_of(entry->payload_len, entry->ip_id);

		put_in(duplicates, hash_stamped(duplicates->seed, entry->header, lengths, entry->hash),
		    point_of_interface(entry->number));
	}
}

/* The latest entry with this hash; NULL: none. All are hashed. */
static const struct duplicates_entry *
find(struct duplicates *duplicates, uint64_t hash)
{
	uint16_t serial = (uint16_t)duplicates->serial, before = 0, age = (uint16_t)(serial - *head_of(duplicates, hash));

	/*
	 * A head that was not used for a round of the serials leads to any entry:
	 * it has another hash, and what does not lead further back leads nowhere.
	 */
	while (age > before && age <= RING) {
		const struct duplicates_entry *entry = duplicates_entry(duplicates, (uint16_t)(serial - age));

		if (entry->hash == hash)
			return entry;
		before = age;
		age = (uint16_t)(serial - entry->before);
	}
	return NULL;
}

/* A packet with the hash of this one came earlier, and is kept. */
static void
count_copy(struct duplicates *duplicates, const struct duplicates_entry *entry, struct capture_point dropped, uint8_t hops_left)
{
	const struct capture_point kept = {
		.number = entry->number,
		.kind = entry->kind_and_way & 0x0f,
		.way = entry->kind_and_way >> 4,
	};

	point_pairs_add(&duplicates->pairs, &kept, &dropped, entry->hops_left - hops_left);
}

/* Remembers a packet; true when one with this hash came less than window_ns before or after it. */
static bool
seen(struct duplicates *duplicates, uint64_t hash, const struct packet *packet, uint8_t hops_left, int64_t window_ns)
{
	struct capture_point point = point_of(packet);
	const struct duplicates_entry *found;
	struct duplicates_entry *entry;

	hash_noted(duplicates);
	found = find(duplicates, hash);
	/* it decides: those before it are further away */
	if (found != NULL && packet->ts_ns - found->ts_ns >= -window_ns && packet->ts_ns - found->ts_ns <= window_ns) {
		count_copy(duplicates, found, point, hops_left);
		return true;
	}
	entry = duplicates_entry(duplicates, duplicates->serial++);
	entry->ts_ns = packet->ts_ns;
	entry->hops_left = hops_left;
	put_in(duplicates, hash, point);
	return false;
}

/*
 * A packet is remembered that did not simply go on. Where it is from elsewhere, or
 * where others of its flow may be is not known, nothing is proven until those are
 * out of the ring.
 */
static void
follow(struct flow_hash *flow, uint32_t progress)
{
	uint32_t ahead = progress - flow->progress;

	if (flow->unproven >= FLOW_FORGOTTEN || ahead + STEP_MOST > 2 * STEP_MOST) {
		flow->unproven = flow->unproven == FLOW_NEW ? 0 : RING;
		flow->progress = progress;
		return;
	}
	if (ahead <= STEP_MOST)
		flow->progress = progress;
	if (flow->unproven > 0)
		flow->unproven--;
}

static bool
is_stamped(const struct segment *segment)
{
	return segment->header_len == STAMPED;
}

bool
duplicates_seen(struct duplicates *duplicates, const struct segment *segment, struct flow_hash *flow)
{
	uint64_t lengths = lengths_of(segment->payload_wire_len, segment->ip_id);
	uint64_t flow_hash = duplicates_flow(segment, flow), hash;

	if (is_stamped(segment) && (segment->flags & TCP_SYN) == 0 && !point_is_cooked(segment->packet) &&
	    duplicates_pass(duplicates, segment, flow))
		return false;
	/* a copy of an acknowledgement harms nobody */
	if (duplicates_is_nameless(segment))
		return false;
	hash = is_stamped(segment) ? hash_stamped(duplicates->seed, segment->header, lengths, flow_hash) :
	    hash_any(duplicates->seed, segment, lengths, flow_hash);
	if (seen(duplicates, hash, segment->packet, segment->hops_left, segment->ip_id != 0 ? WINDOW_NS : NAMELESS_NS))
		return true;
	/* numbers begin anew behind it, and it is always looked for */
	if ((segment->flags & TCP_SYN) == 0)
		follow(flow, duplicates_progress(segment));
	return false;
}

bool
duplicates_seen_datagram(struct duplicates *duplicates, const struct datagram *datagram)
{
	uint64_t place = (uint64_t)datagram->id << 32 | datagram->offset << 16 | datagram->wire_len;
	uint64_t hash = XXH3_64bits_withSeed(&datagram->key, sizeof datagram->key, duplicates->seed + place) ^
	    XXH3_64bits_withSeed(datagram->payload, MIN(datagram->payload_cap_len, DATAGRAM_HASHED),
	    duplicates->seed + datagram->direction);

	return seen(duplicates, hash, datagram->packet, datagram->hops_left, WINDOW_NS);
}

const struct point_pairs *
duplicates_pairs(const struct duplicates *duplicates)
{
	return &duplicates->pairs;
}
