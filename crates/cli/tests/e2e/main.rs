//! The program with real components: nginx counts what we say we sent, wrk, ab and curl load our
//! server, Chromium opens our page, pidstat watches a server beside us.
//!
//! Programs are looked up on the PATH, and `python3:websockets` or `node:ws` is a package that the
//! interpreter finds. A test without its program says so on stderr and passes; with
//! `PLIMSOLL_E2E=require` in the environment it fails, unless `PLIMSOLL_E2E_OPTIONAL=h2spec` names
//! the program.

mod busy_host;
mod counts;
mod demo;
mod dialects;
mod find;
mod fixture;
mod grpc;
mod grpc_calls;
mod grpc_python;
mod hostile;
mod http2;
mod http2_client;
mod http2_peers;
mod http2_proxy;
mod lab;
mod monitor;
mod nginx;
mod outputs;
mod pages;
mod programs;
mod receivers;
mod serve;
mod stop;
mod websocket_peers;

#[path = "../../../report/src/page/tests/browser.rs"]
mod browser;

#[path = "../cli/support/mod.rs"]
mod support;
