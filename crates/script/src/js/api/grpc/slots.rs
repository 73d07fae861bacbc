//! The channels and calls of a virtual user, and what it has been told of them.
//!
//! Numbers are not used again while the virtual user lives, so that an object of the script whose
//! call is long over names nothing.

use std::collections::{BTreeMap, VecDeque};

use crate::js::events::Kept;
use crate::js::grpc::{Call, CallEnd, Channel, Told};

/// The most channels, and calls, that a virtual user has at a time.
const SLOTS_MAX: usize = 10_000;

/// How a call has ended.
#[derive(Debug, Default)]
pub(super) struct End {
    pub code: u32,
    pub text: Vec<u8>,
    pub head: Vec<u8>,
    pub trailers: Vec<u8>,
}

/// What a virtual user has been told of a call, and the script has not yet.
#[derive(Debug)]
pub(in crate::js) enum Arrived {
    Message(Vec<u8>),
    Ended,
}

#[derive(Debug)]
struct ChannelSlot {
    channel: Channel,
    /// Whether it is open, or why not; `None` while that is not known.
    outcome: Option<Result<(), String>>,
}

#[derive(Debug)]
pub(super) struct CallSlot {
    pub call: Call,
    /// What is called when something arrives; without it, the script waits for it in a call.
    pub callback: Option<Kept>,
    /// Whether the callback is told of each message, and not of the end alone.
    pub tells_messages: bool,
    /// The last message.
    pub message: Option<Vec<u8>>,
    pub end: Option<End>,
}

/// See the head of this module.
#[derive(Debug, Default)]
pub(in crate::js) struct Slots {
    channels: BTreeMap<u32, ChannelSlot>,
    calls: BTreeMap<u32, CallSlot>,
    arrived: VecDeque<(u32, Arrived)>,
    last: u32,
}

impl Slots {
    fn number(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.last
    }

    /// Keeps a channel; `None` if there are too many.
    pub(super) fn add_channel(&mut self, channel: Channel) -> Option<u32> {
        if self.channels.len() == SLOTS_MAX {
            return None;
        }
        let number = self.number();
        self.channels.insert(number, ChannelSlot { channel, outcome: None });
        Some(number)
    }

    /// Whether a channel is open, or why not; `None` while that is not known.
    pub(super) fn outcome(&self, number: u32) -> Option<Result<(), String>> {
        self.channels.get(&number)?.outcome.clone()
    }

    /// Forgets a channel; one that is not there does not matter. Whether it was there.
    pub(super) fn remove_channel(&mut self, number: u32) -> bool {
        self.channels.remove(&number).is_some()
    }

    pub(in crate::js) fn channel(&self, number: u32) -> Option<&Channel> {
        self.channels.get(&number).map(|slot| &slot.channel)
    }

    /// Keeps a call; `None` if there are too many.
    pub(super) fn add_call(
        &mut self,
        call: Call,
        callback: Option<Kept>,
        tells_messages: bool,
    ) -> Result<u32, Option<Kept>> {
        if self.calls.len() == SLOTS_MAX {
            return Err(callback);
        }
        let number = self.number();
        let (message, end) = (None, None);
        self.calls.insert(number, CallSlot { call, callback, tells_messages, message, end });
        Ok(number)
    }

    pub(in crate::js) fn call(&self, number: u32) -> Option<&Call> {
        self.calls.get(&number).map(|slot| &slot.call)
    }

    pub(super) fn slot(&mut self, number: u32) -> Option<&mut CallSlot> {
        self.calls.get_mut(&number)
    }

    pub(super) fn remove_call(&mut self, number: u32) -> Option<CallSlot> {
        self.calls.remove(&number)
    }

    /// Takes in what the host tells. What concerns nothing that is here is ignored.
    pub(in crate::js) fn take(&mut self, told: &Told<'_>) {
        match *told {
            Told::Connected(number) | Told::Unconnected(number, _) => {
                if let Some(slot) = self.channels.get_mut(&number) {
                    slot.outcome = Some(match told {
                        Told::Unconnected(_, why) => Err((*why).to_owned()),
                        _ => Ok(()),
                    });
                }
            }
            Told::Message(number, message) => {
                let Some(slot) = self.calls.get_mut(&number) else { return };
                if slot.callback.is_some() && slot.tells_messages {
                    self.arrived.push_back((number, Arrived::Message(message.to_vec())));
                } else {
                    slot.message = Some(message.to_vec());
                }
            }
            Told::Ended(number, CallEnd { code, text, head, trailers }) => {
                let Some(slot) = self.calls.get_mut(&number) else { return };
                slot.end = Some(End {
                    code,
                    text: text.to_vec(),
                    head: head.to_vec(),
                    trailers: trailers.to_vec(),
                });
                if slot.callback.is_some() {
                    self.arrived.push_back((number, Arrived::Ended));
                }
            }
        }
    }

    /// What the script is to be told next.
    pub(in crate::js) fn next(&mut self) -> Option<(u32, Arrived)> {
        self.arrived.pop_front()
    }

    /// Whether the event loop has no call to wait for.
    pub(in crate::js) fn is_idle(&self) -> bool {
        self.calls.values().all(|slot| slot.callback.is_none())
    }

    /// Takes all calls out, and forgets the channels that are not open yet.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = CallSlot> {
        self.arrived.clear();
        self.channels.retain(|_, slot| matches!(slot.outcome, Some(Ok(()))));
        std::mem::take(&mut self.calls).into_values()
    }
}
