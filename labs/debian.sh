#!/bin/sh
# Installs the Debian packages that a suite needs and does not find:
#
#     debian.sh PROGRAM=PACKAGE...
#
# PROGRAM is looked for in PATH, or where it is if it is a path; only when it is not there its
# package is asked for. So it can be run again, and programs that came another way are left alone.
set -eu

missing=
for pair; do
    program=${pair%%=*}
    if ! command -v "$program" > /dev/null && ! test -e "$program"; then
        missing="$missing ${pair#*=}"
    fi
done
test -n "$missing" || exit 0

install="apt-get install --no-install-recommends$missing"
if test "$(id -u)" -ne 0; then
    echo "only root can install packages; as root: $install" >&2
    exit 1
fi
apt-get update
# shellcheck disable=SC2086 # a list of packages
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
