/*
 * Arguments and results of every operation of NFSv4, written by hand from the
 * XDR of RFC 7530, 8881, 7862 and 8276: one row a variant.
 */
#ifndef TESTS_DECODERS_NFS4_SAMPLES_H
#define TESTS_DECODERS_NFS4_SAMPLES_H

#include <stdint.h>

struct nfs4_sample {
	uint32_t operation;
	const char *name;
	const uint32_t *call;		/* words of the arguments */
	unsigned call_words;
	const uint32_t *reply;		/* words of the results behind the status OK */
	unsigned reply_words;
};

/* Both end with a row without a name. */
extern const struct nfs4_sample nfs4_samples[];
extern const struct nfs4_sample nfs4cb_samples[];

#endif
