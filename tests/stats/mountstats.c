#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stats/mountstats.h"

#define S INT64_C(1000000000)

/* An NFSv3 mount as a kernel with statvers 1.1 tells it, and one of NFSv4.1 over two transports. */
static const char two_mounts[] =
    "device proc mounted on /proc with fstype proc\n"
    "no device mounted on / with fstype rootfs\n"
    "device filer:/vol/data mounted on /mnt/my\\040data with fstype nfs statvers=1.1\n"
    "\topts:\trw,vers=3,rsize=65536,wsize=65536,hard,proto=tcp,timeo=600,sec=sys,mountaddr=192.0.2.9,mountvers=3\n"
    "\tage:\t1000\n"
    "\tcaps:\tcaps=0x3fcf,wtmult=4096,dtsize=4096,bsize=0,namlen=255\n"
    "\tsec:\tflavor=1,pseudoflavor=1\n"
    "\tevents:\t1 2 3 4\n"
    "\tbytes:\t1 2 3 4 5 6 7 8\n"
    "\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n"
    "\txprt:\ttcp 875 1 2 3 4 500 499 1 900 250 16 700 800\n"
    "\tper-op statistics\n"
    "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
    "\t        READ: 400 402 2 51200 3276800 8000 4000 12100 3\n"
    "\t       WRITE: 0 0 0 0 0 0 0 0 0\n"
    "\n"
    "device [2001:db8::1]:/ mounted on /v4 with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.1,proto=tcp6,nconnect=2\n"
    "\tage:\t77\n"
    "\tnfsv4:\tbm0=0xfdffbfff,bm1=0xf9be3e,bm2=0x0,acl=0x3,sessions,pnfs=not configured\n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 0 0 1 0 0 10 9 0 10 1 2 3 4\n"
    "\txprt:\ttcp 0 0 1 0 0 20 19 0 20 2 5 6 7\n"
    "\tper-op statistics\n"
    "\t        READ: 5 5 0 100 200 1 2 3\n";

static struct mountstats *
parse_at(const char *text, const char *mountinfo, int64_t at_ns)
{
	return mountstats_parse(text, strlen(text), mountinfo, mountinfo == NULL ? 0 : strlen(mountinfo), at_ns);
}

static struct mountstats *
parse(const char *text)
{
	return parse_at(text, NULL, 0);
}

/* One mount, made so many seconds ago, with READs and with what stands in front of its operations. */
static char *
mount_text(const char *device, const char *place, unsigned age_s, const char *before, const char *reads)
{
	return g_strdup_printf("device %s mounted on %s with fstype nfs statvers=1.1\n\topts:\trw,vers=3\n\tage:\t%u\n%s"
	    "\tper-op statistics\n\tREAD: %s\n", device, place, age_s, before, reads);
}

static struct mountstats *
one(int64_t at_ns, unsigned age_s, const char *before, const char *reads)
{
	g_autofree char *text = mount_text("192.0.2.1:/a", "/a", age_s, before, reads);

	return parse_at(text, NULL, at_ns);
}

static struct mountstats_delta *
difference(struct mountstats *before, struct mountstats *after)
{
	struct mountstats_delta *delta = mountstats_difference(before, after);

	mountstats_free(before);
	mountstats_free(after);
	return delta;
}

static void
assert_address(const struct mountstats_mount *mount, const char *text)
{
	char is[INET6_ADDRSTRLEN];

	cr_assert(mount->address_known);
	inet_ntop(AF_INET6, mount->address, is, sizeof is);
	cr_assert_str_eq(is, text);
}

Test(mountstats, a_kernels_text)
{
	struct mountstats *stats = parse(two_mounts);
	const struct mountstats_mount *mount = &stats->mounts[0];
	const struct mountstats_op *reads;

	cr_assert_eq(stats->mount_count, 2);
	cr_assert_str_eq(mount->device, "filer:/vol/data");
	cr_assert_str_eq(mount->place, "/mnt/my data");
	cr_assert_str_eq(mount->version, "3");
	cr_assert_eq(mount->age_s, 1000);
	cr_assert_eq(mount->file_system, 0);
	assert_address(mount, "::ffff:192.0.2.9");
	cr_assert_eq(mount->op_count, 3);
	reads = mountstats_find(mount, "READ");
	cr_assert_eq(reads->calls, 400);
	cr_assert_eq(reads->transmissions, 402);
	cr_assert_eq(reads->timeouts, 2);
	cr_assert_eq(reads->bytes_sent, 51200);
	cr_assert_eq(reads->bytes_received, 3276800);
	cr_assert_eq(reads->queue_ms, 8000);
	cr_assert_eq(reads->rtt_ms, 4000);
	cr_assert_eq(reads->execute_ms, 12100);
	cr_assert(reads->errors_known);
	cr_assert_eq(reads->errors, 3);
	cr_assert_null(mountstats_find(mount, "COMMIT"));
	cr_assert_eq(mount->transport.count, 1);
	cr_assert_eq(mount->transport.sends, 500);
	cr_assert_eq(mount->transport.receives, 499);
	cr_assert_eq(mount->transport.bad_xids, 1);
	cr_assert_eq(mount->transport.backlog, 250);
	cr_assert(mount->transport.queues_known);
	cr_assert_eq(mount->transport.slots_most, 16);
	cr_assert_eq(mount->transport.sending, 700);
	cr_assert_eq(mount->transport.pending, 800);

	mount = &stats->mounts[1];
	cr_assert_str_eq(mount->version, "4.1");
	assert_address(mount, "2001:db8::1");
	cr_assert_eq(mount->transport.count, 2);
	cr_assert_eq(mount->transport.sends, 30);
	cr_assert_eq(mount->transport.backlog, 3);
	cr_assert_eq(mount->transport.slots_most, 5);
	cr_assert_eq(mount->transport.pending, 11);
	cr_assert(!mountstats_find(mount, "READ")->errors_known);
	mountstats_free(stats);
}

/* What each transport prints; the queues of UDP and the sockets of one host are at other places, RDMA has none. */
Test(mountstats, transports)
{
	static const struct {
		const char *line;
		unsigned count;
		uint64_t sends, receives, bad_xids, backlog;
		bool queues_known;
		uint64_t slots_most, sending, pending;
	} cases[] = {
		{ "tcp 1 2 3 4 5 60 59 1 7 8", 1, 60, 59, 1, 8, false, 0, 0, 0 },
		{ "tcp 1 2 3 4 5 60 59 1 7 8 9 10 11", 1, 60, 59, 1, 8, true, 9, 10, 11 },
		{ "tcp 1 2 3 4 5 60 59 1 7 8 9 10 11 12 13", 1, 60, 59, 1, 8, true, 9, 10, 11 },
		{ "udp 700 1 60 59 1 7 8", 1, 60, 59, 1, 8, false, 0, 0, 0 },
		{ "udp 700 1 60 59 1 7 8 9 10 11", 1, 60, 59, 1, 8, true, 9, 10, 11 },
		{ "local 2 3 4 5 60 59 1 7 8 9 10 11", 1, 60, 59, 1, 8, true, 9, 10, 11 },
		{ "rdma 0 0 1 0 0 60 59 1 7 8 20 21 22 23 24 25 26 27 28 29", 1, 60, 59, 1, 8, false, 0, 0, 0 },
		{ "tcp 1 2 3 4 5 60 59 1 7", 0, 0, 0, 0, 0, false, 0, 0, 0 },
		{ "tcp 1 2 3 4 5 60 59 1 7 x", 0, 0, 0, 0, 0, false, 0, 0, 0 },
		{ "tcp 1 2 3 4 5 60 59 1 7 99999999999999999999", 0, 0, 0, 0, 0, false, 0, 0, 0 },
		{ "vsock 1 2 3 4 5 60 59 1 7 8 9 10 11", 0, 0, 0, 0, 0, false, 0, 0, 0 },
		{ "", 0, 0, 0, 0, 0, false, 0, 0, 0 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *line = g_strdup_printf("\txprt:\t%s\n", cases[i].line);
		struct mountstats *stats = one(0, 1, line, "1 1 0 1 1 1 1 1");
		const struct mountstats_transport *is = &stats->mounts[0].transport;

		cr_expect(is->count == cases[i].count && is->sends == cases[i].sends && is->receives == cases[i].receives &&
		    is->bad_xids == cases[i].bad_xids && is->backlog == cases[i].backlog &&
		    is->queues_known == cases[i].queues_known && is->slots_most == cases[i].slots_most &&
		    is->sending == cases[i].sending && is->pending == cases[i].pending, "%s", cases[i].line);
		mountstats_free(stats);
	}
}

/* The queues of all transports are known, or of none. */
Test(mountstats, transports_of_two_kinds)
{
	struct mountstats *stats = one(0, 1, "\txprt:\ttcp 1 2 3 4 5 60 59 1 7 8 9 10 11\n\txprt:\trdma 0 0 1 0 0 6 5 1 7 8\n"
	    "\txprt:\ttcp 1 2 3 4 5 60 59 1 7 8 9 10 11\n", "1 1 0 1 1 1 1 1");

	cr_assert_eq(stats->mounts[0].transport.count, 3);
	cr_assert(!stats->mounts[0].transport.queues_known);
	mountstats_free(stats);
}

Test(mountstats, versions_of_nfs)
{
	static const struct {
		const char *options, *version;
	} cases[] = {
		{ "rw,vers=3", "3" }, { "vers=2,rw", "2" }, { "rw,vers=4,minorversion=1,x", "4.1" },
		{ "rw,vers=4.0,minorversion=0", "4.0" }, { "rw,vers=4.2", "4.2" }, { "rw,vers=4", "4" }, { "rw,mountvers=3", "" },
		{ "vers=123456789", "" }, { "vers=", "" }, { ",,,", "" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strdup_printf("device a:/ mounted on /a with fstype nfs4 statvers=1.0\n\topts:\t%s\n",
		    cases[i].options);
		struct mountstats *stats = parse(text);

		cr_expect_str_eq(stats->mounts[0].version, cases[i].version);
		mountstats_free(stats);
	}
}

/* The server's address is what the mount table says, then what is in the device, then the mount server's. */
Test(mountstats, addresses)
{
	static const char mountinfo[] =
	    "22 1 0:21 / /proc rw - proc proc rw\n"
	    "40 22 0:54 / /a rw,relatime shared:1 master:2 - nfs4 192.0.2.1:/a rw,vers=4.1,clientaddr=192.0.2.7,addr=192.0.2.2\n"
	    "41 22 0:55 / /b rw - nfs4 fe80::1:/b rw,addr=fe80::1%nfs0\n"
	    "42 22 0:56 / /c rw - nfs4 host:/c rw,addr=no address\n";
	static const char stats_text[] =
	    "device 192.0.2.1:/a mounted on /a with fstype nfs4 statvers=1.1\n"
	    "device fe80::1:/b mounted on /b with fstype nfs4 statvers=1.1\n"
	    "device host:/c mounted on /c with fstype nfs4 statvers=1.1\n"
	    "device 192.0.2.4:/d mounted on /d with fstype nfs statvers=1.1\n"
	    "\topts:\trw,mountaddr=192.0.2.5\n"
	    "device host:/e mounted on /e with fstype nfs statvers=1.1\n"
	    "\topts:\trw,mountaddr=192.0.2.5\n";
	struct mountstats *stats = parse_at(stats_text, mountinfo, 0);

	cr_assert_eq(stats->mount_count, 5);
	assert_address(&stats->mounts[0], "::ffff:192.0.2.2");
	assert_address(&stats->mounts[1], "fe80::1");
	cr_assert(!stats->mounts[2].address_known);
	cr_assert_neq(stats->mounts[2].file_system, stats->mounts[0].file_system);
	assert_address(&stats->mounts[3], "::ffff:192.0.2.4");
	assert_address(&stats->mounts[4], "::ffff:192.0.2.5");
	mountstats_free(stats);
}

/* Mounted in three places, of which one is a part of it: the kernel prints the same counters three times. */
Test(mountstats, one_file_system_in_several_places)
{
	static const char mountinfo[] =
	    "40 22 0:54 / /a rw - nfs host:/a rw,addr=192.0.2.2\n"
	    "41 22 0:54 / /b rw - nfs host:/a rw,addr=192.0.2.2\n"
	    "42 22 0:55 / /a rw - nfs host:/a rw,addr=192.0.2.2\n"
	    "43 22 0:54 /sub /c rw - nfs host:/a/sub rw,addr=192.0.2.2\n";
	static const char line[] = " with fstype nfs statvers=1.1\n\tper-op statistics\n\tREAD: 1 1 1 1 1 1 1 1\n";
	g_autofree char *text = g_strdup_printf("device host:/a mounted on /a%sdevice host:/a mounted on /b%s"
	    "device host:/a mounted on /a%sdevice host:/a/sub mounted on /c%s", line, line, line, line);
	struct mountstats *stats = parse_at(text, mountinfo, 0);

	cr_assert_eq(stats->mount_count, 2);
	cr_assert_str_eq(stats->mounts[0].place, "/a");
	cr_assert_str_eq(stats->mounts[1].place, "/a");
	cr_assert_eq(stats->mounts[0].op_count, 1);
	mountstats_free(stats);
}

/* Operations with too few numbers, none, too large ones, with names that are too long: passed over, the others are there. */
Test(mountstats, lines_that_are_none)
{
	static const char text[] =
	    "device a:/ mounted on /a with fstype nfs statvers=2.0\n"
	    "device a:/ mounted on /a with fstype nfs\n"
	    "device a:/ mounted on /a with fstype ext4 statvers=1.1\n"
	    "device a:/ mounted on\n"
	    "device\n"
	    "\tREAD: 1 1 1 1 1 1 1 1\n"
	    "device a:/ mounted on /a with fstype nfs statvers=1.1\n"
	    "\tage:\t-1\n"
	    "\tREAD: 1 1 1 1 1 1 1 1\n"
	    "\tper-op statistics\n"
	    "\tREAD 1 1 1 1 1 1 1 1\n"
	    "\tREAD: 1 1 1 1 1 1 1\n"
	    "\tREAD: 1 1 1 1 1 1 1 -1\n"
	    "\tREAD: 1 1 1 1 1 1 1 9223372036854775808\n"
	    "\tREAD: 1 1 1 1 1 1 1 1x\n"
	    "\tA23456789012345678901234567890123: 1 1 1 1 1 1 1 1\n"
	    "\t: 1 1 1 1 1 1 1 1\n"
	    "\tRE\033AD: 1 1 1 1 1 1 1 1\n"
	    "\n"
	    "\tWRITE: 1 1 1 1 1 1 1 9223372036854775807\n"
	    "\tREAD: 1 1 1 1 1 1 1 1";
	struct mountstats *stats = parse(text);

	cr_assert_eq(stats->mount_count, 1);
	cr_assert_eq(stats->mounts[0].age_s, UINT64_MAX);
	cr_assert_eq(stats->mounts[0].op_count, 1);
	cr_assert_str_eq(stats->mounts[0].ops[0].name, "WRITE");
	cr_assert_eq(stats->mounts[0].ops[0].execute_ms, INT64_MAX);
	mountstats_free(stats);
}

/* ---- differences ---- */

Test(mountstats, an_interval)
{
	struct mountstats_delta *delta = difference(
	    one(10 * S, 100, "\txprt:\ttcp 1 2 3 4 5 60 59 1 7 8 9 10 11\n", "10 11 1 100 1000 50 60 120 4"),
	    one(15 * S, 105, "\txprt:\ttcp 1 2 3 4 5 160 159 1 7 58 16 30 41\n", "30 32 1 300 3000 250 100 370 4"));
	const struct mountstats_op *reads = mountstats_find(&delta->mounts[0], "READ");

	cr_assert_eq(delta->from_ns, 10 * S);
	cr_assert_eq(delta->to_ns, 15 * S);
	cr_assert_eq(delta->mount_count, 1);
	cr_assert_eq(delta->left_out, 0);
	cr_assert_eq(reads->calls, 20);
	cr_assert_eq(reads->transmissions, 21);
	cr_assert_eq(reads->timeouts, 0);
	cr_assert_eq(reads->bytes_sent, 200);
	cr_assert_eq(reads->bytes_received, 2000);
	cr_assert_eq(reads->queue_ms, 200);
	cr_assert_eq(reads->rtt_ms, 40);
	cr_assert_eq(reads->execute_ms, 250);
	cr_assert(reads->errors_known);
	cr_assert_eq(reads->errors, 0);
	cr_assert_eq(mountstats_mean_ns(reads->queue_ms, reads->calls), 10000000);
	cr_assert_eq(delta->mounts[0].transport.sends, 100);
	cr_assert_eq(delta->mounts[0].transport.backlog, 50);
	cr_assert_eq(delta->mounts[0].transport.pending, 30);
	cr_assert_eq(delta->mounts[0].transport.slots_most, 16);
	mountstats_delta_free(delta);
}

Test(mountstats, nothing_happened)
{
	struct mountstats_delta *delta = difference(one(0, 1, "", "9 9 0 9 9 9 9 9"), one(S, 2, "", "9 9 0 9 9 9 9 9"));

	cr_assert_eq(delta->mount_count, 1);
	cr_assert_eq(delta->mounts[0].op_count, 0);
	mountstats_delta_free(delta);
}

/* Unmounted and mounted again in between: what it counts is of the interval if the mount is. */
Test(mountstats, counters_that_go_back)
{
	struct mountstats_delta *delta = difference(one(0, 100, "", "9 9 0 9 9 9 9 9"), one(5 * S, 3, "", "4 4 0 4 4 4 4 4"));

	cr_assert_eq(delta->mount_count, 1);
	cr_assert_eq(delta->left_out, 0);
	cr_assert_eq(mountstats_find(&delta->mounts[0], "READ")->calls, 4);
	mountstats_delta_free(delta);

	delta = difference(one(0, 100, "", "9 9 0 9 9 9 9 9"), one(5 * S, 50, "", "4 4 0 4 4 4 4 4"));
	cr_assert_eq(delta->mount_count, 0);
	cr_assert_eq(delta->left_out, 1);
	mountstats_delta_free(delta);

	/* as old as it should be, but one counter is smaller: not the same sums */
	delta = difference(one(0, 100, "", "9 9 0 9 9 9 9 9"), one(5 * S, 105, "", "10 10 0 10 10 10 8 10"));
	cr_assert_eq(delta->mount_count, 0);
	cr_assert_eq(delta->left_out, 1);
	mountstats_delta_free(delta);
}

Test(mountstats, mounts_that_come_and_go)
{
	g_autofree char *a = mount_text("h:/a", "/a", 50, "", "5 5 0 5 5 5 5 5");
	g_autofree char *young = mount_text("h:/b", "/b", 2, "", "7 7 0 7 7 7 7 7");
	g_autofree char *old = mount_text("h:/c", "/c", 900, "", "8 8 0 8 8 8 8 8");
	g_autofree char *later = g_strconcat(young, old, NULL);
	struct mountstats_delta *delta = difference(parse_at(a, NULL, 0), parse_at(later, NULL, 5 * S));

	/* made meanwhile: all it counts; only come into sight: no one knows; gone: no one knows */
	cr_assert_eq(delta->mount_count, 1);
	cr_assert_str_eq(delta->mounts[0].place, "/b");
	cr_assert_eq(mountstats_find(&delta->mounts[0], "READ")->calls, 7);
	cr_assert_eq(delta->left_out, 2);
	mountstats_delta_free(delta);
}

/* An operation that the first reading lacks was cut there: its sum is of all the mount's life. */
Test(mountstats, an_operation_that_was_cut)
{
	static const char head[] = "device a:/ mounted on /a with fstype nfs statvers=1.1\n\tper-op statistics\n";
	g_autofree char *before = g_strconcat(head, "\tWRITE: 1 1 1 1 1 1 1 1\n\tREAD: 7 7 0", NULL);
	g_autofree char *after = g_strconcat(head, "\tREAD: 8 8 0 8 8 8 8 8\n\tWRITE: 2 2 2 2 2 2 2 2\n", NULL);
	struct mountstats_delta *delta = difference(parse_at(before, NULL, 0), parse_at(after, NULL, 100 * S));

	cr_assert_eq(delta->mounts[0].op_count, 1);
	cr_assert_str_eq(delta->mounts[0].ops[0].name, "WRITE");
	mountstats_delta_free(delta);
}

/* A connection was dropped for good: its sums went, the operations stay known. */
Test(mountstats, a_transport_that_goes)
{
	struct mountstats_delta *delta = difference(
	    one(0, 1, "\txprt:\ttcp 1 2 3 4 5 6 7 8 9 10 11 12 13\n\txprt:\ttcp 1 2 3 4 5 6 7 8 9 10 11 12 13\n", "1 1 0 1 1 1 1 1"),
	    one(S, 2, "\txprt:\ttcp 1 2 3 4 5 99 99 99 99 99 99 99 99\n", "2 2 0 2 2 2 2 2"));

	cr_assert_eq(mountstats_find(&delta->mounts[0], "READ")->calls, 1);
	cr_assert_eq(delta->mounts[0].transport.count, 0);
	cr_assert_eq(delta->mounts[0].transport.sends, 0);
	mountstats_delta_free(delta);
}

/* Intervals added up are what the ends say, and survive what the ends do not: a mount made anew. */
Test(mountstats, intervals_together)
{
	static const char before[] = "\txprt:\ttcp 1 2 3 4 5 10 10 0 0 10 2 0 0\n";
	static const char after[] = "\txprt:\ttcp 1 2 3 4 5 30 30 0 0 50 9 0 0\n";
	struct mountstats_delta *total = difference(one(0, 100, before, "1 1 0 1 1 1 1 1 1"), one(S, 101, after, "4 4 0 4 4 4 4 4 1"));
	struct mountstats_delta *later = difference(one(S, 101, after, "4 4 0 4 4 4 4 4 1"), one(2 * S, 102, after, "9 9 0 9 9 9 9 9 2"));
	struct mountstats_delta *anew = difference(one(2 * S, 102, after, "9 9 0 9 9 9 9 9 2"), one(3 * S, 0, before, "2 2 0 2 2 2 2 2"));
	const struct mountstats_op *reads;

	mountstats_delta_add(total, later);
	reads = mountstats_find(&total->mounts[0], "READ");
	cr_assert_eq(total->mount_count, 1);
	cr_assert_eq(total->from_ns, 0);
	cr_assert_eq(total->to_ns, 2 * S);
	cr_assert_eq(reads->calls, 8);
	cr_assert_eq(reads->errors, 1);
	cr_assert(reads->errors_known);
	cr_assert_eq(total->mounts[0].transport.sends, 20);
	cr_assert_eq(total->mounts[0].transport.backlog, 40);
	cr_assert_eq(total->mounts[0].transport.slots_most, 9);
	mountstats_delta_add(total, anew);
	reads = mountstats_find(&total->mounts[0], "READ");
	cr_assert_eq(reads->calls, 10);
	cr_assert_eq(reads->queue_ms, 10);
	cr_assert(!reads->errors_known);
	cr_assert_eq(total->mounts[0].age_s, 0);
	mountstats_delta_free(total);
	mountstats_delta_free(later);
	mountstats_delta_free(anew);
}

Test(mountstats, means)
{
	cr_assert_eq(mountstats_mean_ns(0, 0), 0);
	cr_assert_eq(mountstats_mean_ns(10, 4), 2500000);
	cr_assert_eq(mountstats_mean_ns(1, 3), 333333);
	cr_assert_eq(mountstats_mean_ns(UINT64_MAX, 1), INT64_MAX);
}

/* Mounts of one server are added up; their transport is one. */
Test(mountstats, sums_of_a_server)
{
	static const char before[] = "\txprt:\ttcp 1 2 3 4 5 10 10 0 0 10 2 0 0\n";
	static const char later[] = "\txprt:\ttcp 1 2 3 4 5 30 30 0 0 50 9 0 0\n";
	g_autofree char *a = mount_text("192.0.2.1:/a", "/a", 1, before, "10 10 0 0 0 20 30 60");
	g_autofree char *b = mount_text("192.0.2.1:/b", "/b", 1, later, "1 1 0 0 0 2 3 6");
	g_autofree char *c = mount_text("192.0.2.2:/c", "/c", 1, before, "100 1 0 0 0 2 3 6");
	g_autofree char *d = mount_text("host:/d", "/d", 1, before, "1000 1 0 0 0 2 3 6");
	g_autofree char *text = g_strconcat(a, b, c, d, NULL);
	struct mountstats *none = parse_at("", NULL, 0), *stats = parse_at(text, NULL, S);
	struct mountstats_delta *delta = difference(none, stats);
	uint8_t address[16];
	struct mountstats_sums sums = { 0 };

	inet_pton(AF_INET6, "::ffff:192.0.2.1", address);
	mountstats_sum(&sums, delta, address, false);
	cr_assert_eq(sums.mounts, 2);
	cr_assert_eq(sums.calls, 11);
	cr_assert_eq(sums.queue_ms, 22);
	cr_assert_eq(sums.rtt_ms, 33);
	cr_assert_eq(sums.execute_ms, 66);
	cr_assert_eq(sums.reads.calls, 11);
	cr_assert_eq(sums.writes.calls, 0);
	cr_assert_eq(sums.transport.sends, 30);
	mountstats_sum(&sums, delta, address, true);
	cr_assert_eq(sums.calls, 11 + 11 + 1000);
	mountstats_sum(&sums, NULL, address, true);
	cr_assert_eq(sums.mounts, 5);
	mountstats_delta_free(delta);
}

/* ---- hostile text ---- */

/* Whatever was read: differences of any two readings are no larger than the later one, and nothing is read twice. */
static void
try_text(const char *text, size_t len, const char *mountinfo, size_t mountinfo_len, const struct mountstats *whole)
{
	/* a copy of that size, so that a sanitizer sees what is read behind its end */
	g_autofree char *copy = g_memdup2(text, len), *table = g_memdup2(mountinfo, mountinfo_len);
	struct mountstats *stats = mountstats_parse(copy, len, table, mountinfo_len, S);
	struct mountstats_delta *forth = mountstats_difference(whole, stats), *back = mountstats_difference(stats, whole);

	cr_assert_leq(stats->mount_count, 3);
	for (unsigned i = 0; i < forth->mount_count; i++) {
		const struct mountstats_op *reads = mountstats_find(&forth->mounts[i], "READ");

		cr_assert(reads == NULL || (reads->calls > 0 && reads->calls <= INT64_MAX));
	}
	mountstats_delta_add(forth, back);
	mountstats_delta_add(forth, forth);
	mountstats_delta_free(forth);
	mountstats_delta_free(back);
	mountstats_free(stats);
}

static const char a_table[] =
    "40 22 0:54 / /mnt/my\\040data rw shared:1 - nfs filer:/vol/data rw,vers=3,addr=192.0.2.1\n"
    "41 22 0:55 / /v4 rw - nfs4 [2001:db8::1]:/ rw,vers=4.1,addr=2001:db8::1\n";

Test(mountstats, cut_anywhere)
{
	struct mountstats *whole = parse_at(two_mounts, a_table, 0);

	for (size_t len = 0; len < sizeof two_mounts; len++)
		try_text(two_mounts, len, a_table, MIN(len, sizeof a_table - 1), whole);
	for (size_t from = 0; from < sizeof two_mounts; from++)
		try_text(two_mounts + from, sizeof two_mounts - 1 - from, a_table, sizeof a_table - 1, whole);
	mountstats_free(whole);
}

Test(mountstats, bytes_changed_anywhere)
{
	static const char bytes[] = "\0\n\t 09-:/=,\\ax\377";
	struct mountstats *whole = parse_at(two_mounts, a_table, 0);
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);

	for (unsigned round = 0; round < 20000; round++) {
		char text[sizeof two_mounts], table[sizeof a_table];
		int changes = g_rand_int_range(rand, 1, 6);

		memcpy(text, two_mounts, sizeof text);
		memcpy(table, a_table, sizeof table);
		for (int i = 0; i < changes; i++) {
			text[g_rand_int_range(rand, 0, sizeof text)] = bytes[g_rand_int_range(rand, 0, sizeof bytes)];
			table[g_rand_int_range(rand, 0, sizeof table)] = bytes[g_rand_int_range(rand, 0, sizeof bytes)];
		}
		try_text(text, sizeof text, table, sizeof table, whole);
	}
	mountstats_free(whole);
}

/* More mounts and operations than are kept. */
Test(mountstats, caps)
{
	GString *text = g_string_new(NULL);
	struct mountstats *stats;

	for (unsigned i = 0; i < MOUNTSTATS_MOUNTS + 10; i++)
		g_string_append_printf(text, "device a:/%u mounted on /%u with fstype nfs statvers=1.1\n", i, i);
	stats = mountstats_parse(text->str, text->len, NULL, 0, 0);
	cr_assert_eq(stats->mount_count, MOUNTSTATS_MOUNTS);
	mountstats_free(stats);
	g_string_assign(text, "device a:/ mounted on /a with fstype nfs statvers=1.1\n\tper-op statistics\n");
	for (unsigned i = 0; i < MOUNTSTATS_OPS + 10; i++)
		g_string_append_printf(text, "\tO%u: 1 1 1 1 1 1 1 1\n", i);
	stats = mountstats_parse(text->str, text->len, NULL, 0, 0);
	cr_assert_eq(stats->mounts[0].op_count, MOUNTSTATS_OPS);
	mountstats_free(stats);
	g_string_free(text, TRUE);
}

/* ---- files ---- */

/* In place, as the kernel's file changes under who has it open. */
static void
write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "r+");

	cr_assert_not_null(file);
	cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
	cr_assert_eq(ftruncate(fileno(file), (off_t)strlen(text)), 0);
	cr_assert_eq(fclose(file), 0);
}

static void
write_reads(const char *path, unsigned age_s, const char *reads)
{
	g_autofree char *text = mount_text("192.0.2.1:/a", "/a", age_s, "", reads);

	write_file(path, text);
}

static char *
new_file(void)
{
	char *path;
	int fd = g_file_open_tmp("nfscorr-mountstats.XXXXXX", &path, NULL);

	cr_assert_geq(fd, 0);
	close(fd);
	return path;
}

Test(mountstats, a_file_that_is_watched)
{
	g_autofree char *path = new_file();
	struct mountstats_watch *watch;
	const struct mountstats_delta *delta;

	write_reads(path, 100, "10 10 0 0 0 10 10 20");
	watch = mountstats_watch_files(path, NULL, 0, NULL);
	cr_assert_not_null(watch);
	/* opened once: another file of that name is not looked at */
	write_reads(path, 105, "15 15 0 0 0 20 15 35");
	delta = mountstats_watch_interval(watch, 5 * S);
	cr_assert_eq(mountstats_find(&delta->mounts[0], "READ")->calls, 5);
	write_reads(path, 107, "17 17 0 0 0 20 17 37");
	cr_assert_eq(unlink(path), 0);
	delta = mountstats_watch_total(watch, 7 * S);
	cr_assert_eq(delta->from_ns, 0);
	cr_assert_eq(delta->to_ns, 7 * S);
	cr_assert_eq(mountstats_find(&delta->mounts[0], "READ")->calls, 7);
	cr_assert_eq(mountstats_find(&delta->mounts[0], "READ")->queue_ms, 10);
	/* the total ended no interval */
	delta = mountstats_watch_interval(watch, 10 * S);
	cr_assert_eq(delta->from_ns, 5 * S);
	cr_assert_eq(mountstats_find(&delta->mounts[0], "READ")->calls, 2);
	delta = mountstats_watch_total(watch, 10 * S);
	cr_assert_eq(mountstats_find(&delta->mounts[0], "READ")->calls, 7);
	mountstats_watch_free(watch);
}

Test(mountstats, no_nfs_is_mounted)
{
	g_autofree char *path = new_file();
	struct mountstats_watch *watch;

	write_file(path, "device proc mounted on /proc with fstype proc\n");
	watch = mountstats_watch_files(path, path, 0, NULL);
	cr_assert_null(mountstats_watch_interval(watch, S));
	cr_assert_null(mountstats_watch_total(watch, S));
	mountstats_watch_free(watch);
	unlink(path);
}

Test(mountstats, no_such_file)
{
	g_autoptr(GError) error = NULL;

	cr_assert_null(mountstats_watch_files("/none/such", NULL, 0, &error));
	cr_assert_str_eq(error->message, "/none/such: No such file or directory");
	g_clear_error(&error);
	cr_assert_null(mountstats_watch_files("/", NULL, 0, &error));
	cr_assert_str_eq(error->message, "/: Is a directory");
}

/* The kernel's own file of this machine, whatever is mounted. */
Test(mountstats, this_machines_file)
{
	struct mountstats_watch *watch = mountstats_watch_new(0, NULL);

	if (access("/proc/self/mountstats", R_OK) != 0) {
		cr_assert_null(watch);
		return;
	}
	cr_assert_not_null(watch);
	mountstats_watch_interval(watch, S);
	mountstats_watch_total(watch, 2 * S);
	mountstats_watch_free(watch);
}
