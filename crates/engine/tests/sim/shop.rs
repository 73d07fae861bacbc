//! What the tests of iterations are made of: a source whose users send several requests to two
//! origins, in groups, with a metric of its own, and the servers that they go to. Both write down
//! what they said and saw.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use plimsoll_core::metric::{GROUP_DURATION, Kind, MetricId, Registry, Tags};
use plimsoll_core::outcome::Outcome;
use plimsoll_engine::source::{Answer, Interest, Reply, Request, Sample, Source, Step, Written};
use plimsoll_io::Address;
use plimsoll_io::sim::{Peer, PeerActions, PeerConn};

use crate::seeds::Dice;
use crate::world::MS;

/// Where the second origin is.
pub(crate) const ELSEWHERE: &str = "192.0.2.2:8080";

/// What a source has said, and what it was told.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub begun: u64,
    pub done: u64,
    /// Requests asked for, by origin.
    pub asked: [u64; 2],
    /// Requests that were told of as ended, and how many of them with a response.
    pub ended: u64,
    pub completed: u64,
    pub slept: u64,
    pub woken: u64,
    /// The values that it recorded, by how many of its requests the user had answered.
    pub recorded: BTreeMap<u64, u64>,
    /// Requests asked for within each group, and how often each was entered and left.
    pub grouped: [u64; 2],
    pub entered: [u64; 2],
    pub left_groups: [u64; 2],
    /// For how long users slept within each, ns.
    pub slept_in_ns: [u64; 2],
    /// Requests under way when their iteration was said to be done: nobody is told of them.
    pub left: u64,
    /// Answers that named a request which was not open, or another body than its own.
    pub wrong: Vec<String>,
}

/// What a user is to do yet in its iteration, the next last.
#[derive(Debug, Default)]
pub(crate) struct Shopper {
    steps: Vec<Step>,
    open: Vec<u32>,
    groups: Vec<usize>,
    answered: u64,
}

/// The groups of a shop: the second is always within the first.
pub(crate) const GROUPS: [&str; 2] = ["::visit", "::visit::pay"];

/// Iterations of three requests with sleeps between, or of two at once, or of nothing.
pub(crate) struct Shop {
    pub dice: Dice,
    pub shoppers: BTreeMap<u32, Shopper>,
    pub next_tag: u32,
    pub basket: MetricId,
    pub said: Said,
}

impl Shop {
    pub(crate) fn new(seed: u64, basket: MetricId) -> Self {
        let (dice, shoppers) = (Dice::new(seed), BTreeMap::new());
        Self { dice, shoppers, next_tag: 0, basket, said: Said::default() }
    }

    /// The metrics that it records, and the number of its own.
    pub(crate) fn metrics() -> (Registry, MetricId) {
        let mut registry = Registry::default();
        registry.declare(GROUP_DURATION, Kind::TimeTrend).unwrap();
        let basket = registry.declare("basket", Kind::Trend).unwrap();
        (registry, basket)
    }

    fn request(&mut self, user: u32, origin: u16) -> Request {
        self.next_tag += 1;
        let tag = self.next_tag;
        let shopper = self.shoppers.entry(user).or_default();
        shopper.open.push(tag);
        if let Some(group) = shopper.groups.last() {
            self.said.grouped[*group] += 1;
        }
        self.said.asked[usize::from(origin)] += 1;
        // A target for each origin, whose path tells which it is.
        Request { origin, target: u32::from(origin), tag }
    }

    fn sleep(&mut self) -> Step {
        Step::Sleep(self.dice.between(1, 30) * MS)
    }

    /// The next step of a user.
    fn next(&mut self, user: u32) -> Step {
        let step = self.shoppers.entry(user).or_default().steps.pop().unwrap_or(Step::Done);
        match step {
            Step::Send(planned) => Step::Send(self.request(user, planned.origin)),
            Step::Begin(planned) => Step::Begin(self.request(user, planned.origin)),
            Step::Sleep(sleep_ns) => {
                self.said.slept += 1;
                for group in &self.shoppers.entry(user).or_default().groups {
                    self.said.slept_in_ns[*group] += sleep_ns;
                }
                step
            }
            Step::Record(sample) => {
                let answered = self.shoppers.entry(user).or_default().answered;
                *self.said.recorded.entry(answered).or_default() += 1;
                // What it is tagged with is what it is.
                let tags = Some(answered as u32);
                Step::Record(Sample { tags, value: answered as f64, ..sample })
            }
            Step::Enter(group) => {
                self.shoppers.entry(user).or_default().groups.push(group as usize);
                self.said.entered[group as usize] += 1;
                step
            }
            Step::Leave => {
                if let Some(group) = self.shoppers.entry(user).or_default().groups.pop() {
                    self.said.left_groups[group] += 1;
                }
                step
            }
            Step::Done => {
                self.said.done += 1;
                let shopper = self.shoppers.entry(user).or_default();
                self.said.left += shopper.open.len() as u64;
                *shopper = Shopper::default();
                step
            }
            _ => step,
        }
    }

    fn take(&mut self, user: u32, answer: &Answer<'_>) {
        self.said.ended += 1;
        let shopper = self.shoppers.entry(user).or_default();
        match shopper.open.iter().position(|tag| *tag == answer.tag) {
            Some(at) => drop(shopper.open.remove(at)),
            None => self.said.wrong.push(format!("{} is not open", answer.tag)),
        }
        if shopper.open.len() as u32 != answer.open {
            let open = &shopper.open;
            self.said.wrong.push(format!("{} open, not {open:?}", answer.open));
        }
        if let Outcome::Completed { .. } = answer.outcome {
            self.said.completed += 1;
            shopper.answered += 1;
            if answer.body != b"one" && answer.body != b"other" {
                self.said.wrong.push(format!("a body {:?}", answer.body));
            }
        }
    }
}

impl Source for Shop {
    const RESUMES: bool = true;
    const COUNTS_ITERATIONS: bool = true;

    fn rest(&mut self, _user: u32) -> Step {
        Step::Done
    }

    fn begin(&mut self, user: u32, _number: u64) -> Step {
        self.said.begun += 1;
        let send = |origin| Step::Send(Request { origin, target: 0, tag: 0 });
        let begin = |origin| Step::Begin(Request { origin, target: 0, tag: 0 });
        let (first, second) = (self.sleep(), self.sleep());
        let count = Step::Record(Sample { metric: self.basket, tags: None, value: 0.0 });
        let (visit, pay, leave) = (Step::Enter(0), Step::Enter(1), Step::Leave);
        let mut steps = match self.dice.between(0, 10) {
            0 => vec![],
            1 => vec![begin(0), begin(1), Step::Wait, count],
            2 => vec![visit, begin(1), begin(1), Step::Wait, first, leave, leave],
            3 => vec![visit, begin(0), begin(1)],
            _ => {
                let first_half = [visit, send(0), first, send(1), count];
                [&first_half[..], &[pay, second, send(0), leave, leave, count]].concat()
            }
        };
        steps.reverse();
        self.shoppers.entry(user).or_default().steps = steps;
        self.next(user)
    }

    fn resume(&mut self, user: u32, reply: Reply<'_>) -> Step {
        match reply {
            Reply::Taken => {}
            Reply::Woken => self.said.woken += 1,
            Reply::Ended(answer) => {
                self.take(user, &answer);
                if answer.open > 0 {
                    return Step::Wait;
                }
            }
        }
        self.next(user)
    }

    fn interest(&self) -> Interest {
        Interest { response: true, head: false, body: true }
    }

    fn written(&self) -> (&[u8], &[Written]) {
        (&[], &[])
    }

    fn tags(&self, number: u32) -> Tags {
        [("answered", number.to_string())].into_iter().collect()
    }

    fn group(&self, number: u32) -> String {
        GROUPS[number as usize].to_owned()
    }

    fn is_over(&self) -> bool {
        false
    }
}

/// What a server at two addresses saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Requests that came to each address.
    pub requests: [u64; 2],
    /// Those that came again, after a redirect.
    pub again: [u64; 2],
    pub wrong: Vec<String>,
}

/// A server at two addresses, which answers after a while.
pub(crate) struct Servers {
    pub dice: Dice,
    pub hangs: u64,
    /// Whether every request is sent on, once, to the same server by its full name.
    pub redirects: bool,
    pub lines: BTreeMap<PeerConn, (usize, Vec<u8>)>,
    pub seen: Rc<RefCell<Seen>>,
}

impl Peer for Servers {
    fn connecting(&mut self, conn: PeerConn, to: &Address) {
        let at = usize::from(to.to_string() == ELSEWHERE);
        self.lines.insert(conn, (at, Vec::new()));
    }

    fn connected(&mut self, _now_ns: u64, _conn: PeerConn, _out: &mut PeerActions) {}

    fn received(&mut self, _now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        let Some((at, received)) = self.lines.get_mut(&conn) else { return };
        received.extend_from_slice(bytes);
        while let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = received.drain(..end + 4).collect();
            let mut seen = self.seen.borrow_mut();
            let name = ["one", "other"][*at];
            if head.starts_with(format!("GET /{name}?again ").as_bytes()) {
                seen.again[*at] += 1;
                let body = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", name.len());
                out.send(self.dice.between(1, 10) * MS, body + name);
                continue;
            }
            seen.requests[*at] += 1;
            let path = [&b"GET /one "[..], b"GET /other "][*at];
            if !head.starts_with(path) {
                seen.wrong.push(format!("{} at {at}", String::from_utf8_lossy(&head)));
            }
            if self.redirects {
                let server = ["192.0.2.1", "elsewhere.example:8080"][*at];
                let location = format!("Location: http://{server}/{name}?again");
                let text = format!("HTTP/1.1 302 Found\r\n{location}\r\nContent-Length: 0\r\n\r\n");
                out.send(self.dice.between(1, 10) * MS, text);
            } else if !self.dice.chance(self.hangs) {
                let length = name.len();
                let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{name}");
                out.send(self.dice.between(1, 10) * MS, text);
            }
        }
    }

    fn closed(&mut self, _now_ns: u64, conn: PeerConn) {
        self.lines.remove(&conn);
    }
}
