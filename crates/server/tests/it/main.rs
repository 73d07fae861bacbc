//! The built-in server and the proxy from the outside: under the simulated kernel, and over real
//! loopback.

mod faulty;
mod grpc;
mod hostile;
mod http2;
mod http2_faults;
mod http2_peer;
mod loopback;
mod proxy;
mod proxy_attacks;
mod proxy_bodies;
mod proxy_edges;
mod proxy_http2;
mod proxy_loopback;
mod proxy_world;
mod routes;
mod secure;
mod websocket;
mod world;
