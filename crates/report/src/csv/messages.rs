//! Which protocol was spoken, and what messages did: calls of gRPC by their status and the messages
//! in them, and what a WebSocket pushed and compressed. Cells are empty where the load has no such
//! thing.

use plimsoll_core::{Histogram, RunResult};

use super::{Column, optional, text};

pub(super) fn columns(result: &RunResult) -> Vec<Column> {
    let spoken: Vec<&str> = result.protocols.iter().map(|it| it.name.as_str()).collect();
    let mut columns = vec![("protocol".to_owned(), text(&spoken.join(" ")))];
    columns.extend(calls(result));
    columns.extend(times(result));
    columns.extend(websocket(result));
    columns
}

fn calls(result: &RunResult) -> Vec<Column> {
    let has_calls = !result.grpc_status.is_empty();
    let all: u64 = result.grpc_status.values().sum();
    let ok = result.grpc_status.get("OK").copied().unwrap_or(0);
    let streams = result.grpc_streams.as_deref();
    vec![
        optional("grpc_ok", has_calls.then_some(ok)),
        optional("grpc_not_ok", has_calls.then_some(all - ok)),
        optional("cut_calls", streams.map(|it| it.cut_calls)),
        optional("messages_sent", streams.map(|it| it.sent.messages)),
        optional("messages_sent_bytes", streams.map(|it| it.sent.bytes)),
        optional("messages_received", streams.map(|it| it.received.messages)),
        optional("messages_received_bytes", streams.map(|it| it.received.bytes)),
    ]
}

fn times(result: &RunResult) -> Vec<Column> {
    let streams = result.grpc_streams.as_deref();
    let mut columns = Vec::new();
    let mut add = |name: &str, histogram: Option<&Histogram>| {
        for (label, q) in [("p50", 0.5), ("p99", 0.99)] {
            let value_ns = histogram.and_then(|it| it.quantile_ns(q));
            let cell = value_ns.map(|ns| format!("{:.3}", ns as f64 / 1e3));
            columns.push(optional(&format!("{name}_{label}_us"), cell));
        }
    };
    add("first_message", streams.map(|it| &it.first_message));
    add("message_gap", streams.map(|it| &it.gaps));
    add("round_trip", streams.and_then(|it| it.round_trips.as_ref()));
    columns
}

fn websocket(result: &RunResult) -> Vec<Column> {
    let (pushed, compression) = (result.pushed, result.compression);
    let sent = compression.map(|it| it.sent);
    let received = compression.map(|it| it.received);
    vec![
        optional("pushed_messages", pushed.map(|it| it.messages)),
        optional("pushed_bytes", pushed.map(|it| it.bytes)),
        optional("pings", pushed.map(|it| it.pings)),
        optional("compression_agreed", compression.map(|it| it.agreed)),
        optional("compression_declined", compression.map(|it| it.declined)),
        optional("compression_sent_bytes", sent.map(|it| it.bytes)),
        optional("compression_sent_compressed_bytes", sent.map(|it| it.compressed_bytes)),
        optional("compression_received_bytes", received.map(|it| it.bytes)),
        optional("compression_received_compressed_bytes", received.map(|it| it.compressed_bytes)),
    ]
}

#[cfg(test)]
mod tests {
    use plimsoll_core::compression::{Compressed, Compression};
    use plimsoll_core::protocol::ProtocolCounts;
    use plimsoll_core::pushed::Pushed;
    use plimsoll_core::streams::Streams;

    use super::*;
    use crate::samples;

    /// The columns that have a value.
    fn given(result: &RunResult) -> String {
        let columns = columns(result).into_iter().filter(|(_, cell)| !cell.is_empty());
        columns.map(|(name, cell)| format!("{name}: {cell}")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_load_has_what_it_is_about() {
        let mut result = samples::steady();
        assert_eq!(given(&result), "");
        result.protocols = vec![ProtocolCounts { name: "h2".to_owned(), ..Default::default() }];
        let status = [("OK", 40), ("NOT_FOUND", 2), ("INTERNAL", 1)];
        result.grpc_status = status.map(|(name, count)| (name.to_owned(), count)).into();
        let mut streams = Streams::new(true);
        streams.sent.add(12, 345);
        streams.received.add(67, 890);
        streams.cut_calls = 3;
        streams.first_message.record_n(3_000_000, 100);
        streams.gaps.record_n(41_000, 100);
        result.grpc_streams = Some(Box::new(streams));
        insta::assert_snapshot!(given(&result), @r"
        protocol: h2
        grpc_ok: 40
        grpc_not_ok: 3
        cut_calls: 3
        messages_sent: 12
        messages_sent_bytes: 345
        messages_received: 67
        messages_received_bytes: 890
        first_message_p50_us: 3000.000
        first_message_p99_us: 3000.000
        message_gap_p50_us: 41.000
        message_gap_p99_us: 41.000
        ");
        let mut result = samples::steady();
        result.pushed = Some(Pushed { messages: 1, bytes: 2, pings: 3 });
        let way = |bytes| Compressed { messages: 5, bytes, compressed_bytes: bytes / 10 };
        let (sent, received) = (way(600), way(7000));
        result.compression = Some(Compression { agreed: 8, declined: 9, sent, received });
        insta::assert_snapshot!(given(&result), @r"
        pushed_messages: 1
        pushed_bytes: 2
        pings: 3
        compression_agreed: 8
        compression_declined: 9
        compression_sent_bytes: 600
        compression_sent_compressed_bytes: 60
        compression_received_bytes: 7000
        compression_received_compressed_bytes: 700
        ");
    }
}
