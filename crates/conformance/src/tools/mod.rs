//! The adapters for load testers other than Plimsoll, one file each, and for Plimsoll under the
//! command lines of two of them.
//!
//! Their results are published as a table, so each tester gets the best configuration that its own
//! manual offers for an ask: its correction for coordinated omission, if it has one, its finest
//! figures, a timeout longer than the experiments, and as many threads as keep connections and rate
//! exact. The head of each file lists these choices. An ask that a tester cannot express is refused
//! with the reason. An ask that it can express but carries out badly is passed on, because the
//! experiments are there to show that. A figure that a tester does not print is `None`.
//!
//! The adapter for `plimsoll run` is not here.

mod ab;
mod abilities;
mod autocannon;
mod bombardier;
mod dialect;
mod fortio;
mod ghz;
mod h2load;
mod hey;
mod k6;
mod lua;
mod oha;
mod vegeta;
mod wrk;
mod wrk2;
mod zrk;

#[cfg(test)]
mod tests;

use crate::tool::TesterAdapter;

/// Every adapter here.
#[must_use]
pub fn all() -> Vec<Box<dyn TesterAdapter>> {
    vec![
        Box::new(wrk::Wrk),
        Box::new(wrk2::Wrk2),
        Box::new(ab::Ab),
        Box::new(hey::Hey),
        Box::new(fortio::Fortio),
        Box::new(dialect::PLIMSOLL_FORTIO),
        Box::new(k6::K6),
        Box::new(dialect::PLIMSOLL_K6),
        Box::new(oha::Oha),
        Box::new(vegeta::Vegeta),
        Box::new(bombardier::Bombardier),
        Box::new(autocannon::Autocannon),
        Box::new(h2load::H2load),
        Box::new(zrk::Zrk),
        Box::new(ghz::Ghz),
    ]
}
