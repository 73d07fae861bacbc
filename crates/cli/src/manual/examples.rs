//! An example and a wrong value for each flag of `run`: data alone, because the documentation shows
//! it, the tests of the definition hold it against the flags, and the tests of the program, which
//! take this file in as it stands, run it.
//!
//! What is in braces stands for what is made for the examples:
//!
//! - `{url}`: a built-in server that serves every route, without the slash at its end; `{port}` is
//!   its port.
//! - `{https}`: the same over TLS, whose certificate is written to `server.pem`.
//! - `{peer}`: address and port of something that takes any request, be it one to a proxy or with a
//!   PROXY protocol header before it; it listens on the Unix socket `web.sock` too.
//!
//! `client.pem` is a certificate and its key, which the tests bring.

/// What is shown and tried of a flag.
#[derive(Debug)]
pub(crate) struct Example {
    /// The flag, by its name in the definition.
    pub flag: &'static str,
    /// Arguments of `plimsoll run` that use it.
    pub arguments: &'static [&'static str],
    /// The exit code of those.
    pub exit: u8,
    /// Arguments with which it is given wrongly.
    pub wrong: &'static [&'static str],
    /// What stands in the error line of those.
    pub says: &'static str,
}

/// Files that examples use, by their names in the directory where they are run.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("order.json", "{\"item\": 7}\n"),
    ("plan.toml", "url = \"{url}/\"\nconnections = 10\nrequests = 100\n"),
    ("arrivals.txt", "0s\n10ms\n15ms\n40ms\n"),
    (
        "paths.lua",
        "local paths, n = {}, 0\nfunction init(args) paths = args end\nfunction request()\n  n = n \
         + 1\n  return wrk.format('GET', paths[n % math.max(#paths, 1) + 1] or '/')\nend\n",
    ),
    (
        "load.js",
        "import http from 'k6/http';\nexport default function () {\n  http.get(__ENV.BASE);\n}\n",
    ),
    (
        "ping.proto",
        "syntax = \"proto3\";\npackage fgrpc;\n\nmessage PingMessage {\n  int64 seq = 1;\n  string \
         payload = 3;\n}\n\nservice PingServer {\n  rpc Ping(PingMessage) returns \
         (PingMessage);\n}\n",
    ),
    (
        "targets.http",
        "GET {url}/\n\nPOST {url}/echo\nContent-Type: application/json\n@order.json\n",
    ),
];

/// What a flag without a value says when it is given one.
const NO_VALUE: &str = "no more were expected";

const U: &str = "{url}/";
/// A server of gRPC, and a method that it has.
const G: &str = "{grpc}/";
const PING: &str = "fgrpc.PingServer/Ping";
const WS: &str = "ws://127.0.0.1:{port}/ws";

const fn flag(
    flag: &'static str,
    arguments: &'static [&'static str],
    wrong: &'static [&'static str],
    says: &'static str,
) -> Example {
    Example { flag, arguments, exit: 0, wrong, says }
}

/// One for each flag, in any order.
pub(crate) const EXAMPLES: &[Example] = &[
    flag("url", &["-n", "100", U], &["127.0.0.1:8080"], "write http://"),
    flag("plan", &["--plan", "plan.toml", "-n", "10"], &["--plan", "no/such.toml"], "no/such.toml"),
    flag(
        "redact",
        &["--redact", "email", "-n", "10", "{url}/echo?email=me"],
        &["--redact"],
        "a value is required",
    ),
    flag(
        "show_secrets",
        &["--show-secrets", "-H", "X-Id: 7", "-n", "10", U],
        &["--show-secrets=1", U],
        NO_VALUE,
    ),
    flag("print_plan", &["--print-plan", "-c", "9", U], &["--print-plan=1", U], NO_VALUE),
    flag(
        "control",
        &["--control", "run.sock", "-n", "100", U],
        &["--control", "no/such/run.sock", U],
        "control socket 'no/such/run.sock'",
    ),
    flag(
        "monitor",
        &["--monitor", ":{port}", "-d", "100ms", U],
        &["--monitor", "no such program", U],
        "no process here is called 'no such program'",
    ),
    flag(
        "out",
        &["--out", "influx=http://{peer}/load", "-n", "100", U],
        &["--out", "graphite=127.0.0.1:2003", U],
        "is not an output",
    ),
    flag(
        "out_label",
        &["--out", "influx=http://{peer}/load", "--out-label", "run=nightly", "-n", "100", U],
        &["--out", "influx=http://{peer}/load", "--out-label", "nightly", U],
        "is not a label",
    ),
    flag(
        "out_names",
        &["--out", "prometheus-rw=http://{peer}", "--out-names", "k6", "-n", "100", U],
        &["--out", "prometheus-rw=http://{peer}", "--out-names", "wrk", U],
        "possible values: plimsoll, k6",
    ),
    flag("connections", &["-c", "10", "-n", "100", U], &["-c", "many", U], "is not a count"),
    flag("threads", &["-t", "1", "-n", "100", U], &["-t", "0", U], "give 1 or more"),
    flag("duration", &["-d", "100ms", U], &["-d", "10", U], "is not a duration"),
    flag("requests", &["-n", "1k", U], &["-n", "1.5", U], "is not a count"),
    flag("rate", &["-r", "1k", "-d", "100ms", U], &["-r", "fast", U], "is not a rate"),
    flag(
        "arrival",
        &["--arrival", "poisson", "-r", "1k", "-d", "100ms", U],
        &["--arrival", "random", U],
        "uniform, poisson",
    ),
    flag(
        "stages",
        &["--stages", "50ms@100,50ms@100..1k", U],
        &["--stages", "10s", U],
        "DURATION@RATE",
    ),
    flag(
        "repeat",
        &["--repeat", "2", "-n", "100", U],
        &["--repeat", "0", U],
        "is not a number from 1 to 1000",
    ),
    flag("warmup", &["--warmup", "50ms", "-n", "100", U], &["--warmup", "1", U], "not a duration"),
    flag("drain", &["--drain", "1s", "-n", "100", U], &["--drain", "long", U], "not a duration"),
    flag("timeout", &["--timeout", "2s", "-n", "100", U], &["--timeout", "0s", U], "--timeout"),
    flag("wait", &["--wait", "10s", "-n", "100", U], &["--wait", "10", U], "not a duration"),
    flag("method", &["-X", "DELETE", "-n", "10", U], &["-X", "G T", U], "method"),
    flag("headers", &["-H", "X-Id: 7", "-n", "10", "{url}/echo"], &["-H", "X-Id", U], "no colon"),
    flag("body", &["-b", "@order.json", "-n", "10", "{url}/echo"], &["-b", "@none", U], "'none'"),
    flag("http", &["--http", "2", "-n", "10", U], &["--http", "7", U], "1.0, 1.1, 2, auto"),
    flag(
        "streams",
        &["--http", "2", "-m", "10", "-n", "100", U],
        &["-m", "10", U],
        "-m is about HTTP/2: give --http 2",
    ),
    flag(
        "window",
        &["--http", "2", "--window", "65535", "-n", "10", U],
        &["--http", "2", "--window", "0", U],
        "give 1 to 2147483647 bytes",
    ),
    flag(
        "connection_window",
        &["--http", "2", "--connection-window", "1M", "-n", "10", U],
        &["--http", "2", "--connection-window", "100", U],
        "give 65535 to 2147483647 bytes",
    ),
    flag(
        "header_table_size",
        &["--http", "2", "--header-table-size", "0", "-n", "10", U],
        &["--http", "2", "--header-table-size", "2M", U],
        "give 0 to 1048576 bytes",
    ),
    flag(
        "max_frame_size",
        &["--http", "2", "--max-frame-size", "1M", "-n", "10", U],
        &["--http", "2", "--max-frame-size", "1k", U],
        "give 16384 to 16777215 bytes",
    ),
    flag(
        "ws_message",
        &["--ws-message", "hello {{seq}}", "-n", "100", WS],
        &["--ws-message", "hello", U],
        "give a ws:// or wss:// URL",
    ),
    flag(
        "ws_reply",
        &["--ws-message", "hello", "--ws-reply", "match:^hello", "-n", "100", WS],
        &["--ws-message", "hello", "--ws-reply", "first", WS],
        "next, match:REGEX and none",
    ),
    flag(
        "ws_binary",
        &["--ws-message", "@order.json", "--ws-binary", "-n", "100", WS],
        &["--ws-binary", U],
        "give a ws:// or wss:// URL",
    ),
    flag(
        "ws_compress",
        &["--ws-message", "@order.json", "--ws-compress", "-n", "100", WS],
        &["--ws-compress", U],
        "give a ws:// or wss:// URL",
    ),
    flag(
        "ws_subprotocol",
        &["--ws-message", "hello", "--ws-subprotocol", "chat.v1", "-n", "100", WS],
        &["--ws-message", "hello", "--ws-subprotocol", "two words", WS],
        "give one word",
    ),
    flag(
        "requests_per_conn",
        &["--requests-per-conn", "5", "-n", "100", U],
        &["--requests-per-conn", "0", U],
        "give 1 or more",
    ),
    flag("no_keepalive", &["--no-keepalive", "-n", "100", U], &["--no-keepalive=1", U], NO_VALUE),
    flag(
        "no_resend",
        &["--no-resend", "--http", "2", "-n", "100", U],
        &["--no-resend=1", U],
        NO_VALUE,
    ),
    flag("pipeline", &["--pipeline", "4", "-n", "100", U], &["--pipeline", "0", U], "1 or more"),
    flag(
        "seed",
        &["--seed", "7", "--arrival", "poisson", "-r", "1k", "-n", "100", U],
        &["--seed", "x", U],
        "is not a whole number",
    ),
    flag("driver", &["--driver", "epoll", "-n", "100", U], &["--driver", "kqueue", U], "epoll"),
    flag(
        "spin",
        &["--spin", "off", "-r", "1k", "-n", "100", U],
        &["--spin", "round", U],
        "auto, on, off",
    ),
    flag("pin", &["--pin", "0", "-n", "100", U], &["--pin", "first", U], "whole number"),
    flag(
        "script",
        &["-s", "paths.lua", "-n", "100", U],
        &["-s", "none.lua", U],
        "cannot read the script 'none.lua'",
    ),
    flag(
        "env",
        &["-e", "BASE={url}/", "-c", "2", "-n", "20", "load.js"],
        &["-e", "BASE", "load.js"],
        "a variable is written as NAME=value",
    ),
    flag(
        "script_arguments",
        &["-s", "paths.lua", "-n", "100", U, "--", "/a", "/b"],
        &["-n", "100", U, "--", "/a"],
        "give it with -s",
    ),
    Example {
        flag: "require_valid",
        // Where nothing is good there are no figures of a server at work.
        arguments: &["--require-valid", "-n", "4", "{url}/status/503"],
        exit: 4,
        wrong: &["--require-valid=1", U],
        says: NO_VALUE,
    },
    flag(
        "output",
        &["-o", "report.txt", "-n", "100", U],
        &["-o", "no/such/report.txt", U],
        "cannot write 'no/such/report.txt'",
    ),
    flag("format", &["--format", "json", "-n", "100", U], &["--format", "pdf", U], "text, json"),
    flag(
        "json",
        &["--json", "result.json", "-n", "100", U],
        &["--json", "no/such/result.json", U],
        "cannot write",
    ),
    flag(
        "html",
        &["--html", "report.html", "-n", "100", U],
        &["--html", "no/such/report.html", U],
        "cannot write",
    ),
    flag(
        "hgrm",
        &["--hgrm", "times.hgrm", "-n", "100", U],
        &["--hgrm", "no/such/times.hgrm", U],
        "cannot write",
    ),
    flag(
        "timeseries",
        &["--timeseries", "seconds.ndjson", "-n", "100", U],
        &["--timeseries", "no/such/seconds.ndjson", U],
        "cannot write",
    ),
    flag("verbose", &["-v", "-n", "100", U], &["--verbose=1", U], NO_VALUE),
    flag("quiet", &["-q", "-n", "100", U], &["--quiet=1", U], NO_VALUE),
    flag("no_progress", &["--no-progress", "-n", "100", U], &["--no-progress=1", U], NO_VALUE),
    flag("no_color", &["--no-color", "-n", "100", U], &["--no-color=1", U], NO_VALUE),
    flag("latency", &["--latency", "-n", "100", U], &["--latency=1", U], NO_VALUE),
    flag("rate_file", &["--rate-file", "arrivals.txt", U], &["--rate-file", "none", U], "'none'"),
    flag(
        "shed_after",
        &["--shed-after", "10ms", "-r", "1k", "-d", "100ms", U],
        &["--shed-after", "10ms", U],
        "needs a schedule",
    ),
    flag(
        "form",
        &["-F", "item=7", "-F", "order=@order.json", "-n", "10", "{url}/echo"],
        &["-F", "item", U],
        "write 'name=value'",
    ),
    flag(
        "form_urlencoded",
        &["--form-urlencoded", "item=7", "-n", "10", "{url}/echo"],
        &["--form-urlencoded", "item", U],
        "write 'name=value'",
    ),
    flag(
        "basic",
        &["--basic", "user:secret", "-n", "10", U],
        &["--basic", "user", U],
        "write USER:PASS",
    ),
    flag(
        "chunked",
        &["--chunked", "-b", "@order.json", "-n", "10", "{url}/echo"],
        &["--chunked", U],
        "give one with -b or -F",
    ),
    flag(
        "expect_continue",
        &["--expect-continue", "-b", "@order.json", "-n", "10", "{url}/echo"],
        &["--expect-continue", U],
        "give one with -b or -F",
    ),
    flag(
        "targets",
        &["--targets", "targets.http", "-n", "100"],
        &["--targets", "none.http"],
        "'none.http'",
    ),
    flag(
        "targets_format",
        &["--targets", "targets.http", "--targets-format", "http", "-n", "100"],
        &["--targets", "targets.http", "--targets-format", "csv"],
        "http, json, toml",
    ),
    flag(
        "order",
        &["--targets", "targets.http", "--order", "random", "-n", "100"],
        &["--targets", "targets.http", "--order", "backwards"],
        "sequential, random, weighted",
    ),
    flag(
        "no_templates",
        &["--no-templates", "-b", "{{as it is}}", "-n", "10", "{url}/echo"],
        &["--no-templates=1", U],
        NO_VALUE,
    ),
    flag(
        "grpc",
        &["--grpc", PING, "--proto", "ping.proto", "-b", "{\"seq\": {{seq}}}", "-n", "10", G],
        &["--grpc", "Ping", "--reflect", G],
        "package.Service/Method",
    ),
    flag(
        "proto",
        &["--proto", "ping.proto", "--grpc", PING, "--expect", "grpc-status=0", "-n", "10", G],
        &["--proto", "none.proto", "--grpc", PING, G],
        "'none.proto'",
    ),
    flag(
        "proto_path",
        &["--proto-path", ".", "--proto", "ping.proto", "--grpc", PING, "-n", "10", G],
        &["--proto-path", ".", G],
        "--proto <FILE>",
    ),
    flag(
        "reflect",
        &["--reflect", "--grpc", PING, "-b", "{\"payload\": \"x\"}", "-n", "10", G],
        &["--reflect", G],
        "--grpc",
    ),
    flag(
        "grpc_stream",
        &["--grpc-stream", "unary", "--grpc", PING, "--proto", "ping.proto", "-n", "10", G],
        &["--grpc-stream", "ping", "--grpc", PING, "--reflect", G],
        "bidi, pingpong",
    ),
    flag(
        "grpc_messages",
        &["--grpc-messages", "1", "--grpc", PING, "--proto", "ping.proto", "-n", "10", G],
        &["--grpc-messages", "all", "--grpc", PING, "--reflect", G],
        "a count",
    ),
    flag("redirects", &["--redirects", "3", "-n", "10", U], &["--redirects", "all", U], "a count"),
    flag("cookies", &["--cookies", "-n", "10", U], &["--cookies=1", U], NO_VALUE),
    flag(
        "expect",
        &["--expect", "status=200", "--expect", "body*=hello", "-n", "10", U],
        &["--expect", "happiness", U],
        "'happiness'",
    ),
    Example {
        flag: "gate",
        // Nothing is as fast as that.
        arguments: &["--gate", "p99<1us", "--gate", "errors<1%", "-n", "100", U],
        exit: 3,
        wrong: &["--gate", "p99", U],
        says: "p99",
    },
    flag(
        "abort_when",
        &["--abort-when", "errors>5% FOR 5s", "-n", "100", U],
        &["--abort-when", "bad luck", U],
        "bad luck",
    ),
    flag(
        "conn_lifetime",
        &["--conn-lifetime", "20ms", "-d", "100ms", U],
        &["--conn-lifetime", "1", U],
        "not a duration",
    ),
    flag(
        "resolve",
        &["--resolve", "web.example:{port}:127.0.0.1", "-n", "10", "http://web.example:{port}/"],
        &["--resolve", "web.example", U],
        "HOST:PORT:ADDR",
    ),
    flag(
        "connect_to",
        &["--connect-to", "web.example:80:127.0.0.1:{port}", "-n", "10", "http://web.example/"],
        &["--connect-to", "127.0.0.1", U],
        "HOST1:PORT1:HOST2:PORT2",
    ),
    flag(
        "dns_refresh",
        &["--dns-refresh", "0s", "-n", "10", U],
        &["--dns-refresh", "never", U],
        "not a duration",
    ),
    flag(
        "bind",
        &["--bind", "127.0.0.1,127.0.0.2", "-n", "10", U],
        &["--bind", "eth0", U],
        "'eth0'",
    ),
    flag(
        "unix_socket",
        &["--unix-socket", "web.sock", "-n", "10", "http://web.example/"],
        &["--unix-socket", "web.sock", "--bind", "127.0.0.2", U],
        "cannot be used with",
    ),
    flag(
        "proxy",
        &["--proxy", "{peer}", "-n", "10", "http://web.example/"],
        &["--proxy", "socks5://{peer}", U],
        "HOST:PORT",
    ),
    flag(
        "proxy_protocol",
        &["--proxy-protocol", "v1", "-n", "10", "http://{peer}/"],
        &["--proxy-protocol", "v3", U],
        "v1, v2",
    ),
    flag(
        "timestamps",
        &["--timestamps", "kernel", "-n", "10", U],
        &["--timestamps", "hardware", U],
        "user, kernel",
    ),
    flag("insecure", &["-k", "-n", "10", "{https}/"], &["--insecure=1", "{https}/"], NO_VALUE),
    flag(
        "cacert",
        &["--cacert", "server.pem", "-n", "10", "{https}/"],
        &["--cacert", "none.pem", "{https}/"],
        "'none.pem'",
    ),
    flag(
        "cert",
        &["--cert", "client.pem", "--cacert", "server.pem", "-n", "10", "{https}/"],
        &["--cert", "none.pem", "{https}/"],
        "'none.pem'",
    ),
    flag(
        "key",
        &["--cert", "client.pem", "--key", "client.pem", "-k", "-n", "10", "{https}/"],
        &["--key", "client.pem", "{https}/"],
        "--cert",
    ),
    flag(
        "sni",
        &["--sni", "localhost", "--cacert", "server.pem", "-n", "10", "{https}/"],
        &["--sni", "a b", "{https}/"],
        "'a b'",
    ),
    flag(
        "alpn",
        &["--alpn", "http/1.1,http/1.0", "-k", "-n", "10", "{https}/"],
        &["--alpn"],
        "a value is required",
    ),
    flag(
        "tls_version",
        &["--tls-version", "1.3", "-k", "-n", "10", "{https}/"],
        &["--tls-version", "1.1", "{https}/"],
        "1.2, 1.3",
    ),
    flag(
        "tls_resume",
        &["--tls-resume", "50", "--no-keepalive", "-k", "-n", "20", "{https}/"],
        &["--tls-resume", "101", "{https}/"],
        "0..=100",
    ),
    flag(
        "hlog",
        &["--hlog", "seconds.hlog", "-n", "100", U],
        &["--hlog", "no/such/seconds.hlog", U],
        "cannot write",
    ),
    flag(
        "junit",
        &["--junit", "gates.xml", "--gate", "errors<1%", "-n", "100", U],
        &["--junit", "no/such/gates.xml", U],
        "cannot write",
    ),
    flag(
        "github_summary",
        &["--github-summary=summary.md", "-n", "100", U],
        &["--github-summary=no/such/summary.md", U],
        "cannot write",
    ),
];

/// A word of an example with what its braces stand for; `{{` of a template stays.
pub(crate) fn filled(word: &str, url: &str, https: &str, peer: &str, grpc: &str) -> String {
    let port = url.rsplit(':').next().unwrap_or_default();
    word.replace("{url}", url)
        .replace("{https}", https)
        .replace("{peer}", peer)
        .replace("{grpc}", grpc)
        .replace("{port}", port)
}
