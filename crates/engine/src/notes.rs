//! Notes of a worker: details beside its record, for views that print what other testers print.
//!
//! A worker takes notes only if the plan asks for details. Other runs pay for testing one pointer
//! per response, and nothing more.

use plimsoll_conn::{ExchangeId, Head, Response};
use plimsoll_core::Plan;
use plimsoll_core::details::{
    CALLS_KEPT_MAX, Call, Calls, Details, DetailsPlan, FirstResponse, RATE_WINDOW_NS, RequestTimes,
};

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
    /// Bytes of the head that came last for each exchange, if calls are noted.
    head_bytes: Vec<u32>,
    /// How many calls each entry of the pool has had, if calls are kept.
    numbers: Vec<u32>,
    /// The worker, among a number of them.
    worker: (u32, u32),
}

impl Notes {
    /// Notes of a worker for a plan that wants some, with room for `exchanges_max` requests under
    /// way; more than that allocate.
    pub(crate) fn of(plan: &Plan, worker: u32, exchanges_max: usize) -> Option<Box<Self>> {
        let wanted = &plan.details;
        let room = if wanted.requests {
            plan.requests.unwrap_or(0).min(REQUESTS_ROOM) as usize
        } else {
            0
        };
        wanted.any_notes().then(|| {
            Box::new(Self {
                wanted: wanted.clone(),
                details: Details {
                    requests: Vec::with_capacity(room),
                    calls: wanted.calls.as_ref().map(|plan| Box::new(Calls::new(plan))),
                    ..Details::default()
                },
                measured_ns: 0,
                server: None,
                first_body_bytes: None,
                window: (u64::MAX, 0),
                head_bytes: vec![0; if wanted.calls.is_some() { exchanges_max } else { 0 }],
                numbers: Vec::new(),
                worker: (worker, plan.workers),
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
    pub(crate) fn head(&mut self, id: ExchangeId, head: &Head<'_>) {
        if self.details.calls.is_some() {
            let at = id.0 as usize;
            if at >= self.head_bytes.len() {
                self.head_bytes.resize(at + 1, 0);
            }
            self.head_bytes[at] = head.lines().len() as u32;
        }
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
        id: ExchangeId,
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
        if exchange.measured
            && let Some(calls) = &mut self.details.calls
        {
            let head_bytes = self.head_bytes.get(id.0 as usize).copied().unwrap_or(0).into();
            let body_bytes = signed(body_bytes);
            calls.head_bytes.record(head_bytes);
            calls.body_bytes.record(body_bytes);
            calls.response_bytes.record(body_bytes.saturating_add(head_bytes));
        }
        let first_bytes = *self.first_body_bytes.get_or_insert(body_bytes);
        (self.wanted.same_length && body_bytes != first_bytes).then(|| Unmet {
            kind: "length",
            text: format!("{body_bytes} bytes of body, {first_bytes} in the first response"),
        })
    }

    /// A request has ended: with a response that is as expected, or otherwise.
    #[inline]
    pub(crate) fn ended(
        &mut self,
        exchange: &Exchange,
        at_ns: u64,
        response: Option<Response>,
        ok: bool,
    ) {
        let Some(calls) = self.details.calls.as_mut().filter(|_| exchange.measured) else { return };
        let taken_ns = signed(at_ns.saturating_sub(exchange.moments.started_ns));
        calls.taken.record(taken_ns);
        if !ok {
            calls.failed.record(taken_ns);
        }
        if self.wanted.calls.as_ref().is_some_and(|wanted| wanted.keeps_calls) {
            let user = exchange.client.place();
            let call = Call {
                start_ns: exchange.moments.started_ns.saturating_sub(self.measured_ns),
                taken_ns: taken_ns as u64,
                connection: connection(self.worker, user),
                number: 0,
                status: response.map_or(0, |response| response.status),
                is_answered: response.is_some(),
                is_ok: ok,
            };
            self.keep(call, user);
        }
    }

    /// Keeps a call, if there is room.
    fn keep(&mut self, mut call: Call, user: u32) {
        let Some(calls) = self.details.calls.as_mut() else { return };
        let at = user as usize;
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, 0);
        }
        call.number = self.numbers[at];
        self.numbers[at] += 1;
        match calls.kept.len() < CALLS_KEPT_MAX {
            true => calls.kept.push(call),
            false => calls.unkept += 1,
        }
    }

    /// A request has ended without a whole response.
    pub(crate) fn lost(&mut self, exchange: &Exchange, at_ns: u64) {
        self.ended(exchange, at_ns, None, false);
        if let Some(calls) = self.details.calls.as_mut().filter(|_| exchange.measured) {
            for sizes in [&mut calls.head_bytes, &mut calls.body_bytes, &mut calls.response_bytes] {
                sizes.record(0);
            }
        }
    }

    /// A connection that has been free since `free_ns` takes a request that is due at `due_ns`. Its
    /// first one has not been waited for.
    #[inline]
    pub(crate) fn took(&mut self, free_ns: u64, due_ns: u64) {
        let Some(calls) = self.details.calls.as_mut() else { return };
        if free_ns > self.measured_ns {
            calls.idle.record(signed(due_ns).saturating_sub(signed(free_ns)));
            calls.behind += u64::from(due_ns < free_ns);
        }
    }

    /// The worker's connection of this number came about, to one of the addresses.
    pub(crate) fn connected(&mut self, number: u32, address: u16, took_ns: u64) {
        let Some(calls) = &mut self.details.calls else { return };
        let number = connection(self.worker, number);
        calls.connects.record(signed(took_ns));
        calls.opens.entry((number, address)).or_default().record(took_ns);
    }

    /// All addresses that there have been.
    pub(crate) fn take_addresses(&mut self, names: &[String]) {
        if let Some(calls) = &mut self.details.calls {
            calls.addresses = names.to_vec();
        }
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

/// The connection of the run that is a worker's connection of this number.
fn connection((worker, workers): (u32, u32), number: u32) -> u32 {
    number * workers.max(1) + worker
}

/// A time or a size as buckets take it.
#[inline]
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
