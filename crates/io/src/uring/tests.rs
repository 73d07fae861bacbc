//! What only this driver has: generations, provided buffers that run out, queues that overflow,
//! bytes the kernel still reads after a close. The rest is the conformance test's.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::*;
use crate::driver::SocketOptions;

/// Long enough for anything on the loopback; reached only by a test that fails.
const PATIENCE_NS: u64 = 10_000_000_000;

fn options(long_lived: bool) -> DriverOptions {
    DriverOptions {
        sockets: 8,
        reserved: 4,
        receivers: 8,
        receive_buffer_bytes: 4096,
        long_lived,
        spin: Spin::Off,
        receive_timestamps: false,
        socket: SocketOptions::default(),
    }
}

/// The driver with registered files and without; nothing where the kernel has no io_uring.
fn drivers() -> impl Iterator<Item = UringDriver> {
    [false, true].into_iter().filter_map(|long_lived| UringDriver::new(&options(long_lived)).ok())
}

/// The next event but those of sends under way.
fn next_event(driver: &mut UringDriver) -> Event {
    let deadline_ns = now_ns() + PATIENCE_NS;
    loop {
        match driver.next() {
            Some((_, Event::SentPart(_))) => continue,
            Some((_, event)) => return event,
            None => {}
        }
        let now = driver.wait(deadline_ns).expect("the ring works");
        assert!(now < deadline_ns, "no event came");
    }
}

/// Connects socket 0 to a plain listener and returns the other end.
fn connect(driver: &mut UringDriver) -> TcpStream {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    driver.connect(SocketId(0), &listener.local_addr().expect("it is bound").into());
    assert_eq!(next_event(driver), Event::Connected(SocketId(0)));
    listener.accept().expect("a client connected").0
}

#[test]
fn a_receive_without_buffers_goes_on_once_they_are_back() {
    for mut driver in drivers() {
        let mut peer = connect(&mut driver);
        let sent: Vec<u8> = (0..4096 * 500).map(|i: usize| (i / 4096) as u8).collect();
        let writer = {
            let sent = sent.clone();
            std::thread::spawn(move || peer.write_all(&sent).map(|()| peer))
        };
        let (mut received, mut held, mut was_starved) = (Vec::new(), Vec::new(), false);
        while received.len() < sent.len() {
            match driver.next() {
                Some((_, Event::Received(buffer))) => {
                    received.extend_from_slice(driver.bytes(&buffer));
                    held.push(buffer);
                }
                Some((_, event)) => panic!("{event:?}"),
                None => {
                    if !driver.starved.is_empty() || received.len() == sent.len() {
                        was_starved = true;
                        held.drain(..).for_each(|buffer| driver.release(buffer));
                    }
                    driver.wait(now_ns() + PATIENCE_NS).expect("the ring works");
                }
            }
        }
        assert!(was_starved, "500 buffers' worth went into 64 without a pause");
        assert!(received == sent, "the bytes came in another order");
        drop(writer.join().expect("the writer ends").expect("all was written"));
        held.drain(..).for_each(|buffer| driver.release(buffer));
        assert_eq!(next_event(&mut driver), Event::Ended(SocketId(0)));
    }
}

#[test]
fn full_queues_lose_nothing() {
    for mut driver in drivers() {
        let mut peer = connect(&mut driver);
        peer.write_all(b"hello").expect("written");
        for _ in 0..1000 {
            let nop = opcode::Nop::new().build().user_data(Tag::UNWATCHED.0);
            // SAFETY: a no-op points to nothing.
            unsafe { driver.ring.push(&nop) };
        }
        driver.send(SocketId(0), Payload::Copied(b"answer"));
        let (mut has_sent, mut has_received) = (false, false);
        while !(has_sent && has_received) {
            match next_event(&mut driver) {
                Event::Sent(SocketId(0)) => has_sent = true,
                Event::Received(buffer) => {
                    assert_eq!(driver.bytes(&buffer), b"hello");
                    driver.release(buffer);
                    has_received = true;
                }
                event => panic!("{event:?}"),
            }
        }
        let mut answer = [0; 6];
        peer.read_exact(&mut answer).expect("it was sent");
        assert_eq!(&answer, b"answer");
        driver.close(SocketId(0), Close::Graceful);
        driver.wait(0).expect("the ring works");
        assert_eq!(peer.read(&mut answer).expect("an orderly end"), 0);
    }
}

#[test]
fn bytes_of_a_send_cut_off_live_until_the_kernel_is_done() {
    for mut driver in drivers() {
        let mut peer = connect(&mut driver);
        // More than the kernel's buffers of both sides take.
        let body: Vec<u8> = (0..64 << 20).map(|i: u32| i as u8).collect();
        driver.send(SocketId(0), Payload::Copied(&body));
        let mut start = [0; 1000];
        while driver.wait(now_ns() + 1_000_000).is_ok() {
            if peer.read(&mut start).expect("some of it") > 0 {
                break;
            }
        }
        assert_eq!(driver.queued_bytes(SocketId(0)), body.len());
        driver.close(SocketId(0), Close::Graceful);
        assert_eq!(driver.orphans.len(), 1);
        assert_eq!(driver.queued_bytes(SocketId(0)), 0);
        // The number is free at once, and nothing of its old use shows.
        let mut second = connect(&mut driver);
        driver.send(SocketId(0), Payload::Copied(b"second use"));
        assert_eq!(next_event(&mut driver), Event::Sent(SocketId(0)));
        assert!(driver.orphans.is_empty(), "the cancelled send has not completed");
        let mut rest = Vec::new();
        peer.read_to_end(&mut rest).expect("what was taken, then an end");
        assert!(rest.len() < body.len());
        assert!(rest.iter().zip(&body[start.len()..]).all(|(a, b)| a == b));
        drop(driver);
        rest.clear();
        second.read_to_end(&mut rest).expect("a close");
        assert_eq!(rest, b"second use");
    }
}

#[test]
fn what_arrives_for_an_earlier_use_of_a_token_is_dropped() {
    for mut driver in drivers() {
        for round in 0..100_u32 {
            let mut peer = connect(&mut driver);
            peer.write_all(b"never seen").expect("written");
            driver.send(SocketId(0), Payload::Copied(b"perhaps seen"));
            if round % 2 == 0 {
                driver.wait(0).expect("the ring works"); // completions are there, untaken
            }
            driver.close(SocketId(0), if round % 3 == 0 { Close::Reset } else { Close::Graceful });
        }
        assert_eq!(driver.sockets[0].generation, 100);
        // All buffers are back: each can be received into again.
        let mut peer = connect(&mut driver);
        peer.write_all(&vec![1; 4096 * 64]).expect("written");
        let mut received = 0;
        while received < 4096 * 64 {
            let Event::Received(buffer) = next_event(&mut driver) else { panic!("no bytes") };
            received += buffer.len();
            driver.release(buffer);
        }
        assert!(driver.starved.is_empty());
    }
}

#[test]
fn a_reset_reaches_the_peer_and_a_bare_close_is_one_operation() {
    for mut driver in drivers() {
        let mut peer = connect(&mut driver);
        driver.close(SocketId(0), Close::Reset);
        driver.wait(0).expect("the ring works");
        let error = peer.read(&mut [0]).expect_err("a reset");
        assert_eq!(error.raw_os_error(), Some(libc::ECONNRESET));

        drop(connect(&mut driver));
        assert_eq!(next_event(&mut driver), Event::Ended(SocketId(0)));
        driver.ring.submit().expect("the ring works");
        let registered = usize::from(driver.sockets[0].is_registered());
        driver.close(SocketId(0), Close::Graceful);
        assert_eq!(driver.ring.queued(), 1 + registered);
    }
}

#[test]
fn deadlines_hold_with_absolute_and_relative_times_and_while_spinning() {
    for mut driver in drivers() {
        for (absolute, spin) in [true, false]
            .into_iter()
            .flat_map(|absolute| [Spin::Off, Spin::Auto, Spin::On].map(|spin| (absolute, spin)))
        {
            let absolute = absolute && driver.ring.has_absolute_timer();
            driver.ring.set_absolute_timer(absolute);
            driver.set_spin(spin);
            let spun_before_ns = driver.spun_ns();
            for ahead_ns in [1, 1000, 100_000, 1_000_000] {
                let until_ns = now_ns() + ahead_ns;
                let now = driver.wait(until_ns).expect("the ring works");
                assert!(now >= until_ns, "woke {} ns early", until_ns - now);
                assert!(driver.next().is_none());
            }
            assert_eq!(driver.spun_ns() > spun_before_ns, spin != Spin::Off);
        }
    }
}

#[test]
fn wakes_while_asleep_while_spinning_and_while_awake_are_reported() {
    for mut driver in drivers() {
        for spin in [Spin::Off, Spin::On] {
            driver.set_spin(spin);
            let waker = driver.waker();
            let other = std::thread::spawn(move || waker.wake());
            assert_eq!(next_event(&mut driver), Event::Woken);
            other.join().expect("it only wakes");
            let waker = driver.waker();
            (0..5).for_each(|_| waker.wake());
            assert_eq!(next_event(&mut driver), Event::Woken);
            driver.wait(0).expect("the ring works");
            assert!(driver.next().is_none(), "several wakes are one event");
        }
    }
}

#[test]
fn a_connection_without_a_token_is_reset_and_said() {
    for mut driver in drivers() {
        let at = (Ipv4Addr::LOCALHOST, 0).into();
        let at = driver.listen(SocketId(0), at).expect("a free port");
        let mut peers = Vec::new();
        for _ in 0..4 {
            peers.push(TcpStream::connect(at).expect("it listens"));
            let Event::Accepted { listener, socket: token, peer } = next_event(&mut driver) else {
                panic!("not accepted")
            };
            assert_eq!(listener, SocketId(0));
            assert!((4..8).contains(&token.0));
            assert_eq!(Some(peer), peers.last().and_then(|peer| peer.local_addr().ok()));
        }
        let mut refused = TcpStream::connect(at).expect("it listens");
        let error = OsError(libc::EMFILE);
        let failed = Event::Failed { socket: SocketId(0), operation: Operation::Accept, error };
        assert_eq!(next_event(&mut driver), failed);
        let reset = refused.read(&mut [0]).expect_err("a reset");
        assert_eq!(reset.raw_os_error(), Some(libc::ECONNRESET));

        driver.close(SocketId(6), Close::Graceful);
        let _peer = TcpStream::connect(at).expect("it still listens");
        let event = next_event(&mut driver);
        assert!(matches!(event, Event::Accepted { socket: SocketId(6), .. }), "{event:?}");

        drop(driver);
        assert!(TcpStream::connect(at).is_err(), "the listener outlived the driver");
    }
}

#[test]
fn a_listener_out_of_descriptors_rests_and_goes_on() {
    for mut driver in drivers() {
        let at = (Ipv4Addr::LOCALHOST, 0).into();
        let at = driver.listen(SocketId(0), at).expect("a free port");
        driver.wait(0).expect("the ring works");
        // What the kernel would report; the real accept ends as it would have.
        let tag = driver.sockets[0].tag(Op::Accept, SocketId(0));
        driver.push_unwatched(opcode::AsyncCancel::new(tag.0).build());
        driver.wait(0).expect("the ring works");
        while driver.ring.pop().is_some() {}
        let event = driver.accept_completed(tag, -libc::EMFILE, false);
        assert!(matches!(event, Some(Event::Failed { operation: Operation::Accept, .. })));
        let _peer = TcpStream::connect(at).expect("the kernel queues it");
        let event = next_event(&mut driver);
        assert!(matches!(event, Event::Accepted { .. }), "{event:?}");
    }
}

#[test]
fn what_the_peer_said_before_it_went_comes_before_the_failed_send() {
    for mut driver in drivers() {
        let mut peer = connect(&mut driver);
        peer.write_all(b"too large").expect("written");
        socket2::SockRef::from(&peer).set_linger(Some(std::time::Duration::ZERO)).expect("set");
        let body = vec![0; 64 << 20];
        driver.send(SocketId(0), Payload::Copied(&body));
        let Event::Received(buffer) = next_event(&mut driver) else { panic!("no bytes") };
        assert_eq!(driver.bytes(&buffer), b"too large");
        driver.release(buffer);
        drop(peer);
        let Event::Failed { socket: SocketId(0), error, .. } = next_event(&mut driver) else {
            panic!("a reset is not an orderly end")
        };
        assert!(matches!(error.0, libc::ECONNRESET | libc::EPIPE), "{error}");
        driver.send(SocketId(0), Payload::Copied(b"ignored"));
        driver.wait(0).expect("the ring works");
        assert!(driver.next().is_none(), "nothing comes after a failure");
        assert_eq!(driver.queued_bytes(SocketId(0)), 0);
    }
}

#[test]
fn both_families_connect_and_are_accepted() {
    use std::net::{IpAddr, Ipv6Addr};
    for address in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        if TcpListener::bind((address, 0)).is_err() {
            continue; // a host without IPv6
        }
        for mut driver in drivers() {
            let at = driver.listen(SocketId(1), (address, 0).into()).expect("a free port");
            assert_eq!(at.ip(), address);
            driver.connect(SocketId(0), &at.into());
            let (mut connected, mut accepted) = (false, None);
            while !connected || accepted.is_none() {
                match next_event(&mut driver) {
                    Event::Connected(SocketId(0)) => connected = true,
                    Event::Accepted { listener: SocketId(1), socket: token, peer } => {
                        assert_eq!(peer.ip(), address);
                        accepted = Some(token);
                    }
                    event => panic!("{event:?}"),
                }
            }
            driver.close(SocketId(0), Close::Graceful);
            let token = accepted.expect("just seen");
            assert_eq!(next_event(&mut driver), Event::Ended(token));
        }
    }
}
