//! `lab --out`: each run sends its own figures under labels of its own, and nothing else is sent.

use std::collections::BTreeMap;

use crate::peer::{Answer, Peer};

use super::{SERVE, Suite};

/// The server, the load and the repeat that a point's labels name.
fn run_of(line: &str) -> [&str; 3] {
    let tags = line.split(' ').next().unwrap_or_default();
    ["server", "load", "repeat"].map(|name| {
        let mut pairs = tags.split(',').filter_map(|tag| tag.split_once('='));
        pairs.find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    })
}

fn sent(line: &str) -> u64 {
    let fields = line.split(' ').nth(1).unwrap_or_default();
    let sent = fields.split(',').find_map(|field| field.strip_prefix("sent="));
    sent.map_or(0, |count| count.trim_end_matches('i').parse().expect("a count"))
}

#[test]
fn each_run_sends_its_figures_with_labels_that_tell_it_from_the_others() {
    let command = format!("command = '{SERVE}'");
    let head = "repeats = 2\nwarmup = '50ms'";
    let suite = Suite::of(head, &[("one", command.as_str()), ("two", &command)]);
    let receiver = Peer::answering(|_| Answer::Say("HTTP/1.1 204 No Content\r\n\r\n"));
    let out = format!("influx={}", receiver.url("/load"));
    let finished = suite.run(&["--out", &out, "--out-label", "run=nightly"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let mut counts: BTreeMap<[String; 3], u64> = BTreeMap::new();
    let requests = receiver.requests();
    for line in requests.iter().flat_map(|request| request.lines()) {
        if !line.starts_with("plimsoll") {
            continue;
        }
        assert!(line.contains(",run=nightly,"), "{line}");
        *counts.entry(run_of(line).map(str::to_owned)).or_default() += sent(line);
    }
    let mut want = BTreeMap::new();
    for server in ["one", "two"] {
        for repeat in ["1", "2"] {
            want.insert([server, "few", repeat].map(str::to_owned), 20);
            want.insert([server, "more", repeat].map(str::to_owned), 40);
        }
    }
    assert_eq!(counts, want);
}

#[test]
fn the_study_says_what_an_output_did_not_get() {
    let suite = Suite::of("repeats = 1", &[("one", &format!("command = '{SERVE}'"))]);
    let refused = "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nbad";
    let receiver = Peer::answering(move |_| Answer::Say(refused));
    let out = format!("influx={}", receiver.url("/load"));
    let finished = suite.run(&["--out", &out, "--only", "/few"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let study = suite.study();
    let causes = study.pointer("/cases/0/runs/0/causes").and_then(|causes| causes.as_array());
    let lost = causes.expect("causes").iter().find(|cause| cause["code"] == "output_lost");
    let text = lost.expect("what was lost")["text"].as_str().expect("a text");
    assert!(text.starts_with("output influx at http://127.0.0.1:"), "{text}");
    assert!(text.ends_with(" batches were not delivered: HTTP 400: bad"), "{text}");
}
