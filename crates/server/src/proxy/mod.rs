//! The reverse proxy: HTTP/1.1 in front, pooled connections to one or several upstreams behind.
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
//! Absent on purpose: upgrades (WebSocket, HTTP/2) and CONNECT, caching, content codings, trailers
//! (checked, then dropped), and looking upstreams' names up again while running.

mod access_log;
mod client;
mod counters;
mod head;
mod link;
mod options;
mod pace;
mod service;
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
