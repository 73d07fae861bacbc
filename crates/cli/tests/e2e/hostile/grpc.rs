//! Every way we know to break gRPC above HTTP/2: messages in the frames of a real connection,
//! changed in both directions.

use super::relay::{Act, Mutation, Side};
use super::server::Dice;

const FRAME_HEAD_BYTES: usize = 9;
const DATA: u8 = 0;

/// What happens to messages of a real connection, the client's and the server's.
pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation::of("message of another flag", Side::Server, Act::Change(reflag)),
    Mutation::of("message of another length", Side::Server, Act::Change(relength)),
    Mutation::of("message of noise", Side::Server, Act::Change(noise)),
    Mutation::of("client's message of another flag", Side::Client, Act::Change(reflag)),
    Mutation::of("client's message of another length", Side::Client, Act::Change(relength)),
    Mutation::of("client's message of noise", Side::Client, Act::Change(noise)),
];

/// The payload of a frame of data; nothing of another frame.
fn payload(frame: &mut [u8]) -> &mut [u8] {
    match frame.get(3) {
        Some(&DATA) => &mut frame[FRAME_HEAD_BYTES..],
        _ => &mut [],
    }
}

fn reflag(frame: &mut [u8], dice: &mut Dice) {
    if let Some(flag) = payload(frame).first_mut() {
        *flag = dice.next() as u8;
    }
}

fn relength(frame: &mut [u8], dice: &mut Dice) {
    if let Some(length) = payload(frame).get_mut(1..5) {
        length.copy_from_slice(&dice.pick(&[0, 1, 1 << 16, 1 << 30, u32::MAX]).to_be_bytes());
    }
}

fn noise(frame: &mut [u8], dice: &mut Dice) {
    let payload = payload(frame);
    let bytes = dice.bytes(payload.len());
    payload.copy_from_slice(&bytes);
}
