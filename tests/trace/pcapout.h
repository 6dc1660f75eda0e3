/*
 * Writes a pcap file in any of its magics and byte orders.
 */
#ifndef TRACE_PCAPOUT_H
#define TRACE_PCAPOUT_H

#include <glib.h>

#include "trace/trace.h"

struct pcap_out;

struct pcap_out *trace_pcap_open(const char *path, const struct trace_capture *capture,
	uint32_t link_type, GError **error);
void trace_pcap_write(struct pcap_out *out, int64_t at_ns, const uint8_t *bytes,
	uint32_t captured_bytes, uint32_t wire_bytes);
/* False if anything could not be written. Frees. */
bool trace_pcap_close(struct pcap_out *out, GError **error);
/* The time as the file keeps it. */
int64_t trace_pcap_resolution(const struct trace_capture *capture, int64_t at_ns);

#endif
