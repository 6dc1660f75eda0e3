#!/bin/sh
# Which packages the two commands find missing. dpkg knows of packages that it
# does not have, and says "not-installed" of them.
set -eu
# shellcheck source=tests/lib.sh
. "${srcdir:-.}/tests/lib.sh"

mkdir "$tmp/bin"
cat >"$tmp/bin/dpkg-query" <<'EOF'
#!/bin/sh
for package; do :; done
case $package in
here) printf 'installed ' ;;
twice) printf 'installed installed ' ;;
known) printf 'not-installed ' ;;
removed) printf 'config-files ' ;;
*) exit 1 ;;
esac
EOF
cat >"$tmp/bin/id" <<'EOF'
#!/bin/sh
echo 1000
EOF
chmod +x "$tmp/bin/dpkg-query" "$tmp/bin/id"

# Without sudo nothing is installed, and the missing ones are named.
needs()
{
	PATH=$tmp/bin /bin/sh -c '. "$1/tests/setup.sh"; shift; need "$@"' sh "${srcdir:-.}" "$@"
}

check "what is there is not asked for" needs here twice
check_says "what dpkg only knows is missing" "missing packages: known" needs here known
check_says "what left its settings is missing" "missing packages: removed" needs removed
check_says "what dpkg has never heard of is missing" "missing packages: strange" needs strange twice
finish
