//! The query of `/ws`: what the WebSocket does beside echoing.

use plimsoll_core::units;
use plimsoll_proto::websocket::CloseCode;

use crate::route::{DELAY_NS_MAX, Refusal};

/// What a WebSocket does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Script {
    /// `push`: a message is sent this often.
    pub(crate) push_ns: Option<u64>,
    /// `size`: bytes of a pushed message.
    pub(crate) push_bytes: usize,
    /// `delay`: between a message and its answer.
    pub(crate) delay_ns: u64,
    /// `fragments`: in which each answer goes out.
    pub(crate) fragments: u32,
    /// `pause`: between two of them.
    pub(crate) pause_ns: u64,
    /// `close-after`: this many answers.
    pub(crate) close_after: Option<u32>,
    /// `close-code`: the code of that.
    pub(crate) close_code: CloseCode,
}

const PUSH_BYTES_MAX: u64 = 1_000_000;
const FRAGMENTS_MAX: u32 = 1000;
/// The shortest time between two pushed messages, so that a client cannot ask for a flood.
const PUSH_NS_MIN: u64 = 100_000;

const BAD_QUERY: Refusal = Refusal {
    status: 400,
    line: "/ws takes push=100ms size=16 delay=50ms fragments=3 pause=10ms close-after=5 \
           close-code=1000 subprotocol=NAME",
};

/// Reads a query: what to do, and the subprotocol to choose.
pub(super) fn parse(query: &str) -> Result<(Script, Option<&str>), Refusal> {
    let mut script = Script {
        push_ns: None,
        push_bytes: 16,
        delay_ns: 0,
        fragments: 1,
        pause_ns: 0,
        close_after: None,
        close_code: CloseCode::NORMAL,
    };
    let mut subprotocol = None;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or(BAD_QUERY)?;
        match name {
            "subprotocol" => subprotocol = Some(value),
            _ => script.set(name, value).ok_or(BAD_QUERY)?,
        }
    }
    Ok((script, subprotocol))
}

impl Script {
    /// Sets one parameter; `None` when it is unknown or out of range.
    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "push" => {
                self.push_ns = Some(duration_ns(value).filter(|&push_ns| push_ns >= PUSH_NS_MIN)?);
            }
            "size" => {
                let bytes = units::parse_count(value).ok().filter(|&it| it <= PUSH_BYTES_MAX)?;
                self.push_bytes = bytes as usize;
            }
            "delay" => self.delay_ns = duration_ns(value)?,
            "pause" => self.pause_ns = duration_ns(value)?,
            "fragments" => {
                let count = value.parse().ok();
                self.fragments = count.filter(|count| (1..=FRAGMENTS_MAX).contains(count))?;
            }
            "close-after" => {
                self.close_after = Some(value.parse().ok().filter(|&count| count > 0)?);
            }
            "close-code" => self.close_code = CloseCode::new(value.parse().ok()?)?,
            _ => return None,
        }
        Some(())
    }
}

fn duration_ns(value: &str) -> Option<u64> {
    units::parse_duration_ns(value).ok().filter(|&duration_ns| duration_ns <= DELAY_NS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries() {
        let (plain, none) = parse("").expect("valid");
        assert_eq!((plain.fragments, none), (1, None));
        for (query, want) in [
            (
                "push=100ms&size=1k",
                Script { push_ns: Some(100_000_000), push_bytes: 1000, ..plain },
            ),
            (
                "delay=50ms&pause=1s",
                Script { delay_ns: 50_000_000, pause_ns: 1_000_000_000, ..plain },
            ),
            ("fragments=1000", Script { fragments: 1000, ..plain }),
            (
                "close-after=5&close-code=4000",
                Script {
                    close_after: Some(5),
                    close_code: CloseCode::new(4000).expect("a code"),
                    ..plain
                },
            ),
            ("subprotocol=chat&&", plain),
        ] {
            assert_eq!(parse(query).map(|(script, _)| script), Ok(want), "{query}");
        }
        assert_eq!(parse("subprotocol=chat").map(|(_, name)| name), Ok(Some("chat")));
        for query in [
            "push",
            "push=",
            "push=1us",
            "size=2M",
            "fragments=0",
            "fragments=1001",
            "delay=2h",
            "pause=x",
            "close-after=0",
            "close-code=1005",
            "close-code=99",
            "other=1",
        ] {
            assert_eq!(parse(query), Err(BAD_QUERY), "{query}");
        }
    }
}
