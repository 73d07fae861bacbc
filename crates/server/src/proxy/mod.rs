//! The reverse proxy: HTTP/1.1 and HTTP/2 in front, pooled HTTP/1.1 connections to one or several
//! upstreams behind.
//!
//! [`start`](crate::start) runs it on its own threads; [`ProxyWorker`] is one worker without a
//! thread, for tests. Each worker has its own driver, upstream connections, queue and judgement of
//! upstreams' health; workers share only the ports.
//!
//! No message is forwarded as it came. Heads are written anew from their lines, without the
//! hop-by-hop fields, and bodies get new framing. So whatever a peer meant by odd framing, the
//! other side sees exactly one message. Messages that two readers could read differently are
//! refused.
//!
//! The upstream side knows exchanges, and not which protocol their clients speak: `link` and
//! `upstreams` are below, `client` and `http2` above, and `exchange` is between them.
//!
//! Absent on purpose: upgrades (WebSocket) and CONNECT, caching, content codings, trailers between
//! HTTP/1 and HTTP/1 (checked, then dropped), and looking upstreams' names up again while running.

mod access_log;
mod client;
mod counters;
mod deadline;
mod exchange;
mod head;
mod http2;
mod link;
mod options;
mod pace;
mod response;
mod service;
mod sockets;
mod upstreams;
mod wire;
mod worker;

pub use access_log::{AccessLog, LogThread};
pub use counters::ProxyCounters;
pub use options::{
    Balance, Forwarded, Health, HealthCheck, HostField, ProxyLimits, ProxyOptions, Rules, Timeouts,
    UPSTREAMS_MAX, Upstream, UpstreamTls,
};
pub use service::RunningProxy;
pub use worker::ProxyWorker;
