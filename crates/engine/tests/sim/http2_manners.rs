//! A random HTTP/2 server: what it does with each request, drawn from a seed.
//!
//! A redirect's place says what the next request has to be: `/7?hop=1&method=GET`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use plimsoll_core::plan::Draft;
use plimsoll_proto::http2::ErrorCode;

use crate::http2_script::{Asked, Change, Fate, Grant, Hello, Reply, WINDOW_BYTES_MAX};
use crate::manners::Manners;
use crate::seeds::Dice;
use crate::world::MS;

/// How often it does what else, in percent of the requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Http2Manners {
    pub common: Manners,
    /// Begins to answer before the request is whole.
    pub early: u64,
    pub redirects: u64,
    pub sets_cookies: u64,
    pub has_trailers: u64,
    pub pads: u64,
    /// Allows fewer streams, or more.
    pub limits: u64,
    /// The longest body of a response, bytes.
    pub body_bytes_max: u64,
}

impl Http2Manners {
    pub(crate) fn random(dice: &mut Dice, plan: &Draft, common: Manners) -> Self {
        let mut share = |most: u64| if dice.chance(50) { dice.between(0, most) } else { 0 };
        let [early, redirects, sets_cookies, has_trailers, pads, limits] =
            [80, 30, 30, 50, 50, 20].map(&mut share);
        // Padding is not counted by the server that is at work here.
        let pads = if plan.http2.window_bytes == WINDOW_BYTES_MAX { pads } else { 0 };
        let body_bytes_max = if dice.chance(70) { 100 } else { 20_000 };
        Self { common, early, redirects, sets_cookies, has_trailers, pads, limits, body_bytes_max }
    }

    pub(crate) fn hello(&self) -> Hello {
        let Manners { streams, hello_ns, window, .. } = self.common;
        Hello {
            after_ns: hello_ns,
            streams: streams as u32,
            window_bytes: window.map_or(WINDOW_BYTES_MAX, |bytes| bytes as u32),
            ..Hello::default()
        }
    }
}

/// What the server has seen of the requests' contents.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Requests that follow a redirect.
    pub followed: u64,
    pub cookies: u64,
    pub wrong: Vec<String>,
}

/// A server's mind.
pub(crate) struct Http2Mind {
    dice: Dice,
    manners: Http2Manners,
    hello: Hello,
    /// How many redirects the client follows.
    redirects: u64,
    method: String,
    cookies: BTreeSet<String>,
    seen: Rc<RefCell<Seen>>,
}

impl Http2Mind {
    pub(crate) fn new(seed: u64, manners: Http2Manners, plan: &Draft) -> (Self, Rc<RefCell<Seen>>) {
        let seen = Rc::new(RefCell::new(Seen::default()));
        let mind = Self {
            dice: Dice::new(seed),
            manners,
            hello: manners.hello(),
            redirects: u64::from(plan.redirects),
            method: plan.request.method.clone(),
            cookies: BTreeSet::new(),
            seen: Rc::clone(&seen),
        };
        (mind, seen)
    }

    /// What it does with a request.
    pub(crate) fn reply(&mut self, asked: &Asked) -> Reply {
        let hops = self.check(asked);
        let Http2Manners { common, .. } = self.manners;
        let dice = &mut self.dice;
        let expects = asked.field("expect").is_some();
        let mut reply = Reply::ok(dice.between(0, 20 * MS));
        reply.lasts_ns = if dice.chance(40) { 0 } else { dice.between(0, 5 * MS) };
        reply.is_early = dice.chance(self.manners.early);
        reply.stops_upload = dice.chance(50);
        reply.has_length = dice.chance(50);
        reply.has_trailers = dice.chance(self.manners.has_trailers);
        reply.padding = dice.chance(self.manners.pads).then(|| dice.between(0, 256) as u8);
        reply.body_bytes = dice.between(5, self.manners.body_bytes_max) as usize;
        let asks = expects && (!reply.is_early || dice.chance(common.continues));
        reply.interim = match asks {
            true => Some((reply.after_ns / 2, 100)),
            false => dice.chance(10).then_some((reply.after_ns / 2, 103)),
        };
        reply.fate = self.fate();
        reply.grants = self.grants(asked);
        reply.change = self.change(asked);
        if reply.fate == Fate::Answered {
            self.answer(asked, hops, &mut reply);
        }
        reply
    }

    fn fate(&mut self) -> Fate {
        const CODES: [ErrorCode; 4] = [
            ErrorCode::CANCEL,
            ErrorCode::INTERNAL_ERROR,
            ErrorCode::NO_ERROR,
            ErrorCode::ENHANCE_YOUR_CALM,
        ];
        let dice = &mut self.dice;
        let Manners { refuses, resets, hangs, .. } = self.manners.common;
        if dice.chance(refuses) {
            return Fate::Refused;
        }
        if dice.chance(hangs) {
            return Fate::Hangs;
        }
        if !dice.chance(resets) {
            return Fate::Answered;
        }
        let code = CODES[dice.between(0, CODES.len() as u64) as usize];
        // A response that has begun was processed, whatever the code says.
        let late = if dice.chance(10) { ErrorCode::REFUSED_STREAM } else { code };
        if dice.chance(50) { Fate::Reset(code) } else { Fate::CutShort(late) }
    }

    /// Room for the part of the body that there is none for yet, in pieces.
    fn grants(&mut self, asked: &Asked) -> Vec<Grant> {
        let window_bytes = u64::from(self.hello.window_bytes);
        let mut left = asked.body_bytes.unwrap_or(0).saturating_sub(window_bytes);
        let (mut after_ns, mut grants) = (0, Vec::new());
        while left > 0 {
            after_ns += self.dice.between(0, 20 * MS);
            let bytes = if grants.len() == 3 { left } else { self.dice.between(1, left + 1) };
            left -= bytes;
            grants.push(Grant { after_ns, bytes: bytes as u32, is_for_all: false });
        }
        grants
    }

    fn change(&mut self, asked: &Asked) -> Option<Change> {
        let dice = &mut self.dice;
        if dice.chance(self.manners.common.says_goodbye) {
            // Streams that it has taken before the client can know.
            let few = dice.between(0, 4) as u32;
            return Some(match dice.chance(50) {
                true => Change::Goodbye(dice.between(0, 10 * MS)),
                false => Change::Abrupt(asked.stream.saturating_sub(2 * few).max(1)),
            });
        }
        if dice.chance(self.manners.limits) {
            return Some(Change::Limit(dice.between(1, 13) as u32));
        }
        dice.chance(5).then_some(Change::Ping)
    }

    /// An answer that is whole, as its client will judge it.
    fn answer(&mut self, asked: &Asked, hops: u64, reply: &mut Reply) {
        let dice = &mut self.dice;
        if dice.chance(self.manners.sets_cookies) {
            let cookie = format!("id={}", asked.number);
            reply.fields.push(("set-cookie", format!("{cookie}; Path=/")));
            self.cookies.insert(cookie);
        }
        if dice.chance(self.manners.redirects) {
            reply.status = [301, 302, 303, 307, 308][dice.between(0, 5) as usize];
            let becomes_get = match reply.status {
                303 => asked.method != "HEAD",
                301 | 302 => asked.method == "POST",
                _ => false,
            };
            let method = if becomes_get { "GET" } else { &asked.method };
            let path = asked.path.split('?').next().unwrap_or_default();
            let place = format!("{path}?hop={}&method={method}", hops + 1);
            reply.fields.push(("location", place));
            // One too many is an error; a client that follows none takes it as it is.
            reply.is_bad = self.redirects > 0 && hops >= self.redirects;
        } else if dice.chance(self.manners.common.fails) {
            reply.status = 500;
            reply.is_bad = true;
        }
    }

    /// Whether a request is what the plan, or the redirect before it, says. Gives the number of
    /// redirects that led to it.
    fn check(&mut self, asked: &Asked) -> u64 {
        let mut seen = self.seen.borrow_mut();
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        let parameter = |name: &str| {
            query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        let hops = parameter("hop").and_then(|hops| hops.parse().ok()).unwrap_or(0);
        let method = parameter("method").unwrap_or(&self.method);
        let number = asked.field("x-number").unwrap_or_default();
        let has_body = asked.body_bytes.is_some();
        let is_right = path.strip_prefix('/') == Some(number)
            && asked.method == method
            && has_body == (method == "POST")
            && (has_body || asked.field("expect").is_none())
            && hops <= self.redirects;
        if !is_right {
            seen.wrong.push(format!("{asked:?}"));
        }
        if let Some(cookie) = asked.field("cookie") {
            seen.cookies += 1;
            if !self.cookies.contains(cookie) {
                seen.wrong.push(format!("a cookie {cookie:?} that nobody set"));
            }
        }
        seen.followed += u64::from(hops > 0);
        hops
    }
}
