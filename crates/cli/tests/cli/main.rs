//! The program from the outside, with nothing but itself: what it refuses, what it writes, what it
//! counts, and what it makes of faulty servers and of signals.

#[cfg(target_os = "linux")]
mod conformance;
mod control;
mod dialects;
mod doctor;
mod faults;
mod flags;
mod gates;
mod load;
mod outputs;
mod peer;
mod plan_file;
mod serve;
mod signals;
mod support;
mod targets;
mod usage;
