/*
 * What tables of calls find them by: connection, direction and XID.
 */
#ifndef RPC_CALL_HASH_H
#define RPC_CALL_HASH_H

#include <stdint.h>

static inline uint32_t
call_hash(uint64_t connection, uint8_t direction, uint32_t xid)
{
	return (uint32_t)((connection << 33 ^ (uint64_t)direction << 32 ^ xid) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

#endif
