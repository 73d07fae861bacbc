//! Files that fortio wrote, and files in the forms that Nighthawk has written.

mod reading;

/// `fortio load` over HTTP, with errors.
const HTTP: &str = include_str!("../fixtures/http.json");
/// `fortio load` over TCP, with a number of calls.
const TCP: &str = include_str!("../fixtures/tcp.json");
