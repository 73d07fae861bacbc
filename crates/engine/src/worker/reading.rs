//! What a connection's progress means for its requests: their moments, their records, and what to
//! do once the received bytes have been released.

use plimsoll_conn::{Progress, Response};
use plimsoll_core::Phase;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::recorder::Moments;

use crate::dialog::{Dialog, Wants};
use crate::exchanges::{Exchange, ExchangeId, Exchanges};
use crate::judge::Judge;
use crate::notes::Notes;
use crate::observer::Observer;
use crate::scripted::Scripted;

/// Borrowed from the worker while a connection reads.
pub(super) struct Reading<'w> {
    pub exchanges: &'w mut Exchanges,
    pub observer: &'w mut Observer,
    pub judge: &'w Judge,
    pub dialog: Option<&'w mut Dialog>,
    pub wants: Wants,
    pub notes: Option<&'w mut Notes>,
    pub script: Option<&'w mut Scripted>,
    pub at_ns: u64,
    pub after: After,
}

/// What there is to do afterwards.
#[derive(Debug, Default)]
pub(super) struct After {
    /// Responses that became complete.
    pub completed: usize,
    /// Of those, in the measured part.
    pub measured: u64,
    /// The proxy opened the tunnel.
    pub tunnelled: bool,
    /// The TLS handshake was done.
    pub secured: bool,
    /// The request that goes on to where its response has sent it.
    pub follow: Option<Exchange>,
}

impl Reading<'_> {
    #[inline]
    pub(super) fn step(&mut self, progress: Progress<'_, ExchangeId>) {
        match progress {
            Progress::FirstByte(id) => self.exchanges[id].moments.first_byte_ns = self.at_ns,
            Progress::Complete(id, response) => self.complete(id, response),
            Progress::Head(id, head) => {
                if let Some(notes) = &mut self.notes {
                    notes.head(head);
                }
                if let Some(dialog) = &mut self.dialog {
                    let checks = self.judge.checks(self.exchanges[id].target);
                    dialog.head(head, checks, self.wants);
                }
            }
            Progress::Body(id, piece) => {
                let checks = self.judge.checks(self.exchanges[id].target);
                let is_checked = self.wants.checks && checks.needs_body();
                if (is_checked || self.wants.script_body)
                    && let Some(dialog) = &mut self.dialog
                {
                    dialog.body(piece, checks, self.wants);
                }
            }
            Progress::Interim(_, status) => {
                if let Some(dialog) = self.dialog.as_mut().filter(|_| status == 100) {
                    dialog.released = dialog.withheld;
                }
            }
            Progress::Tunnelled => self.after.tunnelled = true,
            Progress::Secured => self.after.secured = true,
        }
    }

    /// Writes down a complete response.
    #[inline]
    fn complete(&mut self, id: ExchangeId, response: Response) {
        let exchange = self.exchanges.end(id);
        self.after.completed += 1;
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
            let (head, body) = self.dialog.as_ref().map_or((&[][..], &[][..]), |d| d.response());
            script.response(response.status, head, body);
        }
        if !ok || self.wants.judges() {
            ok = self.judge(&exchange, response);
        }
        if let Some(dialog) = self.dialog.as_mut().filter(|_| self.wants.script_body) {
            dialog.forget_response();
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

    /// Looks at all there is to a response; says what was not as expected.
    #[cold]
    fn judge(&mut self, exchange: &Exchange, response: Response) -> bool {
        let Response { status, body_bytes } = response;
        let checks = self.judge.checks(exchange.target);
        let meets = checks.meets(status, body_bytes);
        let mut unmet = if meets { None } else { checks.unmet(status, body_bytes) };
        if let Some(dialog) = &mut self.dialog {
            unmet = unmet.or_else(|| dialog.unmet(checks));
            if self.wants.redirects {
                let led = self.judge.redirection(dialog, exchange, status);
                match led {
                    Ok(hop) => {
                        if hop.is_some() {
                            // Expectations apply to the place it leads to.
                            unmet = None;
                            let moments = Moments { intended_ns: self.at_ns, ..Moments::default() };
                            let hops = exchange.hops + 1;
                            self.after.follow = Some(Exchange { moments, hops, ..*exchange });
                        }
                        dialog.hop = hop;
                    }
                    Err(refused) => unmet = unmet.or(Some(refused)),
                }
            }
        }
        let ok = self.after.follow.is_some() || (meets && unmet.is_none());
        if let Some(unmet) = unmet {
            let recorder = self.observer.recorder(exchange.measured);
            recorder.error(Phase::Receiving, unmet.kind, 1, || unmet.text);
        }
        ok
    }
}
