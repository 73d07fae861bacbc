//! The program from the outside, without any other program: what it refuses, writes and counts, and
//! how it deals with faulty servers and with signals.

mod call_peer;
mod calls;
mod closed;
mod compare;
#[cfg(target_os = "linux")]
mod conformance;
mod control;
mod dialect_flags;
mod dialects;
mod docs;
mod doctor;
mod ending;
mod faults;
mod find;
mod flags;
mod foreign;
mod fortio;
mod fortio_cases;
mod fortio_echo;
mod fortio_multi;
mod fortio_pages;
mod fortio_readers;
mod fortio_rest;
mod fortio_server;
mod gates;
mod k6;
mod k6_grpc;
#[cfg(target_os = "linux")]
mod lab;
mod load;
mod mixed_up;
mod monitor;
mod out;
mod outage;
mod outputs;
mod peer;
mod plan_file;
mod planned;
#[cfg(unix)]
mod promises;
mod proxy;
mod repeat;
mod request;
mod scenarios;
mod script_run;
mod secrets;
mod serve;
mod served_calls;
mod signals;
mod support;
mod targets;
#[cfg(target_os = "linux")]
mod times;
mod usage;
mod wait;
mod websocket;
mod wire;
