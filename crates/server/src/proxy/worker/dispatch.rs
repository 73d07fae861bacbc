//! Which upstream connection a request gets (an idle one, a new one, or a place in a queue), and
//! what becomes of the request when that connection fails.
//!
//! A request is sent again only if that is safe. Either no byte of it was sent, because the connect
//! failed; or it is idempotent and buffered whole, and its connection had been used before and died
//! without a byte of an answer. The second kind is sent again only once, on a new connection.

use plimsoll_io::{Close, Driver};

use super::super::deadline::Owner;
use super::super::exchange::State;
use super::super::link;
use super::super::upstreams::Outcome;
use super::ProxyWorker;

impl<D: Driver> ProxyWorker<D> {
    /// Gives a request to an upstream that it has not failed at.
    #[inline]
    pub(super) fn dispatch(&mut self, now_ns: u64, index: usize) {
        let exchange = &self.exchanges[index];
        match self.pools.choose(now_ns, exchange.facts.hash, exchange.tried) {
            Some(upstream) => self.dispatch_to(now_ns, index, upstream),
            None => self.answer_unreachable(now_ns, index),
        }
    }

    #[inline]
    fn dispatch_to(&mut self, now_ns: u64, index: usize, upstream: usize) {
        let exchange = &mut self.exchanges[index];
        exchange.upstream = upstream as u8;
        let wants_new = exchange.was_failed;
        let pool = &mut self.pools.pools[upstream];
        if !wants_new && let Some(link) = pool.idle.pop() {
            pool.busy += 1;
            return self.attach(now_ns, index, link as usize, true);
        }
        if pool.free.is_empty()
            && let Some(&link) = pool.idle.first()
        {
            self.close_idle(link as usize);
        }
        let pool = &mut self.pools.pools[upstream];
        match pool.free.pop() {
            Some(link) => {
                pool.busy += 1;
                self.connect(now_ns, index, link as usize);
            }
            None => self.enqueue(now_ns, index, upstream),
        }
    }

    /// Opens a connection for a request.
    fn connect(&mut self, now_ns: u64, index: usize, link: usize) {
        let socket = self.sockets.link(link);
        self.exchanges[index].link = Some(socket);
        let state = &mut self.links[link];
        state.state = link::State::Connecting;
        state.exchange = index as u32;
        let upstream = usize::from(state.upstream);
        self.counters.upstream_connections += 1;
        self.set_deadline(Owner::Link(link), now_ns.saturating_add(self.rules.timeouts.connect_ns));
        self.wire.driver.connect(socket, &self.routes[upstream]);
    }

    fn enqueue(&mut self, now_ns: u64, index: usize, upstream: usize) {
        let queue_max = self.rules.limits.queue;
        if self.waiting >= queue_max {
            self.pools.learn(upstream, now_ns, Outcome::Neither);
            return self.answer_busy(now_ns, index);
        }
        let Self { exchanges, pools, .. } = self;
        let queue = &mut pools.pools[upstream].queue;
        if queue.len() > queue_max {
            queue.retain(|&(index, ticket)| {
                let exchange = &exchanges[index as usize];
                exchange.is_queued && exchange.ticket == ticket
            });
        }
        let exchange = &mut exchanges[index];
        queue.push_back((index as u32, exchange.ticket));
        exchange.is_queued = true;
        let until_ns = now_ns.saturating_add(self.rules.timeouts.queue_ns);
        let deadline_ns = *exchange.queue_deadline_ns.get_or_insert(until_ns);
        self.waiting += 1;
        self.counters.queued += 1;
        self.set_deadline(Owner::Exchange(index), deadline_ns);
    }

    /// Takes a request out of its queue, if it is in one.
    pub(super) fn leave_queue(&mut self, now_ns: u64, index: usize) {
        let exchange = &mut self.exchanges[index];
        if exchange.is_queued {
            exchange.is_queued = false;
            exchange.ticket = exchange.ticket.wrapping_add(1);
            self.waiting -= 1;
            let upstream = usize::from(exchange.upstream);
            self.pools.learn(upstream, now_ns, Outcome::Neither);
        }
    }

    /// An upstream has room: the request that has waited longest gets it.
    #[inline]
    fn serve_queue(&mut self, now_ns: u64, upstream: usize) {
        if self.waiting > 0 {
            self.serve_waiting(now_ns, upstream);
        }
    }

    fn serve_waiting(&mut self, now_ns: u64, upstream: usize) {
        while let Some(queue) = self.pools.queue_to_serve(upstream) {
            let waiting = &mut self.pools.pools[queue].queue;
            let Some(&(index, ticket)) = waiting.front() else { return };
            let index = index as usize;
            let exchange = &mut self.exchanges[index];
            if !exchange.is_queued || exchange.ticket != ticket {
                waiting.pop_front();
                continue;
            }
            if queue != upstream && exchange.tried & 1 << upstream != 0 {
                return;
            }
            waiting.pop_front();
            exchange.is_queued = false;
            exchange.ticket = exchange.ticket.wrapping_add(1);
            exchange.due.at_ns = u64::MAX;
            self.waiting -= 1;
            return self.dispatch_to(now_ns, index, upstream);
        }
    }

    /// Sends a request, or as much of it as has arrived, on an open connection.
    #[inline]
    fn attach(&mut self, now_ns: u64, index: usize, link: usize, is_reused: bool) {
        let socket = self.sockets.link(link);
        let exchange = &mut self.exchanges[index];
        exchange.state = State::Forwarding;
        exchange.link = Some(socket);
        let host_at = exchange.facts.host_at as usize;
        let is_read = exchange.is_read;
        let state = &mut self.links[link];
        state.begin(index);
        state.is_reused = is_reused;
        let sent = if host_at == 0 {
            self.wire.send(socket, &exchange.request)
        } else {
            let (line, rest) = exchange.request.split_at(host_at);
            self.scratch.clear();
            self.scratch.extend_from_slice(line);
            self.scratch.extend_from_slice(b"Host: ");
            let authority = &self.rules.upstreams[usize::from(state.upstream)].authority;
            self.scratch.extend_from_slice(authority.as_bytes());
            self.scratch.extend_from_slice(b"\r\n");
            self.scratch.extend_from_slice(rest);
            self.wire.send(socket, &self.scratch)
        };
        self.links[link].sent_bytes = sent;
        self.counters.upstream_bytes_sent += sent as u64;
        self.counters.reused += u64::from(is_reused);
        if !(is_reused && is_read) {
            self.exchanges.recycle(index);
        }
        if !is_read {
            self.time_body(now_ns, index);
        }
        self.watch_request(now_ns, index, link);
        if !is_read {
            self.resume_request(now_ns, index);
        }
    }

    pub(super) fn on_link_connected(&mut self, now_ns: u64, link: usize) {
        if self.links[link].state != link::State::Connecting {
            return;
        }
        let upstream = usize::from(self.links[link].upstream);
        let Some(tls) = &self.rules.upstreams[upstream].tls else {
            return self.attach(now_ns, self.links[link].exchange as usize, link, false);
        };
        self.links[link].state = link::State::Handshaking;
        if !self.wire.secure(self.sockets.link(link), tls) {
            self.go_elsewhere(now_ns, link, false, Outcome::Failure);
        }
    }

    /// The handshake made progress.
    pub(super) fn on_link_secured(&mut self, now_ns: u64, link: usize) {
        if !self.wire.is_handshaking(self.sockets.link(link)) {
            self.attach(now_ns, self.links[link].exchange as usize, link, false);
        }
    }

    /// This host could not open a connection, or go on with it. Clients can use up the resources of
    /// the host, so that counts against no upstream.
    #[cold]
    pub(super) fn on_shortage(&mut self, now_ns: u64, link: usize) {
        match self.links[link].state {
            link::State::Connecting => self.go_elsewhere(now_ns, link, false, Outcome::Neither),
            _ => self.on_link_failed(now_ns, link),
        }
    }

    /// A connection could not be opened: the request goes to another upstream.
    pub(super) fn go_elsewhere(
        &mut self,
        now_ns: u64,
        link: usize,
        timed_out: bool,
        outcome: Outcome,
    ) {
        let (index, upstream) = self.links[link].owner();
        self.counters.connect_failures += 1;
        self.learn(now_ns, upstream, outcome);
        let exchange = &mut self.exchanges[index];
        exchange.link = None;
        exchange.tried |= 1 << upstream;
        exchange.timed_out = timed_out;
        self.free_link(link, Close::Reset);
        self.dispatch(now_ns, index);
        self.serve_queue(now_ns, upstream);
    }

    /// A connection failed before a byte of the response arrived. Returns whether the request is
    /// sent again on another one. If `nothing_was_sent`, that is safe for any request.
    pub(super) fn retry(&mut self, now_ns: u64, link: usize, nothing_was_sent: bool) -> bool {
        let (index, upstream) = self.links[link].owner();
        let is_reused = self.links[link].is_reused;
        let exchange = &mut self.exchanges[index];
        let is_safe = exchange.facts.is_idempotent || nothing_was_sent;
        if !is_safe || !is_reused || exchange.was_failed || exchange.request.is_empty() {
            return false;
        }
        exchange.was_failed = true;
        exchange.link = None;
        exchange.state = State::Waiting;
        self.counters.retries += 1;
        self.learn(now_ns, upstream, Outcome::Neither);
        self.free_link(link, Close::Reset);
        self.dispatch(now_ns, index);
        self.serve_queue(now_ns, upstream);
        true
    }

    #[inline]
    pub(super) fn learn(&mut self, now_ns: u64, upstream: usize, outcome: Outcome) {
        self.counters.put_aside += u64::from(self.pools.learn(upstream, now_ns, outcome));
    }

    /// The response on a connection is complete: it may be used again.
    #[inline]
    pub(super) fn release_link(&mut self, now_ns: u64, link: usize) {
        let upstream = usize::from(self.links[link].upstream);
        self.links[link].state = link::State::Idle;
        let pool = &mut self.pools.pools[upstream];
        pool.busy -= 1;
        pool.idle.push(link as u32);
        // The last of the response may have been received before the pause took hold.
        if std::mem::take(&mut self.links[link].is_paused) {
            self.wire.driver.resume_receiving(self.sockets.link(link));
        }
        let keep_alive_ns = self.rules.timeouts.upstream_keep_alive_ns;
        self.set_deadline(Owner::Link(link), now_ns.saturating_add(keep_alive_ns));
        self.serve_queue(now_ns, upstream);
    }

    /// Ends a connection that had, or was to have, a request.
    pub(super) fn close_link(&mut self, now_ns: u64, link: usize, how: Close) {
        let upstream = usize::from(self.links[link].upstream);
        self.free_link(link, how);
        self.serve_queue(now_ns, upstream);
    }

    fn free_link(&mut self, link: usize, how: Close) {
        let upstream = usize::from(self.links[link].upstream);
        self.wire.close(self.sockets.link(link), how);
        self.links[link].clear();
        let pool = &mut self.pools.pools[upstream];
        pool.busy -= 1;
        pool.free.push(link as u32);
    }

    /// Ends a connection that has no request.
    pub(super) fn close_idle(&mut self, link: usize) {
        let upstream = usize::from(self.links[link].upstream);
        let socket = self.sockets.link(link);
        self.wire.say_closed(socket);
        self.wire.close(socket, Close::Graceful);
        self.links[link].clear();
        let pool = &mut self.pools.pools[upstream];
        pool.idle.retain(|&idle| idle != link as u32);
        pool.free.push(link as u32);
    }
}
