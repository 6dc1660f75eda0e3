/*
 * The operations that minor version 2 adds (RFC 7862 section 15) and those for
 * extended attributes (RFC 8276 section 8.4).
 */
#include "nfs4.h"

/* netloc4 (RFC 7863): a name, a URL, or a network id and an address */
static void
skip_location(struct nfs4_walk *walk)
{
	enum { BY_NAME = 1, BY_URL = 2, BY_ADDRESS = 3 };
	uint32_t type = xdr_u32(walk->body);

	if (type < BY_NAME || type > BY_ADDRESS)
		nfs4_give_up(walk);
	nfs4_skip_opaque(walk);
	if (type == BY_ADDRESS)
		nfs4_skip_opaque(walk);
}

static void
skip_locations(struct nfs4_walk *walk)
{
	uint32_t count = xdr_u32(walk->body);

	for (uint32_t i = 0; i < count && xdr_ok(walk->body); i++)
		skip_location(walk);
}

/* offset, length (sections 15.1 and 15.4) */
static void
range_call(struct nfs4_walk *walk)
{
	nfs4_read_offset(walk);
	nfs4_read_length(walk);
}

/* behind both stateids: offset at the source, offset here, count, consecutive, synchronous, sources (section 15.2) */
static void
copy_call(struct nfs4_walk *walk)
{
	xdr_skip(walk->body, 8);
	range_call(walk);
	xdr_skip(walk->body, 8);
	skip_locations(walk);
}

/* wr_callback_id<1>, wr_count, wr_committed, wr_writeverf */
uint64_t
nfs4_read_write_response(struct nfs4_walk *walk)
{
	uint64_t count;

	nfs4_skip_array(walk, NFS4_STATEID_BYTES);
	count = xdr_u64(walk->body);
	xdr_skip(walk->body, 4 + NFS4_VERIFIER_BYTES);
	return count;
}

/* write_response4, copy_requirements4: what a server copies by itself does not move here */
static void
copy_reply(struct nfs4_walk *walk)
{
	nfs4_read_write_response(walk);
	xdr_skip(walk->body, 8);
}

/* device_error4<>: device, status, operation (section 15.6) */
static void
layout_error_call(struct nfs4_walk *walk)
{
	nfs4_skip_array(walk, NFS4_DEVICEID_BYTES + 8);
}

/* layoutupdate4 behind all that is of fixed size (section 15.7) */
static void
layout_stats_call(struct nfs4_walk *walk)
{
	xdr_skip(walk->body, 4);
	nfs4_skip_opaque(walk);
}

/* osr_complete<1> behind the count (section 15.9) */
static void
offload_status_reply(struct nfs4_walk *walk)
{
	nfs4_skip_array(walk, 4);
}

/* read_plus_content<> behind eof (section 15.10): data with its offset, or a hole's offset and length */
static void
read_plus_reply(struct nfs4_walk *walk)
{
	enum { DATA, HOLE };
	uint32_t count = xdr_u32(walk->body);
	uint64_t moved = 0;

	for (uint32_t i = 0; i < count && xdr_ok(walk->body); i++) {
		uint32_t content = xdr_u32(walk->body);

		if (content > HOLE)
			nfs4_give_up(walk);
		xdr_skip(walk->body, 8);
		if (content == DATA)
			moved += xdr_skip_opaque(walk->body, UINT32_MAX);
		else
			xdr_skip(walk->body, 8);
	}
	nfs4_set_moved(walk, moved);
}

/* offset, what to look for (section 15.11) */
static void
seek_call(struct nfs4_walk *walk)
{
	nfs4_read_offset(walk);
	xdr_skip(walk->body, 4);
}

/* stable, app_data_block4 (sections 15.12 and 8.1.1): offset, block size and count, positions, pattern */
static void
write_same_call(struct nfs4_walk *walk)
{
	nfs4_read_stable(walk);
	nfs4_read_offset(walk);
	xdr_skip(walk->body, 8 + 8 + 8 + 4 + 8);
	nfs4_skip_opaque(walk);
}

static void
write_same_reply(struct nfs4_walk *walk)
{
	nfs4_read_write_response(walk);
}

/* behind both stateids: offset at the source, offset here, count (section 15.13) */
static void
clone_call(struct nfs4_walk *walk)
{
	xdr_skip(walk->body, 8);
	range_call(walk);
}

/* names behind the cookie, then eof (RFC 8276 section 8.4.3) */
static void
list_reply(struct nfs4_walk *walk)
{
	uint32_t count = xdr_u32(walk->body);

	for (uint32_t i = 0; i < count && xdr_ok(walk->body); i++)
		nfs4_skip_opaque(walk);
	xdr_skip(walk->body, 4);
}

/* Row = operation number - 59. */
const struct nfs4_operation nfs42_operations[NFS42_COUNT] = {
	[0] = { "ALLOCATE", OP_CLASS_DATA, NFS4_STATEID_BYTES, 0, range_call, NULL },
	[1] = { "COPY", OP_CLASS_DATA, 2 * NFS4_STATEID_BYTES, 0, copy_call, copy_reply },
	[2] = { "COPY_NOTIFY", OP_CLASS_OTHER, NFS4_STATEID_BYTES, NFS4_TIME_BYTES + NFS4_STATEID_BYTES, skip_location, skip_locations },
	[3] = { "DEALLOCATE", OP_CLASS_DATA, NFS4_STATEID_BYTES, 0, range_call, NULL },
	[4] = { "IO_ADVISE", OP_CLASS_OTHER, NFS4_STATEID_BYTES + 16, 0, nfs4_skip_bitmap, nfs4_skip_bitmap },
	[5] = { "LAYOUTERROR", OP_CLASS_LAYOUT, 16 + NFS4_STATEID_BYTES, 0, layout_error_call, NULL },
	[6] = { "LAYOUTSTATS", OP_CLASS_LAYOUT, 16 + NFS4_STATEID_BYTES + 32 + NFS4_DEVICEID_BYTES, 0, layout_stats_call, NULL },
	[7] = { "OFFLOAD_CANCEL", OP_CLASS_OTHER, NFS4_STATEID_BYTES, 0, NULL, NULL },
	[8] = { "OFFLOAD_STATUS", OP_CLASS_OTHER, NFS4_STATEID_BYTES, 8, NULL, offload_status_reply },
	[9] = { "READ_PLUS", OP_CLASS_DATA, NFS4_STATEID_BYTES, 4, nfs4_range_call, read_plus_reply },
	[10] = { "SEEK", OP_CLASS_DATA, NFS4_STATEID_BYTES, 12, seek_call, NULL },
	[11] = { "WRITE_SAME", OP_CLASS_DATA, NFS4_STATEID_BYTES, 0, write_same_call, write_same_reply },
	[12] = { "CLONE", OP_CLASS_DATA, 2 * NFS4_STATEID_BYTES, 0, clone_call, NULL },
	[13] = { "GETXATTR", OP_CLASS_OTHER, 0, 0, nfs4_skip_opaque, nfs4_skip_opaque },
	[14] = { "SETXATTR", OP_CLASS_OTHER, 4, NFS4_CHANGE_INFO_BYTES, nfs4_skip_two_opaques, NULL },
	[15] = { "LISTXATTRS", OP_CLASS_OTHER, 12, 8, NULL, list_reply },
	[16] = { "REMOVEXATTR", OP_CLASS_OTHER, 0, NFS4_CHANGE_INFO_BYTES, nfs4_skip_opaque, NULL },
};
