//! What all judges of HTTP/2 share, on hand-made logs.

use super::*;
use crate::oracle::Connection;

#[test]
fn other_protocols_and_broken_ones_fail() {
    let http2 = Connection { is_http2: true, requests: 1, ..Connection::default() };
    let http1 = Connection { is_http2: false, ..http2 };
    for (connections, passes) in [
        (vec![http2], true),
        (vec![], true),
        (vec![http2, http1], false),
        (vec![http2, Connection { requests: 0, ..http1 }], true),
        (vec![http2, Connection { broke: 3, ..http2 }], false),
    ] {
        let mut checks = Checks::default();
        keeps_to_http2(&mut checks, &Log { connections, ..Log::default() });
        assert_eq!(checks.are_right(), passes);
    }
}

#[test]
fn what_is_lost_adds_up() {
    let reading =
        Reading { completed: Some(3), timed_out: Some(4), errors: Some(5), ..Reading::default() };
    assert_eq!(counted(&reading), Ok([3, 9]));
    assert!(counted(&Reading { completed: None, ..reading }).is_err());
}
