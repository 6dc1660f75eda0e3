/*
 * What tables of calls find them by: connection, direction and XID.
 */
#ifndef RPC_CALL_HASH_H
#define RPC_CALL_HASH_H

#include <stdint.h>

/* XIDs are mostly counted up, in either byte order: sixteen in a row have buckets in a row. */
static inline uint32_t
call_hash(uint64_t connection, uint8_t direction, uint32_t xid)
{
	uint64_t mixed = (connection << 33 ^ (uint64_t)direction << 32 ^ xid >> 4) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mixed >> 32) << 4 | ((xid ^ xid >> 24) & 15);
}

#endif
