# shellcheck shell=sh
#
# tshark as a second opinion. Sourced behind lib.sh, never run.

# tshark without the protocols whose registered ports NFS clients take, too.
only_rpc()
{
	mkdir "$tmp/wireshark"
	tshark -G protocols 2>/dev/null | cut -f 3 |
	    grep -vxE 'frame|pkt_comment|eth|ethertype|ip|ipv6|tcp|udp|data|rpc|nfs|nfsacl|portmap|mount|nlm|stat|rquota|gss-api|_ws\.(expert|malformed|short)' \
	    >"$tmp/wireshark/disabled_protos"
	WIRESHARK_CONFIG_DIR=$tmp/wireshark
	export WIRESHARK_CONFIG_DIR
}

# tshark_times FILE: a line for each reply whose call is there: program, version, procedure, rpc.time in ns.
tshark_times()
{
	tshark -n -r "$1" -o tcp.desegment_tcp_streams:TRUE -o rpc.desegment_rpc_over_tcp:TRUE \
	    -o rpc.defragment_rpc_over_tcp:TRUE -o ip.defragment:TRUE -Y "rpc.msgtyp == 1 && rpc.time" -T fields -E occurrence=a \
	    -e rpc.program -e rpc.programversion -e rpc.procedure -e rpc.time 2>/dev/null |
	    awk -F '\t' '{
		n = split($4, time, ",")
		versions = split($2, version, ",")
		# the version of a reply with results is told twice
		each = versions == 2 * n ? 2 : 1
		for (i = 2; i <= versions && version[i] == version[1]; i++)
			;
		if (i > versions)
			each = 0
		if (split($1, program, ",") != n || split($3, procedure, ",") != n || (each == 1 && versions != n)) {
			print "a frame that cannot be told apart"
			next
		}
		for (i = 1; i <= n; i++) {
			split(time[i], s, ".")
			printf "%s %s %s %.0f\n", program[i], version[each * (i - 1) + 1], procedure[i],
			    s[1] * 1000000000 + s[2]
		}
	    }'
}
