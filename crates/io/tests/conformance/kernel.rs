//! Cases against sockets of the standard library, for drivers over a real kernel.
//!
//! What a driver was asked for reaches the kernel at the latest in the next wait, so there is one
//! before each call here that blocks.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use plimsoll_io::{Close, Driver, Operation, Token};

use crate::cases::{Case, Make};
use crate::world::{World, anywhere, assert_same, options, pattern};

const CLIENT: Token = Token(1);

pub(crate) fn table<D: Driver>() -> Vec<Case<D>> {
    vec![
        ("peer_address", peer_address),
        ("half_close", half_close),
        ("woken_by_bytes_before_a_far_deadline", woken_by_bytes_before_a_far_deadline),
        ("source_address", source_address),
        ("answer_before_reset_is_kept", answer_before_reset_is_kept),
    ]
}

fn world<D: Driver>(make: Make<'_, D>) -> World<D> {
    let options = options(2, 2);
    let sockets = options.sockets;
    World::new(make(options), sockets)
}

fn peer_address<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make);
    let at = world.listen(Token(0));
    let client = TcpStream::connect(at).expect("it listens");
    let (_, _, peer) = world.accept();
    assert_eq!(peer, client.local_addr().expect("connected"));
}

/// The peer ends its side first, and gets an answer all the same.
fn half_close<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make);
    let at = world.listen(Token(0));
    let (question, answer) = (pattern(300_000, 1), pattern(3_000_000, 2));
    let asked = question.clone();
    let peer = thread::spawn(move || {
        let mut stream = TcpStream::connect(at).expect("it listens");
        stream.write_all(&asked).expect("it reads");
        stream.shutdown(Shutdown::Write).expect("connected");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).expect("it writes");
        got
    });
    let (_, token, _) = world.accept();
    world.until("ended", |world| world.of(token).ended);
    assert_same(&world.of(token).received, &question);
    world.send(token, &answer);
    world.until("sent", |world| world.of(token).sent > 0);
    world.close(token, Close::Graceful);
    world.settle(); // a close is with the kernel after the next wait
    assert_same(&peer.join().expect("the peer ends well"), &answer);
}

fn woken_by_bytes_before_a_far_deadline<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make);
    let listener = TcpListener::bind(anywhere()).expect("a free port");
    world.connect(CLIENT, listener.local_addr().expect("bound"));
    world.until("connected", |world| world.of(CLIENT).open);
    let (mut stream, _) = listener.accept().expect("it connects");
    for after_ns in [300_000, 50_000_000, crate::world::PATIENCE_NS] {
        let peer = thread::spawn(move || {
            stream.write_all(b"now").expect("it reads");
            stream
        });
        while world.of(CLIENT).received.is_empty() {
            let until_ns = world.driver.clock_ns() + after_ns;
            let count = world.turn(until_ns);
            assert!(count > 0 || world.driver.clock_ns() >= until_ns, "woke early for nothing");
            assert!(world.driver.clock_ns() < crate::world::PATIENCE_NS, "slept over the bytes");
        }
        world.seen[CLIENT.index()].received.clear();
        stream = peer.join().expect("the peer ends well");
    }
}

fn source_address<D: Driver>(make: Make<'_, D>) {
    let listener = TcpListener::bind(anywhere()).expect("a free port");
    let mut options = options(2, 0);
    options.socket.bind = Some(([127, 0, 0, 2], 0).into());
    let mut world = World::new(make(options), 2);
    world.connect(CLIENT, listener.local_addr().expect("bound"));
    world.until("connected", |world| world.of(CLIENT).open);
    let (_, peer) = listener.accept().expect("it connects");
    assert_eq!(peer.ip(), std::net::Ipv4Addr::new(127, 0, 0, 2));
    assert_ne!(peer.port(), 0);
}

/// A server that answers without reading to the end and leaves: its answer is worth more than the
/// error of the send.
fn answer_before_reset_is_kept<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make);
    let listener = TcpListener::bind(anywhere()).expect("a free port");
    world.connect(CLIENT, listener.local_addr().expect("bound"));
    world.until("connected", |world| world.of(CLIENT).open);
    world.send(CLIENT, &pattern(32 * 1024 * 1024, 1));
    world.turn(1);
    let (mut stream, _) = listener.accept().expect("it connects");
    stream.read_exact(&mut [0; 100]).expect("it writes");
    stream.write_all(b"enough").expect("it reads");
    drop(stream);
    world.until("failed", |world| world.of(CLIENT).failed.is_some());
    assert_eq!(world.of(CLIENT).received, b"enough");
    let (operation, error) = world.of(CLIENT).failed.expect("just seen");
    assert!(matches!(operation, Operation::Send | Operation::Receive));
    assert!(matches!(error, libc::EPIPE | libc::ECONNRESET));
}
