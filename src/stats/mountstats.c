/*
 * Reading mountstats. The layouts are those that Linux prints: nfs_show_stats()
 * in fs/nfs/super.c, rpc_clnt_show_stats() in net/sunrpc/stats.c, and
 * print_stats of each transport, net/sunrpc/xprtsock.c and xprtrdma.
 */
#include "stats/mountstats.h"

#include <arpa/inet.h>
#include <string.h>

enum {
	OP_NUMBERS = 8,			/* of an operation, without errors */
	TRANSPORT_NUMBERS = 16,		/* the most that are looked at */
	ADDRESS_TEXT = 80,
	ID_MINOR_BITS = 32,
};

/* ---- words ---- */

struct text {
	const char *at, *end;
};

/* Takes the next line, without its newline; false at the end, and for a last line that has none: it may be cut. */
static bool
next_line(struct text *text, struct text *line)
{
	const char *newline = text->at == text->end ? NULL : memchr(text->at, '\n', (size_t)(text->end - text->at));

	if (newline == NULL)
		return false;
	*line = (struct text){ text->at, newline };
	text->at = newline + 1;
	return true;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
next_word(struct text *line, struct text *word)
{
	while (line->at < line->end && is_blank(*line->at))
		line->at++;
	word->at = line->at;
	while (line->at < line->end && !is_blank(*line->at))
		line->at++;
	word->end = line->at;
	return word->end > word->at;
}

static bool
is_word(const struct text *word, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(word->end - word->at) == len && memcmp(word->at, text, len) == 0;
}

static bool
same_words(const struct text *a, const struct text *b)
{
	return a->end - a->at == b->end - b->at && memcmp(a->at, b->at, (size_t)(a->end - a->at)) == 0;
}

/* Takes the next word, which must be that one. */
static bool
take_word(struct text *line, const char *text)
{
	struct text word;

	return next_word(line, &word) && is_word(&word, text);
}

/* Decimal digits alone, up to INT64_MAX: more is no counter of milliseconds, messages or bytes. */
static bool
read_number(const struct text *word, uint64_t *number)
{
	uint64_t sum = 0;

	if (word->at == word->end)
		return false;
	for (const char *at = word->at; at < word->end; at++) {
		if (*at < '0' || *at > '9' || __builtin_mul_overflow(sum, UINT64_C(10), &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum) || sum > INT64_MAX)
			return false;
	}
	*number = sum;
	return true;
}

/* The numbers up to the end of the line, the first `most` of them kept; -1 when one is none. */
static int
read_numbers(struct text *line, uint64_t *numbers, int most)
{
	struct text word;
	uint64_t number;
	int count = 0;

	while (next_word(line, &word)) {
		if (!read_number(&word, &number))
			return -1;
		if (count < most)
			numbers[count] = number;
		count++;
	}
	return count;
}

/* What stands behind "name=" in words with commas between them. */
static bool
find_option(const struct text *options, const char *name, struct text *value)
{
	size_t len = strlen(name);

	for (const char *at = options->at; at < options->end;) {
		const char *comma = memchr(at, ',', (size_t)(options->end - at));
		const char *end = comma == NULL ? options->end : comma;

		if ((size_t)(end - at) > len && memcmp(at, name, len) == 0 && at[len] == '=') {
			*value = (struct text){ at + len + 1, end };
			return true;
		}
		at = end + 1;
	}
	return false;
}

static bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Blanks, newlines and backslashes stand as a backslash and three octal digits. */
static char *
unescape(const struct text *word)
{
	GString *plain = g_string_sized_new((gsize)(word->end - word->at));

	for (const char *at = word->at; at < word->end; at++) {
		if (*at == '\\' && word->end - at > 3 && is_octal(at[1]) && is_octal(at[2]) && is_octal(at[3])) {
			g_string_append_c(plain, (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0')));
			at += 3;
		} else {
			g_string_append_c(plain, *at);
		}
	}
	return g_string_free(plain, FALSE);
}

/* An address as text, with brackets or a scope or without. */
static bool
read_address(const struct text *word, uint8_t address[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const char *from = word->at, *to = word->end, *scope;
	char plain[ADDRESS_TEXT];

	if (to - from > 2 && *from == '[' && to[-1] == ']') {
		from++;
		to--;
	}
	scope = memchr(from, '%', (size_t)(to - from));
	if (scope != NULL)
		to = scope;
	if (to - from >= ADDRESS_TEXT)
		return false;
	memcpy(plain, from, (size_t)(to - from));
	plain[to - from] = '\0';
	if (inet_pton(AF_INET, plain, address + 12) == 1) {
		memcpy(address, mapped, sizeof mapped);
		return true;
	}
	return inet_pton(AF_INET6, plain, address) == 1;
}

/* ---- mountinfo, proc(5) ---- */

/* Words of the text, as they are there. */
struct place {
	struct text device, place, options;
	uint64_t file_system;
	bool taken;
};

static bool
read_file_system(const struct text *word, uint64_t *id)
{
	const char *colon = memchr(word->at, ':', (size_t)(word->end - word->at));
	uint64_t major, minor;

	if (colon == NULL || !read_number(&(struct text){ word->at, colon }, &major) ||
	    !read_number(&(struct text){ colon + 1, word->end }, &minor))
		return false;
	*id = major << ID_MINOR_BITS | (minor & UINT32_MAX);
	return true;
}

/* "36 35 0:54 ROOT PLACE OPTIONS shared:1 - nfs4 DEVICE OPTIONS" */
static bool
read_place(struct text *line, struct place *place)
{
	struct text word;

	*place = (struct place){ 0 };
	if (!next_word(line, &word) || !next_word(line, &word) || !next_word(line, &word) ||
	    !read_file_system(&word, &place->file_system) || !next_word(line, &word) ||
	    !next_word(line, &place->place))
		return false;
	while (next_word(line, &word)) {
		if (is_word(&word, "-"))
			return next_word(line, &word) && (is_word(&word, "nfs") || is_word(&word, "nfs4")) &&
			    next_word(line, &place->device) && next_word(line, &place->options);
	}
	return false;
}

static GArray *
read_places(const char *mountinfo, size_t len)
{
	GArray *places = g_array_new(FALSE, FALSE, sizeof(struct place));
	struct text text = { mountinfo, mountinfo + len }, line;
	struct place place;

	while (len > 0 && next_line(&text, &line)) {
		if (read_place(&line, &place))
			g_array_append_val(places, place);
	}
	return places;
}

/* Both files list mounts in the same order, one above the other in one place, too. */
static const struct place *
take_place(GArray *places, const struct text *device, const struct text *where)
{
	for (unsigned i = 0; i < places->len; i++) {
		struct place *place = &g_array_index(places, struct place, i);

		if (!place->taken && same_words(&place->place, where) && same_words(&place->device, device)) {
			place->taken = true;
			return place;
		}
	}
	return NULL;
}

/* ---- mountstats ---- */

struct reading {
	GArray *places, *mounts, *ops;
	struct mountstats_mount mount;	/* its operations are in ops */
	bool in_mount, in_ops;
};

static bool
has_file_system(const struct reading *reading, uint64_t file_system)
{
	for (unsigned i = 0; file_system != 0 && i < reading->mounts->len; i++) {
		if (g_array_index(reading->mounts, struct mountstats_mount, i).file_system == file_system)
			return true;
	}
	return false;
}

void
mountstats_mount_clear(struct mountstats_mount *mount)
{
	g_free(mount->device);
	g_free(mount->place);
	g_free(mount->ops);
}

static void
end_mount(struct reading *reading)
{
	struct mountstats_mount *mount = &reading->mount;

	if (reading->in_mount) {
		mount->op_count = reading->ops->len;
		mount->ops = g_memdup2(reading->ops->data, mount->op_count * sizeof(struct mountstats_op));
		g_array_append_val(reading->mounts, *mount);
	}
	g_array_set_size(reading->ops, 0);
	*mount = (struct mountstats_mount){ 0 };
	reading->in_mount = reading->in_ops = false;
}

/* "device DEVICE mounted on PLACE with fstype nfs4 statvers=1.1", its first word taken. */
static void
begin_mount(struct reading *reading, struct text *line)
{
	struct mountstats_mount *mount = &reading->mount;
	struct text device, place, word;
	const struct place *known;
	const char *colon;

	if (!next_word(line, &device) || !take_word(line, "mounted") || !take_word(line, "on") ||
	    !next_word(line, &place) || !take_word(line, "with") || !take_word(line, "fstype") ||
	    !next_word(line, &word) || !(is_word(&word, "nfs") || is_word(&word, "nfs4")) ||
	    !next_word(line, &word) || !(is_word(&word, "statvers=1.0") || is_word(&word, "statvers=1.1")))
		return;
	known = take_place(reading->places, &device, &place);
	if (known != NULL) {
		mount->file_system = known->file_system;
		mount->address_known = find_option(&known->options, "addr", &word) && read_address(&word, mount->address);
	}
	if (reading->mounts->len == MOUNTSTATS_MOUNTS || has_file_system(reading, mount->file_system)) {
		*mount = (struct mountstats_mount){ 0 };
		return;
	}
	mount->device = unescape(&device);
	mount->place = unescape(&place);
	colon = g_strstr_len(device.at, device.end - device.at, ":/");
	if (!mount->address_known && colon != NULL)
		mount->address_known = read_address(&(struct text){ device.at, colon }, mount->address);
	reading->in_mount = true;
}

/* Older kernels say vers=4,minorversion=1, others vers=4.1, or both. */
static void
read_options(struct mountstats_mount *mount, const struct text *options)
{
	struct text value, minor;

	if (!mount->address_known && find_option(options, "mountaddr", &value))
		mount->address_known = read_address(&value, mount->address);
	if (!find_option(options, "vers", &value) || value.end - value.at > 3)
		return;
	if (is_word(&value, "4") && find_option(options, "minorversion", &minor) && minor.end - minor.at == 1)
		g_snprintf(mount->version, sizeof mount->version, "4.%c", *minor.at);
	else
		g_snprintf(mount->version, sizeof mount->version, "%.*s", (int)(value.end - value.at), value.at);
}

/*
 * Numbers in order; RDMA's go on with counts of its own.
 *
 *	tcp, rdma	port bind_count connect_count connect_time idle_time
 *			sends receives bad_xids requests backlog
 *	local		the same without port
 *	udp		port bind_count sends receives bad_xids requests backlog
 *	from 1.1 on, but rdma	slots_most sending pending
 */
static void
read_transport(struct mountstats_transport *transport, struct text *line)
{
	static const struct {
		const char *name;
		int sends;		/* place of the first number that is wanted */
		bool queues;
	} kinds[] = { { "tcp", 5, true }, { "rdma", 5, false }, { "local", 4, true }, { "udp", 2, true } };
	uint64_t numbers[TRANSPORT_NUMBERS];
	struct text word;

	if (!next_word(line, &word))
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
		const uint64_t *from = numbers + kinds[i].sends;
		int count;

		if (!is_word(&word, kinds[i].name))
			continue;
		count = read_numbers(line, numbers, TRANSPORT_NUMBERS) - kinds[i].sends;
		if (count < 5)
			return;
		transport->queues_known = (transport->count == 0 || transport->queues_known) && kinds[i].queues && count >= 8;
		transport->count++;
		transport->sends += from[0];
		transport->receives += from[1];
		transport->bad_xids += from[2];
		transport->backlog += from[4];
		if (kinds[i].queues && count >= 8) {
			transport->slots_most = MAX(transport->slots_most, from[5]);
			transport->sending += from[6];
			transport->pending += from[7];
		}
		return;
	}
}

/* Capital letters, digits and underscores, and a colon. */
static bool
is_op_name(const struct text *word)
{
	size_t len = (size_t)(word->end - word->at);

	if (len < 2 || len > MOUNTSTATS_NAME || word->end[-1] != ':')
		return false;
	for (size_t i = 0; i < len - 1; i++)
		if (!g_ascii_isupper(word->at[i]) && !g_ascii_isdigit(word->at[i]) && word->at[i] != '_')
			return false;
	return true;
}

/* "READ: calls transmissions timeouts bytes_sent bytes_received queue rtt execute [errors]", the first word taken. */
static void
read_op(struct reading *reading, const struct text *name, struct text *line)
{
	uint64_t numbers[OP_NUMBERS + 1];
	int count = read_numbers(line, numbers, OP_NUMBERS + 1);
	struct mountstats_op op;

	if (count < OP_NUMBERS || !is_op_name(name) || reading->ops->len == MOUNTSTATS_OPS)
		return;
	op = (struct mountstats_op){
		.calls = numbers[0],
		.transmissions = numbers[1],
		.timeouts = numbers[2],
		.bytes_sent = numbers[3],
		.bytes_received = numbers[4],
		.queue_ms = numbers[5],
		.rtt_ms = numbers[6],
		.execute_ms = numbers[7],
		.errors = count > OP_NUMBERS ? numbers[OP_NUMBERS] : 0,
		.errors_known = count > OP_NUMBERS,
	};
	memcpy(op.name, name->at, (size_t)(name->end - name->at) - 1);
	g_array_append_val(reading->ops, op);
}

static void
read_line(struct reading *reading, struct text *line)
{
	struct mountstats_mount *mount = &reading->mount;
	struct text word, rest = *line;

	if (!next_word(&rest, &word))
		return;
	if (is_word(&word, "device")) {
		end_mount(reading);
		begin_mount(reading, &rest);
	} else if (!reading->in_mount) {
		return;
	} else if (reading->in_ops) {
		read_op(reading, &word, &rest);
	} else if (is_word(&word, "per-op")) {
		reading->in_ops = true;
	} else if (is_word(&word, "xprt:")) {
		read_transport(&mount->transport, &rest);
	} else if (is_word(&word, "opts:") && next_word(&rest, &word)) {
		read_options(mount, &word);
	} else if (is_word(&word, "age:") && next_word(&rest, &word)) {
		if (!read_number(&word, &mount->age_s))
			mount->age_s = UINT64_MAX;
	}
}

struct mountstats *
mountstats_parse(const char *text, size_t len, const char *mountinfo, size_t mountinfo_len, int64_t at_ns)
{
	struct mountstats *stats = g_new0(struct mountstats, 1);
	struct text rest = { text, text + len }, line;
	struct reading reading = {
		.places = read_places(mountinfo, mountinfo == NULL ? 0 : mountinfo_len),
		.mounts = g_array_new(FALSE, FALSE, sizeof(struct mountstats_mount)),
		.ops = g_array_new(FALSE, FALSE, sizeof(struct mountstats_op)),
	};

	while (next_line(&rest, &line))
		read_line(&reading, &line);
	end_mount(&reading);
	stats->at_ns = at_ns;
	stats->mount_count = reading.mounts->len;
	stats->mounts = (struct mountstats_mount *)(void *)g_array_free(reading.mounts, FALSE);
	g_array_free(reading.places, TRUE);
	g_array_free(reading.ops, TRUE);
	return stats;
}

static void
mounts_free(struct mountstats_mount *mounts, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		mountstats_mount_clear(&mounts[i]);
	g_free(mounts);
}

void
mountstats_free(struct mountstats *stats)
{
	if (stats == NULL)
		return;
	mounts_free(stats->mounts, stats->mount_count);
	g_free(stats);
}

void
mountstats_delta_free(struct mountstats_delta *delta)
{
	if (delta == NULL)
		return;
	mounts_free(delta->mounts, delta->mount_count);
	g_free(delta);
}
