#include "trace/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/nfs3.h"

enum option_type {
	TYPE_SEED, TYPE_COUNT, TYPE_BYTES, TYPE_DURATION, TYPE_BITS, TYPE_CHANCE, TYPE_FLAG,
	TYPE_CHOICE, TYPE_DISTRIBUTION, TYPE_SERVICE, TYPE_MIX, TYPE_STEPS,
};

/* What a row exists several times for: NAME sets all, PREFIX-NAME one of them. */
enum option_spread { ONCE, PER_DIRECTION, PER_SIDE, PER_HOST };

struct option_row {
	const char *name;
	enum option_type type;
	enum option_spread spread;
	size_t place;			/* in the configuration, or of the first of several */
	const char *choices;		/* separated by '|', in the order of the enum */
	const char *help;
};

#define PLACE(member) offsetof(struct trace_config, member)
#define SIDE_PLACE(member) offsetof(struct trace_config, capture[0].member)
#define HOST_PLACE(member) offsetof(struct trace_config, receiver[0].member)

static const struct option_row option_rows[] = {
	{ "seed", TYPE_SEED, ONCE, PLACE(seed), NULL, "another trace of the same kind" },
	{ "start", TYPE_DURATION, ONCE, PLACE(start_ns), NULL, "of the trace, since 1970" },

	{ "clients", TYPE_COUNT, ONCE, PLACE(clients), NULL, "that have a capture" },
	{ "extra-clients", TYPE_COUNT, ONCE, PLACE(extra_clients), NULL,
		"seen by the server's capture only" },
	{ "extra-servers", TYPE_COUNT, ONCE, PLACE(extra_servers), NULL,
		"seen by the clients' captures only" },
	{ "nconnect", TYPE_COUNT, ONCE, PLACE(nconnect), NULL, "connections of a client" },
	{ "nfs", TYPE_CHOICE, ONCE, PLACE(nfs), "3|4.0|4.1|4.2", "version" },
	{ "udp", TYPE_FLAG, ONCE, PLACE(udp), NULL, "NFSv3 over UDP, in IP fragments; needs timeo" },
	{ "mtu", TYPE_BYTES, ONCE, PLACE(mtu_bytes), NULL, "of a packet of UDP" },
	{ "slots", TYPE_COUNT, ONCE, PLACE(slots), NULL, "calls in flight on a connection" },
	{ "session-slots", TYPE_COUNT, ONCE, PLACE(session_slots), NULL,
		"that a session grants (4.1, 4.2), 0: as many" },
	{ "callers", TYPE_COUNT, ONCE, PLACE(callers), NULL, "of a client, one call each" },
	{ "surge", TYPE_COUNT, ONCE, PLACE(surge), NULL, "more callers of a client, now and then" },
	{ "surge-every", TYPE_DURATION, ONCE, PLACE(surge_every_ns), NULL, "period of surges" },
	{ "surge-time", TYPE_DURATION, ONCE, PLACE(surge_ns), NULL,
		"at the start of every period" },
	{ "rate", TYPE_CHANCE, ONCE, PLACE(rate), NULL,
		"calls a second and client (Poisson) instead of callers that wait" },
	{ "think", TYPE_DISTRIBUTION, ONCE, PLACE(think), NULL, "between a reply and the next call" },
	{ "pause-every", TYPE_DURATION, ONCE, PLACE(pause_every_ns), NULL, "period of pauses" },
	{ "pause", TYPE_DURATION, ONCE, PLACE(pause_ns), NULL, "at the end of every period" },
	{ "calls", TYPE_COUNT, ONCE, PLACE(calls), NULL, "of the whole trace" },
	{ "duration", TYPE_DURATION, ONCE, PLACE(duration_ns), NULL, "no call starts later" },
	{ "mix", TYPE_MIX, ONCE, PLACE(weight), NULL,
		"PROC:WEIGHT,... or `all` (the 22 procedures alike)" },
	{ "read", TYPE_BYTES, ONCE, PLACE(read_bytes), NULL, "size of a READ" },
	{ "write", TYPE_BYTES, ONCE, PLACE(write_bytes), NULL, "size of a WRITE" },
	{ "vary-sizes", TYPE_FLAG, ONCE, PLACE(vary_sizes), NULL,
		"a power of two from 512 up to the size" },
	{ "file-sync", TYPE_CHANCE, ONCE, PLACE(file_sync), NULL, "share of WRITEs FILE_SYNC" },
	{ "files", TYPE_COUNT, ONCE, PLACE(files), NULL, "file handles in use" },
	{ "sequential", TYPE_FLAG, ONCE, PLACE(sequential), NULL,
		"each caller goes on where it ended, in a file of its own" },
	{ "errors", TYPE_CHANCE, ONCE, PLACE(error_rate), NULL, "share of NFS3ERR replies" },
	{ "jukebox", TYPE_CHANCE, ONCE, PLACE(jukebox), NULL,
		"share of NFS3ERR_JUKEBOX replies, after which the call is made again" },
	{ "jukebox-delay", TYPE_DURATION, ONCE, PLACE(jukebox_delay_ns), NULL, "how much later" },
	{ "auth-none", TYPE_FLAG, ONCE, PLACE(auth_none), NULL, "instead of AUTH_SYS" },

	{ "threads", TYPE_COUNT, ONCE, PLACE(threads), NULL, "of the server" },
	{ "turns", TYPE_FLAG, ONCE, PLACE(turns), NULL,
		"connections with calls waiting take turns: not the oldest call is next" },
	{ "service", TYPE_SERVICE, ONCE, PLACE(service), NULL,
		"PROC:DISTRIBUTION or all:DISTRIBUTION, may be repeated" },
	{ "disks", TYPE_COUNT, ONCE, PLACE(disks), NULL, "that calls queue for, 0: they need not" },
	{ "storage", TYPE_SERVICE, ONCE, PLACE(storage), NULL, "on a disk, after the service" },

	{ "delay", TYPE_DURATION, PER_DIRECTION, PLACE(delay_ns), NULL, "one way" },
	{ "jitter", TYPE_DURATION, PER_DIRECTION, PLACE(jitter_ns), NULL, "0 to this is added" },
	{ "line", TYPE_BITS, PER_DIRECTION, PLACE(rate_bits), NULL,
		"bit/s of a client's line, 0: no limit" },
	{ "loss", TYPE_CHANCE, PER_DIRECTION, PLACE(loss), NULL, "of packets on the way" },
	{ "reorder", TYPE_CHANCE, PER_DIRECTION, PLACE(reorder), NULL, "packets overtaken" },
	{ "reorder-by", TYPE_DURATION, ONCE, PLACE(reorder_ns), NULL, "how much later they arrive" },

	{ "mss", TYPE_BYTES, ONCE, PLACE(mss_bytes), NULL, "payload of a segment" },
	{ "window", TYPE_BYTES, PER_DIRECTION, PLACE(window_bytes), NULL, "offered by the receiver" },
	{ "cwnd", TYPE_BYTES, PER_DIRECTION, PLACE(cwnd_bytes), NULL,
		"in flight at most, 0: what the window allows" },
	{ "rto", TYPE_DURATION, ONCE, PLACE(rto_ns), NULL, "first retransmission time-out" },
	{ "delayed-ack", TYPE_DURATION, PER_HOST, HOST_PLACE(delayed_ack_ns), NULL,
		"an odd segment waits so long; 0: every segment is acknowledged" },
	{ "stall", TYPE_CHANCE, PER_HOST, HOST_PLACE(stall), NULL,
		"segments after which the host reads nothing for a while" },
	{ "stall-time", TYPE_DISTRIBUTION, PER_HOST, HOST_PLACE(stall_time), NULL, "how long" },
	{ "call-pause", TYPE_CHANCE, ONCE, PLACE(call_pause), NULL,
		"WRITEs in the middle of which the client halts" },
	{ "call-pause-time", TYPE_DISTRIBUTION, ONCE, PLACE(call_pause_time), NULL, "how long" },
	{ "transmit-gap", TYPE_DURATION, ONCE, PLACE(transmit_gap_ns), NULL,
		"between frames of a host, at least" },
	{ "coalesce", TYPE_DURATION, ONCE, PLACE(coalesce_ns), NULL,
		"a record waits so long for others to share its segments" },
	{ "gro-hold", TYPE_DURATION, ONCE, PLACE(gro_hold_ns), NULL, "GRO waits so long for more" },
	{ "gro-break", TYPE_CHANCE, ONCE, PLACE(gro_break), NULL, "GRO frames that end early" },
	{ "tcp-timestamps", TYPE_FLAG, ONCE, PLACE(tcp_timestamps), NULL, "the TCP option" },
	{ "high-sequence", TYPE_FLAG, ONCE, PLACE(high_sequence), NULL,
		"sequence numbers start close to 2^32" },
	{ "keepalive", TYPE_DURATION, ONCE, PLACE(keepalive_ns), NULL,
		"every so often a keep-alive with a byte of rubbish" },
	{ "overlap", TYPE_CHANCE, ONCE, PLACE(overlap), NULL,
		"ACKs that are answered by a retransmission with other content" },

	{ "fragment", TYPE_BYTES, ONCE, PLACE(fragment_bytes), NULL, "RPC fragments, at most" },
	{ "empty-fragment", TYPE_FLAG, ONCE, PLACE(empty_fragment), NULL,
		"one of 0 bytes in every record" },
	{ "split-mark", TYPE_CHANCE, ONCE, PLACE(split_mark), NULL,
		"records of which 1 to 3 bytes go ahead" },
	{ "payload", TYPE_CHOICE, ONCE, PLACE(payload), "random|pattern|fakes",
		"of READ and WRITE; fakes: RPC records that look real" },

	{ "xid", TYPE_COUNT, ONCE, PLACE(xid_start), NULL,
		"first of every connection, -1: at random" },
	{ "xid-modulus", TYPE_COUNT, ONCE, PLACE(xid_modulus), NULL, "XIDs wrap after so many" },
	{ "xid-restart", TYPE_FLAG, ONCE, PLACE(xid_restart), NULL, "at a reconnect" },
	{ "timeo", TYPE_DURATION, ONCE, PLACE(timeo_ns), NULL,
		"a call is sent again on its connection, 0: never" },
	{ "give-up", TYPE_DURATION, ONCE, PLACE(give_up_ns), NULL,
		"of the caller of an unanswered call" },
	{ "unanswered", TYPE_CHANCE, ONCE, PLACE(unanswered), NULL, "calls without a reply" },
	{ "denied", TYPE_CHANCE, ONCE, PLACE(denied), NULL, "replies RPC_MISMATCH, AUTH_ERROR" },
	{ "accept-errors", TYPE_CHANCE, ONCE, PLACE(accept_error), NULL,
		"replies PROG_UNAVAIL to SYSTEM_ERR" },
	{ "reconnect", TYPE_COUNT, ONCE, PLACE(reconnect_calls), NULL,
		"a connection ends after so many calls" },
	{ "reconnect-how", TYPE_CHOICE, ONCE, PLACE(reconnect_how),
		"fin|rst|server-fin|server-rst", "who ends it" },
	{ "reconnect-delay", TYPE_DURATION, ONCE, PLACE(reconnect_delay_ns), NULL,
		"until the next SYN" },
	{ "reconnect-same-port", TYPE_FLAG, ONCE, PLACE(reconnect_same_port), NULL,
		"the same four addresses and ports again" },
	{ "close", TYPE_FLAG, ONCE, PLACE(close_at_end), NULL, "FINs at the end" },

	{ "nat", TYPE_CHOICE, ONCE, PLACE(nat), "none|address|port|both|one",
		"the server sees clients as others; one: all behind one address" },
	{ "virtual-server", TYPE_FLAG, ONCE, PLACE(virtual_server), NULL,
		"the clients use another address of the server" },

	{ "snaplen", TYPE_BYTES, PER_SIDE, SIDE_PLACE(snaplen_bytes), NULL, "of a packet" },
	{ "drop", TYPE_CHANCE, PER_SIDE, SIDE_PLACE(drop), NULL, "packets not captured" },
	{ "burst", TYPE_CHANCE, PER_SIDE, SIDE_PLACE(burst), NULL, "a burst of drops starts" },
	{ "burst-packets", TYPE_COUNT, PER_SIDE, SIDE_PLACE(burst_packets), NULL, "its length" },
	{ "drop-window", TYPE_STEPS, PER_SIDE, SIDE_PLACE(drop_windows), NULL,
		"AT:LENGTH, nothing is captured, may be repeated" },
	{ "only", TYPE_CHOICE, PER_SIDE, SIDE_PLACE(only), "both|calls|replies",
		"direction that is captured" },
	{ "capture-start", TYPE_DURATION, PER_SIDE, SIDE_PLACE(start_ns), NULL,
		"after the start of the trace" },
	{ "capture-stop", TYPE_DURATION, PER_SIDE, SIDE_PLACE(stop_ns), NULL,
		"after the start of the trace, 0: the end" },
	{ "duplicate", TYPE_FLAG, PER_SIDE, SIDE_PLACE(duplicate), NULL, "each packet twice" },
	{ "duplicate-delay", TYPE_DURATION, PER_SIDE, SIDE_PLACE(duplicate_delay_ns), NULL,
		"of the second copy" },
	{ "duplicate-hop", TYPE_FLAG, PER_SIDE, SIDE_PLACE(duplicate_hop), NULL,
		"the second copy's TTL is less by one" },
	{ "permute", TYPE_COUNT, PER_SIDE, SIDE_PLACE(permute_packets), NULL,
		"file order shuffled in blocks of so many packets" },
	{ "permute-time", TYPE_DURATION, PER_SIDE, SIDE_PLACE(permute_ns), NULL,
		"and of at most so long" },
	{ "permute-after-handshake", TYPE_FLAG, PER_SIDE, SIDE_PLACE(permute_after_handshake), NULL,
		"SYNs stay in their place" },
	{ "permute-ties", TYPE_FLAG, PER_SIDE, SIDE_PLACE(permute_ties), NULL,
		"also packets with equal stamps" },
	{ "link", TYPE_CHOICE, PER_SIDE, SIDE_PLACE(link), "ethernet|vlan|qinq|sll|sll2|raw",
		"link layer" },
	{ "ip", TYPE_COUNT, PER_SIDE, SIDE_PLACE(ip_version), NULL, "4 or 6" },
	{ "magic", TYPE_CHOICE, PER_SIDE, SIDE_PLACE(magic), "us|ns|modified", "of the file" },
	{ "big-endian", TYPE_FLAG, PER_SIDE, SIDE_PLACE(big_endian), NULL, "file headers" },
	{ "gso", TYPE_BYTES, PER_SIDE, SIDE_PLACE(gso_bytes), NULL, "largest frame sent" },
	{ "gro", TYPE_BYTES, PER_SIDE, SIDE_PLACE(gro_bytes), NULL, "largest frame received" },
	{ "gso-zero-length", TYPE_FLAG, PER_SIDE, SIDE_PLACE(gso_zero_length), NULL,
		"IP length 0 on them" },

	{ "server-offset", TYPE_DURATION, ONCE, PLACE(server_clock.offset_ns), NULL, "of its clock" },
	{ "server-drift", TYPE_COUNT, ONCE, PLACE(server_clock.drift_ppb), NULL, "ppb" },
	{ "server-step", TYPE_STEPS, ONCE, PLACE(server_clock.steps), NULL, "AT:BY" },
	{ "short-truth", TYPE_FLAG, ONCE, PLACE(short_truth), NULL,
		"truth.csv without the lines of calls" },
};

static const char *const side_names[TRACE_SIDES] = { "server", "client" };
static const char *const direction_names[] = { "request", "reply" };

void
trace_config_init(struct trace_config *config)
{
	*config = (struct trace_config){
		.seed = 1, .start_ns = G_GINT64_CONSTANT(1760000000000000000),
		.clients = 1, .nconnect = 1, .mtu_bytes = 1500, .slots = 64, .callers = 8, .calls = 1000,
		.weight = { [NFS3_READ] = 60, [NFS3_WRITE] = 20, [NFS3_GETATTR] = 20 },
		.read_bytes = 32768, .write_bytes = 32768, .files = 16,
		.threads = 8,
		.delay_ns = { 100000, 100000 },
		.rate_bits = { 10000000000, 10000000000 },
		.reorder_ns = 60000,
		.mss_bytes = 1448, .window_bytes = { 1 << 20, 1 << 20 },
		.rto_ns = 200000000,
		.call_pause_time = { TRACE_CONSTANT, 5000000, 0, 0 },
		.jukebox_delay_ns = 5000000000,
		.transmit_gap_ns = 200, .gro_hold_ns = 12000, .gro_break = 0.1,
		.tcp_timestamps = true,
		.xid_start = -1, .give_up_ns = 1000000000,
		.reconnect_delay_ns = 1000000,
	};
	for (unsigned i = 0; i < TRACE_PROCEDURES; i++)
		config->service[i] = (struct trace_distribution){
			TRACE_EXPONENTIAL, 60000, 0, 0 };
	config->service[NFS3_READ] =
		(struct trace_distribution){ TRACE_BIMODAL, 90000, 4000000, 0.1 };
	config->service[NFS3_WRITE].a_ns = 200000;
	config->service[NFS3_COMMIT].a_ns = 2000000;
	for (unsigned side = 0; side < TRACE_SIDES; side++) {
		struct trace_capture *capture = &config->capture[side];

		capture->snaplen_bytes = 2 << 20;
		capture->burst_packets = 20;
		capture->ip_version = 4;
		capture->magic = TRACE_NANOSECONDS;
		config->receiver[side].delayed_ack_ns = 40000000;
		config->receiver[side].stall_time =
			(struct trace_distribution){ TRACE_CONSTANT, 10000000, 0, 0 };
	}
}

/* ---- values ---- */

struct unit {
	const char *name;
	double factor;
};

static const struct unit duration_units[] = {
	{ "", 1 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
	{ "min", 60e9 }, { "h", 3600e9 }, { NULL, 0 }
};
static const struct unit byte_units[] = {
	{ "", 1 }, { "k", 1024 }, { "K", 1024 }, { "M", 1048576 }, { "G", 1073741824 }, { NULL, 0 }
};
static const struct unit decimal_units[] = {
	{ "", 1 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { NULL, 0 }
};

static bool
parse_number(const char *text, const struct unit *units, int64_t *value)
{
	char *end;
	gint64 whole = g_ascii_strtoll(text, &end, 10);
	bool fraction = *end == '.' || *end == 'e';
	double real = fraction ? g_ascii_strtod(text, &end) : (double)whole;

	if (end == text)
		return false;
	for (; units->name != NULL; units++)
		if (strcmp(units->name, end) == 0) {
			*value = fraction ? (int64_t)(real * units->factor + (real < 0 ? -0.5 : 0.5))
				: whole * (int64_t)units->factor;
			return true;
		}
	return false;
}

static bool
parse_real(const char *text, double *value)
{
	char *end;

	*value = g_ascii_strtod(text, &end);
	return end != text && *end == '\0' && *value >= 0;
}

static bool
parse_choice(const char *text, const char *choices, int64_t *value)
{
	g_auto(GStrv) names = g_strsplit(choices, "|", 0);

	for (unsigned i = 0; names[i] != NULL; i++)
		if (strcmp(names[i], text) == 0) {
			*value = i;
			return true;
		}
	return false;
}

static const char *const distribution_names[] = {
	[TRACE_CONSTANT] = "const", [TRACE_UNIFORM] = "uniform",
	[TRACE_EXPONENTIAL] = "exp", [TRACE_BIMODAL] = "bimodal",
	[TRACE_LOGNORMAL] = "lognormal", NULL
};

/* 200us, const:A, uniform:A:B, exp:MEAN, bimodal:A:MEAN:SHARE, lognormal:MEAN:SIGMA */
static bool
parse_distribution(const char *text, struct trace_distribution *value)
{
	g_auto(GStrv) part = g_strsplit(text, ":", 0);
	unsigned parts = g_strv_length(part);
	static const unsigned wanted[] = { 2, 3, 2, 4, 3 };

	*value = (struct trace_distribution){ 0 };
	if (parts == 1)
		return parse_number(part[0], duration_units, &value->a_ns);
	for (unsigned kind = 0; distribution_names[kind] != NULL; kind++) {
		if (parts != wanted[kind] || strcmp(part[0], distribution_names[kind]) != 0)
			continue;
		value->kind = kind;
		if (!parse_number(part[1], duration_units, &value->a_ns))
			return false;
		if (kind == TRACE_LOGNORMAL)
			return parse_real(part[2], &value->share);
		return (parts < 3 || parse_number(part[2], duration_units, &value->b_ns))
			&& (parts < 4 || parse_real(part[3], &value->share));
	}
	return false;
}

static int
find_procedure(const char *name)
{
	for (int i = 0; i < TRACE_PROCEDURES; i++)
		if (g_ascii_strcasecmp(name, trace_nfs3_name((unsigned)i)) == 0)
			return i;
	return -1;
}

static bool
parse_service(const char *text, struct trace_distribution *service)
{
	struct trace_distribution value;
	const char *colon = strchr(text, ':');
	g_autofree char *name = NULL;
	int procedure;

	if (colon == NULL || !parse_distribution(colon + 1, &value))
		return false;
	name = g_strndup(text, (gsize)(colon - text));
	if (strcmp(name, "all") == 0) {
		for (unsigned i = 0; i < TRACE_PROCEDURES; i++)
			service[i] = value;
		return true;
	}
	procedure = find_procedure(name);
	if (procedure >= 0)
		service[procedure] = value;
	return procedure >= 0;
}

static bool
parse_mix(const char *text, double *weight)
{
	g_auto(GStrv) part = g_strsplit(text, ",", 0);
	bool all = strcmp(text, "all") == 0;

	for (unsigned i = 0; i < TRACE_PROCEDURES; i++)
		weight[i] = all ? 1 : 0;
	for (unsigned i = 0; !all && part[i] != NULL; i++) {
		char *colon = strchr(part[i], ':');
		double value = 1;
		int procedure;

		if (colon != NULL) {
			*colon = '\0';
			if (!parse_real(colon + 1, &value))
				return false;
		}
		procedure = find_procedure(part[i]);
		if (procedure < 0)
			return false;
		weight[procedure] = value;
	}
	return true;
}

static bool
parse_steps(const char *text, struct trace_steps *steps)
{
	g_auto(GStrv) part = g_strsplit(text, ":", 0);
	struct trace_step *step = &steps->step[steps->count];

	if (g_strv_length(part) != 2 || steps->count == TRACE_STEPS
	    || !parse_number(part[0], duration_units, &step->at_ns)
	    || !parse_number(part[1], duration_units, &step->by_ns))
		return false;
	steps->count++;
	return true;
}

static bool
parse_flag(const char *text, bool *value)
{
	if (text == NULL || strcmp(text, "yes") == 0)
		*value = true;
	else if (strcmp(text, "no") == 0)
		*value = false;
	else
		return false;
	return true;
}

static bool
parse_value(const struct option_row *row, const char *text, void *value)
{
	if (row->type == TYPE_FLAG)
		return parse_flag(text, value);
	if (text == NULL)
		return false;
	switch (row->type) {
	case TYPE_SEED:
		*(uint64_t *)value = g_ascii_strtoull(text, NULL, 0);
		return true;
	case TYPE_COUNT:
	case TYPE_BITS:
		return parse_number(text, decimal_units, value);
	case TYPE_BYTES:
		return parse_number(text, byte_units, value);
	case TYPE_DURATION:
		return parse_number(text, duration_units, value);
	case TYPE_CHANCE:
		return parse_real(text, value);
	case TYPE_CHOICE:
		return parse_choice(text, row->choices, value);
	case TYPE_DISTRIBUTION:
		return parse_distribution(text, value);
	case TYPE_SERVICE:
		return parse_service(text, value);
	case TYPE_MIX:
		return parse_mix(text, value);
	case TYPE_STEPS:
		return parse_steps(text, value);
	case TYPE_FLAG:
		break;
	}
	return false;
}

/* ---- names ---- */

static size_t
stride(const struct option_row *row)
{
	return row->spread == PER_SIDE ? sizeof(struct trace_capture)
		: row->spread == PER_HOST ? sizeof(struct trace_receiver) : sizeof(int64_t);
}

static const char *const *
prefixes(const struct option_row *row)
{
	return row->spread == PER_DIRECTION ? direction_names : side_names;
}

/*
 * Which of the two values of a row the name means: 0 or 1, 2 for both, -1 for
 * another name.
 */
static int
match(const struct option_row *row, const char *name)
{
	const char *const *prefix = prefixes(row);

	if (strcmp(row->name, name) == 0)
		return row->spread == ONCE ? 0 : 2;
	for (int i = 0; i < 2 && row->spread != ONCE; i++) {
		size_t len = strlen(prefix[i]);

		if (strncmp(name, prefix[i], len) == 0 && name[len] == '-'
		    && strcmp(name + len + 1, row->name) == 0)
			return i;
	}
	return -1;
}

/* One value a client, the last for all that follow. */
static bool
set_client_clocks(struct trace_config *config, const char *name, const char *text)
{
	bool step = strcmp(name, "client-step") == 0;
	bool drift = strcmp(name, "client-drift") == 0;
	g_auto(GStrv) part = g_strsplit(text != NULL ? text : "", ",", 0);
	unsigned parts = g_strv_length(part);

	if (parts == 0)
		return false;
	for (unsigned i = 0; i < TRACE_CLOCKS; i++) {
		struct trace_clock *clock = &config->client_clock[i];
		const char *value = part[MIN(i, parts - 1)];

		if (!(step ? parse_steps(value, &clock->steps)
			: drift ? parse_number(value, decimal_units, &clock->drift_ppb)
			: parse_number(value, duration_units, &clock->offset_ns)))
			return false;
	}
	return true;
}

static bool
set_row(struct trace_config *config, const struct option_row *row, int which, const char *text)
{
	for (int i = 0; i < 2; i++)
		if ((which == i || which == 2)
		    && !parse_value(row, text,
			(char *)config + row->place + (size_t)i * stride(row)))
			return false;
	return true;
}

bool
trace_config_set(struct trace_config *config, const char *name, const char *value, GError **error)
{
	bool known = false;
	bool good = false;

	if (strcmp(name, "client-offset") == 0 || strcmp(name, "client-drift") == 0
	    || strcmp(name, "client-step") == 0) {
		known = true;
		good = set_client_clocks(config, name, value);
	}
	for (unsigned i = 0; i < G_N_ELEMENTS(option_rows) && !known; i++) {
		int which = match(&option_rows[i], name);

		if (which >= 0) {
			known = true;
			good = set_row(config, &option_rows[i], which, value);
		}
	}
	if (!good)
		g_set_error(error, G_OPTION_ERROR,
			known ? G_OPTION_ERROR_BAD_VALUE : G_OPTION_ERROR_UNKNOWN_OPTION,
			known ? "--%s: bad value: %s" : "--%s: no such option",
			name, value != NULL ? value : "");
	return good;
}

static const char *const value_names[] = {
	[TYPE_SEED] = "=N", [TYPE_COUNT] = "=N", [TYPE_BYTES] = "=BYTES",
	[TYPE_DURATION] = "=TIME", [TYPE_BITS] = "=RATE", [TYPE_CHANCE] = "=X", [TYPE_FLAG] = "",
	[TYPE_DISTRIBUTION] = "=DIST", [TYPE_SERVICE] = "=PROC:DIST", [TYPE_MIX] = "=MIX",
	[TYPE_STEPS] = "=TIME:TIME",
};

char *
trace_config_help(void)
{
	GString *text = g_string_new(NULL);
	static const char *const spread[] = {
		"", "[request-|reply-]", "[server-|client-]", "[server-|client-]"
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(option_rows); i++) {
		const struct option_row *row = &option_rows[i];
		g_autofree char *choices = row->choices ? g_strconcat("=", row->choices, NULL) : NULL;
		g_autofree char *option = g_strconcat("--", spread[row->spread], row->name,
			choices != NULL ? choices : value_names[row->type], NULL);

		g_string_append_printf(text, "  %-44s %s\n", option, row->help);
	}
	g_string_append_printf(text, "  %-44s %s\n  %-44s %s\n  %-44s %s\n",
		"--client-offset=TIME,...", "of their clocks; the last holds for the others",
		"--client-drift=N,...", "ppb",
		"--client-step=TIME:TIME,...", "AT:BY, may be repeated");
	return g_string_free(text, FALSE);
}

/* ---- truth.json ---- */

static char *
distribution_text(const struct trace_distribution *d)
{
	const char *name = distribution_names[d->kind];

	switch ((enum trace_distribution_kind)d->kind) {
	case TRACE_UNIFORM:
		return g_strdup_printf("%s:%" PRId64 ":%" PRId64, name, d->a_ns, d->b_ns);
	case TRACE_BIMODAL:
		return g_strdup_printf("%s:%" PRId64 ":%" PRId64 ":%g", name, d->a_ns, d->b_ns,
			d->share);
	case TRACE_LOGNORMAL:
		return g_strdup_printf("%s:%" PRId64 ":%g", name, d->a_ns, d->share);
	case TRACE_CONSTANT:
	case TRACE_EXPONENTIAL:
		break;
	}
	return g_strdup_printf("%s:%" PRId64, name, d->a_ns);
}

static json_t *
distribution_json(const struct trace_distribution *distribution)
{
	g_autofree char *text = distribution_text(distribution);

	return json_string(text);
}

static json_t *
procedures_json(const void *value, enum option_type type)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < TRACE_PROCEDURES; i++)
		json_object_set_new(object, trace_nfs3_name(i), type == TYPE_MIX
			? json_real(((const double *)value)[i])
			: distribution_json((const struct trace_distribution *)value + i));
	return object;
}

static json_t *
steps_json(const struct trace_steps *steps)
{
	json_t *array = json_array();

	for (int64_t i = 0; i < steps->count; i++)
		json_array_append_new(array, json_pack("[I,I]",
			(json_int_t)steps->step[i].at_ns, (json_int_t)steps->step[i].by_ns));
	return array;
}

static json_t *
value_json(const struct option_row *row, const void *value)
{
	g_auto(GStrv) choices = g_strsplit(row->choices != NULL ? row->choices : "", "|", 0);

	switch (row->type) {
	case TYPE_FLAG:
		return json_boolean(*(const bool *)value);
	case TYPE_CHANCE:
		return json_real(*(const double *)value);
	case TYPE_CHOICE:
		return json_string(choices[*(const int64_t *)value]);
	case TYPE_DISTRIBUTION:
		return distribution_json(value);
	case TYPE_SERVICE:
	case TYPE_MIX:
		return procedures_json(value, row->type);
	case TYPE_STEPS:
		return steps_json(value);
	case TYPE_SEED:
	case TYPE_COUNT:
	case TYPE_BITS:
	case TYPE_BYTES:
	case TYPE_DURATION:
		break;
	}
	return json_integer((json_int_t)*(const int64_t *)value);
}

json_t *
trace_config_json(const struct trace_config *config)
{
	json_t *object = json_object();

	for (unsigned i = 0; i < G_N_ELEMENTS(option_rows); i++) {
		const struct option_row *row = &option_rows[i];
		const char *const *prefix = prefixes(row);

		for (unsigned which = 0; which < (row->spread == ONCE ? 1 : 2); which++) {
			g_autofree char *name = row->spread == ONCE ? g_strdup(row->name)
				: g_strconcat(prefix[which], "-", row->name, NULL);

			json_object_set_new(object, name, value_json(row,
				(const char *)config + row->place + which * stride(row)));
		}
	}
	return object;
}

static bool
check_capture(const struct trace_capture *capture, const char *side, GError **error)
{
	const char *wrong = NULL;

	if (capture->ip_version != 4 && capture->ip_version != 6)
		wrong = "ip is 4 or 6";
	else if (capture->snaplen_bytes < 1)
		wrong = "snaplen is too small";
	else if (MAX(capture->gso_bytes, capture->gro_bytes) > 1 << 19)
		wrong = "gso and gro are at most 512K";
	if (wrong != NULL)
		g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: %s", side, wrong);
	return wrong == NULL;
}

bool
trace_config_check(const struct trace_config *config, GError **error)
{
	double weights = 0;
	const char *wrong = NULL;

	for (unsigned i = 0; i < TRACE_PROCEDURES; i++)
		weights += config->weight[i];
	if (weights <= 0)
		wrong = "the mix is empty";
	else if (config->clients < 1 || config->clients > TRACE_FILES)
		wrong = "clients: 1 to 256";
	else if (config->nconnect < 1 || config->slots < 1 || config->callers < 1
	    || config->threads < 1 || config->files < 1)
		wrong = "nconnect, slots, callers, threads and files: at least 1";
	else if (MAX(config->read_bytes, config->write_bytes) > LARGEST_PAYLOAD
	    || MIN(config->read_bytes, config->write_bytes) < 1)
		wrong = "read, write: 1 to 1M";
	else if (config->mss_bytes < 64 || config->mss_bytes > 65000)
		wrong = "mss: 64 to 65000";
	else if (MIN(config->window_bytes[0], config->window_bytes[1]) < config->mss_bytes
	    || MAX(config->window_bytes[0], config->window_bytes[1]) > 8 << 20)
		wrong = "window: from a segment to 8M";
	else if (config->rto_ns < 1000)
		wrong = "rto is too small";
	else if (config->xid_modulus != 0 && config->xid_modulus < 2 * config->slots)
		wrong = "xid-modulus: at least twice the slots";
	else if (config->surge > 0 && (config->rate > 0 || config->surge_ns < 1
	    || config->surge_every_ns < config->surge_ns))
		wrong = "surge: callers, with 0 < surge-time <= surge-every";
	else if (config->udp && (config->nfs != TRACE_NFS3 || config->timeo_ns < 1
	    || config->reconnect_calls > 0 || config->fragment_bytes > 0 || config->empty_fragment))
		wrong = "udp: NFSv3, with timeo; no reconnect, fragment, empty-fragment";
	else if (config->udp && (config->mtu_bytes < 576 || config->mtu_bytes > 65000
	    || MAX(config->read_bytes, config->write_bytes) > 61440))
		wrong = "udp: mtu 576 to 65000, read and write at most 60k";
	else if (config->loss[CALLS] >= 1 || config->loss[REPLIES] >= 1)
		wrong = "loss is below 1";
	if (wrong != NULL) {
		g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, wrong);
		return false;
	}
	return check_capture(&config->capture[TRACE_SERVER], "server", error)
		&& check_capture(&config->capture[TRACE_CLIENT], "client", error);
}
