#!/bin/sh
# A network interface as a source of packets, on two hosts that are network
# namespaces: what the kernel's filter lets through, tagged or not, how it is
# cut, and what is said when a device cannot be opened or goes away. Needs root.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

here=nfscorr-here-$$
there=nfscorr-there-$$
pid=

clean()
{
	exec 3<&- 4>&-
	[ -z "$pid" ] || wait "$pid" || :
	for host in "$here" "$there"; do
		ip netns del "$host" 2>/dev/null || :
	done
	rm -rf "$tmp"
}
trap clean EXIT

on()
{
	host=$1
	shift
	ip netns exec "$host" "$@"
}

make_hosts()
{
	ip netns add "$here"
	ip netns add "$there"
	make_link
	ip -n "$here" link set lo up
}

# NFS goes from 192.0.2.2, there, to 192.0.2.1, here; the neighbours are known, so that only what is sent is seen.
make_link()
{
	ip link add nfs0 address 02:00:00:00:00:01 netns "$here" type veth \
	    peer name nfs0 address 02:00:00:00:00:02 netns "$there"
	ip -n "$here" addr add 192.0.2.1/24 dev nfs0
	ip -n "$there" addr add 192.0.2.2/24 dev nfs0
	ip -n "$here" link set nfs0 up
	ip -n "$there" link set nfs0 up
	ip -n "$there" neighbour replace 192.0.2.1 lladdr 02:00:00:00:00:01 dev nfs0
}

# begin HOST NAME FILTER TAGS SNAPLEN [RAISED]: listens there; what it says comes by descriptor 3, what it is told goes by 4.
begin()
{
	host=$1
	shift
	: >"$tmp/says"
	rm -f "$tmp/told" "$tmp/tells"
	mkfifo "$tmp/told" "$tmp/tells"
	ip netns exec "$host" tests/real/listen "$@" <"$tmp/told" >"$tmp/tells" &
	pid=$!
	exec 4>"$tmp/told" 3<"$tmp/tells"
	heard ready
}

# heard WORD: reads until a line begins with it.
heard()
{
	while read -r line <&3; do
		echo "$line" >>"$tmp/says"
		case $line in
		"$1"*) return ;;
		esac
	done
	cat "$tmp/says"
	return 1
}

# end: tells it to end, and reads the rest.
end()
{
	exec 4>&-
	rest
}

rest()
{
	cat <&3 >>"$tmp/says"
	exec 3<&- 4>&-
	wait "$pid" || :
	pid=
}

# saw COUNT PATTERN: so many packets' lines match.
saw()
{
	cat "$tmp/says"
	[ "$(grep -cE "^packet $2" "$tmp/says")" -eq "$1" ]
}

said()
{
	cat "$tmp/says"
	grep -qE "$1" "$tmp/says"
}

# fails TEXT HOST COMMAND...: it cannot be opened, and says so.
fails()
{
	text=$1
	shift
	on "$@" </dev/null >"$tmp/says" || :
	said "$text"
}

# send COUNT BYTES PORT, to here
send()
{
	on "$there" tests/real/send udp 192.0.2.1 "$3" "$2" "$1" 0
}

# frame TAGS TO-PORT: an IPv4 UDP datagram of 16 bytes behind tags; the VLANs are 0x064 and 0x065.
frame()
{
	case $1 in
	0) tags= ;;
	1) tags=81000064 ;;
	2) tags=88a8006481000065 ;;
	*) tags=88a800648100006581000066 ;;
	esac
	printf '020000000001020000000002%s080045000034000000004011b6b4c0000202c000020102bc%04x00200000%024d\n' \
	    "$tags" "$2" 0
}

make_hosts
nfs='tcp port 2049 or udp port 2049 or ip[6:2] & 0x1fff != 0'

# ---- what cannot be opened ----

check "an interface that is not there: those that are" fails '^error: nfs9: no such interface; there are: .*nfs0.*lo' \
    "$here" tests/real/listen nfs9 - - 100
check "an interface that is down" fails '^error: lo: the interface is down; ip link set lo up' \
    "$there" tests/real/listen lo - - 100
check "no rights: setcap and sudo" fails '^error: nfs0: no permission.*sudo nfscorr.*setcap cap_net_raw\+ep .*/listen' \
    "$here" setpriv --reuid 65534 --clear-groups tests/real/listen nfs0 - - 100
check "a filter that is none" fails "^error: filter 'port and':" "$here" tests/real/listen nfs0 'port and' - 100

# ---- what comes through ----

begin "$here" nfs0 "$nfs" tags 70
check "the kernel filters" said '^ready 1 kernel'
send 3 100 2049
send 5 100 2050
end
check "what the filter takes" saw 3 '70 142 1 '
check "and nothing else" saw 3 ''
check "counters" said '^counters 3 0 0'

begin "$here" nfs0 "$nfs" tags 60 120
send 2 200 2049
echo raise >&4
heard raised
send 4 200 2049
end
check "cut to the snap length" saw 2 '60 242 '
check "and then to one that was raised" saw 4 '120 242 '

begin "$here" nfs0 "$nfs" tags 100
send 1 20000 2049
end
check "all fragments" saw 14 ''

# Where it comes in, the kernel takes the first tag off, and libpcap puts it back in; where it goes out, it is in the packet.
for tags in 0 1 2 3; do
	expected=1
	[ "$tags" -lt 3 ] || expected=0
	begin "$here" nfs0 "$nfs" tags 100
	on "$there" tests/real/send frames nfs0 "$(frame "$tags" 2049)" "$(frame "$tags" 2050)"
	end
	check "$tags VLAN tags, where they come in" saw "$expected" ''
	check "$tags VLAN tags, as they were" saw "$expected" ".* $(frame "$tags" 2049)"
	begin "$there" nfs0 "$nfs" tags 100
	on "$there" tests/real/send frames nfs0 "$(frame "$tags" 2049)" "$(frame "$tags" 2050)"
	end
	check "$tags VLAN tags, where they go out" saw "$expected" ".* $(frame "$tags" 2049)"
done

# ---- any, and the loopback ----

begin "$here" any "$nfs" tags 80
check "any: cooked packets, filtered by the kernel" said '^ready 276 kernel'
send 2 100 2049
send 2 100 2050
on "$here" tests/real/send udp 127.0.0.1 2049 200 3 0
end
check "any: an interface's packets" saw 2 '80 148 276 0800'
check "any: the loopback's, once" saw 3 '80 248 276 0800'
check "any: and nothing else" saw 5 ''

begin "$here" lo "$nfs" tags 80
on "$here" tests/real/send udp 127.0.0.1 2049 200 3 0
end
check "the loopback's packets, once" saw 3 '80 242 1 '

# What finds no room while nobody reads is counted, once.
for name in lo nfs0; do
	BUFFER_KIB=512 QUIET=1
	export BUFFER_KIB QUIET
	begin "$here" "$name" "$nfs" tags 80
	unset BUFFER_KIB QUIET
	kill -STOP "$pid"
	if [ "$name" = lo ]; then
		on "$here" tests/real/send udp 127.0.0.1 2049 200 20000 0
	else
		send 20000 200 2049
	fi
	kill -CONT "$pid"
	end
	check "$name: drops are counted" said '^counters 20000 1[0-9]{4} 0'
done

# ---- gone ----

begin "$here" nfs0 "$nfs" tags 80
send 2 100 2049
ip -n "$here" link set nfs0 down
rest
check "down: said" said '^gone: nfs0: the interface went down'
check "down: its last packets are there" saw 2 ''

# The other end goes down, which takes the carrier away, and comes back in time; then not.
ip -n "$here" link set nfs0 up
# shellcheck disable=SC2016 # for the shell that is timed
timeout 60 sh -c 'until ip -n "$1" link show nfs0 | grep -q "state UP"; do :; done' sh "$here"
ip -n "$there" neighbour replace 192.0.2.1 lladdr 02:00:00:00:00:01 dev nfs0
begin "$here" nfs0 "$nfs" tags 80
send 2 100 2049
ip -n "$there" link set nfs0 down
heard 'link down'
ip -n "$there" link set nfs0 up
heard 'link up'
ip -n "$there" neighbour replace 192.0.2.1 lladdr 02:00:00:00:00:01 dev nfs0
send 3 100 2049
ip -n "$there" link set nfs0 down
rest
check "without a link: said" said '^gone: nfs0: the link was down for 10 s'
check "without a link: what came before and between is there" saw 5 ''

# One that never had it is listened on.
begin "$here" nfs0 "$nfs" tags 80
ip -n "$there" link set nfs0 up
heard 'link up'
ip -n "$there" neighbour replace 192.0.2.1 lladdr 02:00:00:00:00:01 dev nfs0
send 2 100 2049
end
check "with a link that comes later" saw 2 ''

begin "$here" nfs0 "$nfs" tags 80
send 2 100 2049
ip -n "$here" link del nfs0
rest
check "deleted: said" said '^gone: nfs0: the interface disappeared'
check "deleted: its last packets are there" saw 2 ''
finish
