//! Serde adapters: integers inside (so that merging is exact and associative), seconds or requests
//! per second in the document.

/// Nanoseconds inside, seconds in the document.
pub mod from_ns {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes ns as seconds.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value_ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(*value_ns as f64 / 1e9)
    }

    /// Reads seconds to the nearest ns.
    ///
    /// # Errors
    /// A value that is not a number of 0 or more.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        scaled(f64::deserialize(deserializer)?, 1e9)
    }

    pub(super) fn scaled<E: serde::de::Error>(value: f64, scale: f64) -> Result<u64, E> {
        let scaled = (value * scale).round();
        if !(0.0..1.8e19).contains(&scaled) {
            return Err(E::custom(format!("{value} is out of range")));
        }
        Ok(scaled as u64)
    }
}

/// Nanoseconds or none inside, seconds or null in the document.
pub mod optional_from_ns {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes ns as seconds, or null.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value_ns) => super::from_ns::serialize(value_ns, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads seconds to the nearest ns, or null.
    ///
    /// # Errors
    /// A value that is not null or a number of 0 or more.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Option::<f64>::deserialize(deserializer)?
            .map(|seconds| super::from_ns::scaled(seconds, 1e9))
            .transpose()
    }
}

/// Millionths of requests per second inside, requests per second in the document.
pub mod rps_from_uhz {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes µHz as requests per second.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(rate_uhz: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(*rate_uhz as f64 / 1e6)
    }

    /// Reads requests per second to the nearest µHz.
    ///
    /// # Errors
    /// A value that is not a number of 0 or more.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        super::from_ns::scaled(f64::deserialize(deserializer)?, 1e6)
    }
}
