/*
 * What a network interface sees, out of a ring that the kernel fills
 * (TPACKET_V3 through libpcap), cut to the snap length by the kernel's filter.
 */
#ifndef CAPTURE_DEVICE_H
#define CAPTURE_DEVICE_H

#include <glib.h>
#include <stdbool.h>

#include "capture/packet.h"

enum {
	DEVICE_SNAPLEN_MOST = 262144,	/* bytes; what libpcap takes from any link type that we know */
	DEVICE_BUFFER_KIB = 32768,	/* the ring's default; the kernel keeps a third of a second of 100 MB/s in it */
	DEVICE_HANDOVER_MS = 100,	/* a block that is not full is handed over after this */
	DEVICE_LINK_S = 10,		/* without its link for so long it is gone */
};

struct device_config {
	const char *name;	/* an interface, "any", "lo" */
	const char *filter;	/* pcap-filter text; NULL: everything */
	bool behind_tags;	/* what matches behind one or two VLAN tags passes, too, where the link has tags */
	uint32_t snaplen;	/* bytes kept per packet, 1 to DEVICE_SNAPLEN_MOST */
	uint32_t buffer_kib;	/* of the kernel's ring; 0: the default */
};

struct device;

/*
 * Errors say what can be done about it: the names of the interfaces there are,
 * setcap and sudo. A wrong filter is NFSCORR_ERROR_USAGE. Caller frees.
 */
struct device *device_open(const struct device_config *config, GError **error);
void device_free(struct device *device);	/* NULL allowed */

/*
 * To poll for reading; POLLERR counts as readable, too. What came is handed over
 * when a block of the ring is full, or after DEVICE_HANDOVER_MS.
 */
int device_fd(const struct device *device);
/*
 * Once it was emptied it may be left alone for so long: what comes meanwhile has
 * room in the ring, and many packets at once cost less than a few, for which the
 * caches have to be filled each time.
 */
unsigned device_rest_ms(const struct device *device);
int device_link_type(const struct device *device);
/* False: the kernel did not take the filter, and every packet of the interface comes up to be looked at here. */
bool device_filters_in_kernel(const struct device *device);

/* The packet and its bytes are borrowed for the call. Frames are numbered from 1; stamps have nanoseconds. */
typedef void device_packet_fn(void *context, const struct packet *packet);

enum device_result {
	DEVICE_READ,	/* as much as one call may take, or nothing came */
	DEVICE_EMPTIED,	/* all that came */
	/* The interface went down, lost its link or disappeared, and its last packets were handed over; error is set. */
	DEVICE_GONE,
};
/*
 * Never blocks. Call it when the descriptor is readable and some times a second
 * anyway: an interface that is gone shows in a call that finds no packet.
 */
enum device_result device_read(struct device *device, device_packet_fn *take, void *context, GError **error);
/* Whether it had its link at the open, or when a call found no packet; one that never had is not gone for want of it. */
bool device_has_link(const struct device *device);

/* Sums since the open, however long ago. Ask at least every few minutes: libpcap's have 32 bits. */
struct device_counters {
	uint64_t received;		/* handed over, or dropped by the kernel */
	uint64_t dropped_by_kernel;	/* found no room in the ring; of "any" those over the loopback twice */
	uint64_t dropped_by_interface;	/* whatever they were: for want of a buffer, before any filter */
};
void device_counters(struct device *device, struct device_counters *counters);

/*
 * From the next packet on; those in the ring stay as they are. It needs no
 * rights, and no packet is missed. False, and nothing changes, when the kernel
 * refuses.
 */
bool device_set_snaplen(struct device *device, uint32_t snaplen, GError **error);

#endif
