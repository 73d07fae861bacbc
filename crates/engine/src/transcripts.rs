//! The transcripts of a worker: its first request and the first that fails, for users who want to
//! see them.
//!
//! While something is still missing, each exchange keeps the beginning of its response
//! ([`Kept`]), because nobody knows before its end whether it fails. Requests are not kept: they
//! are functions of their number, so the text of one is made again after the run. Once there is
//! nothing to wait for, exchanges keep nothing any more.

use plimsoll_conn::{Encoding, Filling, Hop};
use plimsoll_core::Phase;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::recorder::Moments;
use plimsoll_core::secret::Masks;
use plimsoll_core::transcript::{
    Line, Message, Received, Times, Transcript, Transcripts, request, response, secrets, trailers,
};

use crate::exchanges::Exchange;
use crate::kept::Kept;
use crate::source::Prepared;

/// How an exchange ended.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub outcome: Outcome,
    pub at_ns: u64,
    /// What was not as expected, if that is known in words.
    pub unmet: Option<String>,
    /// Whether its request goes on somewhere else.
    pub is_redirected: bool,
}

/// An exchange that has ended and is to be shown.
#[derive(Debug, Clone)]
struct Seen {
    exchange: Exchange,
    hop: Option<Hop>,
    kept: Kept,
    end: End,
}

/// What a worker has seen of the exchanges that are wanted.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    first_number: Option<u64>,
    first: Vec<Seen>,
    has_first: bool,
    failed: Option<Seen>,
}

impl Witness {
    /// A request begins.
    pub(crate) fn begun(&mut self, number: u64) {
        self.first_number.get_or_insert(number);
    }

    /// An exchange has ended. Says whether there is more to wait for.
    pub(crate) fn ended(
        &mut self,
        exchange: &Exchange,
        hop: Option<&Hop>,
        kept: &Kept,
        end: End,
    ) -> bool {
        let is_first = !self.has_first && self.first_number == Some(exchange.number);
        let is_failed = self.failed.is_none() && failed(end.outcome);
        let is_redirected = end.is_redirected;
        if is_first || is_failed {
            let (hop, kept) = (hop.filter(|_| exchange.hops > 0).cloned(), kept.clone());
            let seen = Seen { exchange: *exchange, hop, kept, end };
            if is_failed {
                self.failed = Some(seen.clone());
            }
            if is_first {
                self.has_first = !is_redirected;
                self.first.push(seen);
            }
        }
        !(self.has_first && self.failed.is_some())
    }

    /// What was seen, in the form that users see. `address` names an origin's route.
    pub(crate) fn transcripts<E: Encoding>(
        &self,
        prepared: &Prepared<E>,
        masks: &Masks,
        address: impl Fn((usize, u16)) -> String,
    ) -> Transcripts {
        let transcript = |seen: &Seen| seen.transcript(prepared, masks, &address);
        Transcripts {
            first: self.first.iter().map(transcript).collect(),
            failed: self.failed.as_ref().map(transcript),
        }
    }
}

/// Whether a request failed. One that was cut off with the run did not.
fn failed(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Completed { ok: true, .. } | Outcome::Unfinished)
}

impl Seen {
    fn transcript<E: Encoding>(
        &self,
        prepared: &Prepared<E>,
        masks: &Masks,
        address: impl Fn((usize, u16)) -> String,
    ) -> Transcript {
        let Self { exchange, kept, end, .. } = self;
        let line = kept.line.map(|line| Line {
            address: address(line.place),
            protocol: line.protocol.to_owned(),
            tls: line.tls.map(|(version, cipher)| format!("{version}, {cipher}")),
            carried: line.carried,
        });
        let (text, head_bytes, bytes) = self.sent(prepared);
        let mut request = request(masks, &text, head_bytes);
        request.body.bytes = bytes - head_bytes as u64;
        let secrets = secrets(masks, &text, head_bytes);
        Transcript {
            number: exchange.number,
            hops: exchange.hops,
            request,
            line,
            response: self.response(masks, &secrets),
            trailers: trailers(masks, &kept.trailers),
            times: self.times(),
            ended_ns: end.at_ns,
            outcome: end.outcome,
            failure: self.failure(),
        }
    }

    /// The text of its request, how much of that is head, and how long the request was.
    fn sent<E: Encoding>(&self, prepared: &Prepared<E>) -> (Vec<u8>, usize, u64) {
        let Self { exchange, hop, kept, .. } = self;
        if exchange.is_written {
            let end = kept.written.windows(4).position(|part| part == b"\r\n\r\n");
            let head_bytes = end.map_or(kept.written.len(), |at| at + 4);
            return (kept.written.clone(), head_bytes, kept.written_bytes as u64);
        }
        let filling = Filling {
            number: exchange.number,
            cookies: &kept.cookies,
            hop: hop.as_ref(),
            messages: kept.messages,
        };
        let mut text = Vec::new();
        let encoding = &prepared.target(exchange.target).encoding;
        let head_bytes = encoding.write_text(&filling, &mut text);
        let bytes = text.len() as u64;
        (text, head_bytes, bytes)
    }

    fn response(&self, masks: &Masks, secrets: &[String]) -> Option<Message> {
        let Kept { head, body, body_bytes, status, has_begun, line, .. } = &self.kept;
        if !has_begun {
            return None;
        }
        let headless = Received { start: body, bytes: *body_bytes, ..Received::default() };
        if head.is_empty() {
            return Some(response(masks, secrets, headless));
        }
        // HTTP/2 has no first line, and the decoder leaves it empty.
        let end = head.windows(2).position(|part| part == b"\r\n").map_or(head.len(), |at| at + 2);
        let (first, rest) = head.split_at(end);
        let first = String::from_utf8_lossy(first).trim_end().to_owned();
        let is_http2 = line.is_some_and(|line| line.protocol == "h2");
        let first = if first.is_empty() && is_http2 { format!("HTTP/2 {status}") } else { first };
        let received = Received { first_line: Some(first), fields: rest, ..headless };
        Some(response(masks, secrets, received))
    }

    fn times(&self) -> Times {
        let Self { exchange: Exchange { moments, .. }, kept, end, .. } = self;
        let Moments { intended_ns, started_ns, sent_ns, first_byte_ns, .. } = *moments;
        let between = |from_ns: u64, to_ns: u64| {
            (from_ns > 0 && to_ns > 0).then(|| to_ns.saturating_sub(from_ns))
        };
        // As the recorder has it: the completion of a send may be told after the response.
        let written_ns = match moments.written_ns {
            0 => first_byte_ns,
            written_ns if first_byte_ns > 0 => written_ns.min(first_byte_ns),
            written_ns => written_ns,
        };
        let opening = kept.line.filter(|line| line.carried == 0);
        let is_whole = matches!(end.outcome, Outcome::Completed { .. });
        let ended_ns = if is_whole { end.at_ns } else { 0 };
        let service_from_ns = if sent_ns > 0 { sent_ns } else { started_ns };
        Times {
            connect_ns: opening.and_then(|it| between(it.began_ns, it.reached_ns)),
            tls_ns: opening
                .filter(|it| it.tls.is_some())
                .and_then(|it| between(it.reached_ns, it.secured_ns)),
            sending_ns: between(sent_ns, written_ns),
            waiting_ns: between(written_ns, first_byte_ns),
            receiving_ns: between(first_byte_ns, ended_ns),
            response_ns: end.at_ns.saturating_sub(intended_ns),
            service_ns: end.at_ns.saturating_sub(service_from_ns),
        }
    }

    /// Why it failed, in words.
    fn failure(&self) -> Option<String> {
        let End { outcome, unmet, .. } = &self.end;
        let phase = self.exchange.phase();
        let text = match outcome {
            Outcome::Completed { ok: true, .. } | Outcome::Unfinished => return None,
            Outcome::Completed { status, .. } => {
                return Some(match unmet {
                    Some(unmet) => unmet.clone(),
                    None => format!("status {status}, expected below 400"),
                });
            }
            Outcome::Refused => "the server did not process the request",
            _ if self.kept.line.is_none() => "no connection could be opened for it",
            Outcome::TimedOut if phase == Phase::Receiving => "no whole response in time",
            Outcome::TimedOut => "no response in time",
            Outcome::Broken if phase == Phase::Receiving => "the response broke off",
            Outcome::Broken => "the connection ended before the response",
        };
        Some(text.to_owned())
    }
}
