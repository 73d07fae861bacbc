//! Flow-control windows (RFC 9113 5.2, 6.9), of streams and of connections alike.

/// The largest window.
pub(super) const WINDOW_MAX: u32 = (1 << 31) - 1;

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
