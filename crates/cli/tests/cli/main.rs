//! The program from the outside, with nothing but itself: what it refuses, what it writes, what it
//! counts, and what it makes of faulty servers and of signals.

mod compare;
#[cfg(target_os = "linux")]
mod conformance;
mod control;
mod dialects;
mod doctor;
mod ending;
mod faults;
mod flags;
mod gates;
#[cfg(target_os = "linux")]
mod lab;
mod load;
mod monitor;
mod outage;
mod outputs;
mod peer;
mod plan_file;
mod proxy;
mod repeat;
mod secrets;
mod serve;
mod signals;
mod support;
mod targets;
#[cfg(target_os = "linux")]
mod times;
mod usage;
