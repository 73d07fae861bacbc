//! The program from the outside, with nothing but itself: what it refuses, what it writes, what it
//! counts, and what it makes of faulty servers and of signals.

mod doctor;
mod faults;
mod load;
mod outputs;
mod peer;
mod serve;
mod signals;
mod support;
mod usage;
