//! HTTP/2: what it needs, what goes with it, and the ranges of what is announced.

use std::ops::RangeInclusive;

use crate::plan::error::{Message, PlanError, given, name};
use crate::plan::http2::{
    CONNECTION_WINDOW_BYTES_MIN, FRAME_BYTES_MAX, FRAME_BYTES_MIN, HEADER_TABLE_BYTES_MAX,
    WINDOW_BYTES_MAX,
};
use crate::plan::{Draft, Field, Http2Plan, HttpVersion, TlsPlan};

pub(super) fn check(draft: &Draft, errors: &mut Vec<PlanError>) {
    errors.extend(ranges(&draft.http2));
    errors.extend(match draft.http_version {
        HttpVersion::Http1 => unspoken(&draft.http2),
        HttpVersion::Http2 | HttpVersion::Auto => of_http1(draft),
    });
}

/// What HTTP/2 does not have, or not within what is announced.
fn ranges(http2: &Http2Plan) -> impl Iterator<Item = PlanError> {
    let all = [
        (Field::Window, http2.window_bytes, 1..=WINDOW_BYTES_MAX),
        (
            Field::ConnectionWindow,
            http2.connection_window_bytes,
            CONNECTION_WINDOW_BYTES_MIN..=WINDOW_BYTES_MAX,
        ),
        (Field::HeaderTableSize, http2.header_table_bytes, 0..=HEADER_TABLE_BYTES_MAX),
        (Field::MaxFrameSize, http2.frame_bytes, FRAME_BYTES_MIN..=FRAME_BYTES_MAX),
    ];
    all.into_iter().filter(|(_, bytes, range)| !range.contains(bytes)).map(
        |(field, bytes, range): (Field, u32, RangeInclusive<u32>)| {
            let problem = given(field, bytes) + " is out of range";
            let advice = format!("give {} to {} bytes", range.start(), range.end());
            PlanError::new(field, problem, advice)
        },
    )
}

/// What is about HTTP/2, where that is not spoken.
fn unspoken(http2: &Http2Plan) -> Option<PlanError> {
    let usual = Http2Plan::default();
    let given_fields = [
        (Field::Streams, http2.streams != usual.streams),
        (Field::Window, http2.window_bytes != usual.window_bytes),
        (Field::ConnectionWindow, http2.connection_window_bytes != usual.connection_window_bytes),
        (Field::HeaderTableSize, http2.header_table_bytes != usual.header_table_bytes),
        (Field::MaxFrameSize, http2.frame_bytes != usual.frame_bytes),
    ];
    let (field, _) = given_fields.into_iter().find(|(_, is_given)| *is_given)?;
    let advice = Message::from("give ") + given(Field::Http, 2);
    Some(PlanError::new(field, name(field) + " is about HTTP/2", advice))
}

/// What is about HTTP/1, where that is not spoken.
fn of_http1(draft: &Draft) -> Option<PlanError> {
    if draft.pipeline > 1 {
        let problem = name(Field::Pipeline) + " is about HTTP/1";
        let advice = Message::from("give ") + given(Field::Streams, draft.pipeline);
        return Some(PlanError::new(Field::Pipeline, problem, advice));
    }
    if draft.tls.alpn != TlsPlan::default().alpn {
        let problem = name(Field::Http) + " says what is offered in TLS";
        let advice = Message::from("leave ") + name(Field::Alpn) + " out";
        return Some(PlanError::new(Field::Alpn, problem, advice));
    }
    let is_plain = draft.endpoint.scheme == "http";
    if draft.http_version == HttpVersion::Http2 && is_plain && draft.transport.proxy.is_some() {
        let problem = name(Field::Proxy) + " takes no HTTP/2 without TLS";
        let advice = "give an https:// URL, which goes through a tunnel";
        return Some(PlanError::new(Field::Proxy, problem, advice));
    }
    None
}
