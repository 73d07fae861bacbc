//! What both roles do alike: reading frames in their order, settings, pings, the connection's
//! windows, header blocks, and the limits on all of that.

use std::ops::Range;

use super::closed::GivenUp;
use super::error::Fault;
use super::flow::{Credits, ReceiveWindow, SendWindow};
use super::frame::{self, FrameHead, HeadersPayload, flag, kind};
use super::hpack::{self, HpackError};
use super::limits::KEPT_BYTES_MAX;
use super::reader::{Place, Reader, Unit};
use super::rules;
use super::settings::{Settings, WINDOW_BYTES_DEFAULT, id, pairs};
use super::upload::Line;
use super::{ConnectionError, ErrorCode, Limits, Receiving, StreamError};

/// What one connection has, whichever role.
#[derive(Debug)]
pub(super) struct Session {
    is_server: bool,
    pub(super) limits: Limits,
    reader: Reader,
    decoder: hpack::Decoder,
    pub(super) encoder: hpack::Encoder,
    /// What we announce, and whether the peer has acknowledged it.
    pub(super) local: Settings,
    pub(super) is_acknowledged: bool,
    /// What the peer has announced, and whether it has at all.
    pub(super) peer: Settings,
    pub(super) is_greeted: bool,
    /// How large the connection's window for what the peer sends is to be.
    window_bytes: u32,
    pub(super) send_window: SendWindow,
    credits: Credits,
    /// Whether room of that window is saved up, until it is enough for a frame.
    pub(super) is_saved: bool,
    /// How many bytes of bodies may wait for the kernel, and how many more than wait now.
    output_bytes_max: usize,
    output_room: usize,
    receive_window: ReceiveWindow,
    block: Assembly,
    /// Frames without effect since a message moved on, and what had been sent of bodies then.
    futile_frames: u32,
    sent_bytes: i64,
    pub(super) given_up: GivenUp,
    pub(super) failed: Option<ConnectionError>,
}

/// A header block that more than one frame makes up.
#[derive(Debug, Default)]
struct Assembly {
    /// The stream that the block is for; 0 between blocks.
    stream: u32,
    ends: bool,
    is_loop: bool,
    continuations: u32,
    bytes: Vec<u8>,
}

/// Where a header block stands.
#[derive(Debug)]
pub(super) enum BlockAt {
    Frame(Place),
    Assembled,
}

/// A whole header block.
#[derive(Debug)]
pub(super) struct BlockSignal {
    pub(super) stream: u32,
    /// Whether nothing follows it on its stream.
    pub(super) ends: bool,
    /// Whether its stream is to depend on itself.
    pub(super) is_loop: bool,
    pub(super) at: BlockAt,
}

/// What a role has to act on.
#[derive(Debug)]
pub(super) enum Signal {
    /// All of the input was read.
    More,
    /// Nothing.
    Done,
    /// The peer has announced settings. The windows of open streams change by as much.
    Settings {
        is_first: bool,
        window_shift: i64,
        streams_before: u32,
    },
    /// The peer has acknowledged ours.
    Acknowledged,
    /// The connection's window is larger.
    Widened,
    HeadersBegun(u32),
    Headers(BlockSignal),
    DataBegun {
        head: FrameHead,
        content_bytes: u32,
    },
    Piece(u32, Range<usize>),
    DataEnd(FrameHead),
    Reset(u32, ErrorCode),
    Window(u32, u32),
    GoAway {
        last_stream: u32,
        code: ErrorCode,
    },
}

impl Session {
    pub(super) fn new(
        is_server: bool,
        local: Settings,
        receiving: &Receiving,
        shared_fields: usize,
    ) -> Self {
        Self {
            is_server,
            limits: receiving.limits,
            reader: Reader::new(),
            decoder: hpack::Decoder::new(local.header_table_bytes),
            encoder: hpack::Encoder::new(shared_fields),
            local,
            is_acknowledged: false,
            peer: Settings::INITIAL,
            is_greeted: false,
            window_bytes: receiving.connection_window_bytes,
            send_window: SendWindow::new(WINDOW_BYTES_DEFAULT),
            credits: Credits::default(),
            is_saved: false,
            output_bytes_max: usize::MAX,
            output_room: usize::MAX,
            receive_window: ReceiveWindow::new(WINDOW_BYTES_DEFAULT),
            block: Assembly::default(),
            futile_frames: 0,
            sent_bytes: 0,
            given_up: GivenUp::new(),
            failed: None,
        }
    }

    /// Forgets the connection before, and greets the peer of a new one.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) {
        self.reader.reset();
        self.decoder.reset();
        self.encoder.reset();
        self.is_acknowledged = false;
        self.peer = Settings::INITIAL;
        self.is_greeted = false;
        self.send_window = SendWindow::new(WINDOW_BYTES_DEFAULT);
        self.credits = Credits::default();
        self.is_saved = false;
        self.output_room = self.output_bytes_max;
        self.sent_bytes = 0;
        self.receive_window = ReceiveWindow::new(WINDOW_BYTES_DEFAULT);
        self.block =
            Assembly { bytes: std::mem::take(&mut self.block.bytes), ..Assembly::default() };
        self.futile_frames = 0;
        self.given_up = GivenUp::new();
        self.failed = None;
        self.write_settings(out);
        if let Some(increment) = self.receive_window.grow_to(self.window_bytes) {
            frame::write_window_update(out, 0, increment);
        }
    }

    /// Announces what is not the default.
    fn write_settings(&self, out: &mut Vec<u8>) {
        let (ours, initial) = (&self.local, &Settings::INITIAL);
        let role = if self.is_server {
            (id::ENABLE_CONNECT_PROTOCOL, u32::from(ours.connect_protocol), 0)
        } else {
            (id::ENABLE_PUSH, u32::from(ours.push), u32::from(initial.push))
        };
        let all = [
            role,
            (id::HEADER_TABLE_SIZE, ours.header_table_bytes, initial.header_table_bytes),
            (id::MAX_CONCURRENT_STREAMS, ours.streams, initial.streams),
            (id::INITIAL_WINDOW_SIZE, ours.window_bytes, initial.window_bytes),
            (id::MAX_FRAME_SIZE, ours.frame_bytes, initial.frame_bytes),
            (id::MAX_HEADER_LIST_SIZE, ours.list_bytes, initial.list_bytes),
        ];
        let mut settings = [(0, 0); 6];
        let mut count = 0;
        for (setting, value, default) in all {
            if value != default {
                settings[count] = (setting, value);
                count += 1;
            }
        }
        frame::write_settings(out, &settings[..count]);
    }

    /// The connection can't go on: tells the peer why, and which of its streams were taken.
    #[cold]
    pub(super) fn fail(
        &mut self,
        error: ConnectionError,
        last_stream: u32,
        out: &mut Vec<u8>,
    ) -> ConnectionError {
        frame::write_goaway(out, last_stream, error.code());
        self.failed = Some(error);
        error
    }

    /// The peer sends no more.
    pub(super) fn end(&self) -> Result<(), ConnectionError> {
        let is_between_frames = self.reader.is_between_frames() && self.block.stream == 0;
        match self.failed {
            Some(error) => Err(error),
            None if is_between_frames && self.is_greeted => Ok(()),
            None => Err(ConnectionError::Truncated),
        }
    }

    /// Bytes of memory that the peer made it keep.
    pub(super) fn kept_bytes(&self) -> usize {
        self.reader.kept_bytes() + self.block.bytes.capacity()
    }

    /// The way to the peer.
    #[inline]
    pub(super) fn line<'l>(&'l mut self, out: &'l mut Vec<u8>) -> Line<'l> {
        Line {
            window: &mut self.send_window,
            credits: self.credits,
            is_saved: &mut self.is_saved,
            output_room: &mut self.output_room,
            frame_bytes_max: self.peer.frame_bytes as usize,
            out,
        }
    }

    /// Whether the connection lets something of a body be sent now.
    pub(super) fn has_room(&self) -> bool {
        self.send_window.room() > 0 && !self.is_saved && !self.is_full()
    }

    /// From now on at most this many bytes of bodies may wait for the kernel.
    pub(super) fn limit_output(&mut self, bytes_max: usize) {
        (self.output_bytes_max, self.output_room) = (bytes_max, bytes_max);
    }

    /// Whether as many bytes of bodies wait for the kernel as the limit allows.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.output_room == 0
    }

    /// The kernel has taken output and has yet to take `queued_bytes`. Whether there is room again
    /// where there was none: once half of it is free, so that frames are not cut small.
    #[inline]
    pub(super) fn output_taken(&mut self, queued_bytes: usize) -> bool {
        let room = self.output_bytes_max.saturating_sub(queued_bytes);
        let was_full = self.is_full();
        if was_full && room <= self.output_bytes_max / 2 {
            return false;
        }
        self.output_room = room;
        was_full
    }

    /// Reads on in `input` behind `at`, which moves along.
    #[inline]
    pub(super) fn next(
        &mut self,
        input: &[u8],
        at: &mut usize,
        out: &mut Vec<u8>,
    ) -> Result<Signal, Fault> {
        match self.reader.next(input, at)? {
            Unit::More => Ok(Signal::More),
            Unit::Begun(head, content_bytes) => self.begun(head, content_bytes),
            Unit::Piece(head, range) => Ok(Signal::Piece(head.stream, range)),
            Unit::DataEnd(head) => Ok(Signal::DataEnd(head)),
            Unit::Frame(head, place) => self.frame(head, place, input, out),
        }
    }

    /// Judges a frame by its head.
    #[inline]
    fn begun(&mut self, head: FrameHead, content_bytes: u32) -> Result<Signal, Fault> {
        self.check_order(head)?;
        rules::check_stream(head)?;
        rules::check_length(head)?;
        match head.kind {
            kind::DATA if head.length == 0 && !head.has(flag::END_STREAM) => self.futile()?,
            kind::DATA | kind::HEADERS | kind::CONTINUATION | kind::RST_STREAM | kind::GOAWAY => {
                self.futile_frames = 0;
            }
            // What it credits decides.
            kind::WINDOW_UPDATE => {}
            _ => self.futile()?,
        }
        match head.kind {
            kind::DATA => {
                let received = self.receive_window.receive(head.length);
                received.map_err(|_| ConnectionError::WindowExceeded)?;
                Ok(Signal::DataBegun { head, content_bytes })
            }
            kind::HEADERS => Ok(Signal::HeadersBegun(head.stream)),
            _ => Ok(Signal::Done),
        }
    }

    /// Counts a frame that moves nothing.
    fn futile(&mut self) -> Result<(), ConnectionError> {
        let sent_bytes = self.credits.sent_bytes(self.send_window);
        if sent_bytes > self.sent_bytes {
            (self.futile_frames, self.sent_bytes) = (0, sent_bytes);
        }
        self.futile_frames += 1;
        if self.futile_frames > self.limits.futile_frames {
            return Err(ConnectionError::FutileFlood);
        }
        Ok(())
    }

    fn check_order(&self, head: FrameHead) -> Result<(), ConnectionError> {
        let is_settings = head.kind == kind::SETTINGS && !head.has(flag::ACK);
        if !self.is_greeted && !is_settings {
            let is_http1 = !self.is_server && head.bytes().starts_with(b"HTTP/1.");
            return Err(if is_http1 {
                ConnectionError::Http1
            } else {
                ConnectionError::NoSettings
            });
        }
        if head.length > self.local.frame_bytes {
            return Err(ConnectionError::FrameTooLong);
        }
        let continues = if head.kind == kind::CONTINUATION { head.stream } else { 0 };
        if continues != self.block.stream {
            return Err(ConnectionError::BrokenHeaderBlock);
        }
        Ok(())
    }

    fn frame(
        &mut self,
        head: FrameHead,
        place: Place,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Signal, Fault> {
        let payload = self.reader.payload(input, &place);
        let number = frame::number(payload).unwrap_or_default();
        match head.kind {
            kind::HEADERS => self.headers(head, place, input),
            kind::CONTINUATION => self.continuation(head, place, input),
            kind::RST_STREAM => Ok(Signal::Reset(head.stream, ErrorCode(number))),
            kind::WINDOW_UPDATE => self.window_update(head.stream, number & frame::STREAM_MAX),
            kind::PRIORITY => priority(head, number & frame::STREAM_MAX),
            kind::GOAWAY => {
                let last_stream = number & frame::STREAM_MAX;
                let code = ErrorCode(frame::number(&payload[4..]).unwrap_or_default());
                Ok(Signal::GoAway { last_stream, code })
            }
            kind::PING => {
                if !head.has(flag::ACK) {
                    frame::write_ping_ack(out, payload);
                }
                Ok(Signal::Done)
            }
            _ if head.has(flag::ACK) => Ok(self.acknowledged()),
            _ => self.settings(place, input, out),
        }
    }

    fn acknowledged(&mut self) -> Signal {
        if self.is_acknowledged {
            return Signal::Done;
        }
        self.is_acknowledged = true;
        self.decoder.acknowledged();
        Signal::Acknowledged
    }

    fn settings(&mut self, place: Place, input: &[u8], out: &mut Vec<u8>) -> Result<Signal, Fault> {
        let before = self.peer;
        for (setting, value) in pairs(self.reader.payload(input, &place)) {
            self.peer.apply(setting, value, !self.is_server)?;
            // Each value counts, because the next block has to begin with the lowest.
            if setting == id::HEADER_TABLE_SIZE {
                self.encoder.limit(value);
            }
        }
        frame::write_settings_ack(out);
        let is_first = !std::mem::replace(&mut self.is_greeted, true);
        let window_shift = i64::from(self.peer.window_bytes) - i64::from(before.window_bytes);
        Ok(Signal::Settings { is_first, window_shift, streams_before: before.streams })
    }

    fn window_update(&mut self, stream: u32, increment: u32) -> Result<Signal, Fault> {
        if increment == 0 || !self.credits.credit(stream != 0, increment, self.send_window) {
            self.futile()?;
        }
        if stream != 0 {
            return Ok(Signal::Window(stream, increment));
        }
        if increment == 0 {
            return Err(ConnectionError::ZeroIncrement.into());
        }
        let widened = self.send_window.shift(i64::from(increment));
        widened.map_err(|_| ConnectionError::WindowOverflow)?;
        Ok(Signal::Widened)
    }

    #[inline]
    fn headers(&mut self, head: FrameHead, place: Place, input: &[u8]) -> Result<Signal, Fault> {
        let payload = self.reader.payload(input, &place);
        let read = HeadersPayload::read(head, payload).ok_or(ConnectionError::BadPadding)?;
        let fragment = &payload[read.fragment.clone()];
        if fragment.len() > self.limits.block_bytes {
            return Err(ConnectionError::BlockTooLong.into());
        }
        let ends = head.has(flag::END_STREAM);
        let is_loop = read.depends_on == Some(head.stream);
        if head.has(flag::END_HEADERS) {
            let (stream, at) = (head.stream, BlockAt::Frame(place.part(read.fragment)));
            return Ok(Signal::Headers(BlockSignal { stream, ends, is_loop, at }));
        }
        self.block.bytes.clear();
        self.block.bytes.shrink_to(KEPT_BYTES_MAX);
        self.block.bytes.extend_from_slice(fragment);
        self.block.stream = head.stream;
        (self.block.ends, self.block.is_loop) = (ends, is_loop);
        self.block.continuations = 0;
        Ok(Signal::Done)
    }

    fn continuation(
        &mut self,
        head: FrameHead,
        place: Place,
        input: &[u8],
    ) -> Result<Signal, Fault> {
        let fragment = self.reader.payload(input, &place);
        let block = &mut self.block;
        block.continuations += 1;
        let is_too_long = block.bytes.len() + fragment.len() > self.limits.block_bytes;
        if is_too_long || block.continuations > self.limits.continuations {
            return Err(ConnectionError::BlockTooLong.into());
        }
        block.bytes.extend_from_slice(fragment);
        if !head.has(flag::END_HEADERS) {
            return Ok(Signal::Done);
        }
        let stream = std::mem::replace(&mut block.stream, 0);
        let (ends, is_loop, at) = (block.ends, block.is_loop, BlockAt::Assembled);
        Ok(Signal::Headers(BlockSignal { stream, ends, is_loop, at }))
    }

    /// Reads a header block and hands out its fields.
    #[inline]
    pub(super) fn decode(
        &mut self,
        at: &BlockAt,
        input: &[u8],
        field: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let block = match at {
            BlockAt::Frame(place) => self.reader.payload(input, place),
            BlockAt::Assembled => &self.block.bytes,
        };
        self.decoder.decode(block, field)
    }

    /// Bytes of DATA are not kept any longer: lets the peer send as many more.
    #[inline]
    pub(super) fn release(&mut self, bytes: u32, out: &mut Vec<u8>) {
        if let Some(increment) = self.receive_window.release(bytes) {
            frame::write_window_update(out, 0, increment);
        }
    }
}

/// A PRIORITY frame, which has no effect (RFC 9113 5.3.2).
fn priority(head: FrameHead, depends_on: u32) -> Result<Signal, Fault> {
    if head.length as usize != frame::PRIORITY_BYTES {
        return Err(Fault::Stream(head.stream, StreamError::PriorityLength));
    }
    if depends_on == head.stream {
        return Err(Fault::Stream(head.stream, StreamError::PriorityLoop));
    }
    Ok(Signal::Done)
}
