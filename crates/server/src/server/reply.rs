//! Outgoing answers: rendering them, sending them in turns, and what happens to the connection
//! then.

use plimsoll_io::{Driver, Payload, SocketId};

use super::Server;
use crate::answer::answer;
use crate::answer::http1::{self, Persistence, Rest};
use crate::connection::State;
use crate::route::{Refusal, Route};
use crate::site::Parts;

/// Bytes of one body handed to the driver before waiting for the kernel to take them.
const TURN_BYTES: usize = 1 << 20;
/// How long a refused client may go on sending, so that the refusal is not lost to a reset.
const LINGER_NS: u64 = 1_000_000_000;

impl<D: Driver> Server<D> {
    /// Sends an answer, or as much of it as goes out at once.
    pub(super) fn reply(&mut self, now_ns: u64, socket: SocketId, error: Option<u16>) {
        let connection = &mut self.connections[socket.index()];
        connection.answers = connection.answers.saturating_add(1);
        let request = connection.request;
        let no_chunks = matches!(request.route, Route::Chunked(_)) && request.minor_version == 0;
        connection.last = !request.keep_alive
            || no_chunks
            || self.deadline_ns.is_some()
            || self.fates.closes_after(connection.answers)
            || connection.work.as_ref().is_some_and(|work| work.site.closes);
        let persistence = match (connection.last, request.minor_version) {
            (true, _) => Persistence::Close,
            (false, 0) => Persistence::KeepAlive10,
            (false, _) => Persistence::KeepAlive,
        };
        connection.channel = None;
        let route = error.map_or(request.route, Route::Status);
        if let Route::Site | Route::Handled | Route::Redirect = route {
            return self.reply_of_site(now_ns, socket, route, persistence);
        }
        self.count_response(route);
        if let Route::Hello | Route::Delay(_) | Route::Queue(_) = route {
            let payload = self.prepared.hello(persistence, request.is_head);
            self.wire.send(socket, payload);
            return self.finish(socket);
        }
        let rest = self.render(socket, route, persistence);
        let payload = Payload::Copied(&self.scratch);
        self.wire.send(socket, payload);
        self.connections[socket.index()].rest = if request.is_head { Rest::Nothing } else { rest };
        self.send_rest(socket);
    }

    /// Sends the answer of a site.
    fn reply_of_site(&mut self, now_ns: u64, socket: SocketId, route: Route, to: Persistence) {
        let connection = &mut self.connections[socket.index()];
        let request = connection.request;
        let Some(work) = &mut connection.work else {
            self.counters.count_response(200);
            if to == Persistence::KeepAlive && !request.is_head {
                let payload = Payload::Copied(self.shaper.plain(now_ns));
                self.wire.send(socket, payload);
            } else {
                let mut parts = Parts::default();
                parts.set(200, Vec::new());
                self.scratch.clear();
                http1::write_site(
                    &mut self.scratch,
                    (&parts, &[]),
                    to,
                    request.is_head,
                    &mut self.shaper,
                    now_ns,
                );
                self.wire.send(socket, Payload::Copied(&self.scratch));
            }
            return self.finish(socket);
        };
        if route == Route::Redirect {
            let location = https_location(&work.head);
            work.body = format!("<a href=\"{location}\">See Other</a>.\n\n").into_bytes();
            let fields = vec![
                ("Content-Type", "text/html; charset=utf-8".to_owned()),
                ("Location", location),
            ];
            work.site.set(303, fields);
        }
        self.counters.count_response(work.site.status.min(599));
        self.scratch.clear();
        let answer = (&work.site, work.body.as_slice());
        let is_head = request.is_head;
        let shaper = &mut self.shaper;
        let rest = http1::write_site(&mut self.scratch, answer, to, is_head, shaper, now_ns);
        self.wire.send(socket, Payload::Copied(&self.scratch));
        self.connections[socket.index()].rest = rest;
        self.send_rest(socket);
    }

    fn count_response(&mut self, route: Route) {
        let status = match route {
            Route::Status(status) => status,
            Route::Refused(refusal) => refusal.status,
            _ => 200,
        };
        self.counters.count_response(status);
    }

    /// Renders the head of an answer, with the body if it is small, and returns what remains.
    fn render(&mut self, socket: SocketId, route: Route, to: Persistence) -> Rest {
        let connection = &self.connections[socket.index()];
        let out = &mut self.scratch;
        out.clear();
        if let (Route::Echo(_), Some(work)) = (route, &connection.work) {
            let is_head = connection.request.is_head;
            return http1::write_echo(out, &work.fields, &work.body, to, is_head);
        }
        let answer = answer(route, connection.peer);
        self.prepared.write(out, &answer, to, connection.request.form())
    }

    pub(super) fn refuse(&mut self, now_ns: u64, socket: SocketId, refusal: Refusal) {
        let is_head = self.connections[socket.index()].request.is_head;
        self.count_response(Route::Refused(refusal));
        self.scratch.clear();
        http1::write_refusal(&mut self.scratch, refusal, is_head);
        self.wire.send(socket, Payload::Copied(&self.scratch));
        self.wire.say_closed(socket);
        if self.connections[socket.index()].ended || self.deadline_ns.is_some() {
            return self.close_when_sent(socket);
        }
        self.linger_for_a_while(now_ns, socket);
    }

    /// Drops what the client sends, until it closes or a time comes.
    pub(super) fn linger_for_a_while(&mut self, now_ns: u64, socket: SocketId) {
        self.connections[socket.index()].state = State::Lingering;
        self.set_timer(socket, now_ns.saturating_add(LINGER_NS));
    }

    /// Goes on sending, one turn's worth at most. The next turn comes when the kernel has taken it.
    pub(super) fn send_rest(&mut self, socket: SocketId) {
        let connection = &mut self.connections[socket.index()];
        let body = connection.work.as_ref().map_or(&[][..], |work| &work.body);
        let mut turn_bytes = 0;
        while turn_bytes < TURN_BYTES {
            let taken = connection.rest.take(&self.prepared, body, &mut self.scratch);
            let Some(payload) = taken else { return self.finish(socket) };
            turn_bytes += payload.len();
            self.wire.send(socket, payload);
        }
        connection.state = State::Sending;
    }

    /// The driver has the whole answer.
    fn finish(&mut self, socket: SocketId) {
        let connection = &mut self.connections[socket.index()];
        connection.rest = Rest::Nothing;
        connection.request.is_head = false;
        if let Some(work) = connection.work.take() {
            self.pool.put(work);
        }
        if connection.last {
            return self.close_when_sent(socket);
        }
        let slow = self.wire.driver.queued_bytes(socket) > self.options.limits.queued_bytes;
        connection.state = if slow { State::Sending } else { State::Open };
    }
}

/// The same place by https, of a request with this head. What could end the attribute or the line
/// is left out.
fn https_location(head: &[u8]) -> String {
    let text = String::from_utf8_lossy(head);
    let target = text.split(' ').nth(1).unwrap_or("/");
    let mut lines = text.lines().skip(1).filter_map(|line| line.split_once(':'));
    let host = lines.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = host.map_or("localhost", |(_, host)| host.trim());
    let is_safe = |c: &char| c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>');
    let path = if target.starts_with('/') { target } else { "/" };
    format!("https://{host}{path}").chars().filter(is_safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_keep_host_and_target() {
        for (head, want) in [
            ("GET /foo?x=1 HTTP/1.1\r\nHost: a:81\r\n\r\n", "https://a:81/foo?x=1"),
            ("GET / HTTP/1.0\r\n\r\n", "https://localhost/"),
            ("GET /\"><b HTTP/1.1\r\nhost: a\r\n\r\n", "https://a/b"),
        ] {
            assert_eq!(https_location(head.as_bytes()), want);
        }
    }
}
