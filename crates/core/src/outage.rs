//! Outages: whether users could reach the server, which no request can tell.
//!
//! A closed loop sends when a connection is free. Without any connection it sends nothing, so
//! nothing fails, and the figures describe only the time before. But the users wait. A user is one
//! of the plan's connections; it is *cut off* from the start of a connect that failed until a
//! connect succeeds. The outage is the share of the users' time in which they were cut off, at any
//! kind of load.

use serde::{Deserialize, Serialize};

/// How far users were cut off from the server in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Outage {
    /// Share of the users' time in which they were cut off, 0 to 1.
    pub share: f64,
    /// The longest that one of them was.
    #[serde(rename = "longest_s", with = "crate::serde_units::from_ns")]
    pub longest_ns: u64,
    /// How long all of them were, added up.
    #[serde(rename = "cut_off_s", with = "crate::serde_units::from_ns")]
    pub cut_off_ns: u64,
    /// The time of all of them, added up.
    #[serde(rename = "users_s", with = "crate::serde_units::from_ns")]
    pub users_ns: u64,
    /// Times that a user was cut off, without those whose failed connect was a request's own: that
    /// request stands in the ledger. Each is a failed attempt of that user, however often the
    /// connect was tried again.
    pub failed_attempts: u64,
}

impl Outage {
    /// Adds what other users of the same time saw.
    pub fn merge(&mut self, other: &Self) {
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.cut_off_ns += other.cut_off_ns;
        self.users_ns += other.users_ns;
        self.failed_attempts += other.failed_attempts;
        self.refresh();
    }

    /// Makes the share anew of the times.
    pub fn refresh(&mut self) {
        self.share = share(self.cut_off_ns, self.users_ns);
    }
}

/// The share of the users' time in which they were cut off, to a billionth, so that documents are
/// read as they were written; 0 without users.
#[must_use]
pub fn share(cut_off_ns: u64, users_ns: u64) -> f64 {
    let share = if users_ns == 0 { 0.0 } else { cut_off_ns as f64 / users_ns as f64 };
    (share * 1e9).round() / 1e9
}
