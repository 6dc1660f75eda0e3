#include "run/options_live.h"

#include <pwd.h>
#include <string.h>

#include "base/arith.h"
#include "capture/device.h"
#include "run/values.h"

enum {
	INTERVAL_DEFAULT_S = 5,
	FILE_UNIT_BYTES = 1000000,	/* of -C, as tcpdump's */
	FILE_UNITS_MOST = 1000000000,
	FILES_MOST = 1000000,
	SECONDS_MOST = 1000000000,
	BUFFER_LEAST_KIB = 512,		/* two blocks of the ring */
	BUFFER_MOST_KIB = 2097151,	/* the kernel takes less than 2 GiB */
	PORT_MOST = 65535,
};

/* A whole number that an option takes, and what it may be. */
struct number {
	int id;
	const char *name;
	int64_t least, most;
};

static const struct number numbers[] = {
	{ 'C', "C", 1, FILE_UNITS_MOST },
	{ 'G', "G", 1, SECONDS_MOST },
	{ 'W', "W", 1, FILES_MOST },
	{ 's', "snaplen", 0, DEVICE_SNAPLEN_MOST },
	{ 'B', "buffer-size", BUFFER_LEAST_KIB, BUFFER_MOST_KIB },
	{ 'c', "count", 1, INT64_MAX },
	{ 'p', "port", 1, PORT_MOST },
};

static const struct number *
find_number(int id)
{
	for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++)
		if (numbers[i].id == id)
			return &numbers[i];
	return NULL;
}

static void
put_number(struct options *options, int id, int64_t value)
{
	uint16_t port;

	switch (id) {
	case 'C':
		options->write_bytes = (uint64_t)value * FILE_UNIT_BYTES;
		break;
	case 'G':
		options->write_seconds = (unsigned)value;
		break;
	case 'W':
		options->write_files = (unsigned)value;
		break;
	case 's':
		/* as tcpdump has it, 0 is all of a packet */
		options->snaplen = value > 0 ? (uint32_t)value : DEVICE_SNAPLEN_MOST;
		break;
	case 'B':
		options->buffer_kib = (uint32_t)value;
		break;
	case 'c':
		options->count = (uint64_t)value;
		break;
	default:
		port = (uint16_t)value;
		g_array_append_val(options->ports, port);
	}
}

static bool
take_user(struct options *options, const char *name, GError **error)
{
	if (getpwnam(name) == NULL)
		return value_wrong(error, "--user=%s: there is no such user", name);
	g_free(options->user);
	options->user = g_strdup(name);
	return true;
}

/* Standard output has the reports. */
static bool
take_write(struct options *options, const char *path, GError **error)
{
	if (strcmp(path, "-") == 0)
		return value_wrong(error, "-w -: the reports go to standard output; save to a file or a named pipe");
	if (*path == '\0')
		return value_wrong(error, "-w: the name of the file is empty");
	g_free(options->write_path);
	options->write_path = g_strdup(path);
	return true;
}

bool
options_take_live(struct options *options, int id, const char *value, bool *known, GError **error)
{
	const struct number *number = find_number(id);
	int64_t count = 0;

	*known = true;
	if (number != NULL) {
		if (!value_number(number->name, value, number->least, number->most, &count, error))
			return false;
		put_number(options, id, count);
		return true;
	}
	switch (id) {
	case 'i':
		g_free(options->interface);
		options->interface = g_strdup(value);
		return true;
	case 'D':
		options->list_interfaces = true;
		return true;
	case 'w':
		return take_write(options, value, error);
	case 'Z':
		return take_user(options, value, error);
	case OPTION_INTERVAL:
		return value_seconds("interval", value, &options->interval_ns, error);
	case OPTION_DURATION:
		return value_seconds("duration", value, &options->duration_ns, error);
	default:
		*known = false;
		return true;
	}
}

/* An option that only a live capture has; NULL: none was given. */
static const char *
find_live_only(const struct options *options)
{
	const struct {
		bool given;
		const char *name;
	} live[] = {
		{ options->write_path != NULL, "-w" },
		{ options->write_bytes > 0, "-C" },
		{ options->write_seconds > 0, "-G" },
		{ options->write_files > 0, "-W" },
		{ options->snaplen > 0, "--snaplen" },
		{ options->buffer_kib > 0, "--buffer-size" },
		{ options->interval_ns > 0, "--interval" },
		{ options->duration_ns > 0, "--duration" },
		{ options->count > 0, "--count" },
	};

	for (unsigned i = 0; i < G_N_ELEMENTS(live); i++)
		if (live[i].given)
			return live[i].name;
	return NULL;
}

static bool
check_write(const struct options *options, GError **error)
{
	const char *without = options->write_bytes > 0 ? "-C" : options->write_seconds > 0 ? "-G" :
	    options->write_files > 0 ? "-W" : NULL;

	if (options->write_path == NULL && without != NULL)
		return value_wrong(error, "%s says how a file is rotated, and -w which: it is missing", without);
	if (options->write_files > 0 && options->write_bytes == 0 && options->write_seconds == 0)
		return value_wrong(error, "-W counts the files of -C or -G, and neither was given");
	return true;
}

bool
options_check_live(struct options *options, int arguments, GError **error)
{
	const char *live_only = find_live_only(options);

	if (options->interface == NULL)
		return live_only == NULL ||
		    value_wrong(error, "%s goes with a live capture, and no interface was given: -i", live_only);
	if (*options->interface == '\0')
		return value_wrong(error, "--interface=: the name is empty; -D lists what there is");
	if (arguments > 1 || options->clients->len > 0)
		return value_wrong(error, "with -i the client is this host, and the one capture beside it the server's");
	if (options->swap)
		return value_wrong(error, "--swap goes with captures that were made, and not with -i");
	if (options->side != SIDE_DETECT && (arguments > 0 || options->server->len > 0))
		return value_wrong(error, "--side goes with a single capture: with a server's, -i is the client's");
	if (options->interval_ns == 0)
		options->interval_ns = INTERVAL_DEFAULT_S * (int64_t)NS_PER_S;
	return check_write(options, error);
}
