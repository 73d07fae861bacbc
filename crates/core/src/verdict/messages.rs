//! Finds messages that were taken for what they may not be: sent for arrived, pushed for a reply,
//! or one of several answers for the answer.

use super::{Cause, Evidence, Verdict, cause, note, share};
use crate::units::{counted, format_count};

/// From one message in a thousand on, a p99.9 may be of something else.
const SUSPECT: f64 = 0.001;

/// What was seen of messages, where requests are messages or carry several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageFacts {
    /// Times that a connection whose messages await no reply ended, and the server had not said
    /// that it had read all.
    pub unconfirmed_closes: u64,
    /// Messages that the server pushed, where the next message is taken for the reply.
    pub pushed_beside_next: u64,
    /// Answers beyond one for each message that was sent, where each waits for that of the one
    /// before.
    pub extra_answers: u64,
    /// Calls that the server ended with OK before all of their messages were sent.
    pub cut_calls: u64,
    /// Connections on which the server was offered compression.
    pub compression_offered: u64,
    /// Of those, the ones on which it did not agree.
    pub compression_declined: u64,
}

/// Messages were on their way when a connection ended, and whether they arrived is not known.
pub(super) fn unconfirmed(e: &Evidence) -> Option<Cause> {
    let closes = e.messages.unconfirmed_closes;
    if closes == 0 {
        return None;
    }
    let text = format!(
        "{} with messages that await no reply ended before the server had said that it has read \
         all: those on their way may be lost and count as ok",
        counted(closes, "connection")
    );
    cause(Verdict::Suspect, "unconfirmed", text)
}

/// The server pushes while nothing waits for a reply, so it may have done so while something did.
pub(super) fn pushed_replies(e: &Evidence) -> Option<Cause> {
    let pushed = e.messages.pushed_beside_next;
    if pushed == 0 || share(pushed, e.completed.max(1)) < SUSPECT {
        return None;
    }
    let text = format!(
        "the server pushed {} of its own: one that came while a message waited was taken for its \
         reply; say what a reply looks like (--ws-reply match:REGEX)",
        counted(pushed, "message")
    );
    cause(Verdict::Suspect, "pushed_replies", text)
}

pub(super) fn extra_answers(e: &Evidence) -> Option<Cause> {
    let extra = e.messages.extra_answers;
    if extra == 0 || share(extra, e.completed.max(1)) < SUSPECT {
        return None;
    }
    let text = format!(
        "the server answered with {} more than it was sent: round trips end with the first answer \
         that comes, so they are too short",
        counted(extra, "message")
    );
    cause(Verdict::Suspect, "extra_answers", text)
}

/// A server may end a call when it has seen enough.
pub(super) fn cut_calls(e: &Evidence) -> Option<Cause> {
    let cut = e.messages.cut_calls;
    if cut == 0 {
        return None;
    }
    let text = format!(
        "the server ended {} of {} with OK before all of their messages were sent",
        format_count(cut),
        counted(e.completed, "call")
    );
    note("cut_calls", text)
}

/// A server may decline; then messages are longer than the plan says.
pub(super) fn uncompressed(e: &Evidence) -> Option<Cause> {
    let declined = e.messages.compression_declined;
    if declined == 0 {
        return None;
    }
    let text = format!(
        "the server declined compression on {} of {}: their messages went uncompressed",
        format_count(declined),
        counted(e.messages.compression_offered.max(declined), "connection")
    );
    note("uncompressed", text)
}
