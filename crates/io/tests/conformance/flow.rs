//! Cases of one direction at a time: connections half closed, and receiving paused.

use plimsoll_io::{Close, Driver, Operation, Payload};

use crate::cases::{CLIENT, Case, LISTENER, MIB, Make, world};
use crate::world::{assert_same, options, pattern};

pub(crate) fn table<D: Driver>() -> Vec<Case<D>> {
    vec![
        ("shutdown_ends_one_direction", shutdown_ends_one_direction),
        ("both_shut_down", both_shut_down),
        ("pause_makes_the_peer_wait", pause_makes_the_peer_wait),
        ("a_pause_holds_little_back_too", a_pause_holds_little_back_too),
        ("pauses_lose_nothing", pauses_lose_nothing),
        ("a_pause_ends_with_the_use_of_its_token", a_pause_ends_with_the_use_of_its_token),
        ("a_send_that_fails_is_reported_while_paused", a_send_that_fails_is_reported_while_paused),
    ]
}

/// The FIN comes after everything that was queued; the other direction works on.
fn shutdown_ends_one_direction<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    for len in [0, 1, 12 * MIB] {
        let server = world.pair(CLIENT, at);
        let question = pattern(len, 1);
        if len > 0 {
            world.send(CLIENT, &question);
        }
        world.driver.shutdown(CLIENT);
        world.driver.send(CLIENT, Payload::Copied(b"after the end"));
        world.driver.shutdown(CLIENT);
        world.until("ended", |world| world.of(server).ended);
        assert_same(&world.of(server).received, &question);
        world.until("sent", |world| len == 0 || world.of(CLIENT).sent == 1);
        let answer = pattern(MIB, 2);
        world.send(server, &answer);
        world.until("answered", |world| world.of(CLIENT).received.len() == answer.len());
        assert_same(&world.of(CLIENT).received, &answer);
        world.settle();
        assert!(!world.of(CLIENT).ended && world.of(CLIENT).failed.is_none());
        assert_eq!(world.driver.queued_bytes(CLIENT), 0);
        world.close(server, Close::Graceful);
        world.until("ended", |world| world.of(CLIENT).ended);
        world.close(CLIENT, Close::Graceful);
    }
}

fn both_shut_down<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    for _ in 0..20 {
        let server = world.pair(CLIENT, at);
        for socket in [CLIENT, server] {
            world.send(socket, b"the last");
            world.driver.shutdown(socket);
        }
        world.until("ended", |world| world.of(CLIENT).ended && world.of(server).ended);
        for socket in [CLIENT, server] {
            assert_eq!(world.of(socket).received, b"the last");
            assert_eq!(world.of(socket).failed, None);
            world.close(socket, Close::Graceful);
        }
    }
}

fn pause_makes_the_peer_wait<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    // More than the kernel's buffers of both sides hold, whatever they are.
    let bytes = pattern(48 * MIB, 5);
    world.send(CLIENT, &bytes);
    world.driver.shutdown(CLIENT);
    world.until("some received", |world| !world.of(server).received.is_empty());
    for _ in 0..3 {
        world.driver.pause_receiving(server);
        world.settle(); // what had been received before
        let before = world.of(server).received.len();
        assert!(before < bytes.len());
        world.settle();
        assert_eq!(world.of(server).received.len(), before, "received while paused");
        assert!(world.driver.queued_bytes(CLIENT) > 0, "the sender need not wait");
        // The other direction is another matter.
        world.send(server, b"wait");
        world.until("passed", |world| world.of(CLIENT).received.ends_with(b"wait"));
        world.seen[CLIENT.index()].received.clear();
        world.driver.resume_receiving(server);
        world.until("goes on", |world| world.of(server).received.len() > before);
    }
    world.until("ended", |world| world.of(server).ended);
    assert_same(&world.of(server).received, &bytes);
}

/// No buffer runs out here: only the pause can be what stops these.
fn a_pause_holds_little_back_too<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    for round in 0..3 {
        world.driver.pause_receiving(server);
        world.settle();
        for _ in 0..3 {
            world.send(CLIENT, b"one");
            // Something to do in the other direction, so that the socket has its turns.
            world.send(server, b"two");
            world.settle();
        }
        assert_eq!(world.of(server).received, b"one".repeat(3 * round));
        // What waits in the kernel does not keep the driver awake.
        let until_ns = world.driver.clock_ns() + 2_000_000;
        assert_eq!(world.turn(until_ns), 0);
        assert!(world.driver.clock_ns() >= until_ns, "woke for what is paused");
        world.driver.resume_receiving(server);
        let all = b"one".repeat(3 * round + 3);
        world.until("received", |world| world.of(server).received == all);
    }
    assert_eq!(world.of(CLIENT).received, b"two".repeat(9));
}

/// Pauses and resumes at every stage of an operation under way.
fn pauses_lose_nothing<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    let server = world.pair(CLIENT, at);
    let bytes = pattern(4 * MIB, 6);
    world.send(CLIENT, &bytes);
    world.driver.shutdown(CLIENT);
    let mut round = 0_u32;
    while !world.of(server).ended {
        round += 1;
        for step in 0..round % 5 {
            if (round >> step) & 1 == 0 {
                world.driver.pause_receiving(server);
            } else {
                world.driver.resume_receiving(server);
            }
            if (round >> (step + 2)) & 1 == 0 {
                world.turn(1);
            }
        }
        world.driver.resume_receiving(server);
        let before = world.of(server).received.len();
        world.until("some received", |world| {
            world.of(server).received.len() > before || world.of(server).ended
        });
    }
    assert_same(&world.of(server).received, &bytes);
    // An end is seen once receiving goes on.
    world.driver.pause_receiving(CLIENT);
    world.settle();
    world.close(server, Close::Graceful);
    world.settle();
    world.driver.resume_receiving(CLIENT);
    world.until("ended", |world| world.of(CLIENT).ended);
}

fn a_pause_ends_with_the_use_of_its_token<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    for round in 0..40 {
        let server = world.pair(CLIENT, at);
        world.send(CLIENT, b"seen");
        world.until("received", |world| world.of(server).received == b"seen");
        world.driver.pause_receiving(server);
        world.driver.pause_receiving(CLIENT);
        if round % 2 == 0 {
            world.turn(1);
        }
        world.close(server, Close::Reset);
        world.close(CLIENT, Close::Reset);
    }
}

fn a_send_that_fails_is_reported_while_paused<D: Driver>(make: Make<'_, D>) {
    let mut world = world(make, &options(2, 1));
    let at = world.listen(LISTENER);
    for queued in [false, true] {
        let server = world.pair(CLIENT, at);
        world.driver.pause_receiving(CLIENT);
        if queued {
            // The rest is with the driver when the reset comes.
            world.send(CLIENT, &pattern(48 * MIB, 1));
            world.driver.pause_receiving(server);
            world.settle();
        }
        world.close(server, Close::Reset);
        world.settle();
        // One may be taken by a kernel that has not heard of the reset.
        let mut sends = 0;
        while world.of(CLIENT).failed.is_none() {
            assert!(sends < 100, "no send ever fails");
            sends += 1;
            world.send(CLIENT, b"into the void");
            world.settle();
        }
        let (operation, error) = world.of(CLIENT).failed.expect("just seen");
        assert!(matches!(operation, Operation::Send | Operation::Receive));
        assert!(matches!(error, libc::EPIPE | libc::ECONNRESET));
        world.close(CLIENT, Close::Graceful);
    }
}
