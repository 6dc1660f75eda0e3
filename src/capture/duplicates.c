/*
 * The packets of the last moments, found by a hash of what two copies of one
 * packet share. A ring holds them in the order of the capture; each entry leads
 * to the one before it with the same head, so that nothing is ever removed:
 * what the ring has overwritten is known by its serial number. What is found
 * depends on the packets only, never on the seed.
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
	RING = 512,		/* packets; a power of two */
	HEADS = 2048,		/* a power of two; so many that most lead nowhere, which the processor foresees */
};

struct entry {
	uint64_t hash;
	int64_t ts_ns;
	uint16_t before;	/* serial of an older entry with the same head */
	uint8_t hops_left;
	uint8_t kind_and_way;	/* of the capture point: kind | way << 4 */
	uint32_t number;	/* of the capture point */
};

/* Many are looked at; more than 24 bytes would cost time. */
G_STATIC_ASSERT(sizeof(struct entry) == 24);

struct duplicates {
	uint64_t seed;		/* captures are hostile: their packets must not choose the head */
	uint16_t serial;	/* of the next entry; starts where 0 is out of the ring; begins again and again */
	uint16_t heads[HEADS];	/* serials */
	struct entry ring[RING];
	struct point_pairs pairs;
};

struct duplicates *
duplicates_new(void)
{
	struct duplicates *duplicates = g_new0(struct duplicates, 1);

	duplicates->seed = (uint64_t)g_random_int() << 32 | g_random_int();
	duplicates->serial = RING + 1;
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

/* Of the TCP header and behind it. */
enum { SEQUENCE = 4, FLAGS = 12, URGENT = 18, OPTIONS = 20, TIME_STAMPS = 12 };

/*
 * Of all that two copies have in common and two packets have not: addresses and
 * ports (the flow's hash), lengths, and the TCP header. The TTL, the traffic
 * class and the link header may differ between copies, and so may the checksum:
 * before the device fills it in, it is that of the pseudo header.
 *
 *	4    seq  8  ack  12  flags, window  16 checksum  18 urgent  20 options, mostly 12 bytes
 *
 * This is all but the options. *flags goes with them.
 */
static inline uint64_t
hash_fixed(uint64_t seed, const struct segment *segment, uint64_t flow_hash, uint64_t *flags)
{
	const uint8_t *header = segment->header;
	uint64_t lengths = (uint64_t)segment->payload_wire_len << 32 |
	    (uint64_t)segment->direction << 16 | segment->ip_id;

	*flags = load32(header + FLAGS) | (uint64_t)load16(header + URGENT) << 32;
	return fold(load64(header + SEQUENCE) ^ seed, (lengths * UINT64_C(0xd6e8feb86659fd93)) ^ flow_hash);
}

static uint64_t
hash_any(uint64_t seed, const struct segment *segment, uint64_t flow_hash)
{
	uint64_t flags, fixed = hash_fixed(seed, segment, flow_hash, &flags);
	uint64_t options = XXH3_64bits_withSeed(segment->header + OPTIONS, segment->header_len - OPTIONS, seed);

	return fixed ^ fold(flags ^ ~seed, options ^ flow_hash);
}

/* With 12 bytes of options. */
static inline uint64_t
hash_stamped(uint64_t seed, const struct segment *segment, uint64_t flow_hash)
{
	const uint8_t *options = segment->header + OPTIONS;
	uint64_t flags, fixed = hash_fixed(seed, segment, flow_hash, &flags);

	return fixed ^ fold(load64(options) ^ ~seed, load32(options + 8) ^ flags * UINT64_C(0x9e3779b97f4a7c15) ^ flow_hash);
}

static uint16_t *
head_of(struct duplicates *duplicates, uint64_t hash)
{
	return &duplicates->heads[hash % HEADS];
}

/* The latest entry with this hash, of those that a head leads to; NULL: none. */
static inline const struct entry *
find(const struct duplicates *duplicates, uint64_t hash, uint16_t head)
{
	uint16_t before = 0, age = (uint16_t)(duplicates->serial - head);

	/*
	 * A head that was not used for a round of the serials leads to any entry:
	 * it has another hash, and what does not lead further back leads nowhere.
	 */
	while (age > before && age <= RING) {
		const struct entry *entry = &duplicates->ring[(uint16_t)(duplicates->serial - age) % RING];

		if (entry->hash == hash)
			return entry;
		before = age;
		age = (uint16_t)(duplicates->serial - entry->before);
	}
	return NULL;
}

static inline void
remember(struct duplicates *duplicates, uint64_t hash, const struct packet *packet, uint8_t hops_left,
    struct capture_point point)
{
	uint16_t *head = head_of(duplicates, hash);

	duplicates->ring[duplicates->serial % RING] = (struct entry){
		.hash = hash,
		.ts_ns = packet->ts_ns,
		.before = *head,
		.hops_left = hops_left,
		.kind_and_way = (uint8_t)(point.kind | point.way << 4),
		.number = point.number,
	};
	*head = duplicates->serial++;
}

/* A packet with the hash of this one came earlier, and is kept. */
static void
count_copy(struct duplicates *duplicates, const struct entry *entry, struct capture_point dropped, uint8_t hops_left)
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
	const struct entry *entry = find(duplicates, hash, *head_of(duplicates, hash));

	/* it decides: those before it are further away */
	if (entry != NULL && packet->ts_ns - entry->ts_ns >= -window_ns && packet->ts_ns - entry->ts_ns <= window_ns) {
		count_copy(duplicates, entry, point, hops_left);
		return true;
	}
	remember(duplicates, hash, packet, hops_left, point);
	return false;
}

static __attribute__((noinline)) bool
seen_any(struct duplicates *duplicates, const struct segment *segment, uint64_t flow_hash)
{
	uint64_t hash = segment->header_len == OPTIONS + TIME_STAMPS ?
	    hash_stamped(duplicates->seed, segment, flow_hash) : hash_any(duplicates->seed, segment, flow_hash);

	return seen(duplicates, hash, segment->packet, segment->hops_left, segment->ip_id != 0 ? WINDOW_NS : NAMELESS_NS);
}

bool
duplicates_seen(struct duplicates *duplicates, const struct segment *segment, uint64_t flow_hash)
{
	const struct packet *packet = segment->packet;

	/* Acknowledgements are often repeated to the letter (RFC 5681 section 2), and a copy of one harms nobody. */
	if (segment->ip_id == 0 && segment->payload_wire_len == 0 && !(segment->flags & (TCP_SYN | TCP_FIN | TCP_RST)))
		return false;
	/* nearly all packets: with time stamps, and never seen */
	if (G_LIKELY(segment->header_len == OPTIONS + TIME_STAMPS && !point_is_cooked(packet))) {
		uint64_t hash = hash_stamped(duplicates->seed, segment, flow_hash);

		if (G_LIKELY(find(duplicates, hash, *head_of(duplicates, hash)) == NULL)) {
			remember(duplicates, hash, packet, segment->hops_left, point_of_file(packet));
			return false;
		}
	}
	return seen_any(duplicates, segment, flow_hash);
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
