#include "stream/path.h"

#include <glib.h>

static struct dist *
round_trips(struct stream *stream, const struct connection *connection, const struct half *half)
{
	bool second = half != &connection->half[0];

	return &stream->counters.round_trip[second != connection->caller];
}

void
path_sampled(struct stream *stream, struct connection *connection, struct half *half, int64_t ts_ns)
{
	int64_t round_trip_ns = ts_ns - half->sample_ns;

	half->sample_end = PATH_NO_SAMPLE;
	if (round_trip_ns < 0)
		return;
	if (G_UNLIKELY(!connection->round_trips_told))
		path_tell(stream, connection);
	if (half->round_trip_ns < 0 || round_trip_ns < half->round_trip_ns)
		half->round_trip_ns = round_trip_ns;
	if (connection->round_trips_told)
		dist_add_here(round_trips(stream, connection, half), round_trip_ns);
}

void
path_tell(struct stream *stream, struct connection *connection)
{
	if (connection->caller < 0 || connection->round_trips_told)
		return;
	connection->round_trips_told = true;
	for (int direction = 0; direction < 2; direction++) {
		const struct half *half = &connection->half[direction];

		if (half->round_trip_ns >= 0)
			dist_add(round_trips(stream, connection, half), half->round_trip_ns);
	}
}

void
connection_set_caller(struct connection_info *info, uint8_t direction)
{
	struct connection *connection = (struct connection *)info;

	connection->caller = (int8_t)direction;
}

int
connection_caller(const struct connection_info *info)
{
	return ((const struct connection *)info)->caller;
}

int64_t
connection_path_ns(const struct connection_info *info)
{
	const struct connection *connection = (const struct connection *)info;

	return connection->caller < 0 ? -1 : connection->half[connection->caller].round_trip_ns;
}

int64_t
connection_acked(const struct connection_info *info, uint8_t direction)
{
	const struct half *half = &((const struct connection *)info)->half[direction];

	return half->acked;
}
