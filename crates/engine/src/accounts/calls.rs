//! What comes of calls of gRPC, beside what HTTP says of them: their status and their messages.
//!
//! They stand beside the exchanges and not in them, so that a run without gRPC pays nothing for
//! them.

use plimsoll_conn::grpc::{Arrived, Call, CallFault, code_name, push_status_message};
use plimsoll_conn::{ExchangeId, Head, Headers};
use plimsoll_grpc::Kind;

use crate::checks::{Checks, Unmet};

/// How much of what a server says about a status is quoted.
const QUOTED_BYTES: usize = 200;

/// The calls under way.
#[derive(Debug)]
pub(super) struct Calls {
    kind: Kind,
    /// One for each exchange whose response has begun.
    calls: Vec<Option<Call>>,
    /// What the fields read last say about a status other than OK, and whose they were. Nothing
    /// else is read between those fields and the end of their exchange.
    message: Vec<u8>,
    message_of: Option<ExchangeId>,
}

impl Calls {
    /// Of a method of this kind, with room for `room` at a time; more than that allocate.
    pub(super) fn new(kind: Kind, room: usize) -> Self {
        let message = Vec::with_capacity(QUOTED_BYTES);
        Self { kind, calls: vec![None; room], message, message_of: None }
    }

    #[inline]
    pub(super) fn head(&mut self, id: ExchangeId, head: &Head<'_>) {
        let at = id.0 as usize;
        if at >= self.calls.len() {
            self.calls.resize(at + 1, None);
        }
        let call = Call::of_head(head);
        self.note(id, call.code(), head.fields());
        self.calls[at] = Some(call);
    }

    #[inline]
    pub(super) fn body(&mut self, id: ExchangeId, piece: &[u8]) -> Arrived {
        match self.calls.get_mut(id.0 as usize) {
            Some(Some(call)) => call.body(piece),
            _ => Arrived::default(),
        }
    }

    #[inline]
    pub(super) fn trailers(&mut self, id: ExchangeId, fields: Headers<'_>) {
        if let Some(Some(call)) = self.calls.get_mut(id.0 as usize) {
            call.trailers(fields.clone());
            let code = call.code();
            self.note(id, code, fields);
        }
    }

    #[inline]
    fn note(&mut self, id: ExchangeId, code: u32, fields: Headers<'_>) {
        if code == 0 {
            // The last one's message, where this call has taken its place.
            self.message_of.take_if(|of| *of == id);
            return;
        }
        self.message.clear();
        push_status_message(fields, QUOTED_BYTES, &mut self.message);
        self.message_of = Some(id);
    }

    /// The status of a complete response.
    #[inline]
    pub(super) fn code(&self, id: ExchangeId) -> u32 {
        self.call(id).map_or(UNKNOWN, Call::code)
    }

    /// Whether a complete response is a good one with a status that is expected.
    #[inline]
    pub(super) fn is_met(&self, id: ExchangeId, checks: &Checks) -> bool {
        self.call(id).is_some_and(|it| {
            it.fault(self.kind).is_none() && checks.expects_messages(it.messages())
        }) && checks.expects_code(self.code(id))
    }

    /// What is wrong with a complete response.
    pub(super) fn unmet(&self, id: ExchangeId, checks: &Checks) -> Option<Unmet> {
        let fault = self.call(id).and_then(|it| it.fault(self.kind));
        let unmet = |fault: CallFault| Unmet { kind: fault.kind(), text: fault.to_string() };
        let code = self.code(id);
        let messages = self.call(id).map_or(0, Call::messages);
        let wrong_code = || {
            let said = match self.message_of == Some(id) && !self.message.is_empty() {
                true => format!(": {:?}", String::from_utf8_lossy(&self.message)),
                false => String::new(),
            };
            let text = || format!("status {} ({code}){said}", code_name(code));
            (!checks.expects_code(code)).then(|| Unmet { kind: "grpc_status", text: text() })
        };
        fault.map(unmet).or_else(wrong_code).or_else(|| checks.unmet_messages(messages))
    }

    fn call(&self, id: ExchangeId) -> Option<&Call> {
        self.calls.get(id.0 as usize)?.as_ref()
    }
}

/// The status of a response that says nothing of one.
const UNKNOWN: u32 = 2;
