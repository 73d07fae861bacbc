//! Files that fortio wrote, and files in the forms that Nighthawk has written.

mod reading;
mod writing;

/// `fortio load` over HTTP, with errors.
const HTTP: &str = include_str!("../fixtures/http.json");
/// `fortio load` over TCP, with a number of calls.
const TCP: &str = include_str!("../fixtures/tcp.json");
/// What it printed in the run of `HTTP`.
const HTTP_ERR: &str = include_str!("../fixtures/http.err");
