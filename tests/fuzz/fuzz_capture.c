/*
 * A whole capture file through a whole pipeline, and its operations through
 * correlation as both sides.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "correlate/correlate.h"
#include "run/pipeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
drop_pair(void *context, const struct op_pair *pair)
{
	uint64_t *calls = context;

	*calls += pair->has[PAIR_SERVER] || pair->has[PAIR_CLIENT];
}

static void
to_both_sides(void *context, const struct nfs_op *op)
{
	correlate_push(context, 0, op);
	correlate_push(context, 1, op);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pipeline_limits limits = { .connections = 64, .calls = 1024, .held_bytes = 1 << 20 };
	struct correlate_config config = { .clients = 1, .limit = 64 };
	uint64_t calls = 0;
	int fd = memfd_create("capture", 0);
	struct correlate *correlate;
	struct pipeline *pipeline;
	char *path;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	path = g_strdup_printf("/proc/self/fd/%d", fd);
	correlate = correlate_new(&config, drop_pair, &calls);
	pipeline = pipeline_new((const char *const[]){ path, NULL }, NULL, &limits, to_both_sides, correlate, NULL);
	if (pipeline != NULL) {
		const struct stream_counters *tcp = &pipeline_facts(pipeline)->tcp;

		while (pipeline_step(pipeline, 1000))
			continue;
		if (tcp->payload_bytes != tcp->delivered_bytes + tcp->duplicate_bytes + tcp->discarded_bytes)
			abort();
	}
	pipeline_free(pipeline);
	correlate_finish(correlate);
	correlate_free(correlate);
	g_free(path);
	close(fd);
	return 0;
}
