/*
 * What a file system says of itself in the attributes of NFSv4 (RFC 7530
 * section 5): the largest READ and WRITE that it takes. Attributes stand in the
 * order of their bits, so what stands in front of these has to be stepped over.
 */
#include "nfs4.h"

enum {
	ACL = 12, FS_LOCATIONS = 24, MAXREAD = 30, MAXWRITE = 31,
	FIRST_WORD = 32,
	IS_BITMAP = 253, IS_OPAQUE = 254, IS_OTHER = 255,
};

static const uint32_t wanted = UINT32_C(1) << MAXREAD | UINT32_C(1) << MAXWRITE;

/* Row = bit (sections 5.6 and 5.7): bytes, or what tells their number. */
static const uint8_t sizes[FIRST_WORD] = {
	[0] = IS_BITMAP,	/* supported_attrs */
	[1] = 4, [2] = 4, [3] = 8, [4] = 8, [5] = 4, [6] = 4, [7] = 4,
	[8] = 16,		/* fsid */
	[9] = 4, [10] = 4, [11] = 4,
	[ACL] = IS_OTHER,
	[13] = 4, [14] = 4, [15] = 4, [16] = 4, [17] = 4, [18] = 4,
	[19] = IS_OPAQUE,	/* filehandle */
	[20] = 8, [21] = 8, [22] = 8, [23] = 8,
	[FS_LOCATIONS] = IS_OTHER,
	[25] = 4, [26] = 4, [27] = 8, [28] = 4, [29] = 4, [MAXREAD] = 8, [MAXWRITE] = 8,
};

/* pathname4 and the servers of a location: strings */
static void
skip_strings(struct xdr_cursor *cursor)
{
	uint32_t count = xdr_u32(cursor);

	for (uint32_t i = 0; i < count && xdr_ok(cursor); i++)
		xdr_skip_opaque(cursor, UINT32_MAX);
}

/* nfsace4<>: type, flag, mask, who (section 6.2.1) */
static void
skip_acl(struct xdr_cursor *cursor)
{
	uint32_t count = xdr_u32(cursor);

	for (uint32_t i = 0; i < count && xdr_ok(cursor); i++) {
		xdr_skip(cursor, 12);
		xdr_skip_opaque(cursor, UINT32_MAX);
	}
}

/* fs_locations4: the root's path, and servers with a path each (section 8.8) */
static void
skip_locations(struct xdr_cursor *cursor)
{
	uint32_t count;

	skip_strings(cursor);
	count = xdr_u32(cursor);
	for (uint32_t i = 0; i < count && xdr_ok(cursor); i++) {
		skip_strings(cursor);
		skip_strings(cursor);
	}
}

static void
skip_attribute(struct xdr_cursor *cursor, unsigned bit)
{
	if (sizes[bit] == IS_BITMAP) {
		uint32_t words = xdr_u32(cursor);

		if (words > UINT32_MAX / 4)
			xdr_fail(cursor, XDR_MALFORMED);
		xdr_skip(cursor, words * 4);
	} else if (sizes[bit] == IS_OPAQUE) {
		xdr_skip_opaque(cursor, UINT32_MAX);
	} else if (bit == ACL) {
		skip_acl(cursor);
	} else if (bit == FS_LOCATIONS) {
		skip_locations(cursor);
	} else {
		xdr_skip(cursor, sizes[bit]);
	}
}

/* A limit that does not fit is none. */
static void
keep_limit(struct xdr_cursor *cursor, struct nfs_op *op, uint32_t *limit, uint32_t has)
{
	uint64_t bytes = xdr_u64(cursor);

	if (!xdr_ok(cursor) || bytes > UINT32_MAX)
		return;
	*limit = (uint32_t)bytes;
	op->valid |= has;
}

/* From the length of the attributes' opaque on; a copy of the cursor, whose errors are nobody's. */
static void
read_limits(struct xdr_cursor cursor, uint32_t bits, struct nfs_op *op)
{
	xdr_skip(&cursor, 4);
	for (unsigned bit = 0; bit < MAXREAD; bit++)
		if (bits >> bit & 1)
			skip_attribute(&cursor, bit);
	if (bits >> MAXREAD & 1)
		keep_limit(&cursor, op, &op->read_most_bytes, OP_HAS_READ_MOST);
	if (bits >> MAXWRITE & 1)
		keep_limit(&cursor, op, &op->write_most_bytes, OP_HAS_WRITE_MOST);
}

void
nfs4_read_attributes(struct nfs4_walk *walk)
{
	struct xdr_cursor bitmap = *walk->body;
	uint32_t words = xdr_u32(&bitmap), bits = words > 0 ? xdr_u32(&bitmap) : 0;

	nfs4_skip_bitmap(walk);
	if (bits & wanted)
		read_limits(*walk->body, bits, walk->op);
	nfs4_skip_opaque(walk);
}
