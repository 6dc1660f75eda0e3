#include "capture/device.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/errors.h"
#include "capture/interfaces.h"
#include "capture/ports.h"
#include "capture/segment.h"

enum {
	PACKETS_A_CALL = 4096,
	KIB = 1024,
	LOST_FILES = 2,		/* of the interface's statistics */
	NUMBER_TEXT = 24,	/* bytes of a 64 bit number and a line feed */
	REST_MS = 50,			/* between two looks at the ring, at most; */
	REST_KIB = 1024,		/* of which in each ms a share fills that packets come no faster than: 1 GB/s */
	LAST_BLOCK_US = 2 * DEVICE_HANDOVER_MS * 1000,	/* until what the ring has of an interface that is gone is out */
};

/* Those counters of an interface that mean a packet was lost which the host would have wanted. */
static const char *const lost_names[LOST_FILES] = { "rx_missed_errors", "rx_fifo_errors" };

struct device {
	char *name;
	pcap_t *pcap;
	int index;			/* of the interface; 0: any */
	int link_type;
	uint32_t snaplen;
	uint32_t buffer_kib;		/* of the ring */
	uint64_t frame;			/* of the last packet */
	struct sock_filter *filter;	/* as the kernel runs it; NULL: libpcap filters */
	unsigned short filter_len;
	int lost_fd[LOST_FILES];	/* -1: not known */
	uint64_t lost_before;		/* what the interface had lost at the open */
	struct pcap_stat seen;		/* the counters as libpcap gave them last */
	struct device_counters counters;
	int64_t gone_us;		/* when it was first seen to be gone; 0: it is there */
	bool has_link;			/* when it was looked at last */
	bool had_link;			/* once */
	int64_t unlinked_us;		/* when it was first seen without its link; 0: it has one, or never had */
	device_packet_fn *take;		/* while packets are read */
	void *context;
};

static bool
fail(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool
fail(GError **error, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error_literal(error, NFSCORR_ERROR, NFSCORR_ERROR_FAILED, text);
	g_free(text);
	return false;
}

/* ---- open ---- */

/* The way out for one who may not open a device, with this program's own path. */
static void
fail_without_rights(const char *name, GError **error)
{
	g_autofree char *path = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *quoted = path != NULL && strpbrk(path, " \t'\"\\$`&;()<>|*?[]#~!") != NULL ?
	    g_shell_quote(path) : g_strdup(path != NULL ? path : "nfscorr");

	fail(error, "%s: no permission to capture; run it as root (sudo nfscorr ...), or allow it once and for all: "
	    "sudo setcap cap_net_raw+ep %s", name, quoted);
}

static void
explain(const struct device *device, int status, GError **error)
{
	g_autofree char *names = NULL;

	switch (status) {
	case PCAP_ERROR_PERM_DENIED:
	case PCAP_ERROR_PROMISC_PERM_DENIED:
		fail_without_rights(device->name, error);
		break;
	case PCAP_ERROR_NO_SUCH_DEVICE:
		names = interfaces_names();
		fail(error, "%s: no such interface; there are: %s", device->name, names);
		break;
	case PCAP_ERROR_IFACE_NOT_UP:
		fail(error, "%s: the interface is down; ip link set %s up", device->name, device->name);
		break;
	default:
		fail(error, "%s: cannot capture: %s", device->name,
		    *pcap_geterr(device->pcap) != '\0' ? pcap_geterr(device->pcap) : pcap_statustostr(status));
	}
}

/*
 * What goes over the loopback is seen twice; libpcap leaves one copy out, but the
 * ring would have both, and the kernel count both as dropped. Kernels before 4.20
 * cannot be told.
 */
static void
ignore_second_copies(struct device *device)
{
	int fd = pcap_fileno(device->pcap), ignore = 1;
	struct ifreq request = { 0 };

	g_strlcpy(request.ifr_name, device->name, sizeof request.ifr_name);
	if (ioctl(fd, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_LOOPBACK) != 0)
		(void)setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &ignore, sizeof ignore);
}

/*
 * The ring is opened for packets of any size. TPACKET_V3 stores them by their
 * length, which the filter's result limits, so that this costs nothing, and the
 * snap length can be raised while it runs.
 */
static bool
activate(struct device *device, const struct device_config *config, GError **error)
{
	char problem[PCAP_ERRBUF_SIZE] = "";
	uint32_t buffer_kib = device->buffer_kib;
	int status;

	device->pcap = pcap_create(config->name, problem);
	if (device->pcap == NULL)
		return fail(error, "%s: cannot capture: %s", config->name, problem);
	pcap_set_snaplen(device->pcap, DEVICE_SNAPLEN_MOST);
	pcap_set_promisc(device->pcap, 0);
	pcap_set_timeout(device->pcap, DEVICE_HANDOVER_MS);
	pcap_set_immediate_mode(device->pcap, 0);
	pcap_set_tstamp_precision(device->pcap, PCAP_TSTAMP_PRECISION_NANO);
	pcap_set_buffer_size(device->pcap, buffer_kib <= INT_MAX / KIB ? (int)(buffer_kib * KIB) : INT_MAX);
	status = pcap_activate(device->pcap);
	if (status < 0) {
		explain(device, status, error);
		return false;
	}
	if (pcap_setnonblock(device->pcap, 1, problem) != 0)
		return fail(error, "%s: cannot capture: %s", config->name, problem);
	ignore_second_copies(device);
	return true;
}

/* Of "any" the newer cooked header, which names the interface of each packet. */
static bool
choose_link(struct device *device, GError **error)
{
	const char *name;

	if (pcap_datalink(device->pcap) == DLT_LINUX_SLL)
		(void)pcap_set_datalink(device->pcap, DLT_LINUX_SLL2);
	device->link_type = pcap_datalink(device->pcap);
	if (segment_knows_link(device->link_type))
		return true;
	name = pcap_datalink_val_to_name(device->link_type);
	return fail(error, "%s: link type %s (%d) is not supported", device->name, name != NULL ? name : "unnamed",
	    device->link_type);
}

/* What a filter accepts it accepts up to so many bytes. */
static void
limit_bytes(struct bpf_program *program, uint32_t snaplen)
{
	for (unsigned i = 0; i < program->bf_len; i++)
		if (program->bf_insns[i].code == (BPF_RET | BPF_K) && program->bf_insns[i].k != 0)
			program->bf_insns[i].k = snaplen;
}

/* Compiled on the live handle: where the kernel took the VLAN tags off, vlan must ask it for them. */
static bool
compile(struct device *device, const struct device_config *config, struct bpf_program *program, GError **error)
{
	g_autofree char *tagged = NULL;

	if (config->filter != NULL && config->behind_tags && device->link_type == DLT_EN10MB) {
		tagged = ports_behind_tags(config->filter);
		if (pcap_compile(device->pcap, program, tagged, 1, PCAP_NETMASK_UNKNOWN) == 0)
			return true;
	}
	if (pcap_compile(device->pcap, program, config->filter, 1, PCAP_NETMASK_UNKNOWN) == 0)
		return true;
	g_set_error(error, NFSCORR_ERROR, NFSCORR_ERROR_USAGE, "filter '%s': %s",
	    config->filter != NULL ? config->filter : "", pcap_geterr(device->pcap));
	return false;
}

/*
 * The filter as the kernel has it, after what libpcap changed for cooked links:
 * with other lengths it can take the place of itself in one step. None when
 * the kernel refused it, and libpcap filters here.
 */
static void
keep_filter(struct device *device)
{
	int fd = pcap_fileno(device->pcap);
	socklen_t count = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, NULL, &count) != 0 || count == 0 || count > USHRT_MAX)
		return;
	device->filter = g_new0(struct sock_filter, count);
	if (getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, device->filter, &count) != 0)
		g_clear_pointer(&device->filter, g_free);
	device->filter_len = (unsigned short)count;
}

static bool
set_filter(struct device *device, const struct device_config *config, GError **error)
{
	struct bpf_program program;
	bool set;

	if (!compile(device, config, &program, error))
		return false;
	limit_bytes(&program, config->snaplen);
	set = pcap_setfilter(device->pcap, &program) == 0;
	pcap_freecode(&program);
	if (!set)
		return fail(error, "%s: cannot set the filter: %s", device->name, pcap_geterr(device->pcap));
	keep_filter(device);
	return true;
}

/* ---- counters ---- */

/* A number out of a file of the kernel's, made anew by each read from the start; 0 when there is none. */
static uint64_t
read_number(int fd)
{
	char text[NUMBER_TEXT + 1];
	ssize_t len = fd >= 0 ? pread(fd, text, NUMBER_TEXT, 0) : -1;

	if (len <= 0)
		return 0;
	text[len] = '\0';
	return g_ascii_strtoull(text, NULL, 10);
}

static uint64_t
lost_by_interface(const struct device *device)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < LOST_FILES; i++)
		lost += read_number(device->lost_fd[i]);
	return lost;
}

/*
 * Opened now, since nothing can be opened later. /sys may show the network
 * namespace of somebody else: the index tells.
 */
static void
open_lost(struct device *device)
{
	g_autofree char *index_path = g_strdup_printf("/sys/class/net/%s/ifindex", device->name);
	int fd = device->index > 0 ? open(index_path, O_RDONLY | O_CLOEXEC) : -1;
	bool same = read_number(fd) == (uint64_t)device->index;

	if (fd >= 0)
		close(fd);
	for (unsigned i = 0; fd >= 0 && same && i < LOST_FILES; i++) {
		g_autofree char *path = g_strdup_printf("/sys/class/net/%s/statistics/%s", device->name, lost_names[i]);

		device->lost_fd[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
	device->lost_before = lost_by_interface(device);
}

void
device_counters(struct device *device, struct device_counters *counters)
{
	struct pcap_stat now;
	uint64_t lost = lost_by_interface(device);

	if (pcap_stats(device->pcap, &now) == 0) {
		device->counters.dropped_by_kernel += (uint32_t)(now.ps_drop - device->seen.ps_drop);
		device->seen = now;
	}
	/* an interface that is gone cannot be asked any more */
	if (lost > device->lost_before + device->counters.dropped_by_interface)
		device->counters.dropped_by_interface = lost - device->lost_before;
	/* not libpcap's count, which has the loopback's packets twice and those of the time before the filter */
	device->counters.received = device->frame + device->counters.dropped_by_kernel;
	*counters = device->counters;
}

/* ---- whether it is there ---- */

/* A cable that is pulled, a switch that starts anew: time to come back is given. */
static bool
is_linked(struct device *device, bool has_link, GError **error)
{
	int64_t now_us = g_get_monotonic_time();

	device->has_link = has_link;
	device->had_link |= has_link;
	if (has_link || !device->had_link)
		device->unlinked_us = 0;
	else if (device->unlinked_us == 0)
		device->unlinked_us = now_us;
	if (device->unlinked_us == 0 || now_us - device->unlinked_us < DEVICE_LINK_S * (int64_t)G_USEC_PER_SEC)
		return true;
	return fail(error, "%s: the link was down for %d s", device->name, DEVICE_LINK_S);
}

/* False, with an error, when the interface is not there, down, or without a link for long. It may have been renamed. */
static bool
is_up(struct device *device, GError **error)
{
	int fd = pcap_fileno(device->pcap);
	struct ifreq request = { .ifr_ifindex = device->index };

	if (device->index == 0)
		return true;
	if (ioctl(fd, SIOCGIFNAME, &request) != 0 || ioctl(fd, SIOCGIFFLAGS, &request) != 0)
		return fail(error, "%s: the interface disappeared", device->name);
	if ((request.ifr_flags & IFF_UP) == 0)
		return fail(error, "%s: the interface went down", device->name);
	return is_linked(device, (request.ifr_flags & IFF_RUNNING) != 0, error);
}

/* ---- the device ---- */

struct device *
device_open(const struct device_config *config, GError **error)
{
	struct device *device = g_new0(struct device, 1);

	device->name = g_strdup(config->name);
	device->snaplen = config->snaplen;
	device->buffer_kib = config->buffer_kib > 0 ? config->buffer_kib : DEVICE_BUFFER_KIB;
	for (unsigned i = 0; i < LOST_FILES; i++)
		device->lost_fd[i] = -1;
	if (activate(device, config, error) && choose_link(device, error) && set_filter(device, config, error)) {
		if (strcmp(config->name, "any") != 0)
			device->index = (int)if_nametoindex(config->name);
		device->has_link = true;
		(void)is_up(device, NULL);
		open_lost(device);
		/* what came before the filter was in place */
		(void)pcap_stats(device->pcap, &device->seen);
		return device;
	}
	device_free(device);
	return NULL;
}

void
device_free(struct device *device)
{
	if (device == NULL)
		return;
	for (unsigned i = 0; i < LOST_FILES; i++)
		if (device->lost_fd[i] >= 0)
			close(device->lost_fd[i]);
	if (device->pcap != NULL)
		pcap_close(device->pcap);
	g_free(device->filter);
	g_free(device->name);
	g_free(device);
}

int
device_fd(const struct device *device)
{
	return pcap_get_selectable_fd(device->pcap);
}

unsigned
device_rest_ms(const struct device *device)
{
	return MIN(device->buffer_kib / REST_KIB, REST_MS);
}

int
device_link_type(const struct device *device)
{
	return device->link_type;
}

bool
device_filters_in_kernel(const struct device *device)
{
	return device->filter != NULL;
}

/* A filter that is not the kernel's, or was another one a moment ago, does not cut. */
static void
take_packet(u_char *context, const struct pcap_pkthdr *header, const u_char *data)
{
	struct device *device = (struct device *)context;
	struct packet packet = {
		.ts_ns = header->ts.tv_sec * NS_PER_S + header->ts.tv_usec,
		.cap_len = MIN(header->caplen, device->snaplen),
		.wire_len = MAX(header->len, header->caplen),
		.link_type = device->link_type,
		.frame = ++device->frame,
		.data = data,
	};

	device->take(device->context, &packet);
}

bool
device_has_link(const struct device *device)
{
	return device->has_link;
}

enum device_result
device_read(struct device *device, device_packet_fn *take, void *context, GError **error)
{
	GError *why = NULL;
	int64_t now_us;
	int count;

	device->take = take;
	device->context = context;
	count = pcap_dispatch(device->pcap, PACKETS_A_CALL, take_packet, (u_char *)device);
	/* its link may be there again */
	if (count > 0 && device->unlinked_us != 0)
		(void)is_up(device, NULL);
	if (count > 0)
		return count < PACKETS_A_CALL ? DEVICE_EMPTIED : DEVICE_READ;
	if (is_up(device, &why)) {
		device->gone_us = 0;
		if (count == 0)
			return DEVICE_READ;
		fail(error, "%s: cannot go on capturing: %s", device->name, pcap_geterr(device->pcap));
		return DEVICE_GONE;
	}
	/* its last packets lie in a block that the kernel has yet to hand over */
	now_us = g_get_monotonic_time();
	if (device->gone_us == 0)
		device->gone_us = now_us;
	if (now_us - device->gone_us < LAST_BLOCK_US) {
		g_error_free(why);
		return DEVICE_READ;
	}
	g_propagate_error(error, why);
	return DEVICE_GONE;
}

bool
device_set_snaplen(struct device *device, uint32_t snaplen, GError **error)
{
	struct sock_fprog program = { .len = device->filter_len, .filter = device->filter };

	for (unsigned i = 0; device->filter != NULL && i < device->filter_len; i++)
		if (device->filter[i].code == (BPF_RET | BPF_K) && device->filter[i].k != 0)
			device->filter[i].k = snaplen;
	if (device->filter != NULL && setsockopt(pcap_fileno(device->pcap), SOL_SOCKET, SO_ATTACH_FILTER, &program,
	    sizeof program) != 0)
		return fail(error, "%s: cannot raise the snap length: %s", device->name, g_strerror(errno));
	device->snaplen = snaplen;
	return true;
}
