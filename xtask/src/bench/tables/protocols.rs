//! The tables of the other protocols: HTTP/2, gRPC, WebSocket.

use super::columns::{CLIENT_CPU, P50, P99, REQUESTS_PER_S, REQUESTS_PER_S_ALONE, RSS, SERVER_CPU};
use super::{RATE, clients, keep_alive, named, regular, takes_part};
use crate::bench::contest::{Column, Contender, Contest, Stage};
use crate::bench::server::{self, Kind};
use crate::bench::tool::{self, Load, Protocol, Tool};

/// Connections, and requests in flight on each.
const SHAPES: [(u32, u32); 4] = [(1, 1), (1, 10), (1, 100), (10, 10)];

pub(super) fn http2(stage: &Stage<'_>) -> Vec<Contest> {
    vec![
        closed(stage, server::NGINX_HTTP2, "to nginx"),
        closed(stage, server::NGHTTPD, "to nghttpd"),
        closed(stage, server::PLIMSOLL_TLS, "over TLS, to plimsoll's server"),
        rate(stage),
        servers(stage),
    ]
}

fn closed(stage: &Stage<'_>, server: Kind, name: &str) -> Contest {
    let tools = [&tool::PLIMSOLL, &tool::PLIMSOLL_EPOLL, &tool::H2LOAD];
    let contenders = SHAPES.into_iter().flat_map(|(connections, streams)| {
        let protocol = Protocol::Http2 { streams, tls: server.tls };
        let load = Load { connections, protocol, ..keep_alive(stage) };
        named(clients(stage, &tools, load, server), &format!("{connections} x {streams}"))
    });
    Contest {
        title: format!("HTTP/2 {name}"),
        explanation: "Closed loop, an 11-byte answer; connections x requests in flight on each."
            .to_owned(),
        columns: vec![REQUESTS_PER_S, CLIENT_CPU, SERVER_CPU, P50, P99, RSS],
        contenders: contenders.collect(),
        ..regular(stage)
    }
}

fn rate(stage: &Stage<'_>) -> Contest {
    let load = |connections, protocol| Load {
        connections,
        protocol,
        rate: Some(RATE),
        ..keep_alive(stage)
    };
    let contenders = [
        ("HTTP/1.1, 100 connections", load(100, Protocol::Http1), server::NGINX),
        (
            "HTTP/2, 10 x 10",
            load(10, Protocol::Http2 { streams: 10, tls: false }),
            server::NGINX_HTTP2,
        ),
    ];
    let contender = |(label, load, server): (&str, Load, Kind)| Contender {
        label: label.to_owned(),
        base: "HTTP/2, 10 x 10".to_owned(),
        tool: &tool::PLIMSOLL,
        load,
        server,
    };
    let is_there = takes_part(stage, "plimsoll") && takes_part(stage, "nginx");
    Contest {
        title: "HTTP/2 at a rate".to_owned(),
        explanation: format!("plimsoll sends {RATE} requests/s to nginx."),
        columns: vec![
            REQUESTS_PER_S_ALONE,
            Column { ratio: true, ..P50 },
            Column { ratio: true, ..P99 },
            CLIENT_CPU,
        ],
        contenders: contenders.into_iter().filter(|_| is_there).map(contender).collect(),
        ..regular(stage)
    }
}

fn servers(stage: &Stage<'_>) -> Contest {
    let servers = [server::PLIMSOLL, server::NGINX_HTTP2, server::NGHTTPD];
    let protocol = Protocol::Http2 { streams: 10, tls: false };
    let contender = |server: Kind| Contender {
        label: server.program.to_owned(),
        base: "plimsoll".to_owned(),
        tool: &tool::H2LOAD,
        load: Load { connections: 10, protocol, ..keep_alive(stage) },
        server,
    };
    let is_there = |server: &Kind| {
        takes_part(stage, server.program) && takes_part(stage, tool::H2LOAD.program)
    };
    Contest {
        title: "servers over HTTP/2".to_owned(),
        explanation: "An 11-byte answer to h2load, 10 connections x 10 requests in flight."
            .to_owned(),
        columns: vec![REQUESTS_PER_S, Column { ratio: true, ..SERVER_CPU }],
        contenders: servers.into_iter().filter(is_there).map(contender).collect(),
        ..regular(stage)
    }
}

pub(super) fn grpc(stage: &Stage<'_>) -> Contest {
    let contenders = [(1, 1), (1, 100), (10, 10)].into_iter().flat_map(|(connections, streams)| {
        let protocol = Protocol::Grpc { streams };
        let load = Load { connections, protocol, ..keep_alive(stage) };
        let tools = [&tool::PLIMSOLL, &tool::PLIMSOLL_EPOLL, &tool::GHZ];
        let contenders = clients(stage, &tools, load, server::PLIMSOLL);
        named(contenders, &format!("{connections} x {streams}"))
    });
    Contest {
        title: "unary calls of gRPC".to_owned(),
        explanation: "Closed loop, to the ping service of plimsoll's server; connections x calls \
                      in flight on each."
            .to_owned(),
        columns: vec![REQUESTS_PER_S, CLIENT_CPU, SERVER_CPU, P50, P99, RSS],
        contenders: contenders.collect(),
        ..regular(stage)
    }
}

pub(super) fn websocket(stage: &Stage<'_>) -> Contest {
    let tools: [&'static Tool; 3] = [&tool::PLIMSOLL, &tool::PLIMSOLL_EPOLL, &tool::TUNGSTENITE];
    let contenders = [1, 100].into_iter().flat_map(|connections| {
        let load = Load { connections, protocol: Protocol::WebSocket, ..keep_alive(stage) };
        let name = if connections == 1 { "connection" } else { "connections" };
        named(clients(stage, &tools, load, server::PLIMSOLL), &format!("{connections} {name}"))
    });
    Contest {
        title: "messages of WebSockets".to_owned(),
        explanation: "Each connection sends 5 bytes and waits for them to come back from \
                      plimsoll's server. tungstenite is a loop of tokio-tungstenite (`bench`)."
            .to_owned(),
        columns: vec![REQUESTS_PER_S, CLIENT_CPU, SERVER_CPU, P50, P99, RSS],
        contenders: contenders.collect(),
        ..regular(stage)
    }
}
