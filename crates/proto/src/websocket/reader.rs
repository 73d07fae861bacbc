//! Cuts what arrives into messages and control frames.
//!
//! ```text
//!           +------+  control frame   +---------+
//!   new --> | Head | ---------------> | Control | -- whole (Control) --> Head
//!           +------+                  +---------+
//!            ^ |  ^                                  +--+ (Piece)
//!            | |  +-- end, more fragments --+        |  v
//!            | +-- data (Begin if first) -->+---- +------+
//!            |                                    | Data |
//!            |                     +---------+    +------+
//!            +---- (End) --------- | Closing | <-----+ end of the last fragment
//!                                  +---------+ gives the rest of what was compressed (Piece)
//! ```

use std::ops::Range;

use super::deflate::{DeflateParameters, Inflated, Inflater};
use super::frame::{CONTROL_BYTES_MAX, Expected, FrameHead, HEAD_BYTES_MAX, Opcode};
use super::mask::{MaskKey, mask};
use super::utf8::Utf8;
use super::{Error, Kind, Limits, Role};

/// The most bytes of a message that are unmasked or decompressed at once.
pub const PIECE_BYTES: usize = 16 * 1024;
/// The most bytes that are decompressed at once. They may be unmasked again for each piece that
/// they become.
const COMPRESSED_BYTES: usize = 2 * 1024;

/// A message that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// What it contains.
    pub kind: Kind,
    /// Its length, decompressed.
    pub bytes: u64,
    /// Bytes of its frames' payloads: those it was compressed to, where it was.
    pub payload_bytes: u64,
    /// In how many frames it came.
    pub fragments: u32,
    /// Whether it came compressed.
    pub is_compressed: bool,
}

/// What the next bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    /// Nothing yet; all of the input was taken.
    More,
    /// The start of a message.
    Begin(Kind),
    /// A piece of it, never empty.
    Piece(Place),
    /// Its end.
    End(Message),
    /// A whole control frame.
    Control(Opcode),
}

/// Where a piece stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Input(Range<usize>),
    /// This many bytes of the unmasked.
    Unmasked(usize),
    /// This many bytes of the decompressed.
    Inflated(usize),
}

#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    Control(FrameHead),
    Data(Data),
    Closing,
}

/// A data frame under way.
#[derive(Debug, Clone, Copy)]
struct Data {
    key: Option<MaskKey>,
    is_last: bool,
    /// Bytes of the payload that were read, and that are to come.
    done: u64,
    left: u64,
}

/// Reads what one peer sends.
#[derive(Debug)]
pub(super) struct Reader {
    /// The side that reads.
    role: Role,
    limits: Limits,
    state: State,
    message: Option<Message>,
    utf8: Utf8,
    /// What is wrong behind the piece that was handed out last.
    behind: Option<Error>,
    head: [u8; HEAD_BYTES_MAX],
    head_len: usize,
    control: [u8; CONTROL_BYTES_MAX],
    control_len: usize,
    /// A piece without its mask.
    unmasked: Vec<u8>,
    inflater: Option<Inflater>,
    /// The decompressor may hold more than it has handed out.
    holds_back: bool,
    /// A piece decompressed; of [`PIECE_BYTES`] when compression was agreed on.
    inflated: Vec<u8>,
}

impl Reader {
    pub(super) fn new(role: Role, limits: Limits, deflate: Option<DeflateParameters>) -> Self {
        Self {
            role,
            limits,
            state: State::Head,
            message: None,
            utf8: Utf8::new(),
            behind: None,
            head: [0; HEAD_BYTES_MAX],
            head_len: 0,
            control: [0; CONTROL_BYTES_MAX],
            control_len: 0,
            unmasked: Vec::new(),
            holds_back: false,
            inflated: vec![0; if deflate.is_some() { PIECE_BYTES } else { 0 }],
            inflater: deflate.map(Inflater::new),
        }
    }

    /// Whether neither a frame nor a message is under way.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Head) && self.head_len == 0 && self.message.is_none()
    }

    /// The payload of the control frame that was read last.
    pub(super) fn control(&self) -> &[u8] {
        &self.control[..self.control_len]
    }

    /// A piece, as long as no other unit was read.
    #[inline]
    pub(super) fn piece<'a>(&'a self, input: &'a [u8], place: Place) -> &'a [u8] {
        match place {
            Place::Input(range) => &input[range],
            Place::Unmasked(length) => &self.unmasked[..length],
            Place::Inflated(length) => &self.inflated[..length],
        }
    }

    /// Bytes of memory for what passes through.
    pub(super) fn kept_bytes(&self) -> usize {
        self.unmasked.capacity() + self.inflated.capacity()
    }

    /// Reads on in `input` behind `at`, which moves along.
    #[inline]
    pub(super) fn next(&mut self, input: &[u8], at: &mut usize) -> Result<Unit, Error> {
        if let Some(error) = self.behind {
            return Err(error);
        }
        loop {
            let unit = match self.state {
                State::Head => self.read_head(input, at)?,
                State::Control(head) => Some(self.read_control(head, input, at)),
                State::Data(data) if data.left == 0 => {
                    self.state = if data.is_last { State::Closing } else { State::Head };
                    None
                }
                State::Data(_) if *at == input.len() && !self.holds_back => Some(Unit::More),
                State::Data(data) if self.is_compressed() => self.inflate(data, input, at)?,
                State::Data(data) => Some(self.take_piece(data, input, at)?),
                State::Closing => Some(self.close_message()?),
            };
            if let Some(unit) = unit {
                return Ok(unit);
            }
        }
    }

    fn is_compressed(&self) -> bool {
        self.message.is_some_and(|message| message.is_compressed)
    }

    #[inline]
    fn read_head(&mut self, input: &[u8], at: &mut usize) -> Result<Option<Unit>, Error> {
        let expected = Expected {
            masked: self.role == Role::Server,
            compression: self.inflater.is_some(),
            within_message: self.message.is_some(),
        };
        if self.head_len > 0 {
            return self.read_carried_head(expected, input, at);
        }
        let rest = &input[*at..];
        let Some((length, head)) = FrameHead::read(rest, expected)? else {
            self.head[..rest.len()].copy_from_slice(rest);
            self.head_len = rest.len();
            *at = input.len();
            return Ok(Some(Unit::More));
        };
        *at += length;
        self.begin(head)
    }

    /// Continues a head that came in pieces.
    #[cold]
    fn read_carried_head(
        &mut self,
        expected: Expected,
        input: &[u8],
        at: &mut usize,
    ) -> Result<Option<Unit>, Error> {
        let rest = &input[*at..];
        let carried = self.head_len;
        let more = rest.len().min(HEAD_BYTES_MAX - carried);
        self.head[carried..carried + more].copy_from_slice(&rest[..more]);
        match FrameHead::read(&self.head[..carried + more], expected)? {
            None => {
                // It is shorter than the longest head, so that all of the input is in it.
                self.head_len += more;
                *at = input.len();
                Ok(Some(Unit::More))
            }
            Some((length, head)) => {
                self.head_len = 0;
                *at += length - carried;
                self.begin(head)
            }
        }
    }

    /// Goes on behind a head.
    #[inline]
    fn begin(&mut self, head: FrameHead) -> Result<Option<Unit>, Error> {
        if head.opcode.is_control() {
            self.control_len = 0;
            self.state = State::Control(head);
            return Ok(None);
        }
        let kind = match head.opcode {
            Opcode::Text => Some(Kind::Text),
            Opcode::Binary => Some(Kind::Binary),
            _ => None,
        };
        if let Some(kind) = kind {
            let is_compressed = head.is_compressed;
            let message = Message { kind, bytes: 0, payload_bytes: 0, fragments: 0, is_compressed };
            self.message = Some(message);
            self.utf8 = Utf8::new();
        }
        let message = self.message.as_mut().expect("a continuation continues a message");
        message.fragments = message.fragments.saturating_add(1);
        message.payload_bytes = message.payload_bytes.saturating_add(head.payload_bytes);
        let room_bytes = self.limits.message_bytes - message.bytes;
        if !message.is_compressed && head.payload_bytes > room_bytes {
            return Err(Error::MessageTooLong);
        }
        let (key, is_last) = (head.key, head.is_last);
        self.state = State::Data(Data { key, is_last, done: 0, left: head.payload_bytes });
        Ok(kind.map(Unit::Begin))
    }

    fn read_control(&mut self, head: FrameHead, input: &[u8], at: &mut usize) -> Unit {
        let wanted = head.payload_bytes as usize - self.control_len;
        let taken = wanted.min(input.len() - *at);
        let into = self.control_len..self.control_len + taken;
        self.control[into].copy_from_slice(&input[*at..*at + taken]);
        self.control_len += taken;
        *at += taken;
        if taken < wanted {
            return Unit::More;
        }
        if let Some(key) = head.key {
            mask(&mut self.control[..self.control_len], key, 0);
        }
        self.state = State::Head;
        Unit::Control(head.opcode)
    }

    /// Takes a piece of a payload that is not compressed.
    #[inline]
    fn take_piece(&mut self, data: Data, input: &[u8], at: &mut usize) -> Result<Unit, Error> {
        let most = if data.key.is_some() { PIECE_BYTES } else { usize::MAX };
        let length = self.pass(data, most, input.len() - *at);
        let range = *at..*at + length;
        *at += length;
        let Some(key) = data.key else {
            let length = self.admit(&input[range.clone()])?;
            return Ok(Unit::Piece(Place::Input(range.start..range.start + length)));
        };
        let mut unmasked = std::mem::take(&mut self.unmasked);
        unmasked.clear();
        unmasked.extend_from_slice(&input[range]);
        mask(&mut unmasked, key, data.done);
        let admitted = self.admit(&unmasked);
        self.unmasked = unmasked;
        Ok(Unit::Piece(Place::Unmasked(admitted?)))
    }

    /// Steps over bytes of the payload, as many as may be taken at once and are there.
    #[inline]
    fn pass(&mut self, data: Data, most: usize, there: usize) -> usize {
        let length = most.min(there).min(usize::try_from(data.left).unwrap_or(usize::MAX));
        self.step_over(data, length);
        length
    }

    fn step_over(&mut self, data: Data, length: usize) {
        let (done, left) = (data.done + length as u64, data.left - length as u64);
        self.state = State::Data(Data { done, left, ..data });
    }

    /// Decompresses a part of a payload. `None` when nothing came of it.
    fn inflate(&mut self, data: Data, input: &[u8], at: &mut usize) -> Result<Option<Unit>, Error> {
        let left = usize::try_from(data.left).unwrap_or(usize::MAX);
        let length = COMPRESSED_BYTES.min(input.len() - *at).min(left);
        let mut compressed = &input[*at..*at + length];
        if let Some(key) = data.key {
            self.unmasked.clear();
            self.unmasked.extend_from_slice(compressed);
            mask(&mut self.unmasked, key, data.done);
            compressed = &self.unmasked;
        }
        let compressed_is_empty = compressed.is_empty();
        let inflater = self.inflater.as_mut().ok_or(Error::ReservedBits)?;
        let inflated = inflater.take(compressed, &mut self.inflated);
        *at += inflated.taken;
        self.step_over(data, inflated.taken);
        let is_stuck = !compressed_is_empty && inflated.taken == 0 && inflated.made == 0;
        if is_stuck && !self.holds_back {
            return Err(Error::BadDeflate);
        }
        self.holds_back = inflated.made == self.inflated.len();
        self.admit_inflated(inflated)
    }

    /// Hands out what is left of the message, then its end.
    fn close_message(&mut self) -> Result<Unit, Error> {
        if self.is_compressed()
            && let Some(inflater) = &mut self.inflater
        {
            let inflated = inflater.end(&mut self.inflated);
            if let Some(unit) = self.admit_inflated(inflated)? {
                return Ok(unit);
            }
        }
        let message = self.message.take().expect("a message is under way");
        if message.kind == Kind::Text && !self.utf8.is_whole() {
            return Err(Error::InvalidUtf8);
        }
        self.state = State::Head;
        self.holds_back = false;
        Ok(Unit::End(message))
    }

    /// Judges what was decompressed. `None` when that is nothing.
    fn admit_inflated(&mut self, made: Inflated) -> Result<Option<Unit>, Error> {
        if made.is_broken {
            self.behind = Some(Error::BadDeflate);
        }
        let inflated = std::mem::take(&mut self.inflated);
        let admitted = self.admit(&inflated[..made.made]);
        self.inflated = inflated;
        let length = admitted?;
        Ok((length > 0).then_some(Unit::Piece(Place::Inflated(length))))
    }

    /// Judges a piece. Returns how much of it is to be handed out; what is wrong behind that is
    /// the next call's error.
    #[inline]
    fn admit(&mut self, piece: &[u8]) -> Result<usize, Error> {
        let message = self.message.as_mut().expect("a piece of a message");
        let room_bytes = self.limits.message_bytes - message.bytes;
        let mut length = usize::try_from(room_bytes).unwrap_or(usize::MAX).min(piece.len());
        if length < piece.len() {
            self.behind = Some(Error::MessageTooLong);
        }
        if message.kind == Kind::Text {
            let valid = self.utf8.take(&piece[..length]);
            if valid < length {
                self.behind = Some(Error::InvalidUtf8);
                length = valid;
            }
        }
        message.bytes += length as u64;
        match self.behind {
            Some(error) if length == 0 => Err(error),
            _ => Ok(length),
        }
    }
}
