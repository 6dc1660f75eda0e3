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
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (uint32_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}
