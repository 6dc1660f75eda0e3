#include "decoders.h"

const struct decoder *const decoders[] = {
	&nfs3_decoder,
	&nfs4_decoder,
	&nfs2_decoder,
	&mount3_decoder,
	&mount1_decoder,
	&nlm4_decoder,
	&nlm3_decoder,
	&nlm1_decoder,
	&nsm1_decoder,
	&nfsacl3_decoder,
	&nfsacl2_decoder,
	&portmap2_decoder,
	&rpcbind3_decoder,
	&rpcbind4_decoder,
	&rquota1_decoder,
	&nfs4cb_decoder,
	&mount2_decoder,
	&rquota2_decoder,
	NULL,
};

/* FNV-1a: short inputs, no library, the same in every build. */
uint64_t
file_handle_hash(const uint8_t *bytes, uint32_t len)
{
	const uint64_t prime = UINT64_C(0x100000001b3);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	/* each step waits for the one before; in fours, so that little else stands in the way */
	for (; len >= 4; bytes += 4, len -= 4) {
		hash = (hash ^ bytes[0]) * prime;
		hash = (hash ^ bytes[1]) * prime;
		hash = (hash ^ bytes[2]) * prime;
		hash = (hash ^ bytes[3]) * prime;
	}
	for (; len > 0; bytes++, len--)
		hash = (hash ^ bytes[0]) * prime;
	return hash;
}
