//! A user of the server, as one entry of the pool plays it: what outlives its exchanges.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use plimsoll_conn::{Head, Hop};
use plimsoll_core::recorder::Moments;

use crate::deadlines::Deadlines;
use crate::exchanges::Exchange;
use crate::id::ConnectionId;

/// Cookies kept for a user, and the longest name and value of one together.
const COOKIES_MAX: usize = 64;
const COOKIE_BYTES_MAX: usize = 4096;

/// The users of a worker.
#[derive(Debug)]
pub(crate) struct Users {
    users: Vec<User>,
    /// Requests that wait for their connection, of all users.
    waiting: usize,
    /// Whose requests are to be sent again on any connection, a user for each of them. Some may
    /// have been sent on their own connection meanwhile.
    movable: VecDeque<u32>,
    /// Whether users have nothing of their own that requests depend on.
    are_alike: bool,
    /// When to look at which of them, because what waits may be late.
    deadlines: Deadlines,
    /// How long an exchange may take, ns.
    timeout_ns: u64,
}

/// What outlives the exchanges of a user.
#[derive(Debug, Default)]
pub(crate) struct User {
    pub cookies: Cookies,
    /// Requests whose connection cannot take them yet: they go next.
    waiting: VecDeque<Waiting>,
    /// A request that the source has written, to be sent when its connection is open, and whether
    /// it is a HEAD.
    pub written: Option<(Vec<u8>, bool)>,
}

/// A request that waits for its connection.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub exchange: Exchange,
    /// Where it was redirected to, if it was.
    pub hop: Option<Hop>,
    pub course: Course,
}

/// How a request relates to what was sent before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// It begins an exchange.
    Anew,
    /// It goes on with the exchange that it was redirected from, whose times go on.
    Joined,
    /// It is sent again, because the server has not processed it: the exchange goes on.
    Again,
}

impl Course {
    /// Whether it goes on with an exchange that was begun.
    pub(crate) fn goes_on(self) -> bool {
        self != Self::Anew
    }
}

impl Waiting {
    /// The request that goes on to where the response to `exchange` sends it at `at_ns`. If it
    /// `joins` the exchange, the times of that go on.
    pub(crate) fn redirected(exchange: &Exchange, hop: Hop, at_ns: u64, joins: bool) -> Self {
        let moments = match joins {
            true => Moments { first_byte_ns: 0, ..exchange.moments },
            false => Moments { intended_ns: at_ns, ..Moments::default() },
        };
        let hops = exchange.hops + 1;
        let exchange = Exchange {
            moments,
            hops,
            withholds: false,
            was_held_back: false,
            end_bytes: i64::MAX,
            ..*exchange
        };
        let course = if joins { Course::Joined } else { Course::Anew };
        Self { exchange, hop: Some(hop), course }
    }

    /// The request of `exchange` once more, which the server has not processed. It was due when it
    /// was due; service begins when it is sent again.
    pub(crate) fn resent(exchange: &Exchange, hop: Option<Hop>) -> Self {
        let moments = Moments { sent_ns: 0, written_ns: 0, first_byte_ns: 0, ..exchange.moments };
        let exchange = Exchange {
            moments,
            withholds: false,
            was_held_back: false,
            end_bytes: i64::MAX,
            ..*exchange
        };
        Self { exchange, hop, course: Course::Again }
    }
}

impl Users {
    /// Users whose exchanges may each take as long as `timeout_ns`. If they `are_alike`, the
    /// connection of one can carry what another's has not.
    pub(crate) fn new(count: u32, timeout_ns: u64, are_alike: bool) -> Self {
        Self {
            users: (0..count).map(|_| User::default()).collect(),
            waiting: 0,
            movable: VecDeque::new(),
            are_alike,
            deadlines: Deadlines::new(count as usize),
            timeout_ns,
        }
    }

    /// How many requests wait for their connection.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// A request has to wait for its connection. If it is a part of an exchange that has begun,
    /// the time for that goes on.
    pub(crate) fn wait(&mut self, user: u32, waiting: Waiting) {
        if waiting.course.goes_on() {
            self.deadlines.watch(user, late_ns(&waiting, self.timeout_ns));
        }
        let is_movable = waiting.course == Course::Again && waiting.hop.is_none();
        if is_movable && self.are_alike && waiting.exchange.origin == 0 {
            self.movable.push_back(user);
        }
        self[user].waiting.push_back(waiting);
        self.waiting += 1;
    }

    /// Whether a request may wait that any connection can carry.
    #[inline]
    pub(crate) fn has_movable(&self) -> bool {
        !self.movable.is_empty()
    }

    /// The request that goes next on any connection.
    pub(crate) fn take_movable(&mut self) -> Option<Waiting> {
        while let Some(user) = self.movable.pop_front() {
            let waiting = &mut self[user].waiting;
            let at = waiting.iter().position(|it| it.course == Course::Again);
            if let Some(taken) = at.and_then(|at| waiting.remove(at)) {
                self.waiting -= 1;
                return Some(taken);
            }
        }
        None
    }

    /// Whether a request waits for an entry of the pool.
    #[inline]
    pub(crate) fn has_waiting(&self, user: u32, entry: ConnectionId) -> bool {
        self.waiting > 0 && self[user].waiting.iter().any(|it| it.exchange.client == entry)
    }

    /// The request that goes next on an entry of the pool.
    pub(crate) fn take_waiting(&mut self, user: u32, entry: ConnectionId) -> Option<Waiting> {
        let waiting = &mut self[user].waiting;
        let at = waiting.iter().position(|it| it.exchange.client == entry)?;
        let taken = waiting.remove(at)?;
        self.waiting -= 1;
        Some(taken)
    }

    /// When something that waits may be late; `u64::MAX` without such.
    #[inline]
    pub(crate) fn next_late_ns(&self) -> u64 {
        self.deadlines.next_ns()
    }

    /// A request that waits still though the time of its exchange was over by `by_ns`.
    pub(crate) fn take_late(&mut self, by_ns: u64) -> Option<Waiting> {
        let timeout_ns = self.timeout_ns;
        while let Some(user) = self.deadlines.pop(by_ns) {
            let waiting = &mut self[user].waiting;
            let at = waiting.iter().position(|it| late_ns(it, timeout_ns) <= by_ns);
            let late = at.and_then(|at| waiting.remove(at));
            let next_ns = waiting.iter().map(|it| late_ns(it, timeout_ns)).min();
            if let Some(next_ns) = next_ns.filter(|next_ns| *next_ns < u64::MAX) {
                self.deadlines.watch(user, next_ns);
            }
            if late.is_some() {
                self.waiting -= 1;
                return late;
            }
        }
        None
    }

    /// All requests that wait.
    pub(crate) fn drain_waiting(&mut self) -> impl Iterator<Item = Waiting> {
        self.waiting = 0;
        self.users.iter_mut().flat_map(|user| user.waiting.drain(..))
    }
}

/// When the time of the exchange that a request is a part of is over; `u64::MAX` if it has yet to
/// begin.
fn late_ns(waiting: &Waiting, timeout_ns: u64) -> u64 {
    match waiting.course.goes_on() {
        true => waiting.exchange.moments.started_ns.saturating_add(timeout_ns),
        false => u64::MAX,
    }
}

impl Index<u32> for Users {
    type Output = User;

    #[inline]
    fn index(&self, user: u32) -> &User {
        &self.users[user as usize]
    }
}

impl IndexMut<u32> for Users {
    #[inline]
    fn index_mut(&mut self, user: u32) -> &mut User {
        &mut self.users[user as usize]
    }
}

/// A user's cookies.
///
/// Absent on purpose: what a browser knows of a cookie beyond name, value and end (paths, domains,
/// dates).
#[derive(Debug, Default)]
pub(crate) struct Cookies {
    pairs: Vec<(String, String)>,
    /// All of them as the value of a field, made anew when they change.
    value: Vec<u8>,
}

impl Cookies {
    /// The value of the Cookie field to send; empty without cookies.
    pub(crate) fn value(&self) -> &[u8] {
        &self.value
    }

    /// Takes the cookies that a response sets.
    pub(crate) fn take(&mut self, head: &Head<'_>) {
        let mut is_changed = false;
        for (name, value) in head.fields() {
            if name.eq_ignore_ascii_case("set-cookie") {
                self.set(value);
                is_changed = true;
            }
        }
        if is_changed {
            self.write_value();
        }
    }

    fn set(&mut self, value: &[u8]) {
        let Ok(text) = std::str::from_utf8(value) else {
            return;
        };
        let (pair, attributes) = text.split_once(';').unwrap_or((text, ""));
        let Some((name, value)) = pair.split_once('=') else {
            return;
        };
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || name.len() + value.len() > COOKIE_BYTES_MAX {
            return;
        }
        self.pairs.retain(|(known, _)| known != name);
        if !is_expired(attributes) && self.pairs.len() < COOKIES_MAX {
            self.pairs.push((name.to_owned(), value.to_owned()));
        }
    }

    fn write_value(&mut self) {
        self.value.clear();
        for (i, (name, value)) in self.pairs.iter().enumerate() {
            let before: &[u8] = if i == 0 { b"" } else { b"; " };
            for part in [before, name.as_bytes(), b"=", value.as_bytes()] {
                self.value.extend_from_slice(part);
            }
        }
    }
}

/// A cookie is taken back with an age of nothing. Dates are not read.
fn is_expired(attributes: &str) -> bool {
    attributes.split(';').filter_map(|attribute| attribute.split_once('=')).any(|(name, value)| {
        let age = value.trim().parse::<i64>();
        name.trim().eq_ignore_ascii_case("max-age") && age.is_ok_and(|age_s| age_s <= 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_kept_replaced_and_taken_back() {
        let mut cookies = Cookies::default();
        let mut set = |value: &[u8]| {
            let lines = [b"HTTP/1.1 200 OK\r\nSet-Cookie: ", value, b"\r\n\r\n"].concat();
            cookies.take(&Head::new(200, &lines));
            String::from_utf8_lossy(cookies.value()).into_owned()
        };
        for (value, line) in [
            (&b"a=1; Path=/; HttpOnly"[..], "a=1"),
            (b"b=two", "a=1; b=two"),
            (b"a=3", "b=two; a=3"),
            (b"b=; Max-Age=0", "a=3"),
            (b"a=; max-age=-1", ""),
            (b"novalue", ""),
            (b"=x", ""),
            (b"\xff=1", ""),
            (&[b'a'; 5000], ""),
        ] {
            assert_eq!(set(value), line, "{}", String::from_utf8_lossy(value));
        }
        for n in 0..100 {
            set(format!("c{n}=1").as_bytes());
        }
        assert_eq!(cookies.pairs.len(), COOKIES_MAX);
    }
}
