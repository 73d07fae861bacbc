//! `plimsoll serve` as a child process.

use std::net::SocketAddr;

use rustix::process::Signal;

use super::process::{Finished, Running, Stream, plimsoll};

/// A built-in server on a free port.
pub(crate) struct Server {
    running: Running,
    scheme: &'static str,
    addresses: Vec<SocketAddr>,
}

impl Server {
    /// One address with every route, and flags.
    pub(crate) fn start(flags: &[&str]) -> Self {
        Self::listen(&[&["--listen", "127.0.0.1:0"], flags].concat(), 1)
    }

    /// As the flags say; waits until it listens on the given number of addresses.
    pub(crate) fn listen(flags: &[&str], addresses: usize) -> Self {
        Self::run("serve", flags, addresses)
    }

    /// Another command that says where it listens as `serve` does.
    pub(crate) fn run(command: &str, flags: &[&str], addresses: usize) -> Self {
        let mut running = Running::start(plimsoll(&[command]).args(flags));
        let lines = (0..addresses).map(|_| address(&running.next_line(Stream::Out)));
        let (schemes, addresses): (Vec<_>, Vec<_>) = lines.unzip();
        Self { running, scheme: schemes[0], addresses }
    }

    /// Where it listens, in the order in which it said so.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.running.id()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.addresses[0])
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn finish_by(self, signal: Signal) -> Finished {
        self.running.finish_by(signal)
    }
}

fn address(line: &str) -> (&'static str, SocketAddr) {
    let found = ["http", "https"].into_iter().find_map(|scheme| {
        let rest = line.strip_prefix("listening on ")?.strip_prefix(scheme)?;
        let text = rest.strip_prefix("://")?.split_whitespace().next()?;
        Some((scheme, text.parse().ok()?))
    });
    found.unwrap_or_else(|| panic!("{line}"))
}
