//! What is sent to a receiver at once.

/// Bytes in the form of a receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    pub bytes: Vec<u8>,
    pub points: Points,
}

/// How many points a batch has, for receivers that say how many they took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Points {
    /// Numbers.
    pub samples: u64,
    /// Native histograms.
    pub histograms: u64,
}

impl From<Vec<u8>> for Batch {
    /// For a receiver that does not say how many points it took.
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, points: Points::default() }
    }
}
