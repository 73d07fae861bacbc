#!/bin/sh
# What this suite needs besides Plimsoll: a JDK, Maven, nginx, haproxy, ab, wrk and fortio. Go,
# for fortio, and Pipy come from elsewhere: README.md.
set -eu
labs=$(dirname "$0")/..

sh "$labs/debian.sh" java=default-jdk-headless javac=default-jdk-headless mvn=maven \
    nginx=nginx haproxy=haproxy ab=apache2-utils wrk=wrk
sh "$labs/go-program.sh" fortio fortio.org/fortio@v1.66.5
