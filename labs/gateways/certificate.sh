#!/bin/sh
# Makes a key, a certificate that the key itself signed, and a file that holds both, in the given
# directory. ECDSA on P-256, for localhost and the loopback addresses, ten years.
set -eu
cd "$1"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1 \
    -keyout key.pem -out cert.pem 2> openssl.log || { cat openssl.log >&2; exit 1; }
cat cert.pem key.pem > both.pem
# The servers may drop to another user before they read it; it guards nothing.
chmod 644 key.pem both.pem
