//! What a connection's progress means for its requests: their moments, their records, and what to
//! do once the received bytes have been released.

use plimsoll_conn::{ExchangeId, Progress, Response};
use plimsoll_core::Phase;
use plimsoll_core::outcome::Outcome;

use crate::error::REFUSED;
use crate::exchanges::{Exchange, Exchanges};
use crate::inspection::Wants;
use crate::judge::Judge;
use crate::notes::Notes;
use crate::observer::Observer;
use crate::scripted::Scripted;
use crate::user::{Follow, User};

/// Borrowed from the worker while a connection reads.
pub(super) struct Reading<'w> {
    pub exchanges: &'w mut Exchanges,
    pub observer: &'w mut Observer,
    pub judge: &'w Judge,
    pub user: &'w mut User,
    pub released: &'w mut Vec<ExchangeId>,
    pub wants: Wants,
    pub notes: Option<&'w mut Notes>,
    pub script: Option<&'w mut Scripted>,
    pub at_ns: u64,
    pub after: After,
}

/// What there is to do afterwards.
#[derive(Debug, Default)]
pub(super) struct After {
    /// Exchanges that ended.
    pub ended: u64,
    /// Of those, the ones with a complete response.
    pub completed: u64,
    /// Of those, in the measured part.
    pub measured: u64,
    /// Of the completed ones, those that are followed by another because of a redirect.
    pub follows: usize,
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
    pub(super) fn step(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::FirstByte(id) => self.exchanges[id].moments.first_byte_ns = self.at_ns,
            Progress::Complete(id, response) => self.complete(id, response),
            Progress::Head(id, head) => {
                if let Some(notes) = &mut self.notes {
                    notes.head(head);
                }
                if self.wants.cookies {
                    self.user.cookies.take(head);
                }
                let checks = self.judge.checks(self.exchanges[id].target);
                if let Some(inspection) = self.exchanges.inspection(id) {
                    inspection.head(head, checks, self.wants);
                }
            }
            Progress::Body(id, piece) => {
                let checks = self.judge.checks(self.exchanges[id].target);
                let is_checked = self.wants.checks && checks.needs_body();
                if (is_checked || self.wants.script_body)
                    && let Some(inspection) = self.exchanges.inspection(id)
                {
                    inspection.body(piece, checks, self.wants);
                }
            }
            Progress::Interim(id, status) => {
                let exchange = &mut self.exchanges[id];
                exchange.moments.first_byte_ns = 0;
                if status == 100 && exchange.withholds {
                    self.released.push(id);
                }
            }
            Progress::Refused(id) => self.fail(id, REFUSED, Outcome::Refused),
            Progress::Reset(id, kind) => self.fail(id, kind, Outcome::Broken),
            Progress::Tunnelled => self.after.tunnelled = true,
            Progress::Secured => self.after.secured = true,
            Progress::Greeted => self.after.greeted = true,
            Progress::Room => self.after.room = true,
        }
    }

    /// Writes down a complete response.
    #[inline]
    fn complete(&mut self, id: ExchangeId, response: Response) {
        let exchange = self.exchanges.end(id);
        self.after.ended += 1;
        self.after.completed += 1;
        self.after.early |= exchange.withholds;
        self.after.measured += u64::from(exchange.measured);
        let mut moments = exchange.moments;
        // The completion of the send may be reported after the response, or not at all when the
        // server answered early.
        if moments.written_ns == 0 || moments.written_ns > moments.first_byte_ns {
            moments.written_ns = moments.first_byte_ns;
        }
        let checks = self.judge.checks(exchange.target);
        let mut ok = checks.meets(response.status, response.body_bytes);
        if let Some(script) = &mut self.script {
            let kept = self.exchanges.inspection(id);
            let (head, body) = kept.map_or((&[][..], &[][..]), |kept| kept.response());
            script.response(response.status, head, body);
        }
        if !ok || self.wants.judges() {
            ok = self.judge(id, &exchange, response);
        }
        if self.wants.script_body
            && let Some(inspection) = self.exchanges.inspection(id)
        {
            inspection.forget_response();
        }
        if let Some(notes) = &mut self.notes
            && let Some(unmet) = notes.complete(&exchange, response, self.at_ns)
        {
            ok = false;
            let recorder = self.observer.recorder(exchange.measured);
            recorder.error(Phase::Receiving, unmet.kind, 1, || unmet.text);
        }
        let Response { status, .. } = response;
        let outcome = Outcome::Completed { status, ok };
        if exchange.measured {
            self.observer.answered(self.at_ns, ok, exchange.place);
        }
        self.observer.recorder(exchange.measured).ended(
            &moments,
            self.at_ns,
            outcome,
            exchange.place,
        );
    }

    /// Writes down an exchange that the server ended without a whole response.
    #[cold]
    fn fail(&mut self, id: ExchangeId, kind: &'static str, outcome: Outcome) {
        let exchange = self.exchanges.end(id);
        self.after.ended += 1;
        let recorder = self.observer.recorder(exchange.measured);
        recorder.error(exchange.phase(), kind, 1, || match outcome {
            Outcome::Refused => "the server said that it did not process the request".to_owned(),
            _ => "the server gave up on the request".to_owned(),
        });
        recorder.ended(&exchange.moments, self.at_ns, outcome, exchange.place);
    }

    /// Looks at all there is to a response; says whether it is as expected.
    #[cold]
    fn judge(&mut self, id: ExchangeId, exchange: &Exchange, response: Response) -> bool {
        let Response { status, body_bytes } = response;
        let checks = self.judge.checks(exchange.target);
        let meets = checks.meets(status, body_bytes);
        let mut unmet = if meets { None } else { checks.unmet(status, body_bytes) };
        let mut is_followed = false;
        if let Some(inspection) = self.exchanges.inspection(id) {
            unmet = unmet.or_else(|| inspection.unmet(checks));
            if self.wants.redirects {
                match self.judge.redirection(inspection, exchange, status) {
                    Ok(None) => {}
                    Ok(Some(hop)) => {
                        // Expectations apply to the place it leads to.
                        unmet = None;
                        is_followed = true;
                        self.user.follows.push_back(Follow::of(exchange, hop, self.at_ns));
                        self.after.follows += 1;
                    }
                    Err(refused) => unmet = unmet.or(Some(refused)),
                }
            }
        }
        let ok = is_followed || (meets && unmet.is_none());
        if let Some(unmet) = unmet {
            let recorder = self.observer.recorder(exchange.measured);
            recorder.error(Phase::Receiving, unmet.kind, 1, || unmet.text);
        }
        ok
    }
}
