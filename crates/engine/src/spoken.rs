//! What a run speaks: which protocol, and what its connections have in common.

use plimsoll_conn::{
    Echo, EchoSettings, Encoding as _, Http1, Http1Settings, Http2, Http2Settings, Protocol,
};
use plimsoll_core::Plan;
use plimsoll_core::plan::HttpVersion;
use plimsoll_proto::http1::Limits;
use plimsoll_proto::http2::{ClientOptions, Receiving};

use crate::assignment::Assignment;

/// How many bytes of bodies may wait for the kernel on a connection. Its own buffer holds some MiB,
/// so it does not run dry while a worker is busy.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// A protocol that plans can ask for.
pub trait Spoken: Protocol<Encoding: 'static> + 'static {
    /// What the connections of a run have in common.
    fn settings(assignment: &Assignment<Self::Encoding>) -> Self::Settings;
}

impl Spoken for Http1 {
    fn settings(assignment: &Assignment<Self::Encoding>) -> Http1Settings {
        let pipeline = assignment.plan().pipeline as usize;
        let outlives_close = assignment.plan().transport.outlives_close;
        Http1Settings { pipeline, limits: Limits::default(), outlives_close }
    }
}

impl Spoken for Http2 {
    fn settings(assignment: &Assignment<Self::Encoding>) -> Http2Settings {
        let http2 = &assignment.plan().http2;
        let receiving = Receiving {
            window_bytes: http2.window_bytes,
            connection_window_bytes: http2.connection_window_bytes,
            header_table_bytes: http2.header_table_bytes,
            frame_bytes: http2.frame_bytes,
            ..ClientOptions::default().receiving
        };
        let shared_fields = assignment.prepared.shared().len();
        let streams = http2.streams;
        let options = ClientOptions {
            streams,
            prepared_streams: streams,
            shared_fields,
            receiving,
            holds_windows: false,
            output_bytes_max: OUTPUT_BYTES_MAX,
        };
        Http2Settings { options }
    }
}

impl Spoken for Echo {
    /// All requests of a plan for it are one and the same, but for what templates put in.
    fn settings(assignment: &Assignment<Self::Encoding>) -> EchoSettings {
        EchoSettings {
            fixed: assignment.prepared.target(0).encoding.fixed().cloned(),
            is_datagram: assignment.plan().endpoint.is_datagram(),
        }
    }
}

/// What a run speaks, once that is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Http1,
    Http2,
    WebSocket,
    Echo,
}

impl Version {
    /// The one that a plan asks for; `None`: a connection has to tell.
    pub(crate) fn asked_for(plan: &Plan) -> Option<Self> {
        match plan.http_version {
            _ if plan.endpoint.is_websocket() => Some(Self::WebSocket),
            _ if plan.endpoint.is_echo() => Some(Self::Echo),
            HttpVersion::Http2 => Some(Self::Http2),
            HttpVersion::Auto if plan.endpoint.is_tls() => None,
            HttpVersion::Http1 | HttpVersion::Auto => Some(Self::Http1),
        }
    }
}
