//! Cases against sockets of the standard library, for drivers over a real kernel.
//!
//! What a driver was asked for reaches the kernel at the latest in the next wait, so there is one
//! before each call here that blocks.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, process, thread};

use plimsoll_io::{Address, Close, Driver, Operation, Route, SocketId};

use crate::cases::{Case, Make};
use crate::world::{World, anywhere, assert_same, options, pattern};

const CLIENT: SocketId = SocketId(1);
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub(crate) fn table<D: Driver>() -> Vec<Case<D>> {
    vec![
        ("peer_address", peer_address),
        ("half_close", half_close),
        ("woken_by_bytes_before_a_far_deadline", woken_by_bytes_before_a_far_deadline),
        ("source_addresses", source_addresses),
        ("tcp_info", tcp_info),
        ("routes_that_lead_nowhere", routes_that_lead_nowhere),
        ("unix_sockets", unix_sockets),
        ("unix_sockets_carry_much", unix_sockets_carry_much),
        ("datagrams", datagrams),
        ("answer_before_reset_is_kept", answer_before_reset_is_kept),
        ("sends_of_a_turn_are_taken_in_turn", sends_of_a_turn_are_taken_in_turn),
    ]
}

fn world<D: Driver>(make: Make<'_, D>) -> World<D> {
    let options = options(2, 2);
    let sockets = options.sockets;
    World::new(make(options), sockets)
}

fn peer_address<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make);
    let at = world.listen(SocketId(0));
    let client = TcpStream::connect(at).expect("it listens");
    let (_, _, peer) = world.accept();
    assert_eq!(peer, client.local_addr().expect("connected"));
}

/// The peer ends its side first, and still gets an answer.
fn half_close<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make);
    let at = world.listen(SocketId(0));
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
    let (_, socket, _) = world.accept();
    world.until("ended", |world| world.of(socket).ended);
    assert_same(&world.of(socket).received, &question);
    world.send(socket, &answer);
    world.until("sent", |world| world.of(socket).sent > 0);
    world.close(socket, Close::Graceful);
    world.settle(); // a close is with the kernel after the next wait
    assert_same(&peer.join().expect("the peer ends well"), &answer);
}

/// A kernel needs some time for each of them.
fn sends_of_a_turn_are_taken_in_turn<D: Driver>(make: Make<'_, D>) {
    const CONNECTIONS: u32 = 64;
    let options = options(1 + CONNECTIONS, CONNECTIONS);
    let mut world = World::new(make(options.clone()), options.sockets);
    let at = world.listen(SocketId(0));
    let clients: Vec<SocketId> = (1..=CONNECTIONS).map(SocketId).collect();
    for &client in &clients {
        world.pair(client, at);
    }
    for &client in &clients {
        world.send(client, &pattern(1000, 1));
    }
    world.until("all are sent", |world| clients.iter().all(|&client| world.of(client).sent == 1));
    let taken_ns: Vec<u64> = clients.iter().map(|&client| world.of(client).taken_ns).collect();
    assert!(taken_ns.is_sorted() && taken_ns.first() < taken_ns.last(), "{taken_ns:?}");
}

fn woken_by_bytes_before_a_far_deadline<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make);
    let listener = TcpListener::bind(anywhere()).expect("a free port");
    world.connect(CLIENT, listener.local_addr().expect("bound"));
    world.until("connected", |world| world.of(CLIENT).open);
    let (mut stream, _) = listener.accept().expect("it connects");
    for after_ns in [300_000, 50_000_000, crate::world::PATIENCE_NS] {
        let limit_ns = world.driver.clock_ns() + crate::world::PATIENCE_NS;
        let peer = thread::spawn(move || {
            stream.write_all(b"now").expect("it reads");
            stream
        });
        while world.of(CLIENT).received.is_empty() {
            let until_ns = world.driver.clock_ns() + after_ns;
            let count = world.turn(until_ns);
            assert!(count > 0 || world.driver.clock_ns() >= until_ns, "woke early for nothing");
            assert!(world.driver.clock_ns() < limit_ns, "slept over the bytes");
        }
        world.seen[CLIENT.index()].received.clear();
        stream = peer.join().expect("the peer ends well");
    }
}

/// Both families, as far as this host has them, and many connections to one place.
fn source_addresses<D: Driver>(make: Make<'_, D>) {
    for from in [IpAddr::from([127, 0, 0, 2]), Ipv6Addr::LOCALHOST.into()] {
        let Ok(listener) = TcpListener::bind((if from.is_ipv4() { LOCALHOST } else { from }, 0))
        else {
            continue; // a host without IPv6
        };
        let to = Address::from(listener.local_addr().expect("bound"));
        let mut world = World::new(make(options(8, 0)), 8);
        for socket in (0..8).map(SocketId) {
            world.connect(socket, Route { to: to.clone(), from: Some(from) });
            world.until("connected", |world| world.of(socket).open);
            let (_, peer) = listener.accept().expect("it connects");
            assert_eq!(peer.ip(), from);
            assert_ne!(peer.port(), 0);
        }
    }
}

/// The third connect finds the listener's queue full, so its SYN goes unanswered and is sent again.
#[cfg(target_os = "linux")]
fn tcp_info<D: Driver>(make: Make<'_, D>) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let listener = socket.expect("descriptors are left");
    listener.bind(&anywhere().into()).expect("a free port");
    listener.listen(1).expect("it is bound");
    let at = listener.local_addr().expect("bound").as_socket().expect("IPv4");
    let mut world = World::new(make(options(3, 0)), 3);
    assert_eq!(world.driver.tcp_info(CLIENT), None);
    for socket in [0, 1].map(SocketId) {
        world.connect(socket, at);
        world.until("connected", |world| world.of(socket).open);
        let info = world.driver.tcp_info(socket).expect("a TCP connection");
        assert!(info.rtt_ns > 0 && info.rtt_min_ns.is_some() && !info.connecting, "{info:?}");
        assert_eq!((info.retransmits, info.syn_retransmits(), info.lost), (0, Some(0), 0));
    }
    world.connect(SocketId(2), at);
    let limit_ns = world.driver.clock_ns() + crate::world::PATIENCE_NS;
    loop {
        let until_ns = world.driver.clock_ns() + 10_000_000;
        world.turn(until_ns);
        let info = world.driver.tcp_info(SocketId(2)).expect("a TCP connection");
        assert!(info.connecting && info.rtt_min_ns.is_none(), "{info:?}");
        assert_eq!(info.syn_retransmits(), Some(info.retransmits));
        if info.retransmits > 0 {
            break;
        }
        assert!(until_ns < limit_ns, "the SYN is never sent again");
    }
    world.close(SocketId(2), Close::Reset);
    // One that failed can be asked about until it is closed.
    drop(listener);
    world.until("reset", |world| world.of(SocketId(0)).failed.is_some());
    assert!(world.driver.tcp_info(SocketId(0)).is_some_and(|info| info.rtt_ns > 0));
    assert!(world.driver.local_address(SocketId(0)).is_some());
    world.close(SocketId(0), Close::Graceful);
    assert_eq!(world.driver.tcp_info(SocketId(0)), None);
}

#[cfg(not(target_os = "linux"))]
fn tcp_info<D: Driver>(make: Make<'_, D>) {
    assert_eq!(world(make).driver.tcp_info(CLIENT), None);
}

fn routes_that_lead_nowhere<D: Driver>(make: Make<'_, D>) {
    let unix = |path: &str| Address::Unix(Path::new(path).into());
    let tcp = Address::from(anywhere());
    let stale = SocketFile::new();
    drop(stale.listen());
    let mut world = world(make);
    for (to, from, error) in [
        (tcp.clone(), Some(Ipv6Addr::LOCALHOST.into()), libc::EAFNOSUPPORT),
        // TEST-NET-1 (RFC 5737) is on no host.
        (tcp, Some([192, 0, 2, 1].into()), libc::EADDRNOTAVAIL),
        (unix("/nowhere/at/all.sock"), None, libc::ENOENT),
        (unix("/nowhere/at/all.sock"), Some(LOCALHOST), libc::EAFNOSUPPORT),
        (unix(&"long/".repeat(40)), None, libc::ENAMETOOLONG),
        (stale.address(), None, libc::ECONNREFUSED),
    ] {
        world.connect(CLIENT, Route { to, from });
        world.until("failed", |world| world.of(CLIENT).failed.is_some());
        assert_eq!(world.of(CLIENT).failed, Some((Operation::Connect, error)));
        world.close(CLIENT, Close::Graceful);
    }
}

/// The path of a Unix socket of this test's own.
struct SocketFile(PathBuf);

impl SocketFile {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("plimsoll-io-{}-{count}.sock", process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn listen(&self) -> UnixListener {
        UnixListener::bind(&self.0).expect("a path of its own")
    }

    fn address(&self) -> Address {
        Address::Unix(self.0.as_path().into())
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // It is not there when the test failed early.
        let _ = fs::remove_file(&self.0);
    }
}

/// Connects to a Unix listener and returns the other end.
fn connect_unix<D: Driver>(world: &mut World<D>) -> UnixStream {
    let file = SocketFile::new();
    let listener = file.listen();
    world.connect(CLIENT, file.address());
    world.until("connected", |world| world.of(CLIENT).open);
    listener.accept().expect("it connects").0
}

/// All ways one ends, one after the other on one socket.
fn unix_sockets<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make);
    for how in [Close::Graceful, Close::Reset] {
        let mut peer = connect_unix(&mut world);
        assert_eq!(world.driver.local_address(CLIENT), None);
        assert_eq!(world.driver.tcp_info(CLIENT), None);
        for round in 0..100_u32 {
            let text = format!("request {round}");
            world.send(CLIENT, text.as_bytes());
            world.until("sent", |world| world.of(CLIENT).sent == round + 1);
            let mut got = vec![0; text.len()];
            peer.read_exact(&mut got).expect("it was sent");
            peer.write_all(&got).expect("it reads");
            world.until("answered", |world| world.of(CLIENT).received.len() >= got.len());
            assert_eq!(std::mem::take(&mut world.seen[CLIENT.index()].received), got);
        }
        world.close(CLIENT, how);
        world.turn(1);
        assert_eq!(peer.read(&mut [0]).expect("an orderly end"), 0);
    }
    let peer = connect_unix(&mut world);
    drop(peer);
    world.until("ended", |world| world.of(CLIENT).ended);
    world.close(CLIENT, Close::Graceful);
}

/// More than the kernel takes at once, both ways at the same time.
fn unix_sockets_carry_much<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make);
    let mut peer = connect_unix(&mut world);
    let (question, answer) = (pattern(8_000_000, 1), pattern(8_000_000, 2));
    let written = answer.clone();
    let mut writer = peer.try_clone().expect("descriptors are left");
    let writer = thread::spawn(move || writer.write_all(&written));
    let reader = thread::spawn(move || {
        let mut got = vec![0; 8_000_000];
        peer.read_exact(&mut got).map(|()| (got, peer))
    });
    world.send(CLIENT, &question);
    world.until("both", |world| {
        world.of(CLIENT).sent > 0 && world.of(CLIENT).received.len() == answer.len()
    });
    assert_same(&world.of(CLIENT).received, &answer);
    writer.join().expect("the writer ends well").expect("it reads");
    let (got, _peer) = reader.join().expect("the reader ends well").expect("it writes");
    assert_same(&got, &question);
}

/// Each receive is one, also where several came before the first was received; an empty one is the
/// end. A port on which nobody listens shows only when something was sent there.
fn datagrams<D: Driver>(make: Make<'_, D>) {
    let peer = UdpSocket::bind(anywhere()).expect("a free port");
    let at = Address::Udp(peer.local_addr().expect("bound"));
    let mut world = world(make);
    world.connect(CLIENT, at.clone());
    world.until("connected", |world| world.of(CLIENT).open);
    assert!(world.driver.local_address(CLIENT).is_some_and(|own| own.port() > 0));
    assert_eq!(world.driver.tcp_info(CLIENT), None);
    let mut room = [0; 100];
    for round in 0..3 {
        world.send(CLIENT, b"question");
        world.until("sent", |world| world.of(CLIENT).sent == round + 1);
        let (len, from) = peer.recv_from(&mut room).expect("it was sent");
        assert_eq!(&room[..len], b"question");
        for answer in [&b"one"[..], b"two", b"three"] {
            peer.send_to(answer, from).expect("it is there");
        }
        world.until("answered", |world| world.of(CLIENT).taken_in.len() == 3);
        let seen = &mut world.seen[CLIENT.index()];
        seen.taken_in.clear();
        assert_eq!(std::mem::take(&mut seen.received), b"onetwothree");
    }
    let own = world.driver.local_address(CLIENT).expect("connected");
    peer.send_to(&[], own).expect("it is there");
    world.until("ended", |world| world.of(CLIENT).ended);
    world.close(CLIENT, Close::Reset);
    drop(peer);
    world.connect(CLIENT, at);
    world.until("connected", |world| world.of(CLIENT).open);
    world.send(CLIENT, b"hello?");
    world.until("failed", |world| world.of(CLIENT).failed.is_some());
    assert_eq!(world.of(CLIENT).failed.map(|(_, error)| error), Some(libc::ECONNREFUSED));
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
