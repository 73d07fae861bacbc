#!/bin/sh
# What this suite needs besides Plimsoll: nginx, ab, wrk and fortio. Go, for http-echo and
# fortio, and Pipy come from elsewhere: README.md.
set -eu
labs=$(dirname "$0")/..

sh "$labs/debian.sh" nginx=nginx ab=apache2-utils wrk=wrk
sh "$labs/go-program.sh" fortio fortio.org/fortio@v1.66.5
