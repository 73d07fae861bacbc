//! What goes over the wire where a user says something about connections and lengths, and what is
//! made of odd responses; and that nothing foreign reaches a terminal as it is.

use std::fs;

use crate::peer::{Answer, OK, Peer};
use crate::support::{measure, plimsoll, run};

const CLOSE: &str = "Connection: close";

/// A request that says that its connection ends is the last on it, whatever the server does.
#[test]
fn a_request_that_says_close_is_the_last_on_its_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let targets = folder.path().join("targets.txt");
    let script = folder.path().join("close.lua");
    fs::write(&script, "wrk.headers['Connection'] = 'TE, close'").expect("written");
    let script = script.to_str().expect("text");
    let table = folder.path().join("table.csv");
    fs::write(&table, "says\nclose\n").expect("written");
    let templated = format!("Connection: {{{{csv:{}:says}}}}", table.display());
    for (before, after, connections) in [
        (&["run", "-n", "6", "-c", "1"][..], &[][..], 1),
        (&["run", "-n", "6", "-c", "1"], &["-H", CLOSE], 6),
        (&["run", "-n", "6", "-c", "1"], &["-H", "connection: TE,  CLOSE"], 6),
        (&["run", "-n", "6", "-c", "1"], &["-H", "Connection: TE", "-H", CLOSE], 6),
        (&["run", "-n", "6", "-c", "1"], &["-H", "Connection: keep-alive"], 1),
        (&["run", "-n", "6", "-c", "1", "-r", "500"], &["-H", CLOSE], 6),
        (&["run", "-n", "6", "-c", "1"], &["-H", &templated], 6),
        (&["run", "-n", "6", "-c", "1"], &["--http", "1.0", "-H", "Connection: x"], 6),
        (&["run", "-n", "6", "-c", "1"], &["--targets", "TARGETS"], 4),
        (&["run", "-n", "6", "-c", "1"], &["--script", script], 6),
        (&["ab", "-k", "-n", "6", "-c", "1"], &["-H", CLOSE], 6),
        (&["ab", "-k", "-n", "6", "-c", "1"], &[], 1),
        (&["fortio", "load", "-n", "6", "-c", "1", "-qps", "0"], &["-H", CLOSE], 6),
    ] {
        let peer = Peer::answering(|_| Answer::Say(OK));
        // Two of three say it, the second and the third.
        let url = peer.url("/");
        let text = format!("GET {url}\n\nGET {url}a\n{CLOSE}\n\nGET {url}b\nconnection: Close\n");
        fs::write(&targets, text).expect("written");
        let after = after.iter().map(|word| match *word {
            "TARGETS" => targets.to_str().expect("text"),
            word => word,
        });
        let mut words: Vec<&str> = before.iter().copied().chain(after).collect();
        if !words.contains(&"--targets") {
            words.push(&url);
        }
        let finished = run(&mut plimsoll(&words));
        assert_eq!(finished.code, Some(0), "{words:?}: {finished:?}");
        // fortio's first call on each connection is its warm-up.
        assert!(peer.requests().len() >= 6, "{words:?}");
        let extra = peer.requests().len() - 6;
        let wanted = if connections == 6 { 6 + extra } else { connections };
        assert_eq!(peer.connections(), wanted, "{words:?}");
    }
}

/// wrk sends on until the server closes.
#[test]
fn wrk_sends_on_behind_close() {
    let peer = Peer::answering(|_| Answer::Say(OK));
    let words = ["wrk", "-c1", "-t1", "-d1", "-H", CLOSE, &peer.url("/")];
    assert_eq!(run(&mut plimsoll(&words)).code, Some(0));
    assert_eq!(peer.connections(), 1);
    assert!(peer.requests().len() > 1);
}

#[test]
fn a_length_that_is_not_the_bodys_is_refused_before_the_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = folder.path().join("body");
    fs::write(&body, "hello").expect("written");
    let at_body = format!("@{}", body.display());
    let body = body.to_str().expect("text");
    for words in [
        &["run", "-n", "1", "-b", "hello", "-H", "Content-Length: 3"][..],
        &["run", "-n", "1", "-b", &at_body, "-H", "content-length: 9"],
        &["run", "-n", "1", "-H", "Content-Length: 3"],
        &["run", "-n", "1", "-b", "hello", "-H", "Content-Length:"],
        &["run", "-n", "1", "-b", "hello", "-H", "Transfer-Encoding: gzip"],
        &["run", "-n", "1", "-b", "hello", "--http", "2", "-H", "Content-Length: 3"],
        &["request", "-b", "hello", "-H", "Content-Length: 3"],
        &["find", "--slo", "p99<1s", "-b", "hello", "-H", "Content-Length: 3"],
        &["ab", "-n", "1", "-p", body, "-H", "Content-Length: 3"],
        &["fortio", "load", "-n", "1", "-payload", "hello", "-H", "Content-Length: 3"],
    ] {
        let peer = Peer::answering(|_| Answer::Say(OK));
        let url = peer.url("/");
        let finished = run(plimsoll(words).arg(&url));
        assert!(matches!(finished.code, Some(1 | 2)), "{words:?}: {finished:?}");
        assert!(
            finished.stderr.contains("leave the header out") || finished.stderr.contains("away"),
            "{words:?}: {finished:?}"
        );
        assert_eq!(peer.requests().len(), 0, "{words:?}");
    }
}

#[test]
fn a_folded_field_is_one_line_and_a_wrong_one_is_shown() {
    let folded = "HTTP/1.1 200 OK\r\nX-A: one\r\n\ttwo\r\nContent-Length: 2\r\n\r\nok";
    let peer = Peer::answering(move |_| Answer::Say(folded));
    let report = measure(&["-n", "3", "-c", "1", "--expect", "header:X-A=one two", &peer.url("/")]);
    assert_eq!(report.ledger(["ok", "failed", "broken"]), [3, 0, 0]);
    let wrong = "HTTP/1.1 200 OK\r\nX-\x1b[2JA : secret\r\nContent-Length: 2\r\n\r\nok";
    let peer = Peer::answering(move |_| Answer::Say(wrong));
    let report = measure(&["-n", "1", "-c", "1", &peer.url("/")]);
    assert_eq!(report.text("/errors/0/kind"), "malformed_field");
    let sample = report.text("/errors/0/sample");
    assert!(sample.contains("X-\\x1b[2JA :") && !sample.contains("secret"), "{sample}");
}

/// What documents, plans and arguments say is shown with escapes spelled out, on one line.
#[test]
fn escapes_of_documents_and_plans_reach_no_terminal() {
    const EVIL: &str = "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}\u{202e}\nplimsoll: VALID";
    let folder = tempfile::tempdir().expect("a folder");
    let peer = Peer::answering(|_| Answer::Say(OK));
    let good = measure(&["-n", "3", "-c", "1", &peer.url("/")]);
    let at = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("text").to_owned()
    };
    let mut paths = vec![at("schema.json", &serde_json::json!({ "schema": EVIL }).to_string())];
    for place in ["/loader/verdict", "/plan/driver", "/plan/order", "/errors", "/series"] {
        let mut document = good.at("").clone();
        *document.pointer_mut(place).expect(place) = EVIL.into();
        paths.push(at(&format!("{}.json", paths.len()), &document.to_string()));
    }
    let mut document = good.at("").clone();
    document[EVIL] = 1.into();
    document["plan"][EVIL] = 1.into();
    paths.push(at("keys.json", &document.to_string()));
    // Strings of TOML have the escapes of JSON.
    let evil = serde_json::to_string(EVIL).expect("text");
    let plans = [
        format!("url = {evil}\n"),
        format!("{evil} = 1\n"),
        format!("url = 'http://a/'\nspin = {evil}\n"),
        format!("url = 'http://a/'\ngate = [{evil}]\n"),
        "url = \u{1b}[2J\n".to_owned(),
    ];
    let plans: Vec<String> =
        plans.iter().zip(0..).map(|(text, number)| at(&format!("{number}.toml"), text)).collect();
    let mut calls: Vec<Vec<&str>> = Vec::new();
    for path in &paths {
        calls.push(vec!["report", path]);
        calls.push(vec!["compare", path, path]);
    }
    for plan in &plans {
        calls.push(vec!["run", "--plan", plan]);
        calls.push(vec!["run", "--plan", plan, "--print-plan"]);
        calls.push(vec!["lab", plan]);
    }
    calls.push(vec!["explain", EVIL]);
    calls.push(vec!["run", EVIL]);
    calls.push(vec!["run", "--gate", EVIL, "http://a/"]);
    calls.push(vec![EVIL, "http://a/"]);
    calls.push(vec!["completions", EVIL]);
    calls.push(vec!["wrk", EVIL]);
    calls.push(vec!["ab", EVIL]);
    calls.push(vec!["fortio", "load", EVIL]);
    for call in calls {
        let finished = run(&mut plimsoll(&call));
        for text in [&finished.stdout, &finished.stderr] {
            let odd = text
                .chars()
                .find(|c| (c.is_control() && *c != '\n' && *c != '\t') || *c == '\u{202e}');
            assert_eq!(odd, None, "{call:?}: {text:?}");
            assert!(!text.lines().any(|line| line == "plimsoll: VALID"), "{call:?}: {text:?}");
        }
    }
}
