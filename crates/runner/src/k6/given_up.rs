//! Which values of a request are lower bounds: it was given up before it had a whole response.
//! Gates on thresholds need to know.

use plimsoll_engine::vu::RequestEnded;

/// The number of k6 for a body that cannot be decoded.
const UNDECODED: u16 = 1701;

/// Which of a request's values are lower bounds, by bits, because it has no whole response: the
/// times of what went on when it was given up, and of what was to follow.
pub(super) fn given_up(ended: &RequestEnded<'_>) -> u16 {
    /// `http_req_duration`, `http_req_waiting` and `http_req_receiving`.
    const RESPONSE: u16 = 1 << 1 | 1 << 6 | 1 << 7;
    /// `http_req_blocked`, `http_req_connecting`, `http_req_tls_handshaking` and
    /// `http_req_sending`.
    const OPENING: u16 = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5;
    // A body that cannot be decoded is there.
    if ended.status > 0 || ended.error_code == UNDECODED {
        return 0;
    }
    match ended.timings.duration_ns() {
        0 => RESPONSE | OPENING,
        _ => RESPONSE,
    }
}
