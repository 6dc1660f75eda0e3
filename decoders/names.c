/*
 * Programs of which only the procedures' names are known so far: their calls
 * are timed and counted, their arguments are not read.
 */
#include "decoders.h"

#define COUNT(rows) (sizeof (rows) / sizeof (rows)[0])
#define DECODER(NAME, PROGRAM, VERSION, LABEL, ROWS)		\
	const struct decoder NAME = {				\
		.program = PROGRAM,				\
		.version = VERSION,				\
		.label = LABEL,					\
		.procedures = ROWS,				\
		.procedure_count = COUNT(ROWS),			\
	}

/* RFC 1094 appendix A, RFC 1813 section 5.2; 6 and 7 are Sun's, 7 of version 2 alone */
static const struct decoder_procedure mount[] = {
	{ .name = "NULL" }, { .name = "MNT" }, { .name = "DUMP" }, { .name = "UMNT" },
	{ .name = "UMNTALL" }, { .name = "EXPORT" }, { .name = "EXPORTALL" }, { .name = "PATHCONF" },
};
DECODER(mount1_decoder, 100005, 1, "mount1", mount);
DECODER(mount2_decoder, 100005, 2, "mount2", mount);
DECODER(mount3_decoder, 100005, 3, "mount3", mount);

/* RFC 1813 section 6.3 and The Open Group's XNFS */
static const struct decoder_procedure nlm[] = {
	{ .name = "NULL" }, { .name = "TEST" }, { .name = "LOCK" }, { .name = "CANCEL" },
	{ .name = "UNLOCK" }, { .name = "GRANTED" }, { .name = "TEST_MSG" }, { .name = "LOCK_MSG" },
	{ .name = "CANCEL_MSG" }, { .name = "UNLOCK_MSG" }, { .name = "GRANTED_MSG" },
	{ .name = "TEST_RES" }, { .name = "LOCK_RES" }, { .name = "CANCEL_RES" },
	{ .name = "UNLOCK_RES" }, { .name = "GRANTED_RES" },
	[20] = { .name = "SHARE" }, [21] = { .name = "UNSHARE" }, [22] = { .name = "NM_LOCK" },
	[23] = { .name = "FREE_ALL" },
};
DECODER(nlm1_decoder, 100021, 1, "nlm1", nlm);
DECODER(nlm3_decoder, 100021, 3, "nlm3", nlm);
DECODER(nlm4_decoder, 100021, 4, "nlm4", nlm);

static const struct decoder_procedure nsm[] = {
	{ .name = "NULL" }, { .name = "STAT" }, { .name = "MON" }, { .name = "UNMON" },
	{ .name = "UNMON_ALL" }, { .name = "SIMU_CRASH" }, { .name = "NOTIFY" },
};
DECODER(nsm1_decoder, 100024, 1, "nsm1", nsm);

/* Sun's nfs_acl.x: the versions number their procedures differently */
static const struct decoder_procedure nfsacl2[] = {
	{ .name = "NULL" }, { .name = "GETACL" }, { .name = "SETACL" }, { .name = "GETATTR" },
	{ .name = "ACCESS" }, { .name = "GETXATTRDIR" },
};
DECODER(nfsacl2_decoder, 100227, 2, "nfsacl2", nfsacl2);

static const struct decoder_procedure nfsacl3[] = {
	{ .name = "NULL" }, { .name = "GETACL" }, { .name = "SETACL" }, { .name = "GETXATTRDIR" },
};
DECODER(nfsacl3_decoder, 100227, 3, "nfsacl3", nfsacl3);

static const struct decoder_procedure rquota[] = {
	{ .name = "NULL" }, { .name = "GETQUOTA" }, { .name = "GETACTIVEQUOTA" },
	{ .name = "SETQUOTA" }, { .name = "SETACTIVEQUOTA" },
};
DECODER(rquota1_decoder, 100011, 1, "rquota1", rquota);
DECODER(rquota2_decoder, 100011, 2, "rquota2", rquota);
