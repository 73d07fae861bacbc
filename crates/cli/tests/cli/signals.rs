//! Ctrl-C, SIGTERM and SIGHUP end a run early: what was measured until then is reported.

use rustix::process::Signal;

use crate::peer::{Answer, OK, Peer};
use crate::support::{Report, Running, plimsoll};

fn loading(peer: &Peer, flags: &[&str]) -> Running {
    let url = peer.url("/");
    Running::start(plimsoll(&[&url, "-d", "80s", "-c", "4"]).args(flags))
}

/// Whether these tests, and so what they start, were told to ignore SIGHUP, as by nohup.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    let mask = u64::from_str_radix(line.trim(), 16).expect("a hexadecimal number");
    // Signal 1 has the lowest bit.
    mask & 1 == 1
}

#[test]
fn a_signal_gives_the_partial_report_and_its_exit_code() {
    let mut signals = vec![(Signal::INT, 130), (Signal::TERM, 143)];
    if !ignores_hangup() {
        signals.push((Signal::HUP, 129));
    }
    for (signal, code) in signals {
        for flags in [&["-r", "500"][..], &["-r", "500", "--driver", "epoll"], &[]] {
            let peer = Peer::answering(|_| Answer::Say(OK));
            let mut all = flags.to_vec();
            all.extend(["--format", "json"]);
            let running = loading(&peer, &all);
            peer.wait_for_requests(50);
            let finished = running.finish_by(signal);
            assert_eq!((finished.code, finished.stderr.as_str()), (Some(code), ""), "{flags:?}");
            let report = Report::read(&finished.stdout);
            assert_eq!(report.at("/interrupted"), &true);
            let [sent, completed] = report.ledger(["sent", "completed"]);
            assert_eq!((sent, completed), (peer.requests().len() as u64, sent), "{flags:?}");
            assert!(report.number("/elapsed_s") < 80.0);
        }
    }
}

#[test]
fn the_text_says_that_it_was_interrupted() {
    let peer = Peer::answering(|_| Answer::Say(OK));
    let running = loading(&peer, &["-r", "500"]);
    peer.wait_for_requests(50);
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(130));
    assert!(finished.stdout.contains("interrupted"), "{}", finished.stdout);
}

/// nohup starts programs with SIGHUP ignored, and means it.
#[test]
fn a_closed_terminal_does_not_end_what_was_told_to_ignore_it() {
    let peer = Peer::answering(|_| Answer::Say(OK));
    let program = env!("CARGO_BIN_EXE_plimsoll");
    let line = format!("trap '' HUP; exec '{program}' '{}' -r 500 -d 80s", peer.url("/"));
    let running = Running::start(std::process::Command::new("sh").args(["-c", &line]));
    peer.wait_for_requests(50);
    running.signal(Signal::HUP);
    peer.wait_for_requests(100);
    assert_eq!(running.finish_by(Signal::INT).code, Some(130));
}

/// Requests that hang hold an interrupted run up for a second at most, and count.
#[test]
fn a_signal_does_not_wait_for_the_whole_drain() {
    let peer = Peer::answering(|_| Answer::Hang);
    let running = loading(&peer, &["--format", "json", "--drain", "80s", "--timeout", "80s"]);
    peer.wait_for_requests(4);
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(130));
    let report = Report::read(&finished.stdout);
    assert_eq!(report.ledger(["sent", "unfinished"]), [4, 4]);
}

#[test]
fn a_second_signal_ends_at_once_without_a_report() {
    let peer = Peer::answering(|_| Answer::Hang);
    let mut running = loading(&peer, &["--drain", "80s", "--timeout", "80s"]);
    peer.wait_for_requests(4);
    // Signals that come too fast are seen as one, so once more until it is over.
    while running.ended().is_none() {
        running.signal(Signal::INT);
        std::thread::yield_now();
    }
    let finished = running.finish();
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(130), ""));
}
