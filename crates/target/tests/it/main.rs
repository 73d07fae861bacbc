//! The built-in server from the outside: under the simulated kernel, and over real loopback.

mod faulty;
mod hostile;
mod loopback;
mod routes;
mod secure;
mod world;
