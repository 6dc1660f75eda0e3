#include "segments.h"

#include <string.h>

enum { STEP_BYTES = 10 };

/*
 * A step of STEP_BYTES: connection and direction, flags, displacement of the sequence number
 * from what is expected, acknowledgement, payload length, cut length, time.
 */
bool
fuzz_next_segment(struct fuzz_input *input, struct segment *segment)
{
	const uint8_t *step = input->at;
	unsigned flow, direction;
	uint32_t *seq, wire, cut;

	if (input->end - input->at < STEP_BYTES)
		return false;
	input->at += STEP_BYTES;
	flow = step[0] & 3;
	direction = step[0] >> 2 & 1;
	seq = &input->next_seq[flow][direction];
	wire = (uint32_t)step[5] << 2;
	if (wire > (uint32_t)(input->end - input->at))
		wire = (uint32_t)(input->end - input->at);
	cut = step[6] < 128 ? 0 : (uint32_t)(step[6] - 128) * 4;
	if (cut > wire)
		cut = wire;
	input->now_ns += (int64_t)step[7] * step[8] * 100000;
	input->packet = (struct packet){ .ts_ns = input->now_ns - step[9] * 1000, .frame = ++input->frame,
	    .data = input->at, .cap_len = wire - cut, .wire_len = wire };
	*segment = (struct segment){ .packet = &input->packet, .direction = (uint8_t)direction,
	    .flags = step[1] & 0x1f, .window = step[4], .payload = input->at, .payload_cap_len = wire - cut,
	    .payload_wire_len = wire };
	input->key = (struct flow_key){ .port = { (uint16_t)(700 + flow), flow == 3 ? 5000 : 2049 } };
	segment->key = &input->key;
	segment->seq = *seq + (uint32_t)(int8_t)step[2] * (step[2] & 1 ? 1 : 16);
	segment->ack = input->next_seq[flow][!direction] + (uint32_t)(int8_t)step[3];
	*seq = segment->seq + wire + ((step[1] & (TCP_SYN | TCP_FIN)) != 0);
	input->at += wire - cut;
	return true;
}
