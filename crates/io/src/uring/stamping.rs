//! Receiving with the kernel's timestamps: a multishot `recvmsg`, which puts a header and the
//! control data before the bytes in each buffer.

use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;

use io_uring::types::RecvMsgOut;

use crate::stamps::{CONTROL_BYTES, Stamps, find};

/// What precedes the bytes in a buffer: the header (`struct io_uring_recvmsg_out`), control data.
pub(super) const HEADER_BYTES: usize = 16 + CONTROL_BYTES;

/// What a driver that asks for timestamps has besides.
pub(super) struct Stamping {
    /// What every receive points to. The kernel reads it when the receive is submitted.
    message: Box<libc::msghdr>,
    pub(super) stamps: Stamps,
}

impl Stamping {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: all its fields are numbers and pointers, for which zeroes are a value.
        let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        message.msg_controllen = CONTROL_BYTES as _;
        Ok(Self { message: Box::new(message), stamps: Stamps::new()? })
    }

    pub(super) fn message(&self) -> *const libc::msghdr {
        &raw const *self.message
    }

    /// How many bytes were received into a buffer (0: the stream's end), and when.
    pub(super) fn open(&self, buffer: &[u8], now_ns: u64) -> (i32, Option<NonZeroU64>) {
        let Ok(received) = RecvMsgOut::parse(buffer, &self.message) else {
            return (-libc::EBADMSG, None); // shorter than its header
        };
        let stamp = find(received.control_data());
        let kernel_ns = stamp.and_then(|stamp| self.stamps.convert(stamp, now_ns));
        (received.payload_data().len() as i32, kernel_ns)
    }
}
