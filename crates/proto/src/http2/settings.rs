//! What a side of the connection allows the other (RFC 9113 6.5.2).

use super::ConnectionError;
use super::flow::WINDOW_MAX;
use super::frame::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};

pub(super) mod id {
    pub(in crate::http2) const HEADER_TABLE_SIZE: u16 = 1;
    pub(in crate::http2) const ENABLE_PUSH: u16 = 2;
    pub(in crate::http2) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(in crate::http2) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(in crate::http2) const MAX_FRAME_SIZE: u16 = 5;
    pub(in crate::http2) const MAX_HEADER_LIST_SIZE: u16 = 6;
    pub(in crate::http2) const ENABLE_CONNECT_PROTOCOL: u16 = 8;
}

/// The window of a stream before any setting, and always that of a connection at its start.
pub(super) const WINDOW_BYTES_DEFAULT: u32 = 65_535;

/// The settings of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of the table that its header blocks are decoded with (RFC 7541 4.2).
    pub header_table_bytes: u32,
    /// Whether it takes pushed responses. Only a client's counts.
    pub push: bool,
    /// How many streams the other side may have open; `u32::MAX` is no limit.
    pub streams: u32,
    /// Bytes of a new stream's window, at most 2^31-1.
    pub window_bytes: u32,
    /// Bytes of the largest frame it takes, from 2^14 to 2^24-1.
    pub frame_bytes: u32,
    /// Bytes of the longest list of fields it takes; `u32::MAX` is no limit.
    pub list_bytes: u32,
    /// Whether it takes extended CONNECT (RFC 8441). Only a server's counts.
    pub connect_protocol: bool,
}

impl Settings {
    /// What holds before a side has said anything.
    pub const INITIAL: Self = Self {
        header_table_bytes: 4096,
        push: true,
        streams: u32::MAX,
        window_bytes: WINDOW_BYTES_DEFAULT,
        frame_bytes: FRAME_BYTES_MIN,
        list_bytes: u32::MAX,
        connect_protocol: false,
    };

    /// The smaller of each size and number that both have.
    pub(super) fn least(self, other: Self) -> Self {
        self.each(other, u32::min)
    }

    /// The larger of each size and number that both have.
    pub(super) fn most(self, other: Self) -> Self {
        self.each(other, u32::max)
    }

    fn each(self, other: Self, of: fn(u32, u32) -> u32) -> Self {
        Self {
            header_table_bytes: of(self.header_table_bytes, other.header_table_bytes),
            streams: of(self.streams, other.streams),
            window_bytes: of(self.window_bytes, other.window_bytes),
            frame_bytes: of(self.frame_bytes, other.frame_bytes),
            list_bytes: of(self.list_bytes, other.list_bytes),
            ..self
        }
    }

    /// Takes over one setting of the peer's. Unknown ones are ignored.
    pub(super) fn apply(
        &mut self,
        setting: u16,
        value: u32,
        by_server: bool,
    ) -> Result<(), ConnectionError> {
        let switch = |allowed: bool| match value {
            0 => Ok(false),
            1 if allowed => Ok(true),
            _ => Err(ConnectionError::BadSetting),
        };
        match setting {
            id::HEADER_TABLE_SIZE => self.header_table_bytes = value,
            id::ENABLE_PUSH => self.push = switch(!by_server)?,
            id::MAX_CONCURRENT_STREAMS => self.streams = value,
            id::INITIAL_WINDOW_SIZE if value > WINDOW_MAX => {
                return Err(ConnectionError::WindowOverflow);
            }
            id::INITIAL_WINDOW_SIZE => self.window_bytes = value,
            id::MAX_FRAME_SIZE if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&value) => {
                return Err(ConnectionError::BadSetting);
            }
            id::MAX_FRAME_SIZE => self.frame_bytes = value,
            id::MAX_HEADER_LIST_SIZE => self.list_bytes = value,
            id::ENABLE_CONNECT_PROTOCOL => {
                let enabled = switch(true)?;
                // What was once allowed stays allowed (RFC 8441 3).
                if self.connect_protocol && !enabled {
                    return Err(ConnectionError::BadSetting);
                }
                self.connect_protocol = enabled;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The settings in a frame's payload, whose length was checked.
pub(super) fn pairs(payload: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    payload.as_chunks::<6>().0.iter().map(|&[i0, i1, v0, v1, v2, v3]| {
        (u16::from_be_bytes([i0, i1]), u32::from_be_bytes([v0, v1, v2, v3]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let bad = Err(ConnectionError::BadSetting);
        let too_large = Err(ConnectionError::WindowOverflow);
        for (setting, value, by_server, want) in [
            (id::ENABLE_PUSH, 0, true, Ok(())),
            (id::ENABLE_PUSH, 1, true, bad),
            (id::ENABLE_PUSH, 1, false, Ok(())),
            (id::ENABLE_PUSH, 2, false, bad),
            (id::INITIAL_WINDOW_SIZE, WINDOW_MAX, true, Ok(())),
            (id::INITIAL_WINDOW_SIZE, WINDOW_MAX + 1, true, too_large),
            (id::MAX_FRAME_SIZE, 16_383, true, bad),
            (id::MAX_FRAME_SIZE, 16_384, true, Ok(())),
            (id::MAX_FRAME_SIZE, 16_777_215, true, Ok(())),
            (id::MAX_FRAME_SIZE, 16_777_216, true, bad),
            (id::ENABLE_CONNECT_PROTOCOL, 1, true, Ok(())),
            (id::ENABLE_CONNECT_PROTOCOL, 2, true, bad),
            (99, u32::MAX, true, Ok(())),
        ] {
            let mut settings = Settings::INITIAL;
            let got = settings.apply(setting, value, by_server);
            assert_eq!(got, want, "{setting} = {value}");
        }
        let mut settings = Settings { connect_protocol: true, ..Settings::INITIAL };
        assert_eq!(settings.apply(id::ENABLE_CONNECT_PROTOCOL, 0, true), bad);
    }
}
