//! What the samples of a virtual user carry beside their values, as its script has set it:
//! `exec.vu.metrics.tags` and `exec.vu.metrics.metadata`. The objects are in [`api`](super::api).

use super::api::metadata::Metadata;
use super::api::tags;
use super::vu::Vu;

impl Vu {
    /// The number of the tags that the script has set in `exec.vu.metrics.tags`; `None` without
    /// any. Those of a call, and so of a request or a sample, have them already.
    #[must_use]
    pub fn tags(&self) -> Option<u32> {
        tags::own_number(&self.inner)
    }

    /// What the script has set in `exec.vu.metrics.metadata`; `None` without any.
    #[must_use]
    pub fn metadata(&self) -> Option<Metadata> {
        self.inner.metadata.borrow().clone()
    }

    /// Forgets the tags and the metadata that the script has set: they do not outlive a scenario.
    pub fn forget_labels(&mut self) {
        self.inner.tags.borrow_mut().clear();
        *self.inner.metadata.borrow_mut() = None;
    }
}
