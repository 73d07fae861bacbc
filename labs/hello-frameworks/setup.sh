#!/bin/sh
# What this suite needs besides Plimsoll: Node, a JDK, Maven, Rails, puma, Python, wrk and
# fortio. Go and Rust come from elsewhere: README.md.
set -eu
labs=$(dirname "$0")/..

sh "$labs/debian.sh" node=nodejs npm=npm java=default-jdk-headless \
    javac=default-jdk-headless mvn=maven ruby=ruby rails=ruby-railties puma=puma python3=python3 wrk=wrk
python3 -c "import ensurepip" 2> /dev/null || sh "$labs/debian.sh" python3-venv=python3-venv
sh "$labs/go-program.sh" fortio fortio.org/fortio@v1.66.5
