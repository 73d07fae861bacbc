//! Whether a tester of gRPC and of WebSockets measures what its calls and messages meet.

mod calls;
mod sockets;

use super::Experiment;
use super::http2::{counted, is_cancelled, keeps_to_http2};

/// All of them.
pub(super) fn all() -> Vec<Experiment> {
    [&calls::ALL[..], &sockets::ALL].concat()
}

const MS: u64 = 1_000_000;
