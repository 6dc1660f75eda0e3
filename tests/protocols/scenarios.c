#include "protocols/scenarios.h"

#include <stddef.h>

#define RPC(KEY) "captures.0.rpc." KEY
#define TCP(KEY) "captures.0.tcp." KEY

const struct scenario scenarios[] = {
	{ "row_23_ports", make_ports, .calls = 25, .rpc_connections = 5,
	    .row = { { "3", "GETATTR", 25, 0, 5 * (100 + 200 + 300 + 400 + 500), 0 } } },
	{ "row_23_not_nfs", make_not_nfs, .calls = 3, .rpc_connections = 1,
	    .row = { { "3", "GETATTR", 3, 0, 3 * 200, 0 } }, .number = { { TCP("tls_connections"), 0 } } },
	{ "row_24_versions", make_versions, .calls = 10, .rpc_connections = 2,
	    .row = { { "3", "GETATTR", 5, 1, 5 * 300, 0 }, { "4.0", "GETATTR", 5, 1, 5 * 500, 0 } } },
	{ "row_25_unknown_operations", make_unknown_operations, .calls = 7, .rpc_connections = 1,
	    .row = {
		{ "4.2", "77", 1, 1, 100, 0 }, { "4.2", "READ", 2, 0, 200 + 300, 4096 + 1000 },
		{ "4.2", "READ_PLUS", 1, 0, 400, 2000 }, { "4.2", "LAYOUTGET", 1, 0, 500, 0 },
		{ "4.2", "COPY", 1, 0, 600, ANY }, { "3", "GETATTR", 1, 0, 700, 0 },
	    } },
	{ "row_26_lies", make_lies, .calls = 9, .malformed = 4, .rpc_connections = 1,
	    .row = {
		{ "3", "WRITE", 3, 0, 300, ANY }, { "3", "READ", 2, 1, 200, ANY }, { "3", "GETATTR", 4, 0, 800, 0 },
	    } },
	{ "row_27_callbacks", make_callbacks, .calls = 12, .rpc_connections = 2,
	    .row = { { "4.1", "GETATTR", 6, 0, 6 * 700, 0 }, { "nfs4cb", "CB_RECALL", 6, 0, 6 * 100, 0 } } },
	{ "row_27_both_roles", make_both_roles, .calls = 12, .rpc_connections = 4,
	    .row = { { "3", "GETATTR", 12, 0, 12 * 100, 0 } } },
	{ "row_28_gss", make_gss, .calls = 11, .rpc_connections = 1,
	    .row = {
		{ "3", "NULL", 2, 0, 5000 + 300, 0 }, { "3", "GETATTR", 3, 0, 100 + 200 + 300, 0 },
		/* what is encrypted is timed, and no more: of version 4 not even the operation is known */
		{ "3", "READ", 3, 0, 3 * 1000, 2 * 4096 }, { "4.0", "READ", 2, 0, 2 * 2000, 2 * 2048 },
		{ "4", "COMPOUND", 1, 0, 2000, 0 },
	    } },
	{ "row_28_gss_copies", make_gss_copies, .calls = 3, .copies = 3, .rpc_connections = 1,
	    .row = { { "3", "READ", 3, 0, 3 * 60000, 2 * 4096 } } },
	{ "row_29_tls", make_tls, .calls = 4, .rpc_connections = 2,
	    .row = { { "4", "NULL", 2, 1, 2 * 400, 0 }, { "3", "GETATTR", 2, 0, 2 * 200, 0 } },
	    .number = {
		{ RPC("tls_asked"), 2 }, { RPC("tls_agreed"), 1 }, { TCP("tls_connections"), 1 },
		{ TCP("tls_bytes"), 10355 + 165095 }, { RPC("hidden_records"), 0 }, { TCP("resyncs"), 0 },
	    } },
	{ "row_29_tls_tunnel", make_tls_tunnel, .rpc_connections = 0,
	    .number = {
		{ RPC("tls_asked"), 0 }, { TCP("tls_connections"), 2 }, { TCP("tls_bytes"), 2 * (10355 + 165095) },
	    } },
	{ "side-programs", make_side_programs, .calls = 14, .rpc_connections = 0,
	    .row = {
		{ "portmap2", "GETPORT", 2, 0, 10 + 20, 0 }, { "rpcbind3", "GETADDR", 1, 0, 30, 0 },
		{ "rpcbind4", "GETADDR", 1, 0, 40, 0 }, { "mount1", "MNT", 1, 0, 50, 0 }, { "mount3", "MNT", 1, 0, 60, 0 },
		{ "mount3", "UMNT", 1, 0, 70, 0 }, { "nlm1", "LOCK", 1, 0, 80, 0 }, { "nlm3", "SHARE", 1, 0, 90, 0 },
		{ "nlm4", "LOCK", 1, 0, 100, 0 }, { "nlm4", "UNLOCK", 1, 0, 110, 0 }, { "nsm1", "NOTIFY", 1, 0, 120, 0 },
		{ "nfsacl3", "GETACL", 1, 0, 130, 0 }, { "rquota1", "GETQUOTA", 1, 0, 140, 0 },
	    },
	    .number = { { "ports.0.port", 20048 }, { "ports.1.port", 4045 }, { "ports.2.port", 2049 } },
	    .text = { { "ports.0.program", "mount3" }, { "ports.1.address", "10.0.0.1" }, { "ports.2.program", "4" } } },
	{ "nfs2", make_nfs2, .calls = 6, .rpc_connections = 1,
	    .row = {
		{ "2", "GETATTR", 2, 0, 2 * 100, 0 }, { "2", "READ", 2, 0, 2 * 200, 2 * 512 },
		{ "2", "WRITE", 2, 0, 2 * 300, 2 * 256 },
	    } },
	{ "learned-port", make_learned_port, .calls = 6, .rpc_connections = 1,
	    .row = { { "portmap2", "GETPORT", 1, 0, 100, 0 }, { "3", "WRITE", 5, 0, 5 * 1000, 5 * 3000 } },
	    .number = { { "ports.0.port", 33049 } } },
	{ "session", make_session, .calls = 3, .rpc_connections = 2,
	    .row = {
		{ "4.1", "EXCHANGE_ID", 1, 0, 100, 0 }, { "4.1", "CREATE_SESSION", 1, 0, 200, 0 },
		{ "4.0", "SETCLIENTID", 1, 0, 300, 0 },
	    },
	    .number = {
		{ "hosts.0.session.slots", 30 }, { "hosts.0.session.request_bytes", 1049620 },
		{ "hosts.0.session.response_bytes", 1049480 }, { "hosts.0.session.operations", 8 },
		{ "ports.0.port", 140 * 256 + 18 },
	    },
	    .text = {
		{ "hosts.0.role", "server" }, { "hosts.0.owner", "owner.example" }, { "hosts.0.scope", "scope.example" },
		{ "hosts.0.implementation", "Server 9" }, { "hosts.0.domain", "vendor.example" },
		{ "hosts.1.owner", "Linux NFSv4.1 client" }, { "hosts.1.implementation", "Linux 6.1" },
		{ "hosts.2.owner", "Linux NFSv4.0 old" }, { "ports.0.program", "nfs4cb" },
		{ "ports.0.address", "10.0.0.3" },
	    } },
	{ "callback-connection", make_callback_connection, .calls = 3, .rpc_connections = 1,
	    .row = { { "nfs4cb", "CB_NULL", 1, 0, 100, 0 }, { "nfs4cb", "CB_RECALL", 2, 0, 2 * 200, 0 } } },
	{ NULL, NULL, .calls = 0 },
};
