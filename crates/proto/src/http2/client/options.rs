//! What all connections of a client have in common.

use crate::http2::Receiving;
use crate::http2::flow::WINDOW_MAX;
use crate::http2::settings::Settings;

/// How a client uses its connections, and what it announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    /// The most streams open at a time, at least 1; fewer if the server allows fewer.
    pub streams: u32,
    /// How many of them have their memory from the start; what there is of others is allocated when
    /// they are opened.
    pub prepared_streams: u32,
    /// How many fields the compiled requests share:
    /// [`SharedFields::len`](super::super::SharedFields::len).
    pub shared_fields: usize,
    /// Whether the caller says by [`Client::release`](super::Client::release) when it is done with
    /// bytes of a body, before the server may send as many more on that stream. The connection's
    /// window opens again as the bytes come, so that one response does not hold up the others.
    pub holds_windows: bool,
    /// How many bytes of bodies may wait for the kernel on a connection; `usize::MAX`: no limit.
    /// With a limit the caller says by [`Client::output_taken`](super::Client::output_taken) what
    /// the kernel has taken. It should be more than the kernel takes while the caller is busy.
    pub output_bytes_max: usize,
    /// What it takes of responses.
    pub receiving: Receiving,
}

impl Default for ClientOptions {
    fn default() -> Self {
        let receiving = Receiving::with_windows(WINDOW_MAX, WINDOW_MAX);
        Self {
            streams: 100,
            prepared_streams: 100,
            shared_fields: 0,
            holds_windows: false,
            output_bytes_max: usize::MAX,
            receiving,
        }
    }
}

impl ClientOptions {
    /// The same, brought into the ranges that the fields have.
    pub(super) fn bounded(self) -> Self {
        let streams = self.streams.max(1);
        let prepared_streams = self.prepared_streams.min(streams);
        Self { streams, prepared_streams, receiving: self.receiving.bounded(), ..self }
    }

    /// What the client announces.
    pub(super) fn settings(&self) -> Settings {
        Settings { push: false, ..self.receiving.settings() }
    }
}
