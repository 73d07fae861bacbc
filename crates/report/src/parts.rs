//! The parts of a run as views show them: endpoints, stages, addresses and groups, each with its
//! counts and the headline clock, and what became of the connections.

use plimsoll_core::RunResult;
use plimsoll_core::compression::Compressed;
use plimsoll_core::gate::stage_rate_rps;
use plimsoll_core::part::Part;
use plimsoll_core::protocol::{Allowed, AllowedRange, ProtocolCounts, allowed_range};
use plimsoll_core::pushed::Pushed;
use plimsoll_core::result::{Connections, StageResult};
use plimsoll_core::units::{format_bytes, format_count, format_ns};

use crate::Clock;
use crate::facts::{Tail, counted, percent};
use crate::tail::Times;

/// One part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) scheduled: u64,
    pub(crate) not_ok: u64,
    pub(crate) p50: Tail,
    pub(crate) p99: Tail,
    /// The maximum, marked.
    pub(crate) max: Option<String>,
}

fn row(part: &Part, result: &RunResult) -> Row {
    let times = Times::of_part(Clock::HEADLINE, part, result);
    Row {
        name: part.name.clone(),
        scheduled: part.ledger.scheduled,
        not_ok: part.ledger.scheduled.saturating_sub(part.ledger.ok),
        p50: times.tail(5000),
        p99: times.tail(9900),
        max: times.max(),
    }
}

/// The endpoints, by the headline clock; none where a run has only one without a name.
pub(crate) fn endpoints(result: &RunResult) -> Vec<Row> {
    result.endpoints.iter().map(|part| row(part, result)).collect()
}

/// The addresses, by the headline clock; none where there is only one.
pub(crate) fn addresses(result: &RunResult) -> Vec<Row> {
    let several = if result.addresses.len() > 1 { result.addresses.as_slice() } else { &[] };
    several.iter().map(|part| row(part, result)).collect()
}

/// The groups, by the headline clock; none where the source of work has none.
pub(crate) fn groups(result: &RunResult) -> Vec<Row> {
    result.groups.iter().map(|part| row(part, result)).collect()
}

/// A stage: its requests, and its own rates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) row: Row,
    pub(crate) start_ns: u64,
    pub(crate) target_rps: f64,
    pub(crate) achieved_rps: Option<f64>,
}

/// The stages, where there are several.
pub(crate) fn steps(result: &RunResult) -> Vec<Step> {
    let several = if result.stages.len() > 1 { result.stages.as_slice() } else { &[] };
    let step = |stage: &StageResult| Step {
        row: row(&stage.part, result),
        start_ns: stage.start_ns,
        target_rps: stage.target_rps,
        achieved_rps: stage_rate_rps(stage, result),
    };
    several.iter().map(step).collect()
}

/// What became of the connections, in a few words each; nothing where it is not known.
pub(crate) fn connections(result: &RunResult) -> Vec<String> {
    let connections = &result.connections;
    if connections.opened == 0 {
        return Vec::new();
    }
    let opened = counted(connections.opened, "connection");
    let mut words = vec![match connections.open_max {
        // Documents of earlier versions lack it for virtual users.
        0 => format!("{opened} opened"),
        most => format!("{opened} opened, {} at once at most", format_count(most)),
    }];
    words.extend(connections_set(connections).map(|set| format!("changed to {set}")));
    let served = &connections.served;
    if let (Some(min), Some(median), Some(max)) = (served.min(), served.median(), served.max()) {
        let [min, median, max] = [min, median, max].map(format_count);
        words.push(format!("requests on each: {min} min, {median} median, {max} max"));
    }
    if connections.tls_full + connections.tls_resumed > 0 {
        let suite = connections.tls.as_deref().unwrap_or("TLS");
        let full = counted(connections.tls_full, "full handshake");
        words.push(format!("{suite}: {full}, {} resumed", format_count(connections.tls_resumed)));
    }
    if let Some(outage) = result.outage.filter(|outage| outage.cut_off_ns > 0) {
        words.push(format!(
            "unreachable in {} of the users' time, for {} at the longest",
            percent(outage.cut_off_ns, outage.users_ns),
            format_ns(outage.longest_ns),
        ));
    }
    if connections.retransmits > 0 {
        words.push(counted(connections.retransmits, "segment") + " retransmitted");
    }
    words.extend(protocols(result).into_iter().map(|(name, carried)| format!("{name}: {carried}")));
    words.extend(allowed(result));
    words.extend(pushed(result));
    words.extend(compression(result));
    words
}

/// What servers allowed on a connection, where the protocol has them say so: the least, and the
/// most too if that was not the same all along.
pub(crate) fn allowed(result: &RunResult) -> Option<String> {
    let AllowedRange { least, most } = allowed_range(&result.protocols)?;
    let asked = result.plan.http2.streams;
    let streams = match (least.streams, most.streams) {
        (None, _) => "any number of streams".to_owned(),
        (Some(least), None) => format!("{} at times, at others any number", streams(least)),
        (Some(least), Some(most)) if least == most => streams(least),
        (Some(least), Some(most)) => format!("{} to {}", format_count(least.into()), streams(most)),
    };
    let is_fewer = least.streams.is_some_and(|streams| streams < asked);
    let of_asked = if is_fewer { format!(" of the {asked} asked for") } else { String::new() };
    let bytes = |of: fn(&Allowed) -> u32| match [of(&least), of(&most)].map(u64::from) {
        [least, most] if least == most => format_bytes(least),
        [least, most] => format!("{} to {}", format_bytes(least), format_bytes(most)),
    };
    let [window, table] = [bytes(|it| it.window_bytes), bytes(|it| it.header_table_bytes)];
    Some(format!(
        "the server allows {streams}{of_asked} per connection, a window of {window}, a header \
         table of {table}"
    ))
}

fn streams(number: u32) -> String {
    counted(number.into(), "stream")
}

/// What the server sent of its own accord, if anything.
pub(crate) fn pushed(result: &RunResult) -> Option<String> {
    let Pushed { messages, bytes, pings } = result.pushed.filter(|it| *it != Pushed::default())?;
    let pushed = format!("{} of {} pushed", counted(messages, "message"), format_bytes(bytes));
    let answered = format!("{} answered", counted(pings, "ping"));
    Some(match (messages, pings) {
        (_, 0) => pushed,
        (0, _) => answered,
        _ => format!("{pushed}, {answered}"),
    })
}

/// What came of the offer to compress messages, if the plan makes it.
pub(crate) fn compression(result: &RunResult) -> Option<String> {
    let compression = result.compression.as_ref()?;
    let opened = compression.agreed + compression.declined;
    if compression.agreed == 0 {
        let declined = counted(compression.declined, "connection");
        return (opened > 0).then(|| format!("compression declined on {declined}"));
    }
    let way = |name: &str, it: &Compressed| {
        let [said, took] = [it.bytes, it.compressed_bytes].map(format_bytes);
        (it.messages > 0).then(|| format!("{name} {said} as {took}"))
    };
    let ways = [way("sent", &compression.sent), way("received", &compression.received)];
    let ways: Vec<String> = ways.into_iter().flatten().collect();
    let agreed = match compression.declined {
        0 => format!("compression agreed on {}", counted(opened, "connection")),
        _ => {
            let agreed = format_count(compression.agreed);
            format!("compression agreed on {agreed} of {}", counted(opened, "connection"))
        }
    };
    Some(if ways.is_empty() { agreed } else { format!("{agreed}: {}", ways.join(", ")) })
}

/// What each protocol carried, with its name; none where there is only one.
pub(crate) fn protocols(result: &RunResult) -> Vec<(&str, String)> {
    let several = if result.protocols.len() > 1 { result.protocols.as_slice() } else { &[] };
    let carried = |protocol: &ProtocolCounts| {
        let connections = counted(protocol.connections, "connection");
        let [completed, sent] = [protocol.completed, protocol.sent].map(format_count);
        format!("{connections}, {completed} of {sent} requests completed")
    };
    several.iter().map(|protocol| (protocol.name.as_str(), carried(protocol))).collect()
}

/// Changes of the load beyond these are not shown.
pub(crate) const CHANGES_SHOWN: usize = 8;

/// The numbers of connections that were set while the run went on; `None` where there are none.
pub(crate) fn connections_set(connections: &Connections) -> Option<String> {
    let changes = connections.changes.iter().take(CHANGES_SHOWN);
    let each = changes.map(|it| format!("{} at {}", it.connections, format_ns(it.at_ns)));
    let list = each.collect::<Vec<_>>().join(", ");
    (!list.is_empty()).then_some(list)
}

#[cfg(test)]
mod tests {
    use plimsoll_core::compression::Compression;

    use super::*;
    use crate::samples;

    #[test]
    fn protocols_are_shown_where_there_are_several() {
        let mut result = samples::steady();
        result.connections.opened = 3;
        let counts = |name: &str, connections| ProtocolCounts {
            name: name.to_owned(),
            connections,
            sent: 1200,
            completed: 1100,
            ..ProtocolCounts::default()
        };
        result.protocols = vec![counts("http/1.1", 1)];
        let one = connections(&result).len();
        result.protocols.push(counts("h2", 2));
        let several = connections(&result);
        let want = [
            "http/1.1: 1 connection, 1 100 of 1 200 requests completed",
            "h2: 2 connections, 1 100 of 1 200 requests completed",
        ];
        assert_eq!(several[one..], want);
    }

    #[test]
    fn what_came_of_compression_is_told_in_every_case() {
        let mut result = samples::steady();
        assert_eq!(compression(&result), None);
        let ways = |bytes| Compressed { messages: 3, bytes, compressed_bytes: bytes / 8 };
        let of =
            |agreed, declined, sent, received| Compression { agreed, declined, sent, received };
        let none = Compressed::default();
        for (compressed, want) in [
            (of(0, 0, none, none), None),
            (of(0, 4, none, none), Some("compression declined on 4 connections")),
            (of(1, 0, none, none), Some("compression agreed on 1 connection")),
            (
                of(4, 0, ways(8000), ways(80_000)),
                Some(
                    "compression agreed on 4 connections: sent 7.81 KiB as 1000 B, received 78.1 \
                     KiB as 9.77 KiB",
                ),
            ),
            (
                of(1, 3, ways(800), none),
                Some("compression agreed on 1 of 4 connections: sent 800 B as 100 B"),
            ),
        ] {
            result.compression = Some(compressed);
            assert_eq!(compression(&result).as_deref(), want);
        }
    }

    #[test]
    fn what_the_server_allows_is_told_and_whether_it_was_the_limit() {
        let mut result = samples::steady();
        assert_eq!(allowed(&result), None);
        result.plan.http2.streams = 100;
        let allowing = |streams, window_bytes| Allowed {
            streams,
            window_bytes,
            header_table_bytes: 4096,
            frame_bytes: 16_384,
        };
        let full = |streams| allowing(streams, 65_536);
        for (least, most, told) in [
            (full(None), None, "any number of streams per connection, a window of 64.0 KiB"),
            (full(Some(100)), None, "100 streams per connection, a window of 64.0 KiB"),
            (
                full(Some(10)),
                Some(full(Some(10))),
                "10 streams of the 100 asked for per connection, a window of 64.0 KiB",
            ),
            (
                full(Some(1)),
                None,
                "1 stream of the 100 asked for per connection, a window of 64.0 KiB",
            ),
            (
                allowing(Some(2), 10),
                Some(full(Some(50))),
                "2 to 50 streams of the 100 asked for per connection, a window of 10 B to 64.0 KiB",
            ),
            (
                full(Some(100)),
                Some(full(None)),
                "100 streams at times, at others any number per connection, a window of 64.0 KiB",
            ),
        ] {
            result.protocols = vec![ProtocolCounts {
                allowed: Some(least),
                allowed_most: most,
                ..ProtocolCounts::default()
            }];
            let want = format!("the server allows {told}, a header table of 4.00 KiB");
            assert_eq!(allowed(&result), Some(want));
        }
    }
}
