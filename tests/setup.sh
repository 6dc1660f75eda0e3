# shellcheck shell=sh disable=SC2034,SC2154 # $top comes in, the lists go out
#
# What tests/run.sh and samples/try.sh share: Debian packages and building.
# Sourced, never run; $top is the source tree.

build_packages="gcc libc6-dev make autoconf automake pkg-config
    libarchive-dev libcap-ng-dev libglib2.0-dev libjansson-dev libpcap-dev libseccomp-dev
    libtirpc-dev libxxhash-dev"
test_packages="binutils diffutils libcriterion-dev jq"
# Only tests/run.sh --all: what checks our figures, and a real server with its clients.
oracle_packages="tshark"
server_packages="iproute2 libnfs-utils nfs-ganesha nfs-ganesha-vfs rpcbind tcpdump tcpreplay"

# need PACKAGE...: installs those that are missing, so that a second run needs
# neither a network nor rights. On another system it leaves the tools to the
# reader; configure then says what is not there.
need()
{
	command -v dpkg-query >/dev/null || return 0
	missing=
	for package; do
		# shellcheck disable=SC2016 # dpkg-query's variable, not ours
		case " $(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null)" in
		*" installed "*) ;;
		*) missing="$missing $package" ;;
		esac
	done
	[ -n "$missing" ] || return 0

	as_root=
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || {
			echo "missing packages:$missing (be root, or install sudo)" >&2
			return 1
		}
		as_root=sudo
	fi
	echo "installing$missing" >&2
	# Some of them are services, which nobody asked to run here.
	policy=/usr/sbin/policy-rc.d
	[ ! -e "$policy" ] || policy=
	if [ -n "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
		$as_root chmod 755 "$policy"
	fi
	# shellcheck disable=SC2086 # the list is words, and as_root may be none
	{
		$as_root apt-get update -q &&
		    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
		        --no-install-recommends $missing
	} </dev/null >&2 && installed=0 || installed=$?
	[ -z "$policy" ] || $as_root rm -f "$policy"
	return "$installed"
}

# build NAME CONFIGURE-ARGUMENT...: brings build/NAME up to date.
build()
{
	dir=$top/build/$1
	shift
	[ -x "$top/configure" ] || "$top/autogen.sh"
	source=$top
	# A tree that was configured in place cannot be built elsewhere as well:
	# make would take its objects for ours. Build from what it distributes.
	if [ -f "$top/config.status" ]; then
		source=$top/build/source
		mkdir -p "$top/build"
		make -C "$top" -s distdir distdir=build/source
	fi
	mkdir -p "$dir"
	if [ ! -f "$dir/Makefile" ]; then
		(cd "$dir" && "$source/configure" -q "$@")
	fi
	make -C "$dir" -s -j "$(nproc)"
}
