//! The adapters for load testers other than Plimsoll, one file each.
//!
//! The table that comes of them is published, so each tester gets the best configuration its own
//! manual offers for what is asked: its correction for coordinated omission where it has one, its
//! finest figures, a timeout longer than the experiments, as many threads as keep connections and
//! rate exact. What was chosen stands at the head of its file. What a tester cannot be told is
//! refused with the reason; what it can be told and does badly is passed on, since that is what
//! the experiments are there to show. A figure a tester does not print is `None`.
//!
//! Plimsoll's own adapter is not here.

mod ab;
mod autocannon;
mod bombardier;
mod can;
mod fortio;
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

use crate::tool::Tool;

/// Every adapter here.
#[must_use]
pub fn all() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(wrk::Wrk),
        Box::new(wrk2::Wrk2),
        Box::new(ab::Ab),
        Box::new(hey::Hey),
        Box::new(fortio::Fortio),
        Box::new(k6::K6),
        Box::new(oha::Oha),
        Box::new(vegeta::Vegeta),
        Box::new(bombardier::Bombardier),
        Box::new(autocannon::Autocannon),
        Box::new(h2load::H2load),
        Box::new(zrk::Zrk),
    ]
}
