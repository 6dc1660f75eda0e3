#include "findings/shapes.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

/* ---- chance ---- */

static int
between(GRand *rand, int least, int most)
{
	return g_rand_int_range(rand, least, most + 1);
}

/* Each power of two is as likely as the next. */
static double
scale(GRand *rand, double least, double most)
{
	return least * pow(most / least, g_rand_double(rand));
}

static bool
one_in(GRand *rand, int n)
{
	return g_rand_int_range(rand, 0, n) == 0;
}

static const char *
any(GRand *rand, const char *const *texts)
{
	return texts[g_rand_int_range(rand, 0, (int)g_strv_length((char **)texts))];
}

/* ---- options ---- */

static void G_GNUC_PRINTF(2, 3)
add(struct shape *shape, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_ptr_array_add(shape->more, g_strdup_vprintf(format, arguments));
	va_end(arguments);
}

/* One of several values, separated by '|'. */
static void
add_one(GRand *rand, struct shape *shape, const char *name, const char *values)
{
	g_auto(GStrv) value = g_strsplit(values, "|", -1);

	add(shape, "%s=%s", name, any(rand, (const char *const *)value));
}

/* law: `const:%M`, `uniform:%L:%H` and so on; M is the mean, see law_text(). */
static const char *const laws[] = {
	"const:M", "uniform:L:H", "exp:M", "lognormal:M:0.5", "lognormal:M:1", "bimodal:L:B:0.1", NULL
};

/* The law with its times: the mean M, half of it L, half as much again H; B such that L and B make M. */
static char *
law_text(const char *law, int64_t mean_ns)
{
	GString *text = g_string_new(NULL);

	for (const char *c = law; *c != '\0'; c++)
		if (*c == 'M')
			g_string_append_printf(text, "%" PRId64, mean_ns);
		else if (*c == 'L')
			g_string_append_printf(text, "%" PRId64, mean_ns / 2);
		else if (*c == 'H')
			g_string_append_printf(text, "%" PRId64, mean_ns + mean_ns / 2);
		else if (*c == 'B')
			g_string_append_printf(text, "%" PRId64, mean_ns * 11 / 2);
		else
			g_string_append_c(text, *c);
	return g_string_free(text, FALSE);
}

static GPtrArray *
options_of(struct shape *shape)
{
	GPtrArray *options = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *bulk = law_text(shape->law, shape->service_ns);
	g_autofree char *small = law_text(shape->law, MAX(shape->service_ns / 4, 1000));
	GPtrArray *more = shape->more;

	shape->more = options;
	add(shape, "clients=%d", shape->clients);
	add(shape, "extra-clients=%d", shape->extra_clients);
	add(shape, "nconnect=%d", shape->nconnect);
	add(shape, "callers=%d", shape->callers);
	add(shape, "slots=%d", shape->slots);
	add(shape, "threads=%d", shape->threads);
	add(shape, "calls=%d", shape->calls);
	add(shape, "mix=%s", shape->mix);
	add(shape, "read=%d", shape->payload_bytes);
	add(shape, "write=%d", shape->payload_bytes);
	add(shape, "service=all:%s", small);
	add(shape, "service=READ:%s", bulk);
	add(shape, "service=WRITE:%s", bulk);
	add(shape, "delay=%" PRId64, shape->round_trip_ns / 2);
	add(shape, "line=%" PRId64, shape->line_bits);
	add(shape, "window=8M");
	add(shape, "transmit-gap=10");
	if (shape->rate > 0)
		add(shape, "rate=%.3f", shape->rate);
	if (shape->think_ns > 0)
		add(shape, "think=exp:%" PRId64, shape->think_ns);
	for (unsigned i = 0; i < more->len; i++)
		add(shape, "%s", (const char *)g_ptr_array_index(more, i));
	g_ptr_array_unref(more);
	return options;
}

/* ---- without trouble ---- */

static const char *const mixes[] = {
	"READ", "READ:70,GETATTR:30", "READ:60,WRITE:20,GETATTR:20", "WRITE", "WRITE:80,COMMIT:20",
	"READ:35,WRITE:15,COMMIT:5,GETATTR:20,LOOKUP:10,ACCESS:10,READDIRPLUS:5",
	"GETATTR:50,LOOKUP:30,ACCESS:20", "READ:50,CREATE:10,REMOVE:10,SETATTR:10,GETATTR:20", NULL
};

static bool
is_table_size(int callers)
{
	return callers == 2 || callers == 16 || callers == 64 || callers == 65 || callers == 128
		|| callers == 180;
}

/* What no report depends on. */
static void
choose_looks(GRand *rand, struct shape *shape)
{
	add(shape, "server-offset=%dms", between(rand, -30000, 30000));
	add(shape, "client-offset=%dus", between(rand, -30000, 30000));
	add(shape, "server-drift=%d", between(rand, -50000, 50000));
	if (one_in(rand, 2))
		add(shape, "jitter=%" PRId64, shape->round_trip_ns / 20);
	if (one_in(rand, 3))
		add_one(rand, shape, "magic", "us|modified");
	/* Both together would hide headers. */
	if (one_in(rand, 3)) {
		add_one(rand, shape, "snaplen", "256|320|512");
	} else if (one_in(rand, 2)) {
		add(shape, "gso=64k");
		add(shape, "gro=64k");
	}
	if (one_in(rand, 4))
		add_one(rand, shape, "server-link", "vlan|sll|sll2|raw");
	if (one_in(rand, 6))
		add(shape, "ip=6");
	if (one_in(rand, 6))
		add(shape, "vary-sizes");
	if (one_in(rand, 8))
		add(shape, "errors=0.05");
	if (one_in(rand, 8))
		add(shape, "tcp-timestamps=no");
	if (one_in(rand, 8))
		add(shape, "mss=8948");
	if (one_in(rand, 8))
		add(shape, "high-sequence");
	if (one_in(rand, 8))
		add(shape, "close");
	if (one_in(rand, 3))
		add_one(rand, shape, "nfs", "4.0|4.1|4.2");
}

static void
make_line_fast(struct shape *shape)
{
	double call_s = (double)(shape->service_ns / 2 + shape->round_trip_ns) / 1e9;
	double bits = 8.0 * (shape->payload_bytes + 1000) * shape->callers;

	if (shape->rate > 0)
		bits = MAX(bits, 8.0 * (shape->payload_bytes + 1000) * shape->rate * call_s);
	shape->line_bits = MAX(INT64_C(10000000000), (int64_t)(20 * bits / call_s));
}

/* Callers that wait for one another nowhere. */
static void
make_room(struct shape *shape)
{
	shape->threads = MAX(shape->threads, shape->callers * (shape->clients + shape->extra_clients));
	shape->slots = MAX(shape->slots, shape->callers + 1);
	make_line_fast(shape);
}

static void
choose_healthy(GRand *rand, struct shape *shape)
{
	shape->clients = one_in(rand, 2) ? 1 : between(rand, 1, 3);
	shape->extra_clients = one_in(rand, 3) ? between(rand, 1, 3) : 0;
	shape->nconnect = one_in(rand, 3) ? between(rand, 2, 4) : 1;
	shape->callers = (int)scale(rand, 1, 40);
	shape->calls = between(rand, 400, 1500);
	shape->service_ns = (int64_t)scale(rand, 20e3, 800e3);
	shape->round_trip_ns = (int64_t)scale(rand, 20e3, 300e3);
	shape->payload_bytes = 1 << between(rand, 9, 15);
	shape->mix = any(rand, mixes);
	shape->law = any(rand, laws);
	shape->slots = between(rand, 1, 200);
	shape->threads = between(rand, 1, 128);
	if (one_in(rand, 4)) {
		/* Little's law: a tenth of the threads is busy. */
		double busy = scale(rand, 0.2, 8);

		shape->callers = 1;
		shape->rate = busy * 1e9 / (double)shape->service_ns / (shape->clients + shape->extra_clients);
		shape->threads = MAX(shape->threads, (int)(10 * busy) + 16);
		shape->slots = MAX(shape->slots, 200);
	} else if (!one_in(rand, 3)) {
		shape->think_ns = (int64_t)((double)(shape->service_ns + shape->round_trip_ns)
			* scale(rand, 0.3, 5));
	} else if (is_table_size(shape->callers)) {
		shape->callers++;
	}
	if (one_in(rand, 6)) {
		add(shape, "pause-every=20ms");
		add(shape, "pause=%dms", between(rand, 2, 8));
	}
	make_room(shape);
	choose_looks(rand, shape);
}

/* ---- too few threads ---- */

static void
put_threads(GRand *rand, struct shape *shape, const char *law)
{
	double load = scale(rand, 1.6, 5);

	shape->threads = (int)scale(rand, 1, 256.99);
	shape->clients = between(rand, 1, 3);
	shape->extra_clients = one_in(rand, 3) ? between(rand, 1, 3) : 0;
	shape->callers = (int)ceil(shape->threads * load / (shape->clients + shape->extra_clients));
	shape->calls = MAX(800, 40 * shape->threads);
	shape->slots = shape->callers + between(rand, 0, 50);
	shape->rate = 0;
	shape->think_ns = one_in(rand, 2) ? 0 : shape->service_ns / 10;
	shape->payload_bytes = 1 << between(rand, 9, 12);
	shape->service_ns = (int64_t)scale(rand, 200e3, 3e6);
	shape->law = law;
	make_line_fast(shape);
	add(shape, "pause-every=0");
}

static void
put_threads_constant(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, "const:M");
}

static void
put_threads_uniform(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, "uniform:L:H");
}

static void
put_threads_exponential(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, "exp:M");
}

static void
put_threads_bimodal(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, "bimodal:L:B:0.1");
}

static void
put_threads_lognormal(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, one_in(rand, 2) ? "lognormal:M:0.5" : "lognormal:M:1");
}

/* WRITEs are dear, attributes are cheap. */
static void
put_threads_mixed(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, any(rand, laws));
	shape->mix = "READ:50,WRITE:20,GETATTR:30";
	add(shape, "service=WRITE:exp:%" PRId64, shape->service_ns * between(rand, 3, 8));
}

/* A third of the time; the rest is a quiet load. */
static void
put_threads_third(GRand *rand, struct shape *shape)
{
	int64_t period_ns;

	put_threads(rand, shape, any(rand, laws));
	shape->threads = MIN(shape->threads, 64);
	shape->calls = MAX(2000, 80 * shape->threads);
	shape->clients = 1;
	shape->extra_clients = 0;
	shape->callers = MAX(1, shape->threads / 4);
	shape->think_ns = shape->service_ns;
	shape->slots = 6 * shape->threads + shape->callers;
	/* About six periods; a tenth of the calls are made between the surges. */
	period_ns = shape->calls * shape->service_ns / shape->threads * 3 / 6;
	add(shape, "surge=%d", shape->threads * between(rand, 3, 5));
	add(shape, "surge-every=%" PRId64, period_ns);
	add(shape, "surge-time=%" PRId64, period_ns / 3);
	add(shape, "think=exp:%" PRId64, shape->think_ns / 10);
}

static void
put_threads_midstream(GRand *rand, struct shape *shape)
{
	int64_t length_ns;

	put_threads(rand, shape, any(rand, laws));
	length_ns = shape->calls * shape->service_ns / shape->threads;
	add(shape, "capture-start=%" PRId64, length_ns / between(rand, 4, 10));
}

static void
put_threads_unanswered(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, any(rand, laws));
	add(shape, "unanswered=0.01");
	add(shape, "give-up=%" PRId64, 30 * shape->service_ns);
}

/* Calls come whether or not earlier ones are answered; nearly as many as the threads can do. */
static void
put_threads_open(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, any(rand, laws));
	shape->mix = "READ";
	shape->threads = MIN(shape->threads, 32);
	shape->calls = MAX(2000, 80 * shape->threads);
	shape->rate = (0.85 + 0.2 * g_rand_double(rand)) * shape->threads * 1e9 / (double)shape->service_ns
		/ (shape->clients + shape->extra_clients);
	shape->slots = 4096;
	shape->line_bits = INT64_C(100000000000);
}

/* Both too few: more slots would not help. */
static void
put_threads_and_slots(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, any(rand, laws));
	shape->slots = (int)ceil(1.5 * shape->threads / (shape->clients + shape->extra_clients));
	shape->callers = 3 * shape->slots;
	shape->think_ns = 0;
}

/* Packets missing from the captures of a saturated server. */
static void
put_threads_drops(GRand *rand, struct shape *shape)
{
	put_threads(rand, shape, any(rand, laws));
	add(shape, "server-drop=0.005");
}

/* ---- too few slots ---- */

static void
put_slots(GRand *rand, struct shape *shape)
{
	static const char *const sizes[] = {
		"2", "3", "4", "6", "8", "12", "16", "24", "32", "64", "65", "128", NULL
	};

	shape->slots = (int)g_ascii_strtoll(any(rand, sizes), NULL, 10);
	shape->nconnect = one_in(rand, 3) ? between(rand, 2, 4) : 1;
	shape->clients = between(rand, 1, 2);
	shape->callers = (int)ceil(shape->slots * shape->nconnect * scale(rand, 1.6, 5));
	shape->threads = (shape->clients + shape->extra_clients) * shape->callers;
	shape->calls = MAX(800, 40 * shape->slots * shape->nconnect);
	shape->rate = 0;
	shape->think_ns = 0;
	shape->service_ns = (int64_t)scale(rand, 100e3, 1e6);
	shape->payload_bytes = 1 << between(rand, 9, 12);
	make_line_fast(shape);
	add(shape, "pause-every=0");
}

/* The server grants a session few slots. */
static void
put_session_slots(GRand *rand, struct shape *shape)
{
	int granted;

	put_slots(rand, shape);
	granted = MAX(shape->slots, 2);
	add_one(rand, shape, "nfs", "4.1|4.2");
	add(shape, "session-slots=%d", granted);
	shape->slots = granted * between(rand, 1, 4);
}

/* As many callers as a known table has slots, and no table that limits them. */
static void
put_callers(GRand *rand, struct shape *shape)
{
	static const int sizes[] = { 2, 16, 64, 65, 128 };

	shape->callers = sizes[between(rand, 0, G_N_ELEMENTS(sizes) - 1)];
	shape->nconnect = 1;
	shape->clients = 1;
	shape->rate = 0;
	shape->think_ns = one_in(rand, 2) ? 0 : (shape->service_ns + shape->round_trip_ns) / 3;
	make_room(shape);
	shape->slots = 256;
	add(shape, "pause-every=0");
}

/* ---- slow storage ---- */

static void
put_slow_storage(GRand *rand, struct shape *shape)
{
	shape->service_ns = (int64_t)scale(rand, 10e6, 60e6);
	shape->mix = one_in(rand, 2) ? "READ" : "READ:70,WRITE:30";
	shape->calls = between(rand, 300, 800);
	shape->rate = 0;
	shape->think_ns = shape->think_ns > 0 ? shape->service_ns / 4 : 0;
	make_room(shape);
	add(shape, "pause-every=0");
}

/* Calls queue for a few disks, with threads to spare. */
static void
put_queueing_storage(GRand *rand, struct shape *shape)
{
	int disks = between(rand, 1, 8);
	int64_t storage_ns = (int64_t)scale(rand, 500e3, 10e6);
	g_autofree char *storage = law_text(any(rand, laws), storage_ns);

	shape->clients = between(rand, 1, 2);
	shape->callers = disks * between(rand, 2, 6);
	if (is_table_size(shape->callers))
		shape->callers++;
	shape->rate = 0;
	shape->think_ns = one_in(rand, 2) ? 0 : storage_ns / 4;
	shape->mix = one_in(rand, 2) ? "READ" : "READ:60,WRITE:20,GETATTR:20";
	shape->service_ns = (int64_t)scale(rand, 20e3, 200e3);
	shape->calls = between(rand, 800, 2000);
	make_room(shape);
	shape->threads *= 2;
	add(shape, "disks=%d", disks);
	add(shape, "storage=READ:%s", storage);
	add(shape, "storage=WRITE:%s", storage);
	add(shape, "pause-every=0");
}

/* A part of every call's work is done by one at a time. */
static void
put_lock(GRand *rand, struct shape *shape)
{
	shape->clients = between(rand, 1, 2);
	shape->callers = between(rand, 8, 40);
	if (is_table_size(shape->callers))
		shape->callers++;
	shape->rate = 0;
	shape->think_ns = 0;
	shape->service_ns = (int64_t)scale(rand, 300e3, 1e6);
	shape->calls = between(rand, 800, 2000);
	make_room(shape);
	add(shape, "disks=1");
	add(shape, "storage=all:const:%d", between(rand, 50, 200) * 1000);
	add(shape, "pause-every=0");
}

/* ---- the path ---- */

static void
put_long_path(GRand *rand, struct shape *shape)
{
	shape->round_trip_ns = (int64_t)scale(rand, 6e6, 120e6);
	shape->rate = 0;
	shape->think_ns /= 4;
	make_room(shape);
	add(shape, "pause-every=0");
	add(shape, "jitter=%" PRId64, shape->round_trip_ns / 100);
}

static void
put_asymmetric_path(GRand *rand, struct shape *shape)
{
	put_long_path(rand, shape);
	add(shape, "%s-delay=%dus", one_in(rand, 2) ? "request" : "reply", between(rand, 10, 300));
}

static void
put_bandwidth(GRand *rand, struct shape *shape, const char *mix)
{
	double line_bits = scale(rand, 30e6, 1e9);
	int64_t payload_ns;

	shape->mix = mix;
	shape->payload_bytes = 1 << between(rand, 14, 16);
	shape->clients = 1;
	shape->extra_clients = 0;
	shape->nconnect = between(rand, 1, 2);
	shape->rate = 0;
	shape->think_ns = 0;
	shape->calls = between(rand, 400, 800);
	payload_ns = (int64_t)(8e9 * shape->payload_bytes / line_bits);
	shape->service_ns = MIN(shape->service_ns, 2 * payload_ns);
	shape->callers = 4 + (int)(4 * (shape->service_ns + shape->round_trip_ns) / payload_ns);
	if (is_table_size(shape->callers))
		shape->callers++;
	make_room(shape);
	shape->line_bits = (int64_t)line_bits;
	add(shape, "pause-every=0");
	add(shape, "vary-sizes=no");
	/* Slow lines are no place for the jitter of the path. */
	add(shape, "jitter=0");
}

static void
put_bandwidth_reads(GRand *rand, struct shape *shape)
{
	put_bandwidth(rand, shape, "READ");
}

static void
put_bandwidth_writes(GRand *rand, struct shape *shape)
{
	put_bandwidth(rand, shape, "WRITE");
}

static void
put_loss(GRand *rand, struct shape *shape, const char *way)
{
	shape->mix = "READ:60,WRITE:30,GETATTR:10";
	shape->payload_bytes = 1 << between(rand, 12, 15);
	shape->calls = MIN(shape->calls, 1000);
	make_line_fast(shape);
	add(shape, "%sloss=%.4f", way, scale(rand, 0.002, 0.03));
	add(shape, "mss=1448");
}

static void
put_loss_both(GRand *rand, struct shape *shape)
{
	put_loss(rand, shape, "");
}

static void
put_loss_requests(GRand *rand, struct shape *shape)
{
	put_loss(rand, shape, "request-");
}

static void
put_loss_replies(GRand *rand, struct shape *shape)
{
	put_loss(rand, shape, "reply-");
}

static void
put_jitter(GRand *rand, struct shape *shape)
{
	add(shape, "jitter=%dus", between(rand, 200, 2000));
}

static void
put_reorder(GRand *rand, struct shape *shape)
{
	add(shape, "reorder=%.3f", scale(rand, 0.005, 0.1));
	add_one(rand, shape, "reorder-by", "100us|300us|1500us");
}

/* ---- the hosts' TCP ---- */

static void
put_delayed_ack(GRand *rand, struct shape *shape)
{
	add_one(rand, shape, "delayed-ack", "0|40ms|100ms|200ms");
	add_one(rand, shape, "coalesce", "0|20us|100us");
}

static void
put_small_window(GRand *rand, struct shape *shape)
{
	shape->payload_bytes = 1 << between(rand, 14, 16);
	shape->calls = MIN(shape->calls, 600);
	make_line_fast(shape);
	add_one(rand, shape, "mss", "1448");
	add_one(rand, shape, "window", "8k|16k|32k");
}

static void
put_small_cwnd(GRand *rand, struct shape *shape)
{
	shape->payload_bytes = 1 << between(rand, 14, 16);
	shape->calls = MIN(shape->calls, 600);
	shape->round_trip_ns = (int64_t)scale(rand, 100e3, 10e6);
	make_line_fast(shape);
	add_one(rand, shape, "mss", "1448");
	add_one(rand, shape, "cwnd", "8k|16k|64k");
}

static void
put_stall(GRand *rand, struct shape *shape, const char *side)
{
	shape->payload_bytes = 1 << between(rand, 12, 15);
	shape->mix = "READ:50,WRITE:50";
	shape->calls = MIN(shape->calls, 800);
	make_line_fast(shape);
	add(shape, "%s-stall=%.3f", side, scale(rand, 0.002, 0.05));
	add_one(rand, shape, "window", "16k|64k");
	add_one(rand, shape, "mss", "1448");
}

static void
put_client_stall(GRand *rand, struct shape *shape)
{
	put_stall(rand, shape, "client");
}

static void
put_server_stall(GRand *rand, struct shape *shape)
{
	put_stall(rand, shape, "server");
}

static void
put_call_pause(GRand *rand, struct shape *shape)
{
	shape->mix = "WRITE";
	shape->payload_bytes = 1 << between(rand, 12, 15);
	make_line_fast(shape);
	add(shape, "call-pause=%.2f", scale(rand, 0.05, 0.5));
}

/* ---- the application ---- */

static void
put_idle(GRand *rand, struct shape *shape)
{
	shape->rate = 0;
	shape->clients = 1;
	shape->extra_clients = 0;
	shape->callers = between(rand, 1, 3);
	shape->calls = between(rand, 60, 300);
	shape->service_ns = MIN(shape->service_ns, 400 * US);
	shape->think_ns = shape->callers * (int64_t)scale(rand, 10e6, 300e6);
	make_room(shape);
}

static void
put_serial_client(GRand *rand, struct shape *shape)
{
	shape->rate = 0;
	shape->clients = 1;
	shape->extra_clients = 0;
	shape->nconnect = 1;
	shape->callers = 1;
	shape->think_ns = one_in(rand, 2) ? 0 : (shape->service_ns + shape->round_trip_ns) / 10;
	shape->mix = one_in(rand, 2) ? "READ" : "READ:95,GETATTR:5";
	shape->payload_bytes = 1 << between(rand, 12, 15);
	make_line_fast(shape);
	add(shape, "sequential");
	add(shape, "vary-sizes=no");
	add(shape, "pause-every=0");
}

/* Far more slots than a server likes, and it cannot even take the calls. */
static void
put_many_slots(GRand *rand, struct shape *shape)
{
	shape->clients = 1;
	shape->extra_clients = 0;
	shape->nconnect = 1;
	shape->rate = 0;
	shape->think_ns = 0;
	shape->callers = between(rand, 200, 500);
	shape->slots = 1024;
	shape->threads = between(rand, 8, 32);
	shape->mix = "WRITE";
	shape->payload_bytes = 4096;
	shape->service_ns = (int64_t)scale(rand, 200e3, 1e6);
	shape->calls = 4000;
	make_line_fast(shape);
	add(shape, "server-stall=0.01");
	add(shape, "request-window=64k");
	add(shape, "pause-every=0");
}

/* ---- the captures ---- */

static void
put_drops(GRand *rand, struct shape *shape)
{
	static const char *const sides[] = { "", "server-", "client-", NULL };

	add(shape, "%sdrop=%.4f", any(rand, sides), scale(rand, 0.001, 0.05));
}

static void
put_drop_bursts(GRand *rand, struct shape *shape)
{
	static const char *const sides[] = { "", "server-", "client-", NULL };

	add(shape, "%sburst=%.4f", any(rand, sides), scale(rand, 0.0005, 0.005));
	add(shape, "burst-packets=%d", between(rand, 5, 100));
}

static void
put_clock_step(GRand *rand, struct shape *shape)
{
	add(shape, "%s-step=%dms:%dms", one_in(rand, 2) ? "server" : "client", between(rand, 2, 20),
		between(rand, 5, 4000) * (one_in(rand, 2) ? 1 : -1));
}

static void
put_nat(GRand *rand, struct shape *shape)
{
	if (one_in(rand, 4))
		add(shape, "virtual-server");
	else
		add_one(rand, shape, "nat", "address|port|both|one");
}

static void
put_snaplen(GRand *rand, struct shape *shape)
{
	add_one(rand, shape, "snaplen", "68|96|112|128|160|200");
}

static void
put_duplicates(GRand *rand, struct shape *shape)
{
	static const char *const sides[] = { "", "server-", "client-", NULL };

	add(shape, "%sduplicate", any(rand, sides));
	add_one(rand, shape, "duplicate-delay", "0|3us|20us");
	if (one_in(rand, 2))
		add(shape, "duplicate-hop");
}

static void
put_permuted(GRand *rand, struct shape *shape)
{
	add(shape, "permute=%d", between(rand, 2, 40));
	add(shape, "permute-time=1ms");
}

static void
put_partial_captures(GRand *rand, struct shape *shape)
{
	add(shape, "%s-capture-start=%dms", one_in(rand, 2) ? "server" : "client", between(rand, 1, 10));
	add(shape, "%s-capture-stop=%dms", one_in(rand, 2) ? "server" : "client", between(rand, 12, 40));
}

/* ---- RPC ---- */

static void
put_retransmitted_calls(GRand *rand, struct shape *shape)
{
	add(shape, "unanswered=%.3f", scale(rand, 0.002, 0.02));
	add(shape, "give-up=60ms");
	add_one(rand, shape, "timeo", "20ms|8ms");
}

static void
put_reconnects(GRand *rand, struct shape *shape)
{
	add(shape, "reconnect=%d", between(rand, 20, 150));
	add_one(rand, shape, "reconnect-how", "fin|rst|server-fin|server-rst");
}

static void
put_jukebox(GRand *rand, struct shape *shape)
{
	add(shape, "jukebox=%.3f", scale(rand, 0.01, 0.1));
	add_one(rand, shape, "jukebox-delay", "50ms|200ms|1s");
}

static void
put_errors(GRand *rand, struct shape *shape)
{
	add(shape, "errors=%.2f", scale(rand, 0.05, 0.5));
	add_one(rand, shape, "denied", "0|0.02");
	add_one(rand, shape, "accept-errors", "0|0.02");
}

/* The same load over UDP; only version 3 knows it, and a datagram is not longer than IP's. */
static void
put_datagrams(GRand *rand, struct shape *shape)
{
	add(shape, "nfs=3");
	add(shape, "udp");
	add_one(rand, shape, "read", "4k|8k|32k");
	add_one(rand, shape, "write", "4k|8k|32k");
	add_one(rand, shape, "timeo", "200ms|700ms");
	add_one(rand, shape, "mtu", "1500|9000");
}

/* ---- the table ---- */

const struct trouble troubles[] = {
	{ "none", NULL, 400, 60 },
	{ "threads-constant", put_threads_constant, 16, 2 },
	{ "threads-uniform", put_threads_uniform, 16, 2 },
	{ "threads-exponential", put_threads_exponential, 16, 2 },
	{ "threads-bimodal", put_threads_bimodal, 16, 2 },
	{ "threads-lognormal", put_threads_lognormal, 16, 2 },
	{ "threads-mixed-cost", put_threads_mixed, 16, 2 },
	{ "threads-third", put_threads_third, 16, 2 },
	{ "threads-midstream", put_threads_midstream, 16, 2 },
	{ "threads-unanswered", put_threads_unanswered, 16, 2 },
	{ "threads-open", put_threads_open, 16, 2 },
	{ "threads-and-slots", put_threads_and_slots, 16, 2 },
	{ "threads-drops", put_threads_drops, 16, 2 },
	{ "slots", put_slots, 30, 3 },
	{ "session-slots", put_session_slots, 30, 3 },
	{ "as-many-callers", put_callers, 16, 2 },
	{ "slow-storage", put_slow_storage, 20, 2 },
	{ "queueing-storage", put_queueing_storage, 20, 2 },
	{ "lock", put_lock, 20, 2 },
	{ "long-path", put_long_path, 20, 2 },
	{ "asymmetric-path", put_asymmetric_path, 20, 2 },
	{ "bandwidth-reads", put_bandwidth_reads, 12, 2 },
	{ "bandwidth-writes", put_bandwidth_writes, 12, 2 },
	{ "loss", put_loss_both, 12, 2 },
	{ "loss-requests", put_loss_requests, 12, 2 },
	{ "loss-replies", put_loss_replies, 12, 2 },
	{ "jitter", put_jitter, 12, 1 },
	{ "reorder", put_reorder, 12, 1 },
	{ "delayed-ack", put_delayed_ack, 12, 1 },
	{ "small-window", put_small_window, 12, 1 },
	{ "small-cwnd", put_small_cwnd, 12, 1 },
	{ "client-stall", put_client_stall, 12, 1 },
	{ "server-stall", put_server_stall, 12, 1 },
	{ "call-pause", put_call_pause, 12, 1 },
	{ "idle-application", put_idle, 12, 2 },
	{ "serial-client", put_serial_client, 12, 2 },
	{ "many-slots", put_many_slots, 6, 1 },
	{ "capture-drops", put_drops, 16, 2 },
	{ "capture-bursts", put_drop_bursts, 12, 1 },
	{ "clock-step", put_clock_step, 12, 1 },
	{ "nat", put_nat, 12, 1 },
	{ "snaplen", put_snaplen, 12, 1 },
	{ "duplicates", put_duplicates, 12, 1 },
	{ "permuted", put_permuted, 12, 1 },
	{ "partial-captures", put_partial_captures, 12, 1 },
	{ "retransmitted-calls", put_retransmitted_calls, 12, 1 },
	{ "reconnects", put_reconnects, 12, 1 },
	{ "jukebox", put_jukebox, 12, 1 },
	{ "errors", put_errors, 12, 1 },
	{ "datagrams", put_datagrams, 24, 2 },
	{ NULL, NULL, 0, 0 }
};

GPtrArray *
shape_choose(const struct trouble *trouble, uint64_t seed)
{
	GRand *rand = g_rand_new_with_seed((guint32)seed);
	struct shape shape = { .more = g_ptr_array_new_with_free_func(g_free) };

	choose_healthy(rand, &shape);
	if (trouble->put != NULL)
		trouble->put(rand, &shape);
	g_rand_free(rand);
	return options_of(&shape);
}
