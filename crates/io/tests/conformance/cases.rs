//! The cases that every driver must pass.

use std::net::IpAddr;

use plimsoll_io::{Close, Driver, DriverOptions, Event, Operation, Payload, Route, SocketId, Spin};

use crate::world::{World, assert_same, options, pattern};

/// Makes the driver under test.
pub(crate) type Make<'a, D> = &'a dyn Fn(DriverOptions) -> D;
/// A name and what to run.
pub(crate) type Case<D> = (&'static str, fn(Make<'_, D>));

pub(crate) const MIB: usize = 1024 * 1024;
pub(crate) const LISTENER: SocketId = SocketId(0);
pub(crate) const CLIENT: SocketId = SocketId(1);

pub(crate) fn table<D: Driver>() -> Vec<Case<D>> {
    vec![
        ("connect_and_accept", connect_and_accept),
        ("connect_from_an_address", connect_from_an_address),
        ("local_addresses", local_addresses),
        ("echo", echo),
        ("large_copied", large_copied),
        ("large_registered", large_registered),
        ("sends_keep_their_order", sends_keep_their_order),
        ("sent_once_all_is_taken", sent_once_all_is_taken),
        ("graceful_close_delivers_then_ends", graceful_close_delivers_then_ends),
        ("reset_is_seen_as_reset", reset_is_seen_as_reset),
        ("refused_connect", refused_connect),
        ("close_during_connect", close_during_connect),
        ("token_reuse_shows_nothing_old", token_reuse_shows_nothing_old),
        ("many_at_once", many_at_once),
        ("listener_close", listener_close),
        ("listener_close_hides_what_it_accepted", listener_close_hides_what_it_accepted),
        ("no_token_for_an_accept", no_token_for_an_accept),
        ("deadlines", deadlines),
        ("wait_zero_does_not_sleep", wait_zero_does_not_sleep),
        ("waker", waker),
        ("release_in_any_order", release_in_any_order),
        ("more_than_all_buffers_hold", more_than_all_buffers_hold),
        ("two_listeners", two_listeners),
        ("receive_timestamps", receive_timestamps),
    ]
}

pub(crate) fn world<D: Driver>(make: Make<'_, D>, options: &DriverOptions) -> World<D> {
    World::new(make(options.clone()), options.sockets)
}

fn connect_and_accept<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    world.connect(CLIENT, at);
    let (listener, socket, peer) = world.accept();
    assert_eq!((listener, socket), (LISTENER, SocketId(2)));
    assert_eq!(peer.ip(), at.ip());
    assert_ne!(peer.port(), 0);
    assert_ne!(peer, at);
    world.until("connected", |world| world.of(CLIENT).open);
    world.settle();
    assert!(!world.of(CLIENT).ended && world.of(CLIENT).failed.is_none());
}

fn connect_from_an_address<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 2));
    let at = world.listen(LISTENER);
    for from in [[127, 0, 0, 2], [127, 0, 0, 3]].map(IpAddr::from) {
        world.connect(CLIENT, Route { to: at.into(), from: Some(from) });
        let (_, _, peer) = world.accept();
        assert_eq!(peer.ip(), from);
        world.until("connected", |world| world.of(CLIENT).open);
        world.close(CLIENT, Close::Graceful);
    }
}

fn local_addresses<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 2));
    assert_eq!(world.driver.local_address(CLIENT), None);
    let at = world.listen(LISTENER);
    assert_eq!(world.driver.local_address(LISTENER), Some(at));
    assert_eq!(world.driver.tcp_info(LISTENER), None);
    world.connect(CLIENT, at);
    let (_, server, peer) = world.accept();
    world.until("connected", |world| world.of(CLIENT).open);
    assert_eq!(world.driver.local_address(CLIENT), Some(peer));
    assert_eq!(world.driver.local_address(server), Some(at));
    world.close(CLIENT, Close::Graceful);
    assert_eq!(world.driver.local_address(CLIENT), None);
    assert_eq!(world.driver.tcp_info(CLIENT), None);
}

fn echo<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    for round in 0..1000_u32 {
        let text = format!("request {round}");
        for (from, to) in [(CLIENT, server), (server, CLIENT)] {
            world.send(from, text.as_bytes());
            world.until("delivered", |world| world.of(to).received.len() >= text.len());
            assert_eq!(world.of(to).received, text.as_bytes());
            world.seen[to.index()].received.clear();
        }
    }
    world.until("the last is sent", |world| world.of(server).sent == 1000);
    assert_eq!(world.of(CLIENT).sent, 1000);
}

/// Sends 8 MiB each way at the same time, in pieces, by `send`.
fn both_ways<D: Driver>(
    make: Make<'_, D>,
    mut send: impl FnMut(&mut World<D>, SocketId, &[u8], std::ops::Range<usize>),
) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    let (up, down) = (pattern(8 * MIB, 1), pattern(8 * MIB, 2));
    let piece = 100_003;
    for start in (0..8 * MIB).step_by(piece) {
        let range = start..(start + piece).min(8 * MIB);
        send(&mut world, CLIENT, &up, range.clone());
        send(&mut world, server, &down, range);
    }
    world.until("both received", |world| {
        world.of(server).received.len() == up.len() && world.of(CLIENT).received.len() == down.len()
    });
    assert_same(&world.of(server).received, &up);
    assert_same(&world.of(CLIENT).received, &down);
    world.until("both sent", |world| world.of(server).sent > 0 && world.of(CLIENT).sent > 0);
    assert_eq!(world.driver.queued_bytes(CLIENT), 0);
}

fn large_copied<D: Driver>(make: Make<'_, D>) {
    both_ways(make, |world, socket, bytes, range| world.send(socket, &bytes[range]));
}

fn large_registered<D: Driver>(make: Make<'_, D>) {
    let mut known = Vec::new();
    both_ways(make, |world, socket, bytes, range| {
        let id = match known.iter().find(|&&(of, _)| of == socket) {
            Some(&(_, id)) => id,
            None => {
                let id = world.driver.register(bytes.into());
                known.push((socket, id));
                id
            }
        };
        let (offset, len) = (range.start as u32, range.len() as u32);
        world.driver.send(socket, Payload::Registered { id, offset, len });
    });
}

fn sends_keep_their_order<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    let id = world.driver.register(pattern(300_000, 7).into());
    let registered = pattern(300_000, 7);
    let mut expected = Vec::new();
    for round in 0..40_usize {
        let copied = pattern(1 + round * 997, round as u8);
        let (offset, len) = (round * 100, (round * 7_000).max(1));
        world.send(CLIENT, &copied);
        let payload = Payload::Registered { id, offset: offset as u32, len: len as u32 };
        assert!(payload.len() == len && !payload.is_empty());
        world.driver.send(CLIENT, payload);
        expected.extend_from_slice(&copied);
        expected.extend_from_slice(&registered[offset..offset + len]);
        if round % 7 == 0 {
            world.turn(1);
        }
    }
    world.until("received", |world| world.of(server).received.len() >= expected.len());
    assert_same(&world.of(server).received, &expected);
}

fn sent_once_all_is_taken<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    world.send(CLIENT, b"small");
    world.until("sent", |world| world.of(CLIENT).sent > 0);
    world.settle();
    assert_eq!(world.of(CLIENT).sent, 1, "one completion for one send");
    assert_eq!(world.of(server).received, b"small");

    // More than the kernel takes at once, whatever its buffers are.
    let large = pattern(48 * MIB, 0);
    world.send(CLIENT, &large);
    assert!(world.driver.queued_bytes(CLIENT) > 0);
    assert!(world.driver.queued_bytes(CLIENT) <= large.len());
    world.until("sent", |world| world.of(CLIENT).sent > 1);
    let all = 5 + large.len();
    world.until("received", |world| world.of(server).received.len() == all);
    world.settle();
    assert_eq!(world.of(CLIENT).sent, 2);
    assert_same(&world.of(server).received[5..], &large);
}

fn graceful_close_delivers_then_ends<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    for len in [0, 1, 100_000, MIB] {
        let server = world.pair(CLIENT, at);
        let bytes = pattern(len, 3);
        if len > 0 {
            world.send(server, &bytes);
            world.until("sent", |world| world.of(server).sent > 0);
        }
        world.close(server, Close::Graceful);
        world.until("ended", |world| world.of(CLIENT).ended);
        assert_same(&world.of(CLIENT).received, &bytes);
        world.settle();
        assert_eq!(world.of(CLIENT).failed, None);
        world.close(CLIENT, Close::Graceful);
    }
}

fn reset_is_seen_as_reset<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    world.close(CLIENT, Close::Reset);
    world.until("failed", |world| world.of(server).failed.is_some());
    assert_eq!(world.of(server).failed, Some((Operation::Receive, libc::ECONNRESET)));
    assert!(!world.of(server).ended);
    // What is asked of it now goes nowhere, and says nothing.
    world.send(server, b"too late");
    world.settle();
    world.close(server, Close::Graceful);
    let server = world.pair(CLIENT, at);
    assert_eq!(server, SocketId(2), "the socket is free again");
}

fn refused_connect<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    world.close(LISTENER, Close::Graceful);
    for _ in 0..3 {
        world.connect(CLIENT, at);
        world.until("refused", |world| world.of(CLIENT).failed.is_some());
        assert_eq!(world.of(CLIENT).failed, Some((Operation::Connect, libc::ECONNREFUSED)));
        assert!(!world.of(CLIENT).open);
        world.settle();
        world.close(CLIENT, Close::Graceful);
    }
    let at = world.listen(LISTENER);
    world.pair(CLIENT, at);
}

fn close_during_connect<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 64));
    let at = world.listen(LISTENER);
    for round in 0..200 {
        world.connect(CLIENT, at);
        if round % 3 == 1 {
            world.turn(1);
        }
        let how = if round % 2 == 0 { Close::Graceful } else { Close::Reset };
        world.close(CLIENT, how);
        world.turn(1);
        while let Some((_, socket, _)) = world.accepted.pop_front() {
            world.close(socket, Close::Reset);
        }
    }
    world.settle();
    while let Some((_, socket, _)) = world.accepted.pop_front() {
        world.close(socket, Close::Reset);
    }
    let server = world.pair(CLIENT, at);
    world.send(server, b"still there");
    world.until("received", |world| world.of(CLIENT).received == b"still there");
}

/// Connects one socket to two listeners in turn and leaves at every stage. The first one's
/// connections only get `a`s; the second one's get `b`s and then an end.
fn token_reuse_shows_nothing_old<D: Driver>(make: Make<'_, D>) {
    let client = SocketId(2);
    let mut world = world(make, &options(3, 512));
    let listeners = [(SocketId(0), b'a'), (SocketId(1), b'b')];
    let at = listeners.map(|(socket, _)| world.listen(socket));
    let serve = |world: &mut World<D>| {
        while let Some((listener, socket, _)) = world.accepted.pop_front() {
            world.send(socket, &[listeners[listener.index()].1; 64]);
            if listener == SocketId(1) {
                world.close(socket, Close::Graceful);
            }
        }
        for index in 3..world.seen.len() {
            let (seen, socket) = (&world.seen[index], SocketId(index as u32));
            if seen.failed.is_some() || seen.ended {
                world.close(socket, Close::Graceful);
                world.seen[index] = Default::default();
            }
        }
    };
    for round in 0..400_usize {
        let (which, stage) = (round % 2, round / 2 % 4);
        world.connect(client, at[which]);
        if stage > 0 {
            world.until("connected", |world| {
                serve(world);
                world.of(client).open
            });
        }
        if stage > 1 {
            world.until("received", |world| {
                serve(world);
                !world.of(client).received.is_empty()
            });
        }
        if stage > 2 {
            world.turn(1);
            serve(&mut world);
        }
        let seen = world.of(client);
        let letter = listeners[which].1;
        assert!(seen.received.iter().all(|&byte| byte == letter), "round {round}: {seen:?}");
        assert!(seen.received.len() <= 64);
        assert!(which == 1 || !seen.ended, "round {round}: an end from an old connection");
        assert_eq!(seen.failed, None, "round {round}");
        world.close(client, if round % 3 == 0 { Close::Reset } else { Close::Graceful });
    }
}

fn many_at_once<D: Driver>(make: Make<'_, D>) {
    const CONNECTIONS: u32 = 200;
    let mut world = world(make, &options(1 + CONNECTIONS, CONNECTIONS));
    let at = world.listen(LISTENER);
    let clients: Vec<SocketId> = (1..=CONNECTIONS).map(SocketId).collect();
    for &client in &clients {
        world.connect(client, at);
    }
    let mut servers = Vec::new();
    world.until("all connected", |world| {
        servers.extend(world.accepted.drain(..).map(|(_, socket, _)| socket));
        servers.len() == clients.len() && clients.iter().all(|&socket| world.of(socket).open)
    });
    for round in 1..=3 {
        for &client in &clients {
            world.send(client, &pattern(1000, client.0 as u8));
        }
        world.until("all answered", |world| {
            for &server in &servers {
                let bytes = std::mem::take(&mut world.seen[server.index()].received);
                if !bytes.is_empty() {
                    world.send(server, &bytes);
                }
            }
            clients.iter().all(|&socket| world.of(socket).received.len() == round * 1000)
        });
    }
    for &client in &clients {
        let expected = pattern(1000, client.0 as u8).repeat(3);
        assert_same(&world.of(client).received, &expected);
    }
}

fn listener_close<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(3, 2));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    world.close(LISTENER, Close::Graceful);
    world.connect(SocketId(2), at);
    world.until("refused", |world| world.of(SocketId(2)).failed.is_some());
    world.close(SocketId(2), Close::Graceful);
    world.send(CLIENT, b"still open");
    world.until("received", |world| world.of(server).received == b"still open");
    let at = world.listen(LISTENER);
    assert_ne!(world.pair(SocketId(2), at), server);
}

/// The connection may be in the kernel's queue, in the driver's, or not there yet.
fn listener_close_hides_what_it_accepted<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    for waits in 0..6 {
        let at = world.listen(LISTENER);
        world.connect(CLIENT, at);
        for _ in 0..waits {
            let until_ns = world.driver.clock_ns() + 5_000_000;
            world.driver.wait(until_ns).expect("the driver works");
        }
        world.close(LISTENER, Close::Graceful);
        world.until("over", |world| {
            let seen = world.of(CLIENT);
            seen.ended || seen.failed.is_some()
        });
        world.settle();
        assert!(world.accepted.is_empty());
        world.close(CLIENT, Close::Graceful);
    }
    let at = world.listen(LISTENER);
    assert_eq!(world.pair(CLIENT, at), SocketId(2), "no socket was lost");
}

fn no_token_for_an_accept<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(4, 2));
    let at = world.listen(LISTENER);
    let first = world.pair(SocketId(1), at);
    world.pair(SocketId(2), at);
    for round in 1..=5 {
        world.connect(SocketId(3), at);
        world.until("reset", |world| {
            world.of(SocketId(3)).failed.is_some() && world.refused.len() == round
        });
        // The reset may overtake the news of the connect.
        let (operation, error) = world.of(SocketId(3)).failed.expect("just seen");
        assert!(matches!(operation, Operation::Receive | Operation::Connect));
        assert_eq!(error, libc::ECONNRESET);
        assert_eq!(world.refused[round - 1], (LISTENER, Operation::Accept, libc::EMFILE));
        world.close(SocketId(3), Close::Graceful);
    }
    world.close(first, Close::Graceful);
    assert_eq!(world.pair(SocketId(3), at), first);
}

fn deadlines<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    world.send(server, b"before it is idle");
    world.until("received", |world| world.of(CLIENT).received.len() == 17);
    world.settle();
    for spin in [Spin::Off, Spin::Auto, Spin::On] {
        world.driver.set_spin(spin);
        let before_ns = world.driver.spun_ns();
        for after_ns in [1, 700, 30_000, 999_999, 1_000_000, 2_300_000, 3_999_999, 12_345_678] {
            let until_ns = world.driver.clock_ns() + after_ns;
            assert_eq!(world.turn(until_ns), 0);
            assert!(world.driver.clock_ns() >= until_ns);
        }
        let spun_ns = world.driver.spun_ns() - before_ns;
        assert!(spin != Spin::Off || spun_ns == 0, "spun without being asked to");
        assert!(spin == Spin::Off || spun_ns > 0 || world.is_simulated());
    }
    // The same deadline again after it has passed, and an earlier one after a later one.
    let now_ns = world.driver.clock_ns();
    for until_ns in [now_ns + 400_000, now_ns + 1, now_ns + 900_000, now_ns + 500_000] {
        assert_eq!(world.turn(until_ns), 0);
    }
}

fn wait_zero_does_not_sleep<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    for _ in 0..1000 {
        assert_eq!(world.turn(0), 0);
    }
    let at = world.listen(LISTENER);
    world.connect(CLIENT, at);
    let limit_ns = world.driver.clock_ns() + crate::world::PATIENCE_NS;
    while !world.of(CLIENT).open {
        world.turn(0);
        assert!(world.driver.clock_ns() < limit_ns, "polling alone gets nowhere");
    }
}

fn waker<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(1, 0));
    let waker = world.driver.waker();
    waker.wake();
    waker.wake();
    world.until("woken by itself", |world| world.woken > 0);
    world.settle();
    assert!(world.woken <= 2);
    for round in 1..=20 {
        world.woken = 0;
        let waker = world.driver.waker();
        let thread = std::thread::spawn(move || waker.wake());
        if round % 2 == 0 || world.is_simulated() {
            thread.join().expect("the thread ends well");
            world.until("woken before the wait", |world| world.woken > 0);
        } else {
            world.until("woken in the wait", |world| world.woken > 0);
            thread.join().expect("the thread ends well");
        }
        assert_eq!(world.woken, 1);
    }
}

/// Takes events while up to three buffers are out, and gives them back in another order.
fn release_in_any_order<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(4, 3));
    let at = world.listen(LISTENER);
    let servers = [1, 2, 3].map(|client| world.pair(SocketId(client), at));
    let expected: Vec<Vec<u8>> = (1..=3).map(|salt| pattern(64 * 1024, salt)).collect();
    for (client, bytes) in (1..).map(SocketId).zip(&expected) {
        world.send(client, bytes);
    }
    let mut got = vec![Vec::new(); 3];
    let mut out = Vec::new();
    let mut turn = 0;
    let limit_ns = world.driver.clock_ns() + crate::world::PATIENCE_NS;
    while got.iter().map(Vec::len).sum::<usize>() < 3 * 64 * 1024 {
        world.driver.wait(limit_ns).expect("the driver works");
        assert!(world.driver.clock_ns() < limit_ns);
        while let Some((_, event)) = world.driver.next() {
            if let Event::Received(received) = event {
                out.push(received);
            }
            if out.len() == 3 {
                for received in &out {
                    let of = servers.iter().position(|&socket| socket == received.socket);
                    got[of.expect("a server")].extend_from_slice(world.driver.bytes(received));
                }
                turn += 1;
                out.rotate_left(turn % 3);
                out.drain(..).rev().for_each(|received| world.driver.release(received));
            }
        }
        for received in out.drain(..) {
            let of = servers.iter().position(|&socket| socket == received.socket);
            got[of.expect("a server")].extend_from_slice(world.driver.bytes(&received));
            world.driver.release(received);
        }
    }
    for (got, expected) in got.iter().zip(&expected) {
        assert_same(got, expected);
    }
}

/// Thirty connections get 256 KiB each while the driver is left alone, with small buffers.
fn more_than_all_buffers_hold<D: Driver>(make: Make<'_, D>) {
    let sized = DriverOptions { receive_buffer_bytes: 1024, ..options(31, 30) };
    let mut world = world(make, &sized);
    let at = world.listen(LISTENER);
    let servers: Vec<SocketId> = (1..=30).map(|client| world.pair(SocketId(client), at)).collect();
    for client in 1..=30 {
        world.send(SocketId(client), &pattern(256 * 1024, client as u8));
    }
    world.until("all received", |world| {
        servers.iter().all(|&socket| world.of(socket).received.len() == 256 * 1024)
    });
    for (client, &server) in (1..).zip(&servers) {
        assert_same(&world.of(server).received, &pattern(256 * 1024, client));
    }
}

fn two_listeners<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(4, 2));
    let at = [SocketId(0), SocketId(1)].map(|socket| world.listen(socket));
    assert_ne!(at[0], at[1]);
    assert!(world.driver.listen(SocketId(2), at[0]).is_err(), "the address is taken");
    for (index, &to) in at.iter().enumerate() {
        world.connect(SocketId(2 + index as u32), to);
        let (listener, _, _) = world.accept();
        assert_eq!(listener, SocketId(index as u32));
    }
}

/// The kernel took bytes in after they were sent and before that was reported.
fn receive_timestamps<D: Driver>(make: Make<'_, D>) {
    let has_them = cfg!(target_os = "linux") || world(make, &options(2, 1)).is_simulated();
    for (asked, receive_buffer_bytes) in [(false, 4096), (has_them, 4096), (has_them, 100)] {
        let asks = options(2, 1);
        let asks = DriverOptions { receive_timestamps: asked, receive_buffer_bytes, ..asks };
        let mut world = world(make, &asks);
        let at = world.listen(LISTENER);
        let server = world.pair(CLIENT, at);
        let limit_ns = world.driver.clock_ns() + crate::world::PATIENCE_NS;
        let (mut rounds, mut stamped) = (0_u32, 0_u32);
        // The kernel begins to stamp soon after it was asked to.
        while rounds < 100 || asked && stamped < 100 {
            for (from, to) in [(CLIENT, server), (server, CLIENT)] {
                let sent_ns = world.driver.clock_ns();
                world.send(from, &pattern(300, 1));
                world.until("received", |world| world.of(to).received.len() == 300);
                let seen = &mut world.seen[to.index()];
                assert_same(&std::mem::take(&mut seen.received), &pattern(300, 1));
                for (kernel_ns, at_ns) in std::mem::take(&mut seen.taken_in) {
                    assert!(sent_ns <= at_ns);
                    assert!(asked || kernel_ns.is_none());
                    assert!(kernel_ns.is_none_or(|taken_in_ns| sent_ns <= taken_in_ns));
                    stamped += u32::from(kernel_ns.is_some());
                }
            }
            rounds += 1;
            assert!(world.driver.clock_ns() < limit_ns, "never stamped");
        }
    }
}
