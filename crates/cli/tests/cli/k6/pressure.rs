//! Scripts that log and record faster than it can be written, and an output that nobody reads.

use std::io::{Read as _, Write as _};

use super::World;
use crate::peer::{Answer, OK, Peer};

/// What a pipe holds before a write to it waits.
const PIPE_BYTES: usize = 64 << 10;

/// More than the queue of lines holds, and more samples than a batch has.
const LINES: usize = 30_000;

#[test]
fn nothing_is_left_out() {
    let world = World::new(&format!(
        "import {{ Trend }} from 'k6/metrics'; const mine = new Trend('mine');
         export default function () {{
             for (let n = 0; n < {LINES}; n++) {{ console.log(n); mine.add(n); }} }}"
    ));
    let finished = world.run(&["-q", "--log-format", "raw", "-o", "json=all.json"]);
    assert_eq!(finished.code, Some(0), "{:.1000}", finished.stderr);
    let said = finished.stderr.lines().filter(|line| !line.starts_with("plimsoll: "));
    let want = (0..LINES).map(|number| number.to_string());
    assert!(said.eq(want), "{:.1000}", finished.stderr);
    let all = world.read("all.json");
    let points =
        all.lines().filter(|line| line.starts_with("{\"metric\":\"mine\",\"type\":\"Point\""));
    assert_eq!(points.count(), LINES);
}

#[test]
fn a_load_does_not_wait_for_who_reads_the_output() {
    let world =
        World::new("import http from 'k6/http'; export default () => http.get(__ENV.PEER);");
    let peer = Peer::answering(|_| Answer::Say(OK));
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(&[b'.'; PIPE_BYTES]).expect("there is room");
    let mut command = world.k6(&["run", "-i", "5", "script.js"]);
    command.env("PEER", peer.url("/")).stdout(writer);
    let mut child = command.spawn().expect("started");
    drop(command);
    peer.wait_for_requests(5);
    let mut text = Vec::new();
    reader.read_to_end(&mut text).expect("read");
    let text = String::from_utf8_lossy(&text[PIPE_BYTES..]).into_owned();
    assert!(child.wait().expect("ended").success(), "{text}");
    for part in ["execution: local", "5 complete and 0 interrupted iterations"] {
        assert!(text.contains(part), "{text}");
    }
}
