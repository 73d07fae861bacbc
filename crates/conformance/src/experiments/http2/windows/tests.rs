//! The judges of windows and bytes, on hand-made readings and logs.

use super::*;
use crate::oracle::Connection;

fn passes(outcome: &Judgement) -> bool {
    matches!(outcome, Judgement::Pass { .. })
}

#[test]
fn an_upload_has_two_parts() {
    let entry =
        Entry { opened_ns: 10 * MS, received_ns: 160 * MS, sent_ns: 180 * MS, ..Entry::default() };
    let log = Log { entries: vec![entry; 5], ..Log::default() };
    let judged = |p50_s, parts: [Option<f64>; 3], text: &str, control: &str| {
        let says = |text: &str| Reading { text: text.to_owned(), ..Reading::default() };
        let reading = Reading { quantiles: vec![(0.5, p50_s)], ..says(text) };
        let [sending_s, stalled_s, waiting_s] = parts;
        let further = Further { sending_s, stalled_s, waiting_s, ..Further::default() };
        let run = Run { reading, further, log: log.clone(), ..Run::default() };
        passes(&judge_upload(&run, &says(control)).unwrap())
    };
    let untold = [None; 3];
    assert!(judged(0.17, [Some(0.15), Some(0.149), Some(0.0201)], "", ""));
    assert!(judged(0.17, untold, "150 ms were spent on the server's window", ""));
    assert!(!judged(0.17, untold, "", ""), "one figure");
    let window = "waited for the server's window";
    assert!(!judged(0.17, untold, window, window), "it always says so");
    assert!(!judged(0.02, [Some(0.15), Some(0.149), Some(0.0201)], "", ""));
    assert!(!judged(0.17, [Some(0.0), None, Some(0.17)], "", ""), "all of it the server's");
    assert!(!judged(0.17, [Some(0.15), Some(0.0), Some(0.02)], "", ""), "no stall");
    assert!(!judged(0.17, [Some(0.15), Some(0.15), Some(0.17)], "", ""), "counted twice");
}

#[test]
fn large_answers_are_not_held_back() {
    let judged = |p50_s| {
        let reading = Reading { quantiles: vec![(0.5, p50_s)], ..Reading::default() };
        passes(&judge_download(&Run { reading, ..Run::default() }).unwrap())
    };
    assert!(judged(0.004));
    assert!(judged(0.041));
    assert!(!judged(0.32));
}

#[test]
fn bytes_are_those_of_the_connection() {
    let entry = Entry { bytes_in: 30, bytes_out: 40, header_bytes_out: 6, ..Entry::default() };
    let connection =
        Connection { is_http2: true, bytes_in: 380, bytes_out: 460, ..Connection::default() };
    let log = Log { entries: vec![entry; 10], connections: vec![connection], ..Log::default() };
    let judged = |bytes_sent, bytes_received, header_bytes_received| {
        let further =
            Further { bytes_sent, bytes_received, header_bytes_received, ..Further::default() };
        judge_bytes(&Run { further, log: log.clone(), ..Run::default() })
    };
    let is_right = |sent, received, blocks| passes(&judged(sent, received, blocks).unwrap());
    assert!(is_right(Some(380), Some(460), None));
    assert!(is_right(Some(300), Some(400), Some(60)), "without the connection's own frames");
    assert!(is_right(None, Some(460), Some(60)));
    assert!(!is_right(Some(200), Some(460), None), "without heads");
    assert!(!is_right(Some(380), Some(9000), None), "as if not compressed");
    assert!(!is_right(None, Some(460), Some(200)), "as if not compressed");
    assert!(judged(None, None, Some(60)).is_err());
}
