//! Runs of `plimsoll k6` that signals end.

use rustix::process::Signal;

use super::World;
use crate::support::{Running, Stream};

#[test]
fn a_signal_ends_the_iterations_and_not_the_teardown() {
    let world = World::new(
        "import { sleep } from 'k6';
         export function setup() { console.log('set up'); return 4; }
         export default function () { console.log('started'); sleep(600); }
         export function teardown(data) { console.log(`torn down ${data}`); }",
    );
    for signal in [Signal::INT, Signal::TERM] {
        let mut running = Running::start(&mut world.k6(&["run", "-d", "60s", "script.js"]));
        while !running.next_line(Stream::Err).contains("started") {}
        let finished = running.finish_by(signal);
        assert_eq!(finished.code, Some(105), "{finished:?}");
        assert!(finished.stderr.contains("torn down 4"), "{}", finished.stderr);
        assert!(finished.stderr.contains("the test was ended by a signal"), "{}", finished.stderr);
        assert!(
            finished.stdout.contains("0 complete and 1 interrupted iterations"),
            "{finished:?}"
        );
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let world = World::new(
        "import { sleep } from 'k6';
         export default function () { console.log('started'); sleep(600); }
         export function teardown() { console.log('tearing down'); sleep(600); }",
    );
    let mut running = Running::start(&mut world.k6(&["run", "-d", "60s", "script.js"]));
    while !running.next_line(Stream::Err).contains("started") {}
    running.signal(Signal::INT);
    while !running.next_line(Stream::Err).contains("tearing down") {}
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(105), "{finished:?}");
    assert!(!finished.stdout.contains("TOTAL RESULTS"), "{finished:?}");
}
