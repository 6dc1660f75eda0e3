/*
 * The decoders of this folder, one a protocol version.
 */
#ifndef DECODERS_DECODERS_H
#define DECODERS_DECODERS_H

#include <nfscorr/decoder.h>

extern const struct decoder nfs3_decoder;
extern const struct decoder nfs2_decoder, nfs4_decoder, nfs4cb_decoder;
extern const struct decoder mount1_decoder, mount2_decoder, mount3_decoder;
extern const struct decoder nlm1_decoder, nlm3_decoder, nlm4_decoder, nsm1_decoder;
extern const struct decoder nfsacl2_decoder, nfsacl3_decoder;
extern const struct decoder portmap2_decoder, rpcbind3_decoder, rpcbind4_decoder;
extern const struct decoder rquota1_decoder, rquota2_decoder;

#endif
