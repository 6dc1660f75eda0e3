#include <string.h>

#include "base/arith.h"
#include "stats/mountstats.h"

enum { AGE_SLACK_S = 2 };	/* ages are whole seconds, and a reading takes its time */

/* The counters of an operation that only grow. */
static const size_t sums[] = {
	offsetof(struct mountstats_op, calls),
	offsetof(struct mountstats_op, transmissions),
	offsetof(struct mountstats_op, timeouts),
	offsetof(struct mountstats_op, bytes_sent),
	offsetof(struct mountstats_op, bytes_received),
	offsetof(struct mountstats_op, queue_ms),
	offsetof(struct mountstats_op, rtt_ms),
	offsetof(struct mountstats_op, execute_ms),
	offsetof(struct mountstats_op, errors),
};
static const size_t transport_sums[] = {
	offsetof(struct mountstats_transport, sends),
	offsetof(struct mountstats_transport, receives),
	offsetof(struct mountstats_transport, bad_xids),
	offsetof(struct mountstats_transport, backlog),
	offsetof(struct mountstats_transport, sending),
	offsetof(struct mountstats_transport, pending),
};

static uint64_t
value_at(const void *counters, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)counters + offset, sizeof value);
	return value;
}

static void
set_at(void *counters, size_t offset, uint64_t value)
{
	memcpy((char *)counters + offset, &value, sizeof value);
}

/* after - before of each counter; false when one went back. */
static bool
subtract(void *after, const void *before, const size_t *offsets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t now = value_at(after, offsets[i]), then = value_at(before, offsets[i]);

		if (now < then)
			return false;
		set_at(after, offsets[i], now - then);
	}
	return true;
}

/* Sums stop at their largest value rather than begin anew. */
static void
add(void *into, const void *from, const size_t *offsets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t sum;

		if (__builtin_add_overflow(value_at(into, offsets[i]), value_at(from, offsets[i]), &sum))
			sum = UINT64_MAX;
		set_at(into, offsets[i], sum);
	}
}

static void
op_add(struct mountstats_op *into, const struct mountstats_op *from)
{
	into->errors_known = from->errors_known && (into->errors_known || into->calls == 0);
	add(into, from, sums, G_N_ELEMENTS(sums));
}

static struct mountstats_mount
copy_mount(const struct mountstats_mount *from)
{
	struct mountstats_mount mount = *from;

	mount.device = g_strdup(from->device);
	mount.place = g_strdup(from->place);
	mount.ops = g_memdup2(from->ops, from->op_count * sizeof *from->ops);
	return mount;
}

const struct mountstats_op *
mountstats_find(const struct mountstats_mount *mount, const char *name)
{
	for (unsigned i = 0; i < mount->op_count; i++)
		if (g_str_equal(mount->ops[i].name, name))
			return &mount->ops[i];
	return NULL;
}

/*
 * The same mount: by file system, whose number another mount may have got
 * meanwhile, or else by where it is.
 */
static bool
is_same(const struct mountstats_mount *a, const struct mountstats_mount *b)
{
	if (a->file_system != 0 && b->file_system != 0)
		return a->file_system == b->file_system;
	return g_str_equal(a->place, b->place) && g_str_equal(a->device, b->device);
}

static const struct mountstats_mount *
find_mount(const struct mountstats_mount *mounts, unsigned count, const struct mountstats_mount *wanted)
{
	for (unsigned i = 0; i < count; i++)
		if (is_same(&mounts[i], wanted))
			return &mounts[i];
	return NULL;
}

/* Kernels write operations always in the same order. */
static const struct mountstats_op *
find_at(const struct mountstats_mount *mount, unsigned number, const char *name)
{
	if (number < mount->op_count && g_str_equal(mount->ops[number].name, name))
		return &mount->ops[number];
	return mountstats_find(mount, name);
}

/*
 * What of a mount came after `before`, in its own place; false when the
 * counters do not continue those before. An operation that the earlier reading
 * does not have is not new, it was cut.
 */
static bool
subtract_mount(struct mountstats_mount *mount, const struct mountstats_mount *before)
{
	unsigned kept = 0;

	if (mount->age_s < before->age_s)
		return false;
	for (unsigned i = 0; i < mount->op_count; i++) {
		struct mountstats_op *op = &mount->ops[i];
		const struct mountstats_op *then = find_at(before, i, op->name);

		if (then == NULL)
			continue;
		if (!subtract(op, then, sums, G_N_ELEMENTS(sums)))
			return false;
		op->errors_known = op->errors_known && then->errors_known;
		if (op->calls > 0)
			mount->ops[kept++] = *op;
	}
	mount->op_count = kept;
	/* a transport may go while the mount stays; then only that is not known */
	if (mount->transport.count != before->transport.count || mount->transport.queues_known != before->transport.queues_known ||
	    !subtract(&mount->transport, &before->transport, transport_sums, G_N_ELEMENTS(transport_sums)))
		mount->transport = (struct mountstats_transport){ 0 };
	return true;
}

/* Operations without calls go. */
static void
keep_used(struct mountstats_mount *mount)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < mount->op_count; i++)
		if (mount->ops[i].calls > 0)
			mount->ops[kept++] = mount->ops[i];
	mount->op_count = kept;
}

struct mountstats_delta *
mountstats_difference(const struct mountstats *before, const struct mountstats *after)
{
	struct mountstats_delta *delta = g_new0(struct mountstats_delta, 1);
	int64_t span_ns = after->at_ns - before->at_ns;
	unsigned continued = 0;

	delta->from_ns = before->at_ns;
	delta->to_ns = after->at_ns;
	delta->mounts = g_new0(struct mountstats_mount, after->mount_count);
	for (unsigned i = 0; i < after->mount_count; i++) {
		const struct mountstats_mount *then = find_mount(before->mounts, before->mount_count, &after->mounts[i]);
		struct mountstats_mount *mount = &delta->mounts[delta->mount_count];

		*mount = copy_mount(&after->mounts[i]);
		delta->mount_count++;
		continued += then != NULL;
		if (then != NULL && subtract_mount(mount, then))
			continue;
		mountstats_mount_clear(mount);
		*mount = copy_mount(&after->mounts[i]);
		if (mount->age_s <= (uint64_t)MAX(span_ns, 0) / NS_PER_S + AGE_SLACK_S) {
			keep_used(mount);
			continue;
		}
		mountstats_mount_clear(mount);
		delta->mount_count--;
		delta->left_out++;
	}
	delta->left_out += before->mount_count - MIN(continued, before->mount_count);
	return delta;
}

static void
add_mount(struct mountstats_mount *into, const struct mountstats_mount *from)
{
	unsigned count = into->op_count;

	into->ops = g_renew(struct mountstats_op, into->ops, count + from->op_count);
	for (unsigned i = 0; i < from->op_count; i++) {
		struct mountstats_op *known = (struct mountstats_op *)mountstats_find(into, from->ops[i].name);

		if (known != NULL)
			op_add(known, &from->ops[i]);
		else
			into->ops[count++] = from->ops[i];
	}
	into->op_count = count;
	into->age_s = from->age_s;
	if (into->transport.count != from->transport.count ||
	    into->transport.queues_known != from->transport.queues_known) {
		into->transport = (struct mountstats_transport){ 0 };
		return;
	}
	add(&into->transport, &from->transport, transport_sums, G_N_ELEMENTS(transport_sums));
	into->transport.slots_most = MAX(into->transport.slots_most, from->transport.slots_most);
}

void
mountstats_delta_add(struct mountstats_delta *into, const struct mountstats_delta *from)
{
	into->mounts = g_renew(struct mountstats_mount, into->mounts, into->mount_count + from->mount_count);
	for (unsigned i = 0; i < from->mount_count; i++) {
		const struct mountstats_mount *known = find_mount(into->mounts, into->mount_count, &from->mounts[i]);

		if (known != NULL)
			add_mount(&into->mounts[known - into->mounts], &from->mounts[i]);
		else
			into->mounts[into->mount_count++] = copy_mount(&from->mounts[i]);
	}
	into->to_ns = from->to_ns;
	into->left_out += from->left_out;
}

/* ---- what rules and reports ask ---- */

int64_t
mountstats_mean_ns(uint64_t sum_ms, uint64_t calls)
{
	__int128 mean_ns;

	if (calls == 0)
		return 0;
	mean_ns = ((__int128)sum_ms * NS_PER_MS + calls / 2) / calls;
	return mean_ns > INT64_MAX ? INT64_MAX : (int64_t)mean_ns;
}

static bool
is_of(const struct mountstats_mount *mount, const uint8_t address[16], bool only_server)
{
	return mount->address_known ? memcmp(mount->address, address, sizeof mount->address) == 0 : only_server;
}

static void
sum_named(struct mountstats_op *sum, const struct mountstats_mount *mount, const char *name)
{
	const struct mountstats_op *op = mountstats_find(mount, name);

	g_strlcpy(sum->name, name, sizeof sum->name);
	if (op != NULL)
		op_add(sum, op);
}

void
mountstats_sum(struct mountstats_sums *total, const struct mountstats_delta *delta, const uint8_t address[16],
    bool only_server)
{
	for (unsigned i = 0; delta != NULL && i < delta->mount_count; i++) {
		const struct mountstats_mount *mount = &delta->mounts[i];
		struct mountstats_op all = { 0 };

		if (!is_of(mount, address, only_server))
			continue;
		for (unsigned j = 0; j < mount->op_count; j++)
			op_add(&all, &mount->ops[j]);
		total->mounts++;
		total->calls += all.calls;
		total->queue_ms += all.queue_ms;
		total->rtt_ms += all.rtt_ms;
		total->execute_ms += all.execute_ms;
		sum_named(&total->reads, mount, "READ");
		sum_named(&total->writes, mount, "WRITE");
		if (mount->transport.count > 0 &&
		    (total->transport.count == 0 || mount->transport.sends > total->transport.sends))
			total->transport = mount->transport;
	}
}
