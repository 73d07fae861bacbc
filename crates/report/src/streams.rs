//! The messages of calls that stream, as every view shows them.

use plimsoll_core::units::{format_bytes, format_count};
use plimsoll_core::{Histogram, RunResult};

/// Times of messages: what they are, and how they are distributed.
pub(crate) struct Times<'r> {
    pub name: &'static str,
    pub histogram: &'r Histogram,
}

/// The times of messages, those that there are.
pub(crate) fn times(result: &RunResult) -> impl Iterator<Item = Times<'_>> {
    let streams = result.grpc_streams.as_deref();
    let rows = streams.into_iter().flat_map(|streams| {
        [
            ("first message", Some(&streams.first_message)),
            ("gaps", Some(&streams.gaps)),
            ("round trips", streams.round_trips.as_ref()),
        ]
    });
    let present = rows.filter_map(|(name, histogram)| Some(Times { name, histogram: histogram? }));
    present.filter(|row| !row.histogram.is_empty())
}

/// How many messages there were in each direction, where calls stream.
pub(crate) fn counts(result: &RunResult) -> Option<String> {
    let streams = result.grpc_streams.as_deref()?;
    let [sent, received] = [streams.sent, streams.received]
        .map(|it| format!("{} ({})", format_count(it.messages), format_bytes(it.bytes)));
    Some(format!("{sent} sent, {received} received"))
}

#[cfg(test)]
mod tests {
    use plimsoll_core::streams::Streams;

    use crate::samples::steady;
    use crate::text::Style;
    use crate::{html, markdown, text};

    fn views(streams: Option<Streams>) -> [String; 3] {
        let mut result = steady();
        result.grpc_streams = streams.map(Box::new);
        let mut outs = [Vec::new(), Vec::new(), Vec::new()];
        text::write(&result, &mut outs[0], Style::default()).expect("a vector");
        markdown::write(&result, &mut outs[1]).expect("a vector");
        html::write(&result, &mut outs[2]).expect("a vector");
        outs.map(|out| String::from_utf8(out).expect("text"))
    }

    #[test]
    fn every_view_has_the_messages_of_streams_and_no_other_run_has_them() {
        let mut streams = Streams::new(true);
        streams.sent.add(12, 345);
        streams.received.add(6_789, 1_000_000);
        streams.first_message.record_n(3_000_000, 100);
        streams.gaps.record_n(41_000_000, 100);
        for text in views(None) {
            assert!(!text.contains("first message") && !text.contains("345 B"), "{text}");
        }
        for text in views(Some(streams.clone())) {
            for part in ["12 (345 B) sent, ", "789 (977 KiB) received"] {
                assert!(text.contains(part), "{text}");
            }
            assert!(text.contains("first message") && text.contains("41.0 ms"), "{text}");
            assert!(!text.contains("round trips"), "there are none: {text}");
        }
        streams.round_trips.get_or_insert_default().record(77_000_000);
        for text in views(Some(streams.clone())) {
            assert!(text.contains("round trips") && text.contains("77.0 ms"), "{text}");
        }
    }
}
