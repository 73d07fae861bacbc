//! What each method makes of a message: the answer, said piece by piece.

use std::sync::OnceLock;

use plimsoll_grpc::Malformed;
use plimsoll_grpc::builtin::testing::{self, OutputRequest, SimpleRequest};
use plimsoll_grpc::builtin::{
    Ping, SERVICES, Serving, read_health_request, schema, write_health_response,
};
use plimsoll_grpc::reflection::Answers;
use plimsoll_proto::grpc::{Code, PREFIX_BYTES, message_prefix};

use super::{DELAY_NS_MAX, Method};

/// Zeros of a payload up to here are written, and not left to the caller.
const ZEROS_MAX: u32 = 4096;

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status<'a> {
    pub(super) code: Code,
    pub(super) text: &'a str,
}

/// What is to be said to one message, or to all of a request, and how far that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// All has been said.
    Nothing,
    Empty,
    Health(Serving),
    /// The same, and nothing more until the client ends the call.
    Watch(Serving),
    Watching,
    /// The message itself, held back.
    Ping {
        due_ns: Option<u64>,
    },
    Reflection,
    /// A payload of this size.
    Payload(u32),
    /// How many bytes all payloads had.
    Sum(u64),
    /// Responses whose parameters stand in the message from `at` on; the next one is due then.
    Outputs {
        at: usize,
        due_ns: Option<u64>,
    },
    /// The status that the message asks for.
    Status,
}

/// What came of saying more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said<'m> {
    /// A message, but for its zeros.
    Message { zero_bytes: u64 },
    /// Nothing before this time.
    NotYet(u64),
    /// The end of the call.
    Status(Status<'m>),
    /// There is nothing more to say.
    All,
}

const MALFORMED: Status<'static> =
    Status { code: Code::INTERNAL, text: "the message is not one of the method's" };

impl From<Malformed> for Status<'_> {
    fn from(_: Malformed) -> Self {
        MALFORMED
    }
}

fn invalid(text: &'static str) -> Status<'static> {
    Status { code: Code::INVALID_ARGUMENT, text }
}

/// Bytes of the payload in a message of a method that adds them up.
pub(super) fn payload_bytes(message: &[u8]) -> Result<u64, Status<'static>> {
    Ok(testing::read_input_bytes(message)?)
}

impl Answer {
    /// The answer of a method to a message; `payload_bytes`: the sum, for a method that adds up.
    pub(super) fn to(
        method: Method,
        message: &[u8],
        payload_bytes: u64,
    ) -> Result<Self, Status<'static>> {
        Ok(match method {
            Method::Unknown => Self::Nothing,
            Method::HealthCheck => match serving(message)? {
                Serving::ServiceUnknown => {
                    return Err(Status { code: Code::NOT_FOUND, text: "there is no such service" });
                }
                serving => Self::Health(serving),
            },
            Method::HealthWatch => Self::Watch(serving(message)?),
            Method::Ping => {
                Ping::read(message)?;
                Self::Ping { due_ns: None }
            }
            Method::Reflection => Self::Reflection,
            Method::EmptyCall => Self::Empty,
            Method::UnaryCall => unary(&SimpleRequest::read(message)?)?,
            Method::StreamingInputCall => Self::Sum(payload_bytes),
            Method::StreamingOutputCall | Method::FullDuplexCall => {
                outputs(&OutputRequest::read(message)?)?
            }
        })
    }

    /// Says what can be said now about `message`; appends it to `out`.
    pub(super) fn say<'m>(
        &mut self,
        message: &'m [u8],
        now_ns: u64,
        base_unix_ns: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Said<'m> {
        match *self {
            Self::Nothing => return Said::All,
            Self::Watching => return Said::NotYet(u64::MAX),
            Self::Ping { due_ns } => {
                let Ok(mut ping) = Ping::read(message) else { return Said::Status(MALFORMED) };
                let delay_ns = (ping.delay_ns.max(0) as u64).min(DELAY_NS_MAX);
                let due_ns = due_ns.unwrap_or_else(|| now_ns.saturating_add(delay_ns));
                if due_ns > now_ns {
                    *self = Self::Ping { due_ns: Some(due_ns) };
                    return Said::NotYet(due_ns);
                }
                if let Some(base_unix_ns) = base_unix_ns {
                    let unix_ns = i64::try_from(base_unix_ns.saturating_add(now_ns));
                    ping.sent_at_ns = unix_ns.unwrap_or(i64::MAX);
                }
                write_message(out, |out| ping.write(out));
            }
            Self::Outputs { .. } => return self.say_output(message, now_ns, out),
            Self::Status => return status(message),
            Self::Reflection => {
                let mut is_request = Ok(());
                write_message(out, |out| is_request = answers().answer(message, out));
                if is_request.is_err() {
                    return Said::Status(MALFORMED);
                }
            }
            Self::Payload(size) => {
                *self = Self::Nothing;
                return Said::Message { zero_bytes: write_payload(size, out) };
            }
            Self::Empty => write_message(out, |_| {}),
            Self::Sum(bytes) => write_message(out, |out| testing::write_input_response(bytes, out)),
            Self::Health(serving) | Self::Watch(serving) => {
                write_message(out, |out| write_health_response(serving, out));
            }
        }
        *self = if let Self::Watch(_) = self { Self::Watching } else { Self::Nothing };
        Said::Message { zero_bytes: 0 }
    }

    fn say_output<'m>(&mut self, message: &'m [u8], now_ns: u64, out: &mut Vec<u8>) -> Said<'m> {
        let Self::Outputs { at, due_ns } = *self else { return Said::All };
        let mut behind = at;
        let Some(next) = testing::next_parameters(message, &mut behind) else {
            *self = Self::Nothing;
            return status(message);
        };
        let interval_ns = u64::from(next.interval_us.unsigned_abs()) * 1_000;
        let due_ns = due_ns.unwrap_or_else(|| now_ns.saturating_add(interval_ns));
        if due_ns > now_ns {
            *self = Self::Outputs { at, due_ns: Some(due_ns) };
            return Said::NotYet(due_ns);
        }
        *self = Self::Outputs { at: behind, due_ns: None };
        Said::Message { zero_bytes: write_payload(next.size.unsigned_abs(), out) }
    }
}

fn serving(message: &[u8]) -> Result<Serving, Malformed> {
    let service = read_health_request(message)?;
    // fortio's server has these two names beside the services.
    let is_known = service.is_empty() || service == "ping" || SERVICES.contains(&service);
    Ok(match service {
        "ping_down" => Serving::NotServing,
        _ if is_known => Serving::Serving,
        _ => Serving::ServiceUnknown,
    })
}

fn unary(request: &SimpleRequest<'_>) -> Result<Answer, Status<'static>> {
    match request {
        SimpleRequest { response_status, .. } if response_status.code != 0 => Ok(Answer::Status),
        SimpleRequest { response_type: 0, response_size: size @ 0.., .. } => {
            Ok(Answer::Payload(size.unsigned_abs()))
        }
        SimpleRequest { response_type: 0, .. } => Err(invalid("response_size is negative")),
        _ => Err(invalid("the only response_type is 0")),
    }
}

fn outputs(request: &OutputRequest<'_>) -> Result<Answer, Status<'static>> {
    match request {
        OutputRequest { response_type: 0, has_negative: false, .. } => {
            Ok(Answer::Outputs { at: 0, due_ns: None })
        }
        OutputRequest { response_type: 0, .. } => Err(invalid("a size or an interval is negative")),
        _ => Err(invalid("the only response_type is 0")),
    }
}

/// The status that a message of a test's method asks for.
fn status(message: &[u8]) -> Said<'_> {
    match testing::read_response_status(message) {
        Ok(asked) if asked.code != 0 => {
            Said::Status(Status { code: Code(asked.code as u32), text: asked.message })
        }
        _ => Said::All,
    }
}

/// The answers of the reflection service. The schema is compiled when it is first asked for.
fn answers() -> &'static Answers {
    static ANSWERS: OnceLock<Answers> = OnceLock::new();
    ANSWERS.get_or_init(|| Answers::new(&schema().expect("the sources are part of the program")))
}

/// Appends what `write` appends, behind the prefix of a message.
fn write_message(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; PREFIX_BYTES]);
    write(out);
    let start = at + PREFIX_BYTES;
    let prefix = message_prefix((out.len() - start) as u32);
    out[at..start].copy_from_slice(&prefix);
}

/// Appends a message with a payload, and gives how many zeros of it are missing.
fn write_payload(size: u32, out: &mut Vec<u8>) -> u64 {
    let at = out.len();
    out.extend_from_slice(&[0; PREFIX_BYTES]);
    testing::write_payload_start(size, out);
    let start = at + PREFIX_BYTES;
    let bytes = (out.len() - start) as u32 + size;
    out[at..start].copy_from_slice(&message_prefix(bytes));
    if size > ZEROS_MAX {
        return u64::from(size);
    }
    out.resize(out.len() + size as usize, 0);
    0
}
