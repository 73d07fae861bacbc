//! Notes of a worker: details beside its record, for views that print what other testers print.
//!
//! A worker takes notes only if the plan asks for details. Other runs pay for testing one pointer
//! per response, and nothing more.

use plimsoll_conn::{Head, Response};
use plimsoll_core::Plan;
use plimsoll_core::details::{Details, DetailsPlan, FirstResponse, RATE_WINDOW_NS, RequestTimes};

use crate::checks::Unmet;
use crate::exchanges::Exchange;

/// How much of a `Server` field is kept.
const SERVER_BYTES_MAX: usize = 200;

/// Room for the times of this many requests is allocated at the start; a longer run allocates more.
const REQUESTS_ROOM: u64 = 10_000_000;

/// A worker's notes.
#[derive(Debug)]
pub(crate) struct Notes {
    wanted: DetailsPlan,
    details: Details,
    measured_ns: u64,
    /// The `Server` field of the first head.
    server: Option<String>,
    first_body_bytes: Option<u64>,
    /// When the window of the rate began, and how many responses there were then.
    window: (u64, u64),
}

impl Notes {
    /// Notes for a plan that wants some.
    pub(crate) fn of(plan: &Plan) -> Option<Box<Self>> {
        let wanted = plan.details;
        let room = if wanted.requests {
            plan.requests.unwrap_or(0).min(REQUESTS_ROOM) as usize
        } else {
            0
        };
        wanted.any().then(|| {
            Box::new(Self {
                wanted,
                details: Details { requests: Vec::with_capacity(room), ..Details::default() },
                measured_ns: 0,
                server: None,
                first_body_bytes: None,
                window: (u64::MAX, 0),
            })
        })
    }

    pub(crate) fn start(&mut self, measured_ns: u64) {
        self.measured_ns = measured_ns;
        self.window = (measured_ns, 0);
    }

    /// When the rate is to be taken next.
    pub(crate) fn window_end_ns(&self) -> u64 {
        if self.wanted.worker_rates {
            self.window.0.saturating_add(RATE_WINDOW_NS)
        } else {
            u64::MAX
        }
    }

    /// Takes the rate if it is time: `completed` responses of the measured part so far.
    #[inline]
    pub(crate) fn turn(&mut self, now_ns: u64, completed: u64) {
        if now_ns < self.window_end_ns() {
            return;
        }
        let (since_ns, before) = self.window;
        let rate = (completed - before) as f64 * 1e9 / (now_ns - since_ns) as f64;
        self.details.worker_rates.record(rate.round() as u64);
        self.window = (now_ns, completed);
    }

    /// A response's head has come.
    #[inline]
    pub(crate) fn head(&mut self, head: &Head<'_>) {
        if self.wanted.responses && self.server.is_none() {
            let mut servers = head.fields().filter(|(name, _)| name.eq_ignore_ascii_case("server"));
            let (_, server) = servers.next().unwrap_or(("", b""));
            let kept = &server[..server.len().min(SERVER_BYTES_MAX)];
            self.server = Some(String::from_utf8_lossy(kept).into_owned());
        }
    }

    /// A response is complete. Says what is wrong with its length, if that is looked at.
    #[inline]
    pub(crate) fn complete(
        &mut self,
        exchange: &Exchange,
        response: Response,
        at_ns: u64,
    ) -> Option<Unmet> {
        let Response { status, body_bytes } = response;
        if exchange.measured && self.wanted.responses {
            self.details.body_bytes += body_bytes;
            if self.details.first.is_none() {
                self.details.first = Some(FirstResponse {
                    at_ns: at_ns.saturating_sub(self.measured_ns),
                    status,
                    server: self.server.clone().unwrap_or_default(),
                    body_bytes,
                });
            }
        }
        if exchange.measured && self.wanted.requests {
            self.details.requests.push(self.times(exchange, at_ns));
        }
        let first_bytes = *self.first_body_bytes.get_or_insert(body_bytes);
        (self.wanted.same_length && body_bytes != first_bytes).then(|| Unmet {
            kind: "length",
            text: format!("{body_bytes} bytes of body, {first_bytes} in the first response"),
        })
    }

    fn times(&self, exchange: &Exchange, at_ns: u64) -> RequestTimes {
        let moments = &exchange.moments;
        let written_ns = match moments.written_ns {
            0 => moments.first_byte_ns,
            written_ns => written_ns.min(moments.first_byte_ns),
        };
        RequestTimes {
            start_ns: moments.started_ns.saturating_sub(self.measured_ns),
            // The recorder counts what is out of order.
            connect_ns: moments.sent_ns.saturating_sub(moments.started_ns),
            waiting_ns: moments.first_byte_ns.saturating_sub(written_ns),
            total_ns: at_ns.saturating_sub(moments.started_ns),
        }
    }

    /// Counts responses that left their connection open for another request.
    #[inline]
    pub(crate) fn kept_alive(&mut self, responses: u64) {
        self.details.kept_alive += responses;
    }

    pub(crate) fn into_details(self) -> Details {
        self.details
    }
}
