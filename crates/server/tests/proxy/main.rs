//! The proxy from the outside, over real loopback, between clients and upstreams that mean harm.
//!
//! [`requests`] and [`responses`] are tables of what either side may send and what must come of it;
//! [`crosstalk`] mixes good and bad of both at random, from a seed; [`comeback`] lets upstreams die
//! and come back. Nothing here uses the program's own reader of HTTP: [`strict`] is the judge.

mod client;
mod comeback;
mod crosstalk;
mod requests;
mod responses;
mod strict;
mod subject;
mod table;
mod upstream;
