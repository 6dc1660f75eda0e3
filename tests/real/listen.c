/*
 * listen NAME FILTER|- TAGS SNAPLEN [RAISED]: a device on its own, for device.sh.
 *
 * Says "ready" once it listens, then for each packet its captured and its wire
 * length and its first bytes, until it reads a line on standard input ("raise"
 * sets the snap length to RAISED, anything else ends it) or the interface is
 * gone; then the counters, and what it cost. QUIET in the environment leaves the
 * packets out, BUFFER_KIB sizes the ring.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "capture/device.h"

enum { SHOWN_BYTES = 64, LINE_BYTES = 64, MS_PER_S = 1000, US_PER_MS = 1000 };

struct listen {
	uint64_t packets, bytes;
	bool quiet;
};

static void
show(void *context, const struct packet *packet)
{
	struct listen *listen = context;

	listen->packets++;
	listen->bytes += packet->cap_len;
	if (listen->quiet)
		return;
	printf("packet %u %u %d ", packet->cap_len, packet->wire_len, packet->link_type);
	for (uint32_t i = 0; i < packet->cap_len && i < SHOWN_BYTES; i++)
		printf("%02x", packet->data[i]);
	putchar('\n');
}

/* What was asked for on standard input; false: to end. */
static bool
obey(struct device *device, const char *raised)
{
	char line[LINE_BYTES];
	GError *error = NULL;

	if (fgets(line, sizeof line, stdin) == NULL || strcmp(line, "raise\n") != 0)
		return false;
	if (device_set_snaplen(device, (uint32_t)atoi(raised), &error))
		printf("raised\n");
	else
		printf("not raised: %s\n", error->message);
	g_clear_error(&error);
	return true;
}

static void
loop(struct device *device, struct listen *listen, const char *raised)
{
	struct pollfd fds[] = { { .fd = device_fd(device), .events = POLLIN }, { .fd = STDIN_FILENO, .events = POLLIN } };
	bool ended = false, more = true, linked = device_has_link(device);
	GError *error = NULL;

	/* after the end what came before it, until nothing comes */
	while (!ended || more) {
		more = poll(fds, 2, ended ? 2 * DEVICE_HANDOVER_MS : DEVICE_HANDOVER_MS) > 0;
		if (device_read(device, show, listen, &error) == DEVICE_GONE) {
			printf("gone: %s\n", error->message);
			g_clear_error(&error);
			return;
		}
		if (device_has_link(device) != linked) {
			linked = !linked;
			printf("link %s\n", linked ? "up" : "down");
		}
		if (!ended && fds[1].revents != 0)
			ended = !obey(device, raised);
		if (ended)
			fds[1].fd = -1;
		fflush(stdout);
	}
}

int
main(int argc, char **argv)
{
	struct device_config config = { .name = argv[1], .filter = strcmp(argv[2], "-") != 0 ? argv[2] : NULL,
		.behind_tags = strcmp(argv[3], "tags") == 0, .snaplen = (uint32_t)atoi(argv[4]) };
	struct listen listen = { .quiet = getenv("QUIET") != NULL };
	const char *buffer_kib = getenv("BUFFER_KIB");
	struct device_counters counters;
	struct device *device;
	struct rusage usage;
	GError *error = NULL;

	config.buffer_kib = buffer_kib != NULL ? (uint32_t)atoi(buffer_kib) : 0;
	device = device_open(&config, &error);
	if (device == NULL) {
		printf("error: %s\n", error->message);
		g_error_free(error);
		return 1;
	}
	printf("ready %d %s\n", device_link_type(device), device_filters_in_kernel(device) ? "kernel" : "program");
	fflush(stdout);
	loop(device, &listen, argc > 5 ? argv[5] : "0");
	device_counters(device, &counters);
	getrusage(RUSAGE_SELF, &usage);
	printf("counters %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n", counters.received,
	    counters.dropped_by_kernel, counters.dropped_by_interface);
	printf("seen %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\n", listen.packets, listen.bytes);
	printf("cost %ld ms user %ld ms system\n", usage.ru_utime.tv_sec * MS_PER_S + usage.ru_utime.tv_usec / US_PER_MS,
	    usage.ru_stime.tv_sec * MS_PER_S + usage.ru_stime.tv_usec / US_PER_MS);
	device_free(device);
	return 0;
}
