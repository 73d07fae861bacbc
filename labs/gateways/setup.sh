#!/bin/sh
# What this suite needs besides Plimsoll: nginx with its Lua module, haproxy, openssl and k6. Go
# comes from elsewhere: README.md.
set -eu
labs=$(dirname "$0")/..

sh "$labs/debian.sh" nginx=nginx haproxy=haproxy openssl=openssl \
    /usr/share/nginx/modules/ngx_http_lua_module.so=libnginx-mod-http-lua
sh "$labs/go-program.sh" k6 go.k6.io/k6/v2@v2.2.0
