/*
 * TCP order, record marking, resynchronisation and outstanding calls on
 * arbitrary segments; the books must close whatever comes.
 */
#include <stdlib.h>

#include "rpc/calls.h"
#include "segments.h"
#include "stream/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
count_op(void *context, const struct nfs_op *op)
{
	uint64_t *ops = context;

	*ops += !op_is_answered_note(op) && !op_is_open_note(op);
}

static void
check(bool holds)
{
	if (!holds)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { .at = data, .end = data + size, .now_ns = 1000000000 };
	struct stream_limits limits = { .connections = 3, .held_bytes = 1 << 16 };
	uint64_t serial = 1, ops = 0, all = 0;
	struct calls *calls = calls_new(8, count_op, &ops);
	struct stream_sink sink = calls_sink(calls);
	struct stream *stream = stream_new(&sink, &limits, &serial);
	const struct stream_counters *tcp = stream_counters(stream);
	const struct rpc_counters *rpc = calls_counters(calls);
	struct segment segment;

	while (fuzz_next_segment(&input, &segment)) {
		stream_push(stream, &segment, segment.key->port[0] * UINT64_C(0x9e3779b97f4a7c15), input.frame);
		if (input.frame % 8 == 0)
			stream_tick(stream, input.now_ns, input.frame);
	}
	stream_finish(stream, input.now_ns);
	check(tcp->payload_bytes == tcp->delivered_bytes + tcp->duplicate_bytes + tcp->discarded_bytes);
	for (int outcome = 0; outcome < OP_OUTCOMES; outcome++)
		all += rpc->outcomes[outcome];
	check(rpc->calls == all && ops == all);
	stream_free(stream);
	calls_free(calls);
	return 0;
}
