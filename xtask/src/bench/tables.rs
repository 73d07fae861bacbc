//! The tables: which contenders each has, and which figures it shows.

use anyhow::{Result, bail};

use super::contest::{Column, Contender, Contest, Stage};
use super::server::{self, Kind};
use super::tool::{self, Body, Load, Protocol, Tool};

mod columns;
mod protocols;

use columns::*;

/// Their names.
pub(super) const NAMES: [&str; 12] = [
    "closed",
    "connections",
    "bodies",
    "rate",
    "connect",
    "memory",
    "hello",
    "proxy",
    "observer",
    "http2",
    "grpc",
    "websocket",
];

const CONNECTIONS: u32 = 100;
/// Few enough that the server's buffers stay in the cache.
const BODY_CONNECTIONS: u32 = 10;
const RATE: u32 = 10_000;
const PROXY_RATE: u32 = 30_000;

/// The contests that make up a table.
pub(super) fn contests(name: &str, stage: &Stage<'_>) -> Result<Vec<Contest>> {
    Ok(match name {
        "closed" => vec![closed(stage)],
        "connections" => [1, 10, 1000].map(|count| connections(stage, count)).to_vec(),
        "bodies" => [Body::Answer, Body::Request]
            .into_iter()
            .flat_map(|of| [1, 100, 1024].map(|kib| bodies(stage, of(kib))))
            .collect(),
        "rate" => vec![rate(stage)],
        "connect" => vec![
            connect(stage, server::BARE_CLOSING, "a bare epoll server"),
            connect(stage, server::NGINX, "nginx"),
        ],
        "memory" => vec![memory_by_connections(stage), memory_by_time(stage)],
        "hello" => vec![hello(stage)],
        "proxy" => vec![proxy(stage), proxy_at_a_rate(stage)],
        "observer" => vec![observer(stage)],
        "http2" => protocols::http2(stage),
        "grpc" => vec![protocols::grpc(stage)],
        "websocket" => vec![protocols::websocket(stage)],
        _ => bail!("there is no table {name}"),
    })
}

fn closed(stage: &Stage<'_>) -> Contest {
    let load = keep_alive(stage);
    let tools = [
        &tool::PLIMSOLL,
        &tool::PLIMSOLL_EPOLL,
        &tool::BARE_URING,
        &tool::BARE_EPOLL,
        &tool::WRK,
        &tool::AB,
        &tool::H2LOAD,
        &tool::ZRK,
        &tool::FORTIO,
        &tool::OHA,
    ];
    Contest {
        title: "closed loop".to_owned(),
        explanation: format!(
            "Keep-alive, {CONNECTIONS} connections, against the bare io_uring server. zrk has no \
             closed loop; it is given a rate it cannot reach."
        ),
        columns: vec![REQUESTS_PER_S, CLIENT_CPU, SERVER_CPU, P50, P99, RSS],
        contenders: clients(stage, &tools, load, server::BARE_URING),
        ..regular(stage)
    }
}

fn connections(stage: &Stage<'_>, count: u32) -> Contest {
    let load = Load { connections: count, ..keep_alive(stage) };
    let tools = [
        &tool::PLIMSOLL,
        &tool::PLIMSOLL_EPOLL,
        &tool::BARE_URING,
        &tool::BARE_EPOLL,
        &tool::WRK,
        &tool::AB,
    ];
    Contest {
        title: match count {
            1 => "closed loop, one connection".to_owned(),
            _ => format!("closed loop, {count} connections"),
        },
        explanation: "Keep-alive, against the bare io_uring server.".to_owned(),
        columns: vec![REQUESTS_PER_S, CLIENT_CPU, SERVER_CPU, P50, P99],
        contenders: clients(stage, &tools, load, server::BARE_URING),
        ..regular(stage)
    }
}

fn bodies(stage: &Stage<'_>, body: Body) -> Contest {
    let load = Load { connections: BODY_CONNECTIONS, body, ..keep_alive(stage) };
    let (what, kib) = match body {
        Body::Request(kib) => ("requests", kib),
        Body::Answer(kib) => ("answers", kib),
        Body::Short => ("messages", 0),
    };
    let tools = [&tool::PLIMSOLL, &tool::PLIMSOLL_EPOLL, &tool::WRK];
    Contest {
        title: format!("{what} of {kib} KiB"),
        explanation: format!(
            "Keep-alive, closed loop, {BODY_CONNECTIONS} connections, against plimsoll's server."
        ),
        columns: vec![REQUESTS_PER_S, CLIENT_CPU, SERVER_CPU, P50, P99, RSS],
        contenders: clients(stage, &tools, load, server::PLIMSOLL),
        ..regular(stage)
    }
}

fn rate(stage: &Stage<'_>) -> Contest {
    let load = Load { rate: Some(RATE), ..keep_alive(stage) };
    let tools = [
        &tool::PLIMSOLL,
        &tool::PLIMSOLL_EPOLL,
        &tool::ZRK,
        &tool::WRK2,
        &tool::FORTIO,
        &tool::OHA,
    ];
    Contest {
        title: "at a rate".to_owned(),
        explanation: format!(
            "{RATE} requests/s over {CONNECTIONS} connections, latency as each tool reports it. \
             Arrivals are counted per 1 ms by the server, a bare epoll one: variance/mean 0 is \
             even, 1 is Poisson."
        ),
        columns: vec![
            REQUESTS_PER_S_ALONE,
            Column { ratio: true, ..P50 },
            Column { ratio: true, ..P99 },
            P999,
            LATENESS,
            DISPERSION,
            CLIENT_CPU,
        ],
        contenders: clients(stage, &tools, load, server::BARE_LOGGING),
        ..regular(stage)
    }
}

fn connect(stage: &Stage<'_>, server: Kind, name: &str) -> Contest {
    let load = Load { keep_alive: false, ..keep_alive(stage) };
    let tools = [
        &tool::PLIMSOLL,
        &tool::PLIMSOLL_EPOLL,
        &tool::BARE_URING,
        &tool::BARE_EPOLL,
        &tool::AB,
        &tool::WRK,
        &tool::FORTIO,
        &tool::OHA,
    ];
    Contest {
        title: format!("one request per connection, to {name}"),
        explanation: format!("{CONNECTIONS} at a time; the server closes."),
        columns: vec![REQUESTS_PER_S, CLIENT_CPU, SERVER_CPU, P50, P99],
        contenders: clients(stage, &tools, load, server),
        ..regular(stage)
    }
}

/// A single round: memory hardly varies between runs.
fn memory_by_connections(stage: &Stage<'_>) -> Contest {
    let tools = [&tool::PLIMSOLL, &tool::ZRK, &tool::WRK2, &tool::FORTIO, &tool::OHA];
    let mut contenders = Vec::new();
    for connections in [100, 1000, 10_000] {
        // Long enough for ten thousand connections to open.
        let seconds = stage.options.seconds.max(5);
        let rate = Some(connections);
        let load = Load { connections, seconds, rate, ..keep_alive(stage) };
        let of_load = clients(stage, &tools, load, server::BARE_URING);
        contenders.extend(named(of_load, &format!("{connections} connections")));
    }
    Contest {
        title: "memory by connections".to_owned(),
        explanation: "Each connection makes one request a second. The peak of resident memory, \
                      and that divided by the connections."
            .to_owned(),
        columns: vec![REQUESTS_PER_S_ALONE, Column { ratio: true, ..RSS }, RSS_EACH],
        contenders,
        rounds: 1,
        ..regular(stage)
    }
}

fn memory_by_time(stage: &Stage<'_>) -> Contest {
    let load = Load { seconds: 12 * stage.options.seconds, ..keep_alive(stage) };
    let tools = [
        &tool::PLIMSOLL,
        &tool::BARE_URING,
        &tool::WRK,
        &tool::AB,
        &tool::H2LOAD,
        &tool::ZRK,
        &tool::FORTIO,
        &tool::OHA,
    ];
    Contest {
        title: "memory by time".to_owned(),
        explanation: format!(
            "Closed loop at full speed, {CONNECTIONS} connections, for {} s; resident memory after \
             a sixth of that, at the last sample, and at its peak.",
            load.seconds
        ),
        columns: vec![REQUESTS_PER_S_ALONE, RSS_EARLY, RSS_LATE, RSS],
        contenders: clients(stage, &tools, load, server::BARE_URING),
        rounds: 1,
        sample_memory: true,
    }
}

fn hello(stage: &Stage<'_>) -> Contest {
    let servers =
        [server::PLIMSOLL, server::BARE_URING, server::BARE_EPOLL, server::NGINX, server::HAPROXY];
    let contender = |server: Kind| Contender {
        label: server.program.to_owned(),
        base: "plimsoll".to_owned(),
        tool: &tool::BARE_URING,
        load: keep_alive(stage),
        server,
    };
    Contest {
        title: "servers".to_owned(),
        explanation: format!(
            "An 11-byte answer to the bare io_uring client, keep-alive, {CONNECTIONS} connections."
        ),
        columns: vec![REQUESTS_PER_S, Column { ratio: true, ..SERVER_CPU }],
        contenders: servers
            .into_iter()
            .filter(|server| takes_part(stage, server.program))
            .map(contender)
            .collect(),
        ..regular(stage)
    }
}

const PROXIES: [(&str, Kind); 4] = [
    ("plimsoll", server::PLIMSOLL_PROXY),
    ("plimsoll, epoll", server::PLIMSOLL_PROXY_EPOLL),
    ("nginx", server::NGINX_PROXY),
    ("haproxy", server::HAPROXY_PROXY),
];

fn proxies(stage: &Stage<'_>, tool: &'static Tool, load: Load) -> Vec<Contender> {
    let is_there = |&(_, server): &(&str, Kind)| {
        takes_part(stage, server.program) && takes_part(stage, tool.program)
    };
    let contender = |(label, server): (&str, Kind)| Contender {
        label: label.to_owned(),
        base: "plimsoll".to_owned(),
        tool,
        load,
        server,
    };
    PROXIES.into_iter().filter(is_there).map(contender).collect()
}

fn proxy(stage: &Stage<'_>) -> Contest {
    Contest {
        title: "proxies".to_owned(),
        explanation: format!(
            "A bare io_uring server behind the proxy and a bare io_uring client in front of it \
             share a CPU, the proxy has the other; keep-alive, {CONNECTIONS} connections, an \
             11-byte answer."
        ),
        columns: vec![REQUESTS_PER_S, Column { ratio: true, ..SERVER_CPU }],
        contenders: proxies(stage, &tool::BARE_URING, keep_alive(stage)),
        ..regular(stage)
    }
}

fn proxy_at_a_rate(stage: &Stage<'_>) -> Contest {
    let load = Load { rate: Some(PROXY_RATE), ..keep_alive(stage) };
    Contest {
        title: "proxies at a rate".to_owned(),
        explanation: format!(
            "The same at {PROXY_RATE} requests/s, about half of what nginx takes, latency as \
             plimsoll measures it."
        ),
        columns: vec![
            REQUESTS_PER_S_ALONE,
            Column { ratio: true, ..SERVER_CPU },
            Column { ratio: true, ..P50 },
            Column { ratio: true, ..P99 },
            P999,
        ],
        contenders: proxies(stage, &tool::PLIMSOLL, load),
        ..regular(stage)
    }
}

fn observer(stage: &Stage<'_>) -> Contest {
    let tools = [&tool::PLIMSOLL, &tool::PLIMSOLL_PROGRESS, &tool::PLIMSOLL_TIMESERIES];
    Contest {
        title: "what watching costs".to_owned(),
        explanation: format!(
            "Closed loop, {CONNECTIONS} connections, against the bare io_uring server; the plain \
             run shows no progress, as its stderr is a file."
        ),
        columns: vec![REQUESTS_PER_S, CLIENT_CPU],
        contenders: clients(stage, &tools, keep_alive(stage), server::BARE_URING),
        ..regular(stage)
    }
}

fn keep_alive(stage: &Stage<'_>) -> Load {
    let seconds = stage.options.seconds;
    Load {
        connections: CONNECTIONS,
        seconds,
        rate: None,
        keep_alive: true,
        protocol: Protocol::Http1,
        body: Body::Short,
    }
}

/// What contests have in common.
fn regular(stage: &Stage<'_>) -> Contest {
    Contest {
        title: String::new(),
        explanation: String::new(),
        columns: Vec::new(),
        contenders: Vec::new(),
        rounds: stage.options.pairs,
        sample_memory: false,
    }
}

/// The clients that are there and wanted, against a server that is there.
fn clients(stage: &Stage<'_>, tools: &[&'static Tool], load: Load, server: Kind) -> Vec<Contender> {
    if !stage.programs.contains_key(server.program) {
        return Vec::new();
    }
    tools
        .iter()
        .filter(|tool| takes_part(stage, tool.program))
        .filter(|tool| (tool.arguments)(&load, "").is_some())
        .map(|&tool| Contender {
            label: tool.label(),
            base: tool::PLIMSOLL.label(),
            tool,
            load,
            server,
        })
        .collect()
}

/// Contenders that do the same under another load, told apart by its name.
fn named(mut contenders: Vec<Contender>, load: &str) -> Vec<Contender> {
    for contender in &mut contenders {
        for name in [&mut contender.label, &mut contender.base] {
            *name = format!("{name}, {load}");
        }
    }
    contenders
}

fn takes_part(stage: &Stage<'_>, program: &str) -> bool {
    stage.options.wants(program) && stage.programs.contains_key(program)
}
