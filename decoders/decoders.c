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
