#!/bin/sh
# Installs a program from the Go module proxy unless PATH has it:
#
#     go-program.sh PROGRAM MODULE@VERSION
#
# It goes to where `go install` puts programs, which has to be in PATH.
set -eu

command -v "$1" > /dev/null && exit 0
command -v go > /dev/null || { echo "$1 needs Go to be installed: https://go.dev/dl" >&2; exit 1; }
go install "$2"
command -v "$1" > /dev/null || echo "$1 was installed; now add $(go env GOPATH)/bin to PATH" >&2
