//! The messages of calls of gRPC that stream: how many there were, and when they came.
//!
//! A call is a request, and has a request's times whatever its messages do. Beside them stand the
//! messages in it, also those of calls that failed, timed out or were open at the end.

use serde::{Deserialize, Serialize};

use crate::doubt::Bounds;
use crate::histogram::Histogram;

/// Messages in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// How many.
    pub messages: u64,
    /// Bytes in them, without the prefixes that say how long they are.
    pub bytes: u64,
}

impl Messages {
    /// Adds further ones.
    #[inline]
    pub fn add(&mut self, messages: u64, bytes: u64) {
        self.messages += messages;
        self.bytes += bytes;
    }
}

/// How many messages were waited for and never came. How long each was waited for is among the
/// times of those that came: a lower bound of when it would have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// First messages, of calls that did not end with OK.
    pub first_messages: u64,
    /// Next messages, of calls that never ended.
    pub gaps: u64,
    /// Answers, however their call ended.
    pub round_trips: u64,
}

impl Missing {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The messages of the measured part's calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Streams {
    /// Messages handed to the connections.
    pub sent: Messages,
    /// Whole messages that came.
    pub received: Messages,
    /// Calls that the server ended with OK before all of their messages were sent.
    #[serde(default)]
    pub cut_calls: u64,
    /// The messages that never came.
    #[serde(default, skip_serializing_if = "Missing::is_nothing")]
    pub missing: Missing,
    /// From the start of sending to the first whole message, each call that had one or waited for
    /// one.
    pub first_message: Histogram,
    /// From each whole message of a call to the next one.
    pub gaps: Histogram,
    /// From sending a message to its answer, where each message waits for the answer to the one
    /// before. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<Histogram>,
}

impl Streams {
    /// Of calls whose messages are answered one by one, or are not.
    #[must_use]
    pub fn new(has_round_trips: bool) -> Self {
        Self { round_trips: has_round_trips.then(Histogram::new), ..Self::default() }
    }

    /// A call that was sent `waited_ns` ago is over and had no message.
    pub fn no_first_message(&mut self, waited_ns: u64) {
        self.first_message.record(waited_ns);
        self.missing.first_messages += 1;
    }

    /// A call is over without its end, `waited_ns` after its last message.
    pub fn no_next_message(&mut self, waited_ns: u64) {
        self.gaps.record(waited_ns);
        self.missing.gaps += 1;
    }

    /// A call is over, and its last message, sent `waited_ns` ago, has no answer.
    pub fn no_answer(&mut self, waited_ns: u64) {
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.record(waited_ns);
            self.missing.round_trips += 1;
        }
    }

    /// The times of first messages.
    #[must_use]
    pub fn first_message_bounds(&self) -> Bounds<'_> {
        Bounds::new(&self.first_message, self.missing.first_messages, 0)
    }

    /// The times from each message to the next one.
    #[must_use]
    pub fn gap_bounds(&self) -> Bounds<'_> {
        Bounds::new(&self.gaps, self.missing.gaps, 0)
    }

    /// The times to answers, where messages are answered one by one.
    #[must_use]
    pub fn round_trip_bounds(&self) -> Option<Bounds<'_>> {
        let round_trips = self.round_trips.as_ref()?;
        Some(Bounds::new(round_trips, self.missing.round_trips, 0))
    }

    /// Adds those of another worker or host.
    pub fn merge(&mut self, other: &Self) {
        self.sent.add(other.sent.messages, other.sent.bytes);
        self.received.add(other.received.messages, other.received.bytes);
        self.cut_calls += other.cut_calls;
        self.missing.first_messages += other.missing.first_messages;
        self.missing.gaps += other.missing.gaps;
        self.missing.round_trips += other.missing.round_trips;
        self.first_message.merge(&other.first_message);
        self.gaps.merge(&other.gaps);
        if let Some(theirs) = &other.round_trips {
            self.round_trips.get_or_insert_default().merge(theirs);
        }
    }
}

/// Adds what others may have, to what may be there.
pub(crate) fn merge_streams(mine: &mut Option<Box<Streams>>, theirs: Option<&Streams>) {
    match (mine, theirs) {
        (_, None) => {}
        (Some(mine), Some(theirs)) => mine.merge(theirs),
        (mine, Some(theirs)) => *mine = Some(Box::new(theirs.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call with this number of messages, a gap, and a round trip if one is given.
    fn streams(messages: u64, round_trip_ns: Option<u64>) -> Streams {
        let mut streams = Streams::new(round_trip_ns.is_some());
        streams.sent.add(1, 10);
        streams.received.add(messages, 7 * messages);
        streams.cut_calls = messages;
        streams.missing.gaps = messages;
        streams.first_message.record(messages);
        streams.gaps.record(100 * messages);
        if let (Some(round_trips), Some(at_ns)) = (&mut streams.round_trips, round_trip_ns) {
            round_trips.record(at_ns);
        }
        streams
    }

    #[test]
    fn sums_are_the_same_in_any_order_and_documents_keep_them() {
        let all = [streams(1, None), streams(2, Some(5)), streams(3, Some(9))];
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let mut sum = None;
            order.iter().for_each(|at| merge_streams(&mut sum, Some(&all[*at])));
            merge_streams(&mut sum, None);
            let sum = sum.expect("there were some");
            assert_eq!((sum.sent.messages, sum.sent.bytes), (3, 30));
            assert_eq!((sum.received.messages, sum.received.bytes, sum.cut_calls), (6, 42, 6));
            assert_eq!((sum.missing.gaps, sum.missing.first_messages), (6, 0));
            assert_eq!((sum.first_message.count(), sum.gaps.max_ns()), (3, Some(300)));
            assert_eq!(sum.round_trips.as_ref().map(Histogram::count), Some(2));
            let text = serde_json::to_string(&sum).expect("plain data");
            assert_eq!(serde_json::from_str::<Streams>(&text).expect("its own"), *sum);
        }
        let text = serde_json::to_string(&Streams::new(false)).expect("plain data");
        assert!(!text.contains("round_trips") && !text.contains("missing"), "{text}");
    }
}
