#!/bin/sh
# The command line, before any capture is read.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

check_says "the version" "nfscorr 0.1.0" "$NFSCORR" --version

# ---- live ----

check "the interfaces are listed" "$NFSCORR" -D
check_says "lo is among them" "(loopback)" "$NFSCORR" --list-interfaces

# wrong NAME TEXT OPTION...: wrong usage, and why.
wrong()
{
	wrong_name=$1 wrong_text=$2
	shift 2
	check_status 2 "$wrong_name" "$NFSCORR" "$@"
	check_says "$wrong_name: why" "$wrong_text" "$NFSCORR" "$@"
}

wrong "-w without -i" "-w goes with a live capture" -w "$tmp/x" "$tmp/y"
wrong "an interval without -i" "--interval goes with a live capture" --interval=5 "$tmp/y"
wrong "-C without -w" "-C says how a file is rotated" -i lo -C 5
wrong "-W without -C or -G" "neither was given" -i lo -w "$tmp/x" -W 5
wrong "-C 0" "-C 0: not a whole number" -i lo -w "$tmp/x" -C 0
wrong "-s beyond the most" "--snaplen=262145: not a whole number" -i lo -s 262145
wrong "a ring of two GiB" "--buffer-size=2097152" -i lo -B 2097152
wrong "port 0" "--port=0" -i lo -p 0
wrong "an interval of no time" "--interval=0" -i lo --interval=0
wrong "an interval that is no number" "--interval=5s" -i lo --interval=5s
wrong "a duration with ten decimals" "--duration=1.0000000001" -i lo --duration=1.0000000001
wrong "a user that is not there" "no such user" -i lo -Z nfscorr-nobody-of-that-name
wrong "two captures beside -i" "the one capture beside it the server's" -i lo "$tmp/x" "$tmp/y"
wrong "a client beside -i" "with -i the client is this host" -i lo --client="$tmp/x"
wrong "a side beside -i and a server" "--side goes with a single capture" -i lo --side=client "$tmp/x"
wrong "--swap live" "--swap goes with captures" -i lo --swap "$tmp/x"
wrong "packets to standard output" "the reports go to standard output" -i lo -w -
wrong "packets where the report goes" "--json and -w name the same file" -i lo --json="$tmp/x" -w "$tmp/x"
: >"$tmp/server.pcap"
wrong "packets over an input" "is an input and would be overwritten" -i lo -w "$tmp/server.pcap" "$tmp/server.pcap"
check_status 1 "no such interface" "$NFSCORR" -i nfscorr-none
finish
