//! Which of a worker's users are cut off from the server, and for how long.
//!
//! A user is one of the plan's connections. It is cut off from the start of a connect that failed
//! until a connect succeeds. It is also cut off while it backs off because its connections keep
//! breaking before any answer: a balancer without servers accepts and then closes. In that case a
//! connect alone does not end it; an answer does.
//!
//! At a rate with one request for each connection, whichever entry of the pool a request takes
//! tries to connect, and the others don't know of it. There the worker counts as one user, and any
//! successful connect ends its being cut off. A connect that fails cuts it off only if none has
//! succeeded since that connect began: where some connects hang and others do not, the server can
//! be reached all the time.

use plimsoll_core::outage::Outage;

use crate::id::ConnectionId;

/// A connect that has taken this long when the run ends, and has not come about, is a failed one: a
/// SYN was sent again by then (RFC 6298).
pub(super) const SLOW_CONNECT_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
struct User {
    /// Since when it is cut off; `u64::MAX`: it is not.
    since_ns: u64,
    /// When a connect succeeded that has brought no answer yet; `u64::MAX`: none has.
    until_ns: u64,
    /// Whether what failed was a request's own.
    had_request: bool,
}

impl User {
    const CONNECTED: Self = Self { since_ns: u64::MAX, until_ns: u64::MAX, had_request: false };

    fn cut_off(since_ns: u64, had_request: bool) -> Self {
        Self { since_ns, had_request, ..Self::CONNECTED }
    }

    fn is_cut_off(self) -> bool {
        self.since_ns != u64::MAX
    }

    /// How long it was cut off before `at_ns`, from `from_ns` on.
    fn cut_off_ns(self, from_ns: u64, at_ns: u64) -> u64 {
        at_ns.min(self.until_ns).saturating_sub(self.since_ns.max(from_ns))
    }
}

/// The users of a worker.
#[derive(Debug)]
pub(crate) struct Reach {
    users: Box<[User]>,
    is_one: bool,
    /// How many are cut off.
    cut_off: usize,
    /// When a connect succeeded last, where all connections are one user.
    reached_ns: u64,
    /// When the measured part begins.
    from_ns: u64,
    sum: Outage,
    /// What intervals have been told of.
    told_ns: u64,
}

impl Reach {
    /// For this many connections. `is_one` when whichever connection is free tries to connect, so
    /// that all of them are one user.
    pub(crate) fn new(connections: usize, is_one: bool) -> Self {
        let users = if is_one { 1 } else { connections };
        Self {
            users: vec![User::CONNECTED; users].into(),
            is_one,
            cut_off: 0,
            reached_ns: 0,
            from_ns: u64::MAX,
            sum: Outage::default(),
            told_ns: 0,
        }
    }

    /// The measured part begins at `from_ns`.
    pub(crate) fn start(&mut self, from_ns: u64) {
        self.from_ns = from_ns;
    }

    fn user(&mut self, connection: ConnectionId) -> &mut User {
        let index = if self.is_one { 0 } else { connection.place() as usize };
        &mut self.users[index]
    }

    /// A connect failed that was begun at `since_ns`.
    pub(crate) fn failed(&mut self, connection: ConnectionId, since_ns: u64, had_request: bool) {
        self.settle(connection);
        self.cut_off(connection, since_ns, had_request);
    }

    /// A connection was lost at `at_ns` before it had answered the request on it, and is not opened
    /// again at once. The connect that led to it ended nothing.
    pub(crate) fn lost(&mut self, connection: ConnectionId, at_ns: u64) {
        self.cut_off(connection, at_ns, true);
        self.user(connection).until_ns = u64::MAX;
    }

    fn cut_off(&mut self, connection: ConnectionId, since_ns: u64, had_request: bool) {
        if self.is_one && self.reached_ns > since_ns {
            return;
        }
        let user = self.user(connection);
        if !user.is_cut_off() {
            *user = User::cut_off(since_ns, had_request);
            self.cut_off += 1;
        }
    }

    /// A connect succeeded, or the connection is no longer wanted.
    #[inline]
    pub(crate) fn reached(&mut self, connection: ConnectionId, at_ns: u64) {
        self.reached_ns = at_ns;
        if self.cut_off > 0 {
            let user = self.user(connection);
            if user.is_cut_off() {
                user.until_ns = user.until_ns.min(at_ns);
            }
        }
    }

    /// A response came.
    #[inline]
    pub(crate) fn answered(&mut self, connection: ConnectionId) {
        if self.cut_off > 0 {
            self.settle(connection);
        }
    }

    /// Writes down what is over: a connect came about after it.
    #[cold]
    fn settle(&mut self, connection: ConnectionId) {
        let from_ns = self.from_ns;
        let user = *self.user(connection);
        if user.until_ns == u64::MAX {
            return;
        }
        *self.user(connection) = User::CONNECTED;
        self.cut_off -= 1;
        let for_ns = user.cut_off_ns(from_ns, user.until_ns);
        self.sum.longest_ns = self.sum.longest_ns.max(for_ns);
        self.sum.cut_off_ns += for_ns;
        self.sum.failed_attempts += u64::from(for_ns > 0 && !user.had_request);
    }

    /// For how long users were cut off in an interval that ends at `end_ns`, and the time of as
    /// many as are `active`.
    pub(crate) fn take_interval(&mut self, end_ns: u64, length_ns: u64, active: u32) -> (u64, u64) {
        let mut total_ns = self.sum.cut_off_ns;
        if self.cut_off > 0 {
            let still = self.users.iter().map(|user| user.cut_off_ns(self.from_ns, end_ns));
            total_ns += still.sum::<u64>();
        }
        let told_ns = self.told_ns;
        self.told_ns = told_ns.max(total_ns);
        let users = if self.is_one { 1 } else { u64::from(active) };
        (total_ns.saturating_sub(told_ns), users * length_ns)
    }

    /// All of it, at the end of a window of `window_ns` in which `tried` connections were.
    pub(crate) fn outage(&mut self, window_ns: u64, tried: u64) -> Outage {
        let end_ns = self.from_ns.saturating_add(window_ns);
        for place in 0..self.users.len() as u32 {
            let connection = ConnectionId::nth(place);
            self.reached(connection, end_ns);
            self.settle(connection);
        }
        let users = if self.is_one { tried.min(1) } else { tried };
        let mut outage = Outage { users_ns: users * window_ns, ..self.sum };
        outage.cut_off_ns = outage.cut_off_ns.min(outage.users_ns);
        outage.longest_ns = outage.longest_ns.min(window_ns);
        outage.refresh();
        outage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nth(place: u32) -> ConnectionId {
        ConnectionId::nth(place)
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn users_are_cut_off_from_the_connect_that_failed_to_the_one_that_did_not() {
        let mut reach = Reach::new(4, false);
        reach.failed(nth(0), S, false);
        reach.start(2 * S);
        assert_eq!(reach.take_interval(3 * S, S, 4), (S, 4 * S));
        // Tried again, and again.
        reach.failed(nth(0), 3 * S, false);
        reach.failed(nth(1), 3 * S, true);
        reach.reached(nth(0), 4 * S);
        reach.reached(nth(2), 4 * S);
        assert_eq!(reach.take_interval(4 * S, S, 4), (2 * S, 4 * S));
        let outage = reach.outage(4 * S, 4);
        assert_eq!((outage.cut_off_ns, outage.users_ns), (5 * S, 16 * S));
        assert_eq!((outage.longest_ns, outage.failed_attempts), (3 * S, 1));
        assert!((outage.share - 5.0 / 16.0).abs() < 1e-9);
    }

    #[test]
    fn a_connect_without_an_answer_ends_nothing() {
        let mut reach = Reach::new(2, false);
        reach.start(0);
        // Each connection comes about and is lost again.
        for second in 1..4 {
            reach.lost(nth(0), second * S);
            reach.reached(nth(0), second * S + S / 2);
        }
        assert_eq!(reach.take_interval(4 * S, S, 2), (5 * S / 2, 2 * S));
        reach.answered(nth(0));
        reach.answered(nth(1));
        // A connection that was open and idle lies between these two.
        reach.failed(nth(1), 4 * S, false);
        reach.reached(nth(1), 5 * S);
        reach.failed(nth(1), 8 * S, false);
        let outage = reach.outage(10 * S, 2);
        assert_eq!((outage.cut_off_ns, outage.longest_ns), (5 * S / 2 + 3 * S, 5 * S / 2));
        assert_eq!(outage.failed_attempts, 2);
    }

    #[test]
    fn what_was_over_before_the_measured_part_is_no_outage() {
        let mut reach = Reach::new(1, false);
        reach.failed(nth(0), 0, false);
        reach.reached(nth(0), S);
        reach.start(S);
        reach.failed(nth(0), 3 * S, false);
        assert_eq!(reach.outage(S, 1), Outage { users_ns: S, ..Outage::default() });
    }

    #[test]
    fn any_connect_that_succeeds_ends_it_where_whichever_is_free_tries() {
        let mut reach = Reach::new(64, true);
        reach.start(0);
        reach.failed(nth(5), S, true);
        // Of a connection from before.
        reach.answered(nth(4));
        reach.failed(nth(6), 2 * S, true);
        reach.reached(nth(63), 3 * S);
        let outage = reach.outage(4 * S, 7);
        assert_eq!((outage.cut_off_ns, outage.users_ns), (2 * S, 4 * S));
    }

    #[test]
    fn connects_that_hang_beside_others_that_succeed_cut_nobody_off() {
        let mut reach = Reach::new(64, true);
        reach.start(0);
        for second in 1..5 {
            reach.reached(nth(second), u64::from(second) * S);
            // Begun two seconds ago, and timed out now.
            let now_ns = u64::from(second) * S + S / 2;
            reach.failed(nth(second + 8), now_ns.saturating_sub(2 * S), true);
        }
        assert_eq!(reach.outage(5 * S, 8).cut_off_ns, 0);
        // One that was refused at once, until the next succeeds.
        let mut reach = Reach::new(64, true);
        reach.start(0);
        reach.reached(nth(0), S);
        reach.failed(nth(1), S + S / 2, true);
        reach.reached(nth(2), 2 * S);
        assert_eq!(reach.outage(5 * S, 8).cut_off_ns, S / 2);
    }
}
