//! What a connection's progress means for its requests: their moments, their records, and what to
//! do once the connection has read.

use plimsoll_conn::grpc::{CODE_OF_REFUSED, code_of_reset};
use plimsoll_conn::{ExchangeId, Head, Progress, REFUSED, Response};
use plimsoll_core::Phase;
use plimsoll_core::outcome::Outcome;

use super::Accounts;
use crate::error::NOT_PROCESSED;
use crate::exchanges::Exchange;
use crate::transcripts::End;
use crate::user::{Users, Waiting};

/// Takes a connection's progress while it reads.
pub(crate) struct Reading<'w> {
    pub accounts: &'w mut Accounts,
    pub users: &'w mut Users,
    /// The user whose connection reads.
    pub user: u32,
    /// When the bytes were received, as it is recorded.
    pub at_ns: u64,
    /// When they were read, from when on something can follow.
    pub read_ns: u64,
    /// How much of its connection's output the driver has been handed, where requests may be
    /// resumed.
    pub output_bytes: i64,
    pub after: After,
}

impl<'w> Reading<'w> {
    /// What the connection of a user tells at `at_ns`, which resumes no request.
    #[inline]
    pub(crate) fn new(
        accounts: &'w mut Accounts,
        users: &'w mut Users,
        user: u32,
        at_ns: u64,
    ) -> Self {
        let after = After::default();
        Self { accounts, users, user, at_ns, read_ns: at_ns, output_bytes: 0, after }
    }
}

/// What a complete response was found to be.
#[derive(Debug, Clone, Copy)]
struct Judged {
    /// As expected.
    ok: bool,
    redirect: Redirect,
}

/// What becomes of a response that redirects its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Redirect {
    /// The response is no redirect, or the plan follows none.
    None,
    /// Its user learns what comes of that.
    Followed,
    /// It leads where the plan does not go.
    Refused,
}

/// What there is to do afterwards.
#[derive(Debug, Default)]
pub(crate) struct After {
    /// Exchanges that ended.
    pub ended: u64,
    /// Of those, the ones with a complete response.
    pub completed: u64,
    /// Of those, in the measured part.
    pub measured: u64,
    /// A part of a response came, or the server ended a request without one.
    pub responded: bool,
    /// A response was complete before its request was sent whole.
    pub early: bool,
    /// The proxy opened the tunnel.
    pub tunnelled: bool,
    /// The TLS handshake was done.
    pub secured: bool,
    /// The server has said what a client must know before its first request.
    pub greeted: bool,
    /// The server allows more exchanges at a time.
    pub room: bool,
}

impl Reading<'_> {
    #[inline]
    pub(crate) fn step(&mut self, progress: Progress<'_>) {
        let accounts = &mut *self.accounts;
        self.after.responded |= progress.is_of_response();
        match progress {
            Progress::FirstByte(id) => accounts.exchanges[id].moments.first_byte_ns = self.at_ns,
            Progress::Resumed { exchange, waiting_bytes } => {
                let end_bytes = self.output_bytes + waiting_bytes as i64;
                accounts.resumed(exchange, end_bytes, self.at_ns);
            }
            Progress::Complete(id, response) => self.complete(id, response),
            Progress::Head(id, head) => self.head(id, head),
            Progress::Body(id, piece) => accounts.body(id, piece, self.at_ns),
            Progress::Trailers(id, fields) => {
                if accounts.wants.transcripts
                    && let Some(inspection) = accounts.exchanges.inspection(id)
                {
                    inspection.kept().trailers(fields.clone());
                }
                if let Some(calls) = &mut accounts.calls {
                    calls.trailers(id, fields);
                }
            }
            Progress::Interim(id, status) => {
                let exchange = &mut accounts.exchanges[id];
                exchange.moments.first_byte_ns = 0;
                if status == 100 && exchange.withholds {
                    accounts.released.push(id);
                }
            }
            Progress::Refused(id, kind) => self.refused(id, kind),
            Progress::Reset(id, kind) => {
                let sample = || "the server gave up on the request".to_owned();
                self.fail(id, kind, Outcome::Broken, sample);
            }
            Progress::Broken(id, error) => {
                self.fail(id, error.kind(), Outcome::Broken, || error.to_string());
            }
            Progress::Message(id) => accounts.message(id),
            Progress::Pushed { bytes, beside } => {
                if let Some(id) = beside {
                    accounts.exchanges[id].moments.first_byte_ns = 0;
                }
                accounts.observer.recorder_at(self.at_ns).pushed.message(bytes);
            }
            Progress::Decompressed(sizes) => {
                let recorder = accounts.observer.recorder_at(self.at_ns);
                recorder.compression.received.message(sizes);
            }
            Progress::Ping => accounts.observer.recorder_at(self.at_ns).pushed.pings += 1,
            Progress::Tunnelled => self.after.tunnelled = true,
            Progress::Secured => self.after.secured = true,
            Progress::Greeted => self.after.greeted = true,
            Progress::Room => self.after.room = true,
        }
    }

    #[inline]
    fn head(&mut self, id: ExchangeId, head: &Head<'_>) {
        let Accounts { exchanges, calls, notes, wants, judge, .. } = &mut *self.accounts;
        if let Some(calls) = calls {
            calls.head(id, head);
        }
        if let Some(notes) = notes {
            notes.head(id, head);
        }
        if wants.cookies {
            self.users[self.user].cookies.take(head);
        }
        let checks = judge.checks(exchanges[id].target);
        if let Some(inspection) = exchanges.inspection(id) {
            inspection.head(head, checks, *wants);
        }
    }

    /// Writes down a complete response.
    #[inline]
    fn complete(&mut self, id: ExchangeId, response: Response) {
        let accounts = &mut *self.accounts;
        let exchange = accounts.exchanges.end(id);
        self.after.ended += 1;
        self.after.completed += 1;
        self.after.early |= exchange.withholds;
        let checks = accounts.judge.checks(exchange.target);
        let mut ok = checks.meets(response.status, response.body_bytes);
        if let Some(calls) = &accounts.calls {
            ok &= calls.is_met(id, checks);
        }
        let mut judged = Judged { ok, redirect: Redirect::None };
        if !judged.ok || accounts.wants.judges() {
            judged = self.judge(id, &exchange, response);
        }
        if judged.redirect != Redirect::None && self.accounts.wants.joins_redirects {
            // Its account is closed with the last response. Without that it has none.
            if judged.redirect == Redirect::Refused {
                self.accounts.lose(id, &exchange, self.at_ns, Outcome::Broken);
            }
            return;
        }
        self.after.measured += u64::from(exchange.measured);
        let is_followed = judged.redirect == Redirect::Followed;
        let outcome = self.accounts.completed(id, &exchange, response, judged, self.at_ns);
        if !is_followed {
            self.accounts.tell(id, &exchange, outcome, self.read_ns);
        }
    }

    /// Looks at all there is to a response.
    #[cold]
    fn judge(&mut self, id: ExchangeId, exchange: &Exchange, response: Response) -> Judged {
        let Response { status, body_bytes } = response;
        let Accounts { exchanges, calls, observer, wants, judge, .. } = &mut *self.accounts;
        let checks = judge.checks(exchange.target);
        let meets = checks.meets(status, body_bytes);
        let mut unmet = if meets { None } else { checks.unmet(status, body_bytes) };
        if let Some(calls) = calls {
            unmet = unmet.or_else(|| calls.unmet(id, checks));
        }
        let mut redirect = Redirect::None;
        if let Some(inspection) = exchanges.inspection(id) {
            unmet = unmet.or_else(|| inspection.unmet(checks));
            if wants.redirects {
                match judge.redirection(inspection, exchange, status) {
                    Ok(None) => {}
                    Ok(Some(hop)) => {
                        // Expectations apply to the place it leads to.
                        unmet = None;
                        redirect = Redirect::Followed;
                        let joins = wants.joins_redirects;
                        let next = Waiting::redirected(exchange, hop, self.at_ns, joins);
                        self.users.wait(self.user, next);
                    }
                    // That it was not followed says more than that its status is a redirect's.
                    Err(refused) => {
                        unmet = Some(refused);
                        redirect = Redirect::Refused;
                    }
                }
            }
        }
        let ok = redirect == Redirect::Followed || (meets && unmet.is_none());
        let words = unmet.as_ref().map(|unmet| unmet.text.clone()).filter(|_| wants.transcripts);
        if let Some(unmet) = unmet {
            let recorder = observer.recorder(exchange.measured);
            recorder.error(Phase::Receiving, unmet.kind, 1, || unmet.text);
        }
        if wants.transcripts {
            let outcome = Outcome::Completed { status, ok };
            let is_redirected = redirect == Redirect::Followed;
            let end = End { outcome, at_ns: self.at_ns, unmet: words, is_redirected };
            self.accounts.witness_end(id, exchange, end);
        }
        Judged { ok, redirect }
    }

    /// The server has not processed a request: it waits to be sent again, if the plan wants that.
    #[cold]
    fn refused(&mut self, id: ExchangeId, kind: &'static str) {
        // A GOAWAY with an error code is an answer: asking the same again would not mend it.
        if kind == REFUSED
            && let Some(waiting) = self.accounts.again(id)
        {
            self.after.ended += 1;
            self.users.wait(self.user, waiting);
            return;
        }
        self.fail(id, kind, Outcome::Refused, || match kind.strip_prefix("goaway:") {
            Some(code) => format!("{NOT_PROCESSED}: it ended the connection with {code}"),
            None => NOT_PROCESSED.to_owned(),
        });
    }

    /// Writes down an exchange that the server ended without a whole response.
    #[cold]
    fn fail(
        &mut self,
        id: ExchangeId,
        kind: &'static str,
        outcome: Outcome,
        sample: impl FnOnce() -> String,
    ) {
        let accounts = &mut *self.accounts;
        let exchange = accounts.exchanges.end(id);
        self.after.ended += 1;
        let recorder = accounts.observer.recorder(exchange.measured);
        recorder.error(exchange.phase(), kind, 1, sample);
        if accounts.calls.is_some() {
            recorder.called(match outcome {
                Outcome::Refused => CODE_OF_REFUSED,
                _ => code_of_reset(kind),
            });
        }
        recorder.ended(&exchange.moments, self.at_ns, outcome, exchange.place);
        accounts.lost(id, &exchange, [exchange.moments.sent_ns, self.at_ns], outcome);
        accounts.tell(id, &exchange, outcome, self.read_ns);
    }
}

impl Accounts {
    /// A response without a head begins.
    #[inline]
    fn message(&mut self, id: ExchangeId) {
        let checks = self.judge.checks(self.exchanges[id].target);
        if let Some(inspection) = self.exchanges.inspection(id) {
            inspection.begin(checks);
        }
    }

    /// A piece of a response's body has come at `at_ns`.
    #[inline]
    fn body(&mut self, id: ExchangeId, piece: &[u8], at_ns: u64) {
        if let Some(calls) = &mut self.calls {
            let arrived = calls.body(id, piece);
            self.arrived(id, arrived, at_ns);
        }
        let Self { exchanges, wants, judge, .. } = self;
        let checks = judge.checks(exchanges[id].target);
        let is_checked = wants.checks && checks.needs_body();
        if (is_checked || wants.body || wants.transcripts)
            && let Some(inspection) = exchanges.inspection(id)
        {
            inspection.body(piece, checks, *wants);
        }
    }

    /// Closes the account of an exchange with a complete response; gives how it ended.
    #[inline]
    fn completed(
        &mut self,
        id: ExchangeId,
        exchange: &Exchange,
        response: Response,
        Judged { mut ok, redirect }: Judged,
        at_ns: u64,
    ) -> Outcome {
        let Self { exchanges, observer, notes, wants, resumes, .. } = self;
        if wants.checks
            && !*resumes
            && let Some(inspection) = exchanges.inspection(id)
        {
            inspection.forget_response();
        }
        if let Some(notes) = &mut *notes
            && let Some(unmet) = notes.complete(id, exchange, response, at_ns)
        {
            ok = false;
            let recorder = observer.recorder(exchange.measured);
            recorder.error(Phase::Receiving, unmet.kind, 1, || unmet.text);
        }
        if let Some(notes) = notes {
            notes.ended(exchange, at_ns, Some(response), ok);
        }
        if exchange.measured {
            observer.answered(at_ns, ok, exchange.place);
        }
        let mut moments = exchange.moments;
        // The completion of the send may be reported after the response, or not at all when the
        // server answered early.
        if moments.written_ns == 0 || moments.written_ns > moments.first_byte_ns {
            moments.written_ns = moments.first_byte_ns;
        }
        let end = self.call_end(id, ok);
        self.call_over(id, exchange, end, [exchange.moments.sent_ns, at_ns]);
        let Self { stalls, calls, observer, .. } = self;
        let outcome = Outcome::Completed { status: response.status, ok };
        let recorder = observer.recorder(exchange.measured);
        if exchange.was_held_back
            && let Some(stalled_ns) = stalls.end(id, moments.written_ns)
        {
            recorder.stalled(&moments, stalled_ns);
        }
        if let Some(calls) = calls {
            recorder.called(calls.code(id));
        }
        recorder.ended(&moments, at_ns, outcome, exchange.place);
        if redirect == Redirect::Followed && self.resumes {
            self.exchanges.free(id);
        }
        outcome
    }
}
