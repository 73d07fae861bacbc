//! The clients: each one's command line for a load, and the parser for its output.

use super::parse::{self, Measured};

/// What a client is to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    /// Connections held open.
    pub(super) connections: u32,
    /// Duration in seconds.
    pub(super) seconds: u64,
    /// Requests per second; none is a closed loop.
    pub(super) rate: Option<u32>,
    /// Whether connections are kept for many requests.
    pub(super) keep_alive: bool,
    /// How requests travel.
    pub(super) protocol: Protocol,
    /// What goes beyond a plain request for a short answer.
    pub(super) body: Body,
}

/// How requests travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, with this many requests in flight on each connection.
    Http2 {
        /// That many.
        streams: u32,
        /// Whether over TLS. Otherwise by prior knowledge.
        tls: bool,
    },
    /// Unary calls of gRPC, this many in flight on each connection.
    Grpc {
        /// That many.
        streams: u32,
    },
    /// Messages of a WebSocket that come back.
    WebSocket,
}

/// What requests and answers carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Requests carry nothing, answers a few bytes.
    Short,
    /// Answers carry this many KiB.
    Answer(u32),
    /// Requests carry this many KiB, in a file of the scratch folder.
    Request(u32),
}

impl Body {
    /// The path to ask for.
    fn path(self) -> String {
        match self {
            Self::Short | Self::Request(_) => "/".to_owned(),
            Self::Answer(kib) => format!("/bytes/{kib}k"),
        }
    }

    /// The file in the scratch folder that requests carry, and its length.
    pub(super) fn file(self) -> Option<(String, usize)> {
        match self {
            Self::Short | Self::Answer(_) => None,
            Self::Request(kib) => Some((format!("body-{kib}"), kib as usize * 1024)),
        }
    }
}

/// A client. All run one thread, as they have one CPU.
#[derive(Debug)]
pub(super) struct Tool {
    /// The program, as `build` names it.
    pub(super) program: &'static str,
    /// What sets this way of running it apart from others; may be empty.
    pub(super) variant: &'static str,
    /// Arguments before the rest. `FOLDER` in them is replaced by a scratch folder.
    pub(super) extra: &'static [&'static str],
    /// Whether its stderr is a terminal, so that it shows progress.
    pub(super) terminal: bool,
    /// The arguments for a load on `127.0.0.1:PORT`; none if it cannot do that load. `FOLDER` in
    /// them is replaced too.
    pub(super) arguments: fn(&Load, &str) -> Option<Vec<String>>,
    /// Reads what it printed.
    pub(super) parse: fn(&str) -> anyhow::Result<Measured>,
}

impl Tool {
    /// The name in a table.
    pub(super) fn label(&self) -> String {
        match self.variant {
            "" => self.program.to_owned(),
            variant => format!("{}, {variant}", self.program),
        }
    }
}

/// The words of a command line none of whose arguments holds a space.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

const BASE: Tool = Tool {
    program: "",
    variant: "",
    extra: &[],
    terminal: false,
    arguments: |_, _| None,
    parse: parse::bare,
};

pub(super) static PLIMSOLL: Tool =
    Tool { program: "plimsoll", arguments: plimsoll, parse: parse::plimsoll, ..BASE };

pub(super) static PLIMSOLL_EPOLL: Tool = Tool {
    program: "plimsoll",
    variant: "epoll",
    extra: &["--driver", "epoll"],
    arguments: plimsoll,
    parse: parse::plimsoll,
    ..BASE
};

pub(super) static PLIMSOLL_PROGRESS: Tool = Tool {
    program: "plimsoll",
    variant: "progress on a terminal",
    terminal: true,
    arguments: plimsoll,
    parse: parse::plimsoll,
    ..BASE
};

pub(super) static PLIMSOLL_TIMESERIES: Tool = Tool {
    program: "plimsoll",
    variant: "time series to a file",
    extra: &["--timeseries", "FOLDER/series.ndjson"],
    arguments: plimsoll,
    parse: parse::plimsoll,
    ..BASE
};

pub(super) static BARE_URING: Tool =
    Tool { program: "bare-uring", arguments: bare, parse: parse::bare, ..BASE };

pub(super) static BARE_EPOLL: Tool =
    Tool { program: "bare-epoll", arguments: bare, parse: parse::bare, ..BASE };

pub(super) static WRK: Tool = Tool { program: "wrk", arguments: wrk, parse: parse::wrk, ..BASE };

pub(super) static WRK2: Tool = Tool { program: "wrk2", arguments: wrk2, parse: parse::wrk, ..BASE };

pub(super) static AB: Tool = Tool { program: "ab", arguments: ab, parse: parse::ab, ..BASE };

pub(super) static H2LOAD: Tool =
    Tool { program: "h2load", arguments: h2load, parse: parse::h2load, ..BASE };

pub(super) static GHZ: Tool = Tool { program: "ghz", arguments: ghz, parse: parse::ghz, ..BASE };

pub(super) static TUNGSTENITE: Tool =
    Tool { program: "tungstenite", arguments: tungstenite, parse: parse::bare, ..BASE };

pub(super) static FORTIO: Tool =
    Tool { program: "fortio", arguments: fortio, parse: parse::fortio, ..BASE };

pub(super) static OHA: Tool = Tool { program: "oha", arguments: oha, parse: parse::oha, ..BASE };

pub(super) static ZRK: Tool = Tool { program: "zrk", arguments: zrk, parse: parse::zrk, ..BASE };

fn plimsoll(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, .. } = load;
    let rate = load.rate.map(|rate| format!("-r {rate}")).unwrap_or_default();
    let close = if load.keep_alive { "" } else { "--no-keepalive" };
    let body = load.body.file().map(|(file, _)| format!("-b @FOLDER/{file}")).unwrap_or_default();
    let path = load.body.path();
    let target = match load.protocol {
        Protocol::Http1 => format!("http://{address}{path}"),
        Protocol::Http2 { streams, tls: false } => {
            format!("--http 2 -m {streams} http://{address}{path}")
        }
        Protocol::Http2 { streams, tls: true } => {
            format!("--http 2 -m {streams} --insecure https://{address}{path}")
        }
        Protocol::Grpc { streams } => {
            format!("--grpc fgrpc.PingServer/Ping --reflect -m {streams} http://{address}")
        }
        Protocol::WebSocket => format!("--ws-message hello ws://{address}/ws"),
    };
    Some(words(&format!(
        "run -t 1 -c {connections} -d {seconds}s {rate} {close} {body} --format json {target}"
    )))
}

/// The load of a tool that speaks HTTP/1 alone.
fn of_http1(load: &Load) -> Option<&Load> {
    (load.protocol == Protocol::Http1).then_some(load)
}

fn bare(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, rate: None, keep_alive, body: Body::Short, .. } =
        of_http1(load)?
    else {
        return None;
    };
    let close = if *keep_alive { "" } else { "--close" };
    Some(words(&format!("client {address} -c {connections} -d {seconds} {close}")))
}

fn wrk(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, rate: None, keep_alive, body, .. } = of_http1(load)? else {
        return None;
    };
    if body.file().is_some() {
        return None;
    }
    let mut arguments = words(&format!("-t1 -c{connections} -d{seconds}s --latency"));
    if !keep_alive {
        arguments.extend(["-H", "Connection: close"].map(str::to_owned));
    }
    arguments.push(format!("http://{address}{}", body.path()));
    Some(arguments)
}

fn wrk2(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load {
        connections, seconds, rate: Some(rate), keep_alive: true, body: Body::Short, ..
    } = of_http1(load)?
    else {
        return None;
    };
    let line = format!("-t1 -c{connections} -d{seconds}s -R{rate} --latency http://{address}/");
    Some(words(&line))
}

/// ab allocates for every request it may make, so it is told a number it cannot reach, but not a
/// much larger one.
fn ab(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, rate: None, keep_alive, body: Body::Short, .. } =
        of_http1(load)?
    else {
        return None;
    };
    let most = 400_000 * seconds;
    let keep = if *keep_alive { "-k" } else { "" };
    let line = format!("-q {keep} -c {connections} -t {seconds} -n {most} http://{address}/");
    Some(words(&line))
}

fn h2load(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, rate: None, keep_alive: true, body: Body::Short, .. } = load
    else {
        return None;
    };
    let target = match load.protocol {
        Protocol::Http1 => format!("--h1 http://{address}/"),
        Protocol::Http2 { streams, tls: false } => format!("-m{streams} http://{address}/"),
        Protocol::Http2 { streams, tls: true } => format!("-m{streams} https://{address}/"),
        Protocol::Grpc { .. } | Protocol::WebSocket => return None,
    };
    Some(words(&format!("-t1 -c{connections} -D{seconds} {target}")))
}

/// Its workers share its connections. It learns the schema by reflection, as plimsoll does.
fn ghz(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, rate: None, body: Body::Short, .. } = load else {
        return None;
    };
    let Protocol::Grpc { streams } = load.protocol else { return None };
    let workers = connections * streams;
    Some(words(&format!(
        "--insecure --call fgrpc.PingServer.Ping -d {{}} -c {workers} --connections {connections} \
         -z {seconds}s --duration-stop wait -O summary {address}"
    )))
}

fn tungstenite(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, rate: None, protocol: Protocol::WebSocket, .. } = load else {
        return None;
    };
    Some(words(&format!("client {address} -c {connections} -d {seconds}")))
}

/// Its histogram's default resolution is 1 ms; `-r` makes it 1 µs.
fn fortio(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, keep_alive, body: Body::Short, .. } = of_http1(load)? else {
        return None;
    };
    let (rate, uniform) = (load.rate.unwrap_or(0), load.rate.is_some());
    Some(words(&format!(
        "load -quiet -c {connections} -t {seconds}s -qps {rate} -uniform={uniform} \
         -keepalive={keep_alive} -r 0.000001 -p 50,99,99.9 -json - http://{address}/"
    )))
}

fn oha(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, body: Body::Short, .. } = of_http1(load)? else { return None };
    let rate = load.rate.map(|rate| format!("-q {rate} --latency-correction")).unwrap_or_default();
    let close = if load.keep_alive { "" } else { "--disable-keepalive" };
    Some(words(&format!(
        "--no-tui -w -c {connections} -z {seconds}s {rate} {close} --output-format json \
         http://{address}/"
    )))
}

/// It has no closed loop; a rate nobody reaches is nearly one (its latencies then say nothing).
fn zrk(load: &Load, address: &str) -> Option<Vec<String>> {
    let Load { connections, seconds, rate, keep_alive: true, body: Body::Short, .. } =
        of_http1(load)?
    else {
        return None;
    };
    let rate = rate.unwrap_or(10_000_000);
    let line = format!("-t1 -c{connections} -d{seconds}s -R{rate} --format json http://{address}/");
    Some(words(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: Load = Load {
        connections: 100,
        seconds: 5,
        rate: None,
        keep_alive: true,
        protocol: Protocol::Http1,
        body: Body::Short,
    };

    fn line(tool: &Tool, load: Load) -> Option<String> {
        (tool.arguments)(&load, "127.0.0.1:80").map(|arguments| arguments.join("|"))
    }

    #[test]
    fn command_lines() {
        let at_a_rate = Load { rate: Some(1000), ..CLOSED };
        let connecting = Load { keep_alive: false, ..CLOSED };
        let long_answers = Load { body: Body::Answer(100), ..CLOSED };
        let over_http2 = |tls| Load { protocol: Protocol::Http2 { streams: 9, tls }, ..CLOSED };
        let calls = Load { connections: 4, protocol: Protocol::Grpc { streams: 5 }, ..CLOSED };
        let messages = Load { protocol: Protocol::WebSocket, ..CLOSED };
        let long_requests = Load { body: Body::Request(1024), ..CLOSED };
        for (tool, load, expected) in [
            (&PLIMSOLL, CLOSED, "run|-t|1|-c|100|-d|5s|--format|json|http://127.0.0.1:80/"),
            (
                &PLIMSOLL,
                at_a_rate,
                "run|-t|1|-c|100|-d|5s|-r|1000|--format|json|http://127.0.0.1:80/",
            ),
            (
                &PLIMSOLL,
                long_requests,
                "run|-t|1|-c|100|-d|5s|-b|@FOLDER/body-1024|--format|json|http://127.0.0.1:80/",
            ),
            (
                &PLIMSOLL,
                over_http2(true),
                "run|-t|1|-c|100|-d|5s|--format|json|--http|2|-m|9|--insecure|https://127.0.0.1:80/",
            ),
            (&H2LOAD, over_http2(false), "-t1|-c100|-D5|-m9|http://127.0.0.1:80/"),
            (
                &GHZ,
                calls,
                "--insecure|--call|fgrpc.PingServer.Ping|-d|{}|-c|20|--connections|4|-z|5s\
                 |--duration-stop|wait|-O|summary|127.0.0.1:80",
            ),
            (&TUNGSTENITE, messages, "client|127.0.0.1:80|-c|100|-d|5"),
            (&WRK, CLOSED, "-t1|-c100|-d5s|--latency|http://127.0.0.1:80/"),
            (&WRK, long_answers, "-t1|-c100|-d5s|--latency|http://127.0.0.1:80/bytes/100k"),
            (
                &WRK,
                connecting,
                "-t1|-c100|-d5s|--latency|-H|Connection: close|http://127.0.0.1:80/",
            ),
            (&BARE_URING, connecting, "client|127.0.0.1:80|-c|100|-d|5|--close"),
            (&AB, connecting, "-q|-c|100|-t|5|-n|2000000|http://127.0.0.1:80/"),
        ] {
            assert_eq!(line(tool, load).as_deref(), Some(expected));
        }
        for (tool, load) in [
            (&WRK, at_a_rate),
            (&WRK, long_requests),
            (&WRK2, CLOSED),
            (&H2LOAD, connecting),
            (&H2LOAD, calls),
            (&GHZ, messages),
            (&WRK, over_http2(false)),
            (&FORTIO, over_http2(true)),
            (&BARE_EPOLL, at_a_rate),
            (&BARE_EPOLL, long_answers),
        ] {
            assert_eq!(line(tool, load), None, "{}", tool.program);
        }
    }
}
