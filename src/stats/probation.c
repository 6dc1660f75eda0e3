#include "stats/probation.h"

#include <glib.h>

enum { CELL_BITS = 12, CELLS = 1 << CELL_BITS };

struct cell {
	uint64_t id;
	uint64_t count;		/* of id and number; 0: nobody lives here */
	uint64_t displaced;	/* calls that were not counted, or whose count was taken back */
	unsigned number;
};

struct probation {
	struct cell cell[CELLS];
};

struct probation *
probation_new(void)
{
	return g_new0(struct probation, 1);
}

struct probation *
probation_copy(const struct probation *probation)
{
	return g_memdup2(probation, sizeof(*probation));
}

void
probation_free(struct probation *probation)
{
	g_free(probation);
}

static unsigned
cell_of(uint64_t id)
{
	return (unsigned)(id * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CELL_BITS));
}

bool
probation_knock(struct probation *probation, uint64_t id, unsigned number, uint64_t calls, uint64_t *before)
{
	struct cell *cell = &probation->cell[cell_of(id)];

	if (cell->count > 0 && (cell->id != id || cell->number != number)) {
		cell->count--;
		cell->displaced++;
		return false;
	}
	cell->id = id;
	cell->number = number;
	if (cell->count < calls) {
		cell->count++;
		return false;
	}
	*before = cell->count + cell->displaced;
	cell->count = 0;
	return true;
}

uint64_t
probation_bound(const struct probation *probation, uint64_t id)
{
	const struct cell *cell = &probation->cell[cell_of(id)];

	return cell->count + cell->displaced;
}

void
probation_merge(struct probation *into, const struct probation *from)
{
	for (unsigned i = 0; i < CELLS; i++) {
		into->cell[i].displaced += into->cell[i].count + from->cell[i].count + from->cell[i].displaced;
		into->cell[i].count = 0;
	}
}
