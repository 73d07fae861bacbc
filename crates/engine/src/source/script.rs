//! How the messages of a call go, once its schema is known.

use plimsoll_conn::Messages;
use plimsoll_core::plan::{CallKind, GrpcPlan};
use plimsoll_grpc::Kind;

use super::error::Problem;

/// How the messages of a call go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Script {
    /// What kind of method is called.
    pub method: Kind,
    /// Which of the ways that such a method has.
    pub kind: CallKind,
    /// How many messages a call sends.
    pub messages: u32,
    /// How many of them go at a time, at most.
    pub batch: u32,
}

impl Script {
    /// Whether a call has more than one message on either side.
    #[must_use]
    pub fn streams(self) -> bool {
        self.kind != CallKind::Unary
    }

    /// Whether more is sent when what was sent before has gone.
    #[must_use]
    pub fn is_in_pieces(self) -> bool {
        self.kind != CallKind::PingPong && self.batch < self.messages
    }

    pub(super) fn new(method: Kind, kind: CallKind, messages: &Messages) -> Self {
        Self { method, kind, messages: messages.count, batch: messages.batch() }
    }
}

/// The way in which a plan calls a method of this kind.
pub(super) fn kind_of(grpc: &GrpcPlan, method: Kind) -> Result<CallKind, Problem> {
    let ways: &[CallKind] = match method {
        Kind::Unary => &[CallKind::Unary],
        Kind::Server => &[CallKind::Server],
        Kind::Client => &[CallKind::Client],
        Kind::Bidi => &[CallKind::Bidi, CallKind::PingPong],
    };
    let kind = grpc.stream.unwrap_or(ways[0]);
    if !ways.contains(&kind) {
        let name = grpc.method.clone();
        return Err(Problem::OtherKind { name, method: method.name(), asked: kind.name() });
    }
    match grpc.messages {
        Some(messages) if !kind.sends_many() && messages != 1 => {
            Err(Problem::OneMessage { kind: kind.name(), messages })
        }
        _ => Ok(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_called_in_a_way_that_it_has() {
        use CallKind::{Bidi, Client, PingPong, Server, Unary};
        for (method, asked, messages, want) in [
            (Kind::Unary, None, None, Ok(Unary)),
            (Kind::Server, None, None, Ok(Server)),
            (Kind::Client, None, Some(0), Ok(Client)),
            (Kind::Bidi, None, Some(9), Ok(Bidi)),
            (Kind::Bidi, Some(PingPong), Some(9), Ok(PingPong)),
            (Kind::Bidi, Some(Bidi), None, Ok(Bidi)),
            (Kind::Server, Some(Server), Some(1), Ok(Server)),
            (Kind::Server, Some(PingPong), None, Err("is of the kind 'server'")),
            (Kind::Unary, Some(Server), None, Err("is of the kind 'unary'")),
            (Kind::Client, Some(Bidi), None, Err("is of the kind 'client'")),
            (Kind::Bidi, Some(Unary), None, Err("is of the kind 'bidi'")),
            (Kind::Unary, None, Some(2), Err("sends one message, not 2")),
            (Kind::Server, None, Some(0), Err("sends one message, not 0")),
        ] {
            let grpc = GrpcPlan { stream: asked, messages, ..GrpcPlan::new("p.S/M".to_owned()) };
            match (kind_of(&grpc, method), want) {
                (Ok(kind), Ok(want)) => assert_eq!(kind, want, "{method:?} {asked:?}"),
                (Err(error), Err(says)) => {
                    assert!(error.to_string().contains(says), "{error}");
                }
                (got, want) => panic!("{method:?} {asked:?} {messages:?}: {got:?}, not {want:?}"),
            }
        }
    }
}
