//! The flags of fortio, and its help in our words. Flags of commands that are not spoken here are
//! read too, since fortio takes any flag with any command.

use std::fmt::Write as _;

use crate::go_flag::{Flag, Kind};

const fn flag(name: &'static str, kind: Kind, value: &'static str, help: &'static str) -> Flag {
    Flag { name, kind, value, help }
}

use Kind::{Duration, Integer, Number, Switch, Text};

/// Flags of fortio that mean something here, if only a refusal.
const SPOKEN: &[Flag] = &[
    flag("H", Text, "key:value", "Header, or metadata of gRPC; may be repeated"),
    flag("L", Switch, "", "Follow redirects, which implies -stdclient"),
    flag("M", Text, "port url url", "Send requests on to several servers; may be repeated"),
    flag("P", Text, "port host:port", "Proxy a port over TCP; may be repeated"),
    flag("X", Text, "method", "HTTP method; without it GET, or POST with a payload"),
    flag("a", Switch, "", "Save the JSON result in a file named by time and labels"),
    flag("abort-on", Integer, "status", "End the run at this status; -1: at a socket error"),
    flag("access-log-file", Text, "path", "Append a line for each call to this file"),
    flag("access-log-format", Text, "format", "json or influx (default \"json\")"),
    flag("allow-initial-errors", Switch, "", "Go on if calls of the warm-up fail"),
    flag("base-url", Text, "URL", "What stands before the names in data/index.tsv"),
    flag("c", Integer, "connections", "Connections (default 4)"),
    flag("cacert", Text, "path", "Trust the authorities in this file"),
    flag("calc-qps", Switch, "", "Compute the rate from -n and -t"),
    flag("cert", Text, "path", "Certificate of the client"),
    flag("compression", Switch, "", "Ask for gzip"),
    flag("connection-reuse", Text, "min:max", "Close connections after min to max calls"),
    flag("content-type", Text, "type", "Content-Type; makes the method POST"),
    flag("curl", Switch, "", "Fetch the URL once and show it, as the command curl does"),
    flag("curl-stdout-headers", Switch, "", "With curl, show the head on stdout too"),
    flag("data-dir", Text, "folder", "Folder for -a (default \".\")"),
    flag("dns-method", Text, "method", "cached-rr, rnd, first or rr (default cached-rr)"),
    flag("echo-debug-path", Text, "path", "Path that shows requests (default \"/debug\")"),
    flag("echo-server-default-params", Text, "query", "Query of requests without one"),
    flag("gomaxprocs", Integer, "threads", "Threads; 0 lets the engine choose"),
    flag("grpc", Switch, "", "Call gRPC: the health service, or with -ping fortio's ping"),
    flag("grpc-method", Text, "name", "Call this method of gRPC, with the payload as JSON"),
    flag("grpc-ping-delay", Duration, "delay", "Delay that the ping asks for"),
    flag("grpc-port", Text, "port", "Port or host:port of gRPC; disabled (default \"8079\")"),
    flag("h2", Switch, "", "Speak HTTP/2"),
    flag("halfclose", Switch, "", "Close the sending side after the request (refused)"),
    flag("health", Switch, "", "With grpcping, ask the health service"),
    flag("healthservice", Text, "name", "Service to ask the health of"),
    flag("http-port", Text, "port", "The same of the echo and the pages (default \"8080\")"),
    flag("http1.0", Switch, "", "Speak HTTP/1.0"),
    flag("https-insecure", Switch, "", "The same as -k"),
    flag("jitter", Switch, "", "Vary the time between calls by 10%"),
    flag("json", Text, "path", "Write the JSON result to this file; - is stdout"),
    flag("k", Switch, "", "Take any certificate"),
    flag("keepalive", Switch, "", "Keep connections open (default true)"),
    flag("key", Text, "path", "Key of -cert"),
    flag("labels", Text, "text", "Labels of the result; without it URL and host name"),
    flag("log-errors", Switch, "", "Log statuses that are not 2xx or 418 (default true)"),
    flag("loglevel", Text, "level", "Debug Verbose Info Warning Error Critical or Fatal"),
    flag("max-echo-delay", Duration, "delay", "Longest delay of the echo (default 1.5s)"),
    flag("maxpayloadsizekb", Integer, "KiB", "Largest size of the echo (default 256)"),
    flag("mtls", Switch, "", "Accepted; -cert alone decides about a client's certificate"),
    flag("multi-mirror-origin", Switch, "", "With -M, send requests as they came (default true)"),
    flag("multi-serial-mode", Switch, "", "With -M, ask one server after the other"),
    flag("n", Integer, "calls", "Make this number of calls, whatever -t says"),
    flag("nc-dont-stop-on-eof", Switch, "", "With nc, go on when the server ends"),
    flag("no-reresolve", Switch, "", "Look names up once, as is always done here"),
    flag("nocatchup", Switch, "", "Leave out calls that are due while no connection is free"),
    flag("offset", Duration, "offset", "Least value of the histogram"),
    flag("p", Text, "list", "Percentiles (default \"50,75,90,99,99.9\")"),
    flag("payload", Text, "text", "Payload to send"),
    flag("payload-file", Text, "path", "File with the payload"),
    flag("payload-size", Integer, "bytes", "Send a random payload of this size"),
    flag("ping", Switch, "", "With -grpc, call fortio's ping"),
    flag("profile", Text, "file", "Profile the tester (refused)"),
    flag("qps", Number, "rate", "Calls per second; 0: as fast as possible (default 8)"),
    flag("quiet", Switch, "", "The same as -loglevel Error"),
    flag("r", Number, "seconds", "Width of the first buckets of the histogram (default 0.001)"),
    flag("redirect-port", Text, "port", "The same of the redirect (default \"8081\")"),
    flag("resolve", Text, "IP", "Connect to this address"),
    flag("resolve-ip-type", Text, "type", "ip4, ip6 or ip (default ip4)"),
    flag("runid", Integer, "number", "Number of the run, for the JSON result"),
    flag("s", Integer, "streams", "Streams of each connection of gRPC (default 1)"),
    flag("sequential-warmup", Switch, "", "Warm connections up one after the other"),
    flag("stdclient", Switch, "", "Write headers as Go's client does"),
    flag("stream", Switch, "", "With curl, send what stdin has"),
    flag("sync", Text, "URL", "Fetch the results that are listed there"),
    flag("sync-interval", Duration, "time", "Fetch them this often"),
    flag("t", Duration, "duration", "How long to run; 0: until Ctrl-C (default 5s)"),
    flag("tcp-port", Text, "port", "The same of the echo over TCP (default \"8078\")"),
    flag("timeout", Duration, "duration", "Limit of a connect and of a call (default 3s)"),
    flag("udp-port", Text, "port", "The same of the echo over UDP (default \"8078\")"),
    flag("udp-timeout", Duration, "time", "Limit of a call over UDP (default 750ms)"),
    flag("ui-path", Text, "path", "Path of the pages (default \"/fortio/\")"),
    flag("uniform", Switch, "", "Spread the calls of the threads evenly"),
    flag("unix-socket", Text, "path", "Connect to this Unix socket"),
    flag("user", Text, "user:password", "Credentials (Basic)"),
];

/// Flags of fortio's servers, of its log and of its buffers: read, and without effect. With
/// `-grpc-compression`, fortio compresses the ping that opens a connection and no call of the run.
const UNSPOKEN: &[Flag] = &[
    flag("config-dir", Text, "", ""),
    flag("config-port", Text, "", ""),
    flag("grpc-compression", Switch, "", ""),
    flag("grpc-max-streams", Integer, "", ""),
    flag("httpbufferkb", Integer, "", ""),
    flag("httpccch", Switch, "", ""),
    flag("init", Text, "", ""),
    flag("logger-file-line", Switch, "", ""),
    flag("logger-force-color", Switch, "", ""),
    flag("logger-goroutine", Switch, "", ""),
    flag("logger-json", Switch, "", ""),
    flag("logger-no-color", Switch, "", ""),
    flag("logger-timestamp", Switch, "", ""),
    flag("pprof", Switch, "", ""),
    flag("proxy-all-headers", Switch, "", ""),
    flag("server-idle-timeout", Duration, "", ""),
    flag("static-dir", Text, "", ""),
    flag("udp-async", Switch, "", ""),
];

/// Flags that fortio does not have.
const OWN: &[Flag] = &[
    flag("as-original", Switch, "", "Pace calls as fortio does, and print nothing of our own"),
    flag("driver", Text, "kind", "auto, uring or epoll (default auto)"),
    flag("fetch", Switch, "", "With server, fetch pages of others for clients"),
    flag("json-result", Text, "path", "Write our own result document to this file"),
    flag("spin", Text, "when", "auto, on or off (default auto)"),
];

/// All flags that are read.
pub(super) fn all() -> Vec<Flag> {
    [SPOKEN, UNSPOKEN, OWN].concat()
}

/// The help.
pub(super) fn usage(version: &str) -> String {
    let mut text = format!(
        "Φορτίο {version} usage:\n\tfortio command [flags] target\nwhere command is one of \
         load, curl, nc, grpcping, server, report, redirect, proxies, tcp-echo, udp-echo, and\n\
         target is a URL, or host:port with -grpc, grpcping and nc\nor 1 of the special arguments\n\tfortio \
         {{help|envhelp|version|buildinfo}}\nflags:\n"
    );
    list(SPOKEN, &mut text);
    text.push_str("flags of Plimsoll's own:\n");
    list(OWN, &mut text);
    text.push_str("flags that are accepted without effect:\n ");
    for flag in UNSPOKEN {
        let _ = write!(text, " -{}", flag.name);
    }
    text.push('\n');
    text
}

fn list(flags: &[Flag], text: &mut String) {
    for Flag { name, value, help, .. } in flags {
        let gap = if value.is_empty() { "" } else { " " };
        let _ = write!(text, "  -{name}{gap}{value}\n    \t{help}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<&str> = all().iter().map(|flag| flag.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let usage = usage("1");
        assert!(names.iter().all(|name| usage.contains(&format!(" -{name}"))), "{usage}");
    }
}
