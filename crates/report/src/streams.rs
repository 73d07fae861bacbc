//! The messages of calls that stream, as every view shows them.

use plimsoll_core::RunResult;
use plimsoll_core::units::{format_bytes, format_count};

use crate::tail::Times;

/// Times of messages.
pub(crate) struct Row<'r> {
    /// What they are.
    pub name: &'static str,
    /// What the names of their columns begin with.
    pub column: &'static str,
    pub times: Times<'r>,
}

/// The times of messages, those that there are.
pub(crate) fn rows(result: &RunResult) -> impl Iterator<Item = Row<'_>> {
    let streams = result.grpc_streams.as_deref();
    let rows = streams.into_iter().flat_map(|streams| {
        [
            ("first message", "first_message", Some(streams.first_message_bounds())),
            ("gaps", "message_gap", Some(streams.gap_bounds())),
            ("round trips", "round_trip", streams.round_trip_bounds()),
        ]
    });
    let present = rows.filter_map(move |(name, column, bounds)| {
        Some(Row { name, column, times: Times::of_messages(bounds?, result) })
    });
    present.filter(|row| !row.times.is_empty())
}

/// How many messages never came, where some did not.
pub(crate) fn missing(result: &RunResult) -> Option<String> {
    let missing = result.grpc_streams.as_deref()?.missing;
    let kinds = [
        ("first messages", missing.first_messages),
        ("next messages", missing.gaps),
        ("answers", missing.round_trips),
    ];
    let there = kinds.iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> =
        there.map(|(name, count)| format!("{} {name}", format_count(*count))).collect();
    (!parts.is_empty()).then(|| {
        format!("never came: {}; they count with the time calls waited for them", parts.join(", "))
    })
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
        (0..2).for_each(|_| streams.no_first_message(500_000_000));
        for text in views(Some(streams.clone())) {
            assert!(text.contains("never came: 2 first messages; they count with"), "{text}");
            assert!(text.contains("≥ 500 ms"), "{text}");
        }
        streams.round_trips.get_or_insert_default().record(77_000_000);
        for text in views(Some(streams.clone())) {
            assert!(text.contains("round trips") && text.contains("77.0 ms"), "{text}");
        }
    }
}
