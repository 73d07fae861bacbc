//! Flow-control windows (RFC 9113 5.2, 6.9), of streams and of connections alike.

use super::settings::WINDOW_BYTES_DEFAULT;

/// The largest window.
pub(super) const WINDOW_MAX: u32 = (1 << 31) - 1;

/// Less of a body in a frame is a splinter, unless the body ends with it: half of the largest frame
/// that every peer takes.
pub(super) const SPLINTER_BYTES: usize = 8192;

/// How many splinters in a row the peer credits one by one before it is relied on to do so.
const CREDITED_SPLINTERS: u8 = 8;

/// A window would exceed [`WINDOW_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overflow;

/// The peer sent more than a window allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exceeded;

/// How many bytes the peer lets us send. Negative when its settings have made the window smaller
/// than what was sent already (RFC 9113 6.9.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SendWindow(i64);

impl SendWindow {
    pub(super) fn new(bytes: u32) -> Self {
        Self(i64::from(bytes))
    }

    /// How many bytes may be sent now.
    #[inline]
    pub(super) fn room(self) -> usize {
        self.0.max(0) as usize
    }

    /// `bytes` are sent, no more than there is room for.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.room());
        self.0 -= bytes as i64;
    }

    /// The peer makes room for more bytes, or for fewer.
    pub(super) fn shift(&mut self, bytes: i64) -> Result<(), Overflow> {
        let shifted = self.0 + bytes;
        if shifted > i64::from(WINDOW_MAX) {
            return Err(Overflow);
        }
        self.0 = shifted;
        Ok(())
    }
}

/// Which bytes that were sent the peer has made room for again, on the connection's window and on
/// those of all streams together. A peer that credits bytes does its duty, however small its steps;
/// one that makes room for what nobody sent does not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Credits {
    /// All that was added to the connection's window.
    added: i64,
    connection: i64,
    streams: i64,
    /// Splinters that the peer has credited in a row; all that count once they are enough.
    splinters: u8,
}

impl Credits {
    /// How many bytes of bodies have been sent, by what room is left.
    pub(super) fn sent_bytes(self, window: SendWindow) -> i64 {
        i64::from(WINDOW_BYTES_DEFAULT) + self.added - window.0
    }

    /// The peer adds `bytes` to the connection's window, whose room is now `window`, or to that of
    /// a stream. `true`: it credits bytes that were sent.
    pub(super) fn credit(&mut self, is_stream: bool, bytes: u32, window: SendWindow) -> bool {
        let sent = self.sent_bytes(window);
        let credited = if is_stream { &mut self.streams } else { &mut self.connection };
        let is_owed = *credited < sent;
        *credited = (*credited + i64::from(bytes)).min(sent.max(*credited));
        if !is_stream {
            self.added += i64::from(bytes);
            self.note_step(bytes, SendWindow(window.0 + i64::from(bytes)));
        }
        is_owed
    }

    /// Notes by which step the peer has enlarged the connection's window to `window`.
    fn note_step(&mut self, bytes: u32, window: SendWindow) {
        match self.splinters {
            CREDITED_SPLINTERS => {}
            _ if bytes as usize >= SPLINTER_BYTES => self.splinters = 0,
            _ => self.splinters += u8::from(self.owes_most(window)),
        }
    }

    /// Whether the peer has yet to credit more than half of the connection's window.
    fn owes_most(self, window: SendWindow) -> bool {
        self.sent_bytes(window) - self.connection > window.0
    }

    /// Whether more room is sure to come: a peer that has credited splinters one by one, while it
    /// owed most of the window, credits whatever it receives. Of any other peer it is not known: it
    /// may well wait until the window is used up.
    pub(super) fn are_sure(self, window: SendWindow) -> bool {
        self.splinters == CREDITED_SPLINTERS && self.owes_most(window)
    }
}

/// How many bytes we let the peer send. Room is given back in steps of half a window, so that a
/// WINDOW_UPDATE goes out for many frames and the peer still never has to wait for one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ReceiveWindow {
    /// What it is to be when all that was received has been released.
    size: i64,
    /// What the peer may still send.
    left: i64,
    /// What has been released and the peer does not know of.
    released: i64,
}

impl ReceiveWindow {
    pub(super) fn new(bytes: u32) -> Self {
        Self { size: i64::from(bytes), left: i64::from(bytes), released: 0 }
    }

    /// Bytes have come.
    #[inline]
    pub(super) fn receive(&mut self, bytes: u32) -> Result<(), Exceeded> {
        if i64::from(bytes) > self.left {
            return Err(Exceeded);
        }
        self.left -= i64::from(bytes);
        Ok(())
    }

    /// Bytes that came are not kept any longer. Gives by how much to increase the peer's window, if
    /// that is worth a frame.
    #[inline]
    pub(super) fn release(&mut self, bytes: u32) -> Option<u32> {
        self.released = (self.released + i64::from(bytes)).min(self.size - self.left);
        if self.released <= 0 || 2 * self.released < self.size {
            return None;
        }
        let increment = self.released;
        self.left += increment;
        self.released = 0;
        u32::try_from(increment).ok()
    }

    /// Makes the window larger or smaller than it was at the start, because of our settings.
    pub(super) fn shift(&mut self, bytes: i64) {
        self.size += bytes;
        self.left += bytes;
    }

    /// Makes a new window as large as `bytes`. Gives by how much to increase the peer's.
    pub(super) fn grow_to(&mut self, bytes: u32) -> Option<u32> {
        let increment = i64::from(bytes) - self.size;
        if increment <= 0 {
            return None;
        }
        self.shift(increment);
        u32::try_from(increment).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_credited_once() {
        let (mut credits, mut window) = (Credits::default(), SendWindow::new(65_535));
        let mut credit = |window: &mut SendWindow, is_stream, bytes: u32| {
            let is_owed = credits.credit(is_stream, bytes, *window);
            if !is_stream {
                window.shift(i64::from(bytes)).unwrap();
            }
            is_owed
        };
        assert!(!credit(&mut window, false, 1 << 30), "room in advance");
        window.take(100_000);
        for is_stream in [false, true] {
            assert!(credit(&mut window, is_stream, 99_999), "{is_stream}");
            assert!(credit(&mut window, is_stream, 5), "the last byte, and more, {is_stream}");
            assert!(!credit(&mut window, is_stream, 1), "{is_stream}");
        }
        window.take(1);
        for is_stream in [true, false] {
            assert!(credit(&mut window, is_stream, 1), "{is_stream}");
            assert!(!credit(&mut window, is_stream, 1), "{is_stream}");
        }
    }

    /// Peers that wait until a window is used up credit splinters, too, if the last is one.
    #[test]
    fn room_is_sure_to_come_from_peers_that_credit_splinters() {
        for (credited, is_sure) in [
            (&[100; 7][..], false),
            (&[100; 8], true),
            (&[100, 100, 100, 100, 9000, 100, 100, 100, 100], false),
            (&[9000; 7], false),
            (&[65_535], false),
        ] {
            let (mut credits, mut window) = (Credits::default(), SendWindow::new(65_535));
            window.take(65_535);
            for &bytes in credited {
                credits.credit(false, bytes, window);
                window.shift(i64::from(bytes)).unwrap();
            }
            assert_eq!(credits.are_sure(window), is_sure, "{credited:?}");
            credits.credit(false, 65_535, window);
            window.shift(65_535).unwrap();
            assert!(!credits.are_sure(window), "nothing is owed, {credited:?}");
        }
    }

    #[test]
    fn sending_stays_within_the_window() {
        let mut window = SendWindow::new(10);
        window.take(7);
        assert_eq!(window.room(), 3);
        assert_eq!(window.shift(-8), Ok(()));
        assert_eq!(window.room(), 0);
        assert_eq!(window.shift(6), Ok(()));
        assert_eq!(window.room(), 1);
        assert_eq!(window.shift(i64::from(WINDOW_MAX) - 1), Ok(()));
        assert_eq!(window.shift(1), Err(Overflow));
        assert_eq!(window.room(), WINDOW_MAX as usize);
    }

    #[test]
    fn room_is_given_back_in_halves() {
        let mut window = ReceiveWindow::new(10);
        assert_eq!(window.receive(4), Ok(()));
        assert_eq!(window.release(4), None);
        assert_eq!(window.receive(6), Ok(()));
        assert_eq!(window.receive(1), Err(Exceeded));
        assert_eq!(window.release(6), Some(10));
        assert_eq!(window.receive(10), Ok(()));
        // More than was received is never given back.
        assert_eq!(window.release(99), Some(10));
        assert_eq!(window.receive(11), Err(Exceeded));
    }

    #[test]
    fn settings_change_the_window() {
        let mut window = ReceiveWindow::new(100);
        assert_eq!(window.receive(90), Ok(()));
        window.shift(-80);
        assert_eq!(window.receive(1), Err(Exceeded));
        assert_eq!(window.release(90), Some(90));
        assert_eq!(window.receive(20), Ok(()));
        assert_eq!(window.receive(1), Err(Exceeded));
        let mut connection = ReceiveWindow::new(65_535);
        assert_eq!(connection.grow_to(65_535), None);
        assert_eq!(connection.grow_to(100_000), Some(34_465));
    }
}
