#include "stats/breakdown.h"

#include <string.h>

#include "base/arith.h"
#include "correlate/ids.h"
#include "stats/probation.h"

enum {
	SLOT_BITS = 13,
	SLOTS = 1 << SLOT_BITS,
	/* Pruning sorts the rows, so it waits until half as many again came. */
	PRUNE_AT = BREAKDOWN_ROWS + BREAKDOWN_ROWS / 2,
	/* Of SIZE and TIME: beyond, a value's operations share one row. */
	ROWS_MAX = SLOTS / 2,
	BUNDLES = 128,
	BUNDLE_BITS = 10,
	SIZE_UNKNOWN = 3,	/* no power of two */
};

struct counted {
	struct breakdown_row row;
	unsigned number;	/* of the operation, in keys */
};

struct breakdown {
	enum breakdown_kind kind;
	struct row_keys *keys;
	struct counted *rows;
	unsigned count, room;
	unsigned named;		/* rows whose id is not ID_OTHERS */
	uint64_t seed;
	/* once rows have given way */
	struct probation *probation;	/* NULL: none has yet */
	uint64_t toll;		/* calls that a key must have made before it gets a row */
	uint64_t given_way;	/* calls that one key can have left behind with its rows, at most */
	/* TIME only; starts are ids */
	int64_t width_ns;
	int64_t first_start_ns, last_start_ns;	/* when count > 0 */
	int64_t start_ns;		/* of the window found last; the same */
	uint16_t slot[SLOTS];	/* index into rows + 1; 0: free */
};

/* Calls of one operation and size on one connection count in the same rows of these kinds; of SIZE if it is known. */
static const enum breakdown_kind bundled[] = {
	BREAKDOWN_CLIENT, BREAKDOWN_SERVER, BREAKDOWN_CONNECTION, BREAKDOWN_SIZE,
};

/*
 * They are counted once, added up when another window of TIME begins, and added
 * to the rows when those are looked at.
 */
struct bundle {
	uint32_t client_id, server_id, connection_id;
	uint32_t size;		/* its class, or SIZE_UNKNOWN */
	unsigned number;
	unsigned at[G_N_ELEMENTS(bundled)];	/* of the rows of each kind; none gives way meanwhile */
	int64_t start_ns;	/* of the window, when it began: it may have been joined with others since */
	struct breakdown_row window;	/* not in sum yet */
	struct breakdown_row sum;
};

struct breakdowns {
	struct breakdown *of[BREAKDOWN_KINDS];
	struct bundle bundle[BUNDLES];
	unsigned bundles;
	uint8_t slot[1 << BUNDLE_BITS];		/* index into bundle + 1; 0: free */
};

G_STATIC_ASSERT(PRUNE_AT + ROW_KEYS < SLOTS / 2);
G_STATIC_ASSERT(ROWS_MAX + BREAKDOWN_WINDOWS < SLOTS);

static struct breakdown *
breakdown_new(enum breakdown_kind kind, struct row_keys *keys)
{
	struct breakdown *breakdown = g_new0(struct breakdown, 1);

	breakdown->kind = kind;
	breakdown->keys = keys;
	breakdown->seed = keys->seed;
	breakdown->width_ns = NS_PER_S;
	return breakdown;
}

static struct breakdown *
breakdown_copy(const struct breakdown *breakdown, struct row_keys *keys)
{
	struct breakdown *copy = g_memdup2(breakdown, sizeof(*breakdown));

	copy->keys = keys;
	copy->rows = g_memdup2(breakdown->rows, breakdown->room * sizeof(*breakdown->rows));
	for (unsigned i = 0; i < breakdown->count; i++)
		dist_copy(&copy->rows[i].row.total, &breakdown->rows[i].row.total);
	copy->probation = probation_copy(breakdown->probation);
	return copy;
}

static void
row_merge(struct breakdown_row *into, const struct breakdown_row *from)
{
	into->count += from->count;
	into->bytes += from->bytes;
	into->lack += from->lack;
	dist_merge(&into->total, &from->total);
	dist_merge(&into->server, &from->server);
	if (from->network_differs && !into->network_differs)
		into->network_whole = into->network;
	into->network_differs |= from->network_differs;
	if (into->network_differs)
		dist_merge(&into->network_whole, from->network_differs ? &from->network_whole : &from->network);
	dist_merge(&into->network, &from->network);
	dist_merge(&into->client, &from->client);
}

static void
breakdown_free(struct breakdown *breakdown)
{
	if (breakdown == NULL)
		return;
	for (unsigned i = 0; i < breakdown->count; i++)
		dist_clear(&breakdown->rows[i].row.total);
	probation_free(breakdown->probation);
	g_free(breakdown->rows);
	g_free(breakdown);
}

static bool
has_others(enum breakdown_kind kind)
{
	return kind != BREAKDOWN_SIZE && kind != BREAKDOWN_TIME;
}

/* The slot that holds the row, or the free one where it would stand. */
static inline unsigned
slot_of(const struct breakdown *breakdown, uint64_t id, unsigned number)
{
	uint64_t mix = (id ^ breakdown->seed) * UINT64_C(0x9e3779b97f4a7c15) + number * UINT64_C(0xd6e8feb86659fd93);
	unsigned at = (unsigned)(mix >> (64 - SLOT_BITS));

	while (breakdown->slot[at] != 0) {
		const struct counted *there = &breakdown->rows[breakdown->slot[at] - 1];

		if (there->row.id == id && there->number == number)
			break;
		at = (at + 1) % SLOTS;
	}
	return at;
}

static struct breakdown_row *
row_append(struct breakdown *breakdown, unsigned at, uint64_t id, unsigned number)
{
	struct counted *counted;

	if (breakdown->count == breakdown->room) {
		breakdown->room = MAX(16, 2 * breakdown->room);
		breakdown->rows = g_renew(struct counted, breakdown->rows, breakdown->room);
	}
	counted = &breakdown->rows[breakdown->count];
	*counted = (struct counted){
		.row = { .id = id, .key = breakdown->keys->key[number] },
		.number = number,
	};
	breakdown->slot[at] = (uint16_t)++breakdown->count;
	if (id != ID_OTHERS)
		breakdown->named++;
	return &counted->row;
}

/* Puts a row that stands outside the table into it; takes what it owns. */
static void
row_take(struct breakdown *breakdown, struct counted *counted)
{
	unsigned at = slot_of(breakdown, counted->row.id, counted->number);

	if (breakdown->slot[at] == 0) {
		*row_append(breakdown, at, counted->row.id, counted->number) = counted->row;
		return;
	}
	row_merge(&breakdown->rows[breakdown->slot[at] - 1].row, &counted->row);
	dist_clear(&counted->row.total);
}

/* The largest count first; equals by what they are. */
static int
compare_counts(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	if ((x->row.id == ID_OTHERS) != (y->row.id == ID_OTHERS))
		return x->row.id == ID_OTHERS ? 1 : -1;
	if (x->row.count != y->row.count)
		return x->row.count > y->row.count ? -1 : 1;
	if (x->row.id != y->row.id)
		return x->row.id < y->row.id ? -1 : 1;
	return row_key_compare(&x->row.key, &y->row.key);
}

/* Empties the table; the caller owns the rows that were in it. */
static struct counted *
rows_steal(struct breakdown *breakdown, unsigned *count)
{
	struct counted *rows = breakdown->rows;

	*count = breakdown->count;
	breakdown->rows = g_new(struct counted, breakdown->room);
	breakdown->count = breakdown->named = 0;
	memset(breakdown->slot, 0, sizeof(breakdown->slot));
	return rows;
}

/*
 * The rows with the fewest calls give way until BREAKDOWN_ROWS remain beside
 * the others. A key may come back and go again: the most it can have left here
 * and on probation is added up.
 */
static void
breakdown_prune(struct breakdown *breakdown)
{
	unsigned count, kept = 0;
	g_autofree struct counted *rows = rows_steal(breakdown, &count);
	uint64_t most = 0;

	qsort(rows, count, sizeof(*rows), compare_counts);
	for (unsigned i = 0; i < count; i++) {
		if (rows[i].row.id != ID_OTHERS && ++kept > BREAKDOWN_ROWS) {
			most = MAX(most, rows[i].row.count);
			rows[i].row.id = ID_OTHERS;
			rows[i].row.lack = 0;
		}
		row_take(breakdown, &rows[i]);
	}
	if (breakdown->probation == NULL)
		breakdown->probation = probation_new();
	breakdown->toll = MAX(breakdown->toll, most);
	breakdown->given_way += most + breakdown->toll;
}

/* The most calls of a key without a row that may be among the others. */
static uint64_t
breakdown_unseen(const struct breakdown *breakdown, uint64_t id)
{
	if (breakdown->probation == NULL || id == ID_OTHERS)
		return 0;
	return breakdown->given_way + probation_bound(breakdown->probation, id);
}

/* A new row, which must not be there yet; at is its slot. */
static struct breakdown_row *
row_admit(struct breakdown *breakdown, unsigned at, uint64_t id, unsigned number)
{
	if (has_others(breakdown->kind) && id != ID_OTHERS && breakdown->named >= PRUNE_AT) {
		breakdown_prune(breakdown);
		at = slot_of(breakdown, id, number);
	}
	return row_append(breakdown, at, id, number);
}

/* The row of a key that has none, for one call more; at is its slot. */
static G_GNUC_NO_INLINE struct breakdown_row *
row_knock(struct breakdown *breakdown, unsigned at, uint64_t id, unsigned number)
{
	struct breakdown_row *row;
	uint64_t lack = 0;

	if (!has_others(breakdown->kind)) {
		if (breakdown->count >= ROWS_MAX)
			at = slot_of(breakdown, id, number = ROW_OTHERS);
	} else if (breakdown->probation != NULL && id != ID_OTHERS) {
		if (probation_knock(breakdown->probation, id, number, breakdown->toll, &lack))
			lack += breakdown->given_way;
		else
			at = slot_of(breakdown, id = ID_OTHERS, number);
	}
	if (breakdown->slot[at] != 0)
		return &breakdown->rows[breakdown->slot[at] - 1].row;
	row = row_admit(breakdown, at, id, number);
	row->lack = lack;
	return row;
}

/* The row for one call more, made when new; valid until the next one is asked for. */
static inline struct breakdown_row *
breakdown_row(struct breakdown *breakdown, uint64_t id, unsigned number)
{
	unsigned at = slot_of(breakdown, id, number);

	if (G_UNLIKELY(breakdown->slot[at] == 0))
		return row_knock(breakdown, at, id, number);
	return &breakdown->rows[breakdown->slot[at] - 1].row;
}

/* The multiple of the width at or below a stamp; stamps may be anything, and none starts below 64 bits. */
static int64_t
window_start(const struct breakdown *breakdown, int64_t at_ns)
{
	int64_t into_ns = at_ns % breakdown->width_ns;

	if (into_ns < 0)
		into_ns += breakdown->width_ns;
	return at_ns < INT64_MIN + into_ns ? INT64_MIN : at_ns - into_ns;
}

/* Doubles the width: two neighbours become one. */
static void
breakdown_coarsen(struct breakdown *breakdown)
{
	unsigned count;
	g_autofree struct counted *rows = rows_steal(breakdown, &count);

	breakdown->width_ns *= 2;
	for (unsigned i = 0; i < count; i++) {
		rows[i].row.id = (uint64_t)window_start(breakdown, (int64_t)rows[i].row.id);
		row_take(breakdown, &rows[i]);
	}
	breakdown->first_start_ns = window_start(breakdown, breakdown->first_start_ns);
	breakdown->last_start_ns = window_start(breakdown, breakdown->last_start_ns);
	breakdown->start_ns = window_start(breakdown, breakdown->start_ns);
}

/* Room for another window than the last one. */
static G_GNUC_NO_INLINE int64_t
breakdown_reach(struct breakdown *breakdown, int64_t at_ns)
{
	int64_t start_ns, first_ns, last_ns;

	for (;;) {
		start_ns = first_ns = last_ns = window_start(breakdown, at_ns);
		if (breakdown->count > 0) {
			first_ns = min_ns(first_ns, breakdown->first_start_ns);
			last_ns = max_ns(last_ns, breakdown->last_start_ns);
		}
		if (((__int128)last_ns - first_ns) / breakdown->width_ns < BREAKDOWN_WINDOWS)
			break;
		breakdown_coarsen(breakdown);
	}
	breakdown->first_start_ns = first_ns;
	breakdown->last_start_ns = last_ns;
	return breakdown->start_ns = start_ns;
}

/* The start of the window that at_ns falls into, once there is room for it. */
static inline int64_t
breakdown_window(struct breakdown *breakdown, int64_t at_ns)
{
	if (G_UNLIKELY(breakdown->count == 0 ||
	    (uint64_t)at_ns - (uint64_t)breakdown->start_ns >= (uint64_t)breakdown->width_ns))
		return breakdown_reach(breakdown, at_ns);
	return breakdown->start_ns;
}

/* The largest power of two that is not above bytes. */
static uint32_t
size_class(uint32_t bytes)
{
	return bytes == 0 ? 0 : UINT32_C(1) << (31 - __builtin_clz(bytes));
}

static G_GNUC_NO_INLINE void
network_differs(struct breakdown_row *row)
{
	row->network_whole = row->network;
	row->network_differs = true;
}

static inline __attribute__((always_inline)) void
row_add(struct breakdown_row *row, const struct attribution *parts, const struct pair_gist *gist)
{
	row->count++;
	row->bytes += gist->moved_bytes;
	dist_count(&row->total, parts->total_ns, gist->bucket);
	if (G_UNLIKELY(parts->client_ns != 0 && !row->network_differs))
		network_differs(row);
	dist_sum(&row->server, parts->server_ns);
	dist_sum(&row->network, parts->network_ns);
	if (row->network_differs)
		dist_sum(&row->network_whole, parts->network_ns + parts->client_ns);
	if (parts->client_known)
		dist_sum(&row->client, parts->client_ns);
}

/* Adds a row of from under its number in into. */
static void
merge_row(struct breakdown *into, const struct breakdown_row *row)
{
	unsigned number = row_number(into->keys, &row->key);
	uint64_t id = row->id, lack = 0;
	unsigned at;

	if (into->kind == BREAKDOWN_TIME)
		id = (uint64_t)breakdown_window(into, (int64_t)id);
	at = slot_of(into, id, number);
	if (into->slot[at] == 0 && !has_others(into->kind) && into->count >= ROWS_MAX)
		at = slot_of(into, id, number = ROW_OTHERS);
	if (into->slot[at] == 0) {
		lack = breakdown_unseen(into, id);
		row_admit(into, at, id, number)->lack = lack;
		at = slot_of(into, id, number);
	}
	row_merge(&into->rows[into->slot[at] - 1].row, row);
}

/* What rows of into may lack because from has no row for them. */
static void
merge_lacks(struct breakdown *into, const struct breakdown *from)
{
	g_autofree unsigned *numbers = g_new0(unsigned, ROW_KEYS);

	if (from->probation == NULL)
		return;
	for (unsigned number = 0; number < from->keys->count; number++)
		numbers[row_number(into->keys, &from->keys->key[number])] = number;
	for (unsigned i = 0; i < into->count; i++) {
		const struct counted *counted = &into->rows[i];
		unsigned at = slot_of(from, counted->row.id, numbers[counted->number]);

		if (from->slot[at] == 0)
			into->rows[i].row.lack += breakdown_unseen(from, counted->row.id);
	}
	if (into->probation == NULL)
		into->probation = probation_new();
}

static void
breakdown_merge(struct breakdown *into, const struct breakdown *from)
{
	while (into->width_ns < from->width_ns)
		breakdown_coarsen(into);
	merge_lacks(into, from);
	for (unsigned i = 0; i < from->count; i++)
		merge_row(into, &from->rows[i].row);
	if (from->probation != NULL) {
		probation_merge(into->probation, from->probation);
		into->toll = MAX(into->toll, from->toll);
		into->given_way += from->given_way;
	}
}

static int
compare_views(const void *a, const void *b, void *context)
{
	const struct breakdown_row *x = *(const struct breakdown_row *const *)a;
	const struct breakdown_row *y = *(const struct breakdown_row *const *)b;
	const struct breakdown *breakdown = context;

	if (has_others(breakdown->kind))
		return compare_counts(x, y);
	if (x->id != y->id)	/* starts of windows are signed */
		return (int64_t)x->id < (int64_t)y->id ? -1 : 1;
	return row_key_compare(&x->key, &y->key);
}

G_STATIC_ASSERT(offsetof(struct counted, row) == 0);

static void
breakdown_view(struct breakdown *breakdown, GPtrArray *view)
{
	if (has_others(breakdown->kind) && breakdown->named > BREAKDOWN_ROWS)
		breakdown_prune(breakdown);
	g_ptr_array_set_size(view, 0);
	for (unsigned i = 0; i < breakdown->count; i++)
		g_ptr_array_add(view, &breakdown->rows[i].row);
	if (view->len > 0)
		qsort_r(view->pdata, view->len, sizeof(*view->pdata), compare_views, breakdown);
}

/* ---- all kinds ---- */

struct breakdowns *
breakdowns_new(struct row_keys *keys)
{
	struct breakdowns *breakdowns = g_new0(struct breakdowns, 1);

	for (unsigned kind = 0; kind < BREAKDOWN_KINDS; kind++)
		breakdowns->of[kind] = breakdown_new(kind, keys);
	return breakdowns;
}

/* What a bundle holds of the window goes to the window's row. */
static void
bundle_add_up(struct breakdowns *breakdowns, struct bundle *bundle)
{
	struct breakdown *time = breakdowns->of[BREAKDOWN_TIME];
	uint64_t start_ns = (uint64_t)window_start(time, bundle->start_ns);

	row_merge(breakdown_row(time, start_ns, bundle->number), &bundle->window);
	row_merge(&bundle->sum, &bundle->window);
	dist_reset(&bundle->window.total);
	bundle->window = (struct breakdown_row){ .total = bundle->window.total };
}

/* What bundles hold goes to their rows. */
static void
bundles_flush(struct breakdowns *breakdowns)
{
	if (breakdowns->bundles == 0)
		return;
	for (unsigned i = 0; i < breakdowns->bundles; i++) {
		struct bundle *bundle = &breakdowns->bundle[i];

		bundle_add_up(breakdowns, bundle);
		for (unsigned j = 0; j < G_N_ELEMENTS(bundled); j++) {
			if (bundled[j] != BREAKDOWN_SIZE || bundle->size != SIZE_UNKNOWN)
				row_merge(&breakdowns->of[bundled[j]]->rows[bundle->at[j]].row, &bundle->sum);
		}
		dist_clear(&bundle->window.total);
		dist_clear(&bundle->sum.total);
	}
	breakdowns->bundles = 0;
	memset(breakdowns->slot, 0, sizeof(breakdowns->slot));
}

/* The owner of const breakdowns need not know that a part of them was in bundles. */
static void
bundles_settle(const struct breakdowns *breakdowns)
{
	bundles_flush((struct breakdowns *)(uintptr_t)breakdowns);
}

void
breakdowns_free(struct breakdowns *breakdowns)
{
	if (breakdowns == NULL)
		return;
	bundles_flush(breakdowns);
	for (unsigned kind = 0; kind < BREAKDOWN_KINDS; kind++)
		breakdown_free(breakdowns->of[kind]);
	g_free(breakdowns);
}

struct breakdowns *
breakdowns_copy(const struct breakdowns *breakdowns, struct row_keys *keys)
{
	struct breakdowns *copy = g_new0(struct breakdowns, 1);

	bundles_settle(breakdowns);
	for (unsigned kind = 0; kind < BREAKDOWN_KINDS; kind++)
		copy->of[kind] = breakdown_copy(breakdowns->of[kind], keys);
	return copy;
}

void
breakdowns_merge(struct breakdowns *into, const struct breakdowns *from)
{
	bundles_flush(into);
	bundles_settle(from);
	for (unsigned kind = 0; kind < BREAKDOWN_KINDS; kind++)
		breakdown_merge(into->of[kind], from->of[kind]);
}

void
breakdowns_view(struct breakdowns *breakdowns, enum breakdown_kind kind, GPtrArray *view)
{
	bundles_flush(breakdowns);
	breakdown_view(breakdowns->of[kind], view);
}

int64_t
breakdowns_window_ns(const struct breakdowns *breakdowns)
{
	return breakdowns->of[BREAKDOWN_TIME]->width_ns;
}

/* Rows of bundled kinds may give way to the next one, or have done so. */
static bool
rows_are_short(const struct breakdowns *breakdowns)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(bundled); i++) {
		if (breakdowns->of[bundled[i]]->named >= PRUNE_AT || breakdowns->of[bundled[i]]->probation != NULL)
			return true;
	}
	return false;
}

static void
ids_of_pair(const struct op_pair *pair, uint32_t size, uint64_t id[BREAKDOWN_KINDS])
{
	id[BREAKDOWN_CLIENT] = pair->client_id;
	id[BREAKDOWN_SERVER] = pair->server_id;
	id[BREAKDOWN_CONNECTION] = pair->connection_id;
	id[BREAKDOWN_SIZE] = size;
}

/* Makes the row that is there for a value's operation alone, and says where; false: several share it. */
static bool
own_row(struct breakdown *breakdown, uint64_t id, unsigned number, unsigned *at)
{
	const struct breakdown_row *row = breakdown_row(breakdown, id, number);

	*at = (unsigned)((const struct counted *)(const void *)row - breakdown->rows);
	return breakdown->rows[*at].number == number;
}

/* A new bundle, at its slot; NULL: it has none, and the call counts in each row. */
static struct bundle *
bundle_new(struct breakdowns *breakdowns, const struct op_pair *pair, unsigned number, uint32_t size, int64_t start_ns,
    unsigned slot)
{
	struct bundle *bundle = &breakdowns->bundle[breakdowns->bundles];
	uint64_t id[BREAKDOWN_KINDS];
	unsigned at;

	if (rows_are_short(breakdowns)) {
		bundles_flush(breakdowns);
		return NULL;
	}
	if (breakdowns->slot[slot] != 0 || breakdowns->bundles == BUNDLES ||
	    !own_row(breakdowns->of[BREAKDOWN_TIME], (uint64_t)start_ns, number, &at))
		return NULL;
	*bundle = (struct bundle){ .client_id = pair->client_id, .server_id = pair->server_id,
		.connection_id = pair->connection_id, .size = size, .number = number, .start_ns = start_ns };
	ids_of_pair(pair, size, id);
	for (unsigned i = 0; i < G_N_ELEMENTS(bundled); i++) {
		if (bundled[i] == BREAKDOWN_SIZE && size == SIZE_UNKNOWN)
			continue;
		if (!own_row(breakdowns->of[bundled[i]], id[bundled[i]], number, &bundle->at[i]))
			return NULL;
	}
	breakdowns->slot[slot] = (uint8_t)++breakdowns->bundles;
	return bundle;
}

/* The bundle's last call was in another window; NULL: this one comes late, or shares its row of TIME. */
static struct bundle *
bundle_turn(struct breakdowns *breakdowns, struct bundle *bundle, int64_t start_ns)
{
	struct breakdown *time = breakdowns->of[BREAKDOWN_TIME];
	int64_t last_ns = window_start(time, bundle->start_ns);
	unsigned at;

	if (start_ns < last_ns || !own_row(time, (uint64_t)start_ns, bundle->number, &at))
		return NULL;
	if (start_ns > last_ns)
		bundle_add_up(breakdowns, bundle);
	bundle->start_ns = start_ns;
	return bundle;
}

static inline bool
is_of_bundle(const struct op_pair *pair, unsigned number, uint32_t size, const struct bundle *bundle)
{
	return bundle->connection_id == pair->connection_id && bundle->number == number && bundle->size == size &&
	    bundle->client_id == pair->client_id && bundle->server_id == pair->server_id;
}

static G_GNUC_NO_INLINE struct bundle *
bundle_again(struct breakdowns *breakdowns, const struct op_pair *pair, unsigned number, uint32_t size,
    int64_t start_ns, unsigned slot)
{
	if (breakdowns->slot[slot] != 0) {
		struct bundle *bundle = &breakdowns->bundle[breakdowns->slot[slot] - 1];

		if (is_of_bundle(pair, number, size, bundle))
			return bundle_turn(breakdowns, bundle, start_ns);
	}
	return bundle_new(breakdowns, pair, number, size, start_ns, slot);
}

static inline struct bundle *
bundle_of(struct breakdowns *breakdowns, const struct op_pair *pair, unsigned number, uint32_t size, int64_t start_ns)
{
	uint64_t mix = (pair->connection_id * UINT64_C(0x9e3779b97f4a7c15)) +
	    (number + ((uint64_t)size << 32)) * UINT64_C(0xd6e8feb86659fd93);
	unsigned slot = (unsigned)(mix >> (64 - BUNDLE_BITS));

	if (G_LIKELY(breakdowns->slot[slot] != 0)) {
		struct bundle *bundle = &breakdowns->bundle[breakdowns->slot[slot] - 1];

		if (G_LIKELY(bundle->start_ns == start_ns && is_of_bundle(pair, number, size, bundle)))
			return bundle;
	}
	return bundle_again(breakdowns, pair, number, size, start_ns, slot);
}

/* A call without a bundle. */
static G_GNUC_NO_INLINE void
add_apart(struct breakdowns *breakdowns, const struct op_pair *pair, const struct pair_gist *gist, uint32_t size,
    int64_t start_ns)
{
	struct breakdown *const *of = breakdowns->of;
	uint64_t id[BREAKDOWN_KINDS];

	ids_of_pair(pair, size, id);
	for (unsigned i = 0; i < G_N_ELEMENTS(bundled); i++) {
		if (bundled[i] != BREAKDOWN_SIZE || size != SIZE_UNKNOWN)
			row_add(breakdown_row(of[bundled[i]], id[bundled[i]], gist->number), &pair->parts, gist);
	}
	row_add(breakdown_row(of[BREAKDOWN_TIME], (uint64_t)start_ns, gist->number), &pair->parts, gist);
}

void
breakdowns_add(struct breakdowns *breakdowns, const struct op_pair *pair, const struct pair_gist *gist)
{
	struct breakdown *const *of = breakdowns->of;
	int64_t start_ns = breakdown_window(of[BREAKDOWN_TIME], pair->op[PAIR_SERVER].call_first_ns);
	uint32_t size = gist->has_size ? size_class(gist->size_bytes) : SIZE_UNKNOWN;
	struct bundle *bundle = bundle_of(breakdowns, pair, gist->number, size, start_ns);

	if (G_LIKELY(bundle != NULL))
		row_add(&bundle->window, &pair->parts, gist);
	else
		add_apart(breakdowns, pair, gist, size, start_ns);
	if (gist->has_file)
		row_add(breakdown_row(of[BREAKDOWN_FILE], pair->file_id, gist->number), &pair->parts, gist);
}
