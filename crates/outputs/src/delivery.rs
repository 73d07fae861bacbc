//! What became of a batch, and of all that was sent to one receiver.

use std::time::Duration;

use crate::receiver::Receiver;

/// What became of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Delivered,
    /// Not this time; the receiver may say how long to wait.
    Retry {
        after: Option<Duration>,
        reason: String,
    },
    /// Never.
    Refused {
        reason: String,
    },
}

/// What came of sending to one receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The receiver, without secrets.
    pub receiver: String,
    /// Batches that it took; mostly one a second.
    pub delivered: u64,
    /// Batches that it never got.
    pub lost: u64,
    /// What went wrong last, if anything did.
    pub reason: Option<String>,
    /// Whether nothing scraped the last figures, where a receiver has to come for them.
    pub is_unseen: bool,
}

impl Delivery {
    pub(crate) fn to(receiver: &Receiver) -> Self {
        Self {
            receiver: receiver.to_string(),
            delivered: 0,
            lost: 0,
            reason: None,
            is_unseen: false,
        }
    }

    /// What the user has to know of it: that something was lost, and why.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let Self { receiver, delivered, lost, reason, is_unseen } = self;
        let all = delivered + lost;
        let reason = reason.as_deref().unwrap_or("the tester had no time for it");
        if *is_unseen {
            return Some(format!("output {receiver}: {reason}"));
        }
        (*lost > 0).then(|| {
            format!("output {receiver}: {lost} of {all} batches were not delivered: {reason}")
        })
    }
}
