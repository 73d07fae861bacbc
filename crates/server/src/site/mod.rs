//! An address whose clients say in the query what answer they want, as fortio's do, and some of
//! whose paths a program beside the server answers.
//!
//! A request without a query is an echo that costs little more than a hello. [`query`] reads a
//! query, [`shape`] draws what it leaves to chance and writes the answer; both are pure. Requests
//! for the paths of [`SiteOptions::handled`] go to a [`Handle`], which answers from a thread of its
//! own whenever it likes: no worker waits for it.
//!
//! Absent on purpose: pages and run control, which are the program's.

mod date;
mod handler;
mod query;
mod shape;

use std::sync::Arc;

pub use handler::{Asked, Client, Handle, Reply, Response};

pub(crate) use date::Date;
pub(crate) use handler::Mailbox;
pub(crate) use query::Wishes;
pub(crate) use shape::{Parts, Shaper, has_body};

/// What the address does.
#[derive(Clone)]
pub struct SiteOptions {
    /// The query of requests that have none.
    pub default_query: String,
    /// The longest delay that a client gets, ns.
    pub delay_ns_max: u64,
    /// The largest body that a client gets, bytes.
    pub body_bytes_max: u64,
    /// Paths that the program answers; those that end in a slash with all below them.
    pub handled: Vec<String>,
    /// The program; without one these paths echo too.
    pub handler: Option<Arc<dyn Handle>>,
    /// What random choices and bodies are drawn from.
    pub seed: u64,
}

impl std::fmt::Debug for SiteOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SiteOptions").field("handled", &self.handled).finish_non_exhaustive()
    }
}

impl Default for SiteOptions {
    /// fortio's limits, and no program.
    fn default() -> Self {
        Self {
            default_query: String::new(),
            delay_ns_max: 1_500_000_000,
            body_bytes_max: 256 << 10,
            handled: Vec::new(),
            handler: None,
            seed: 0,
        }
    }
}

impl SiteOptions {
    /// Whether the program answers this target.
    pub(crate) fn is_handled(&self, target: &str) -> bool {
        let path = target.split('?').next().unwrap_or_default();
        let is_of = |known: &String| match known.ends_with('/') {
            true => path.starts_with(known.as_str()) || path == known.trim_end_matches('/'),
            false => path == known,
        };
        self.handler.is_some() && self.handled.iter().any(is_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl Handle for Nobody {
        fn handle(&self, _asked: Asked, _reply: Reply) {}
    }

    #[test]
    fn paths_with_a_slash_have_all_below_them() {
        let handled = ["/debug", "/fortio/"].map(str::to_owned).to_vec();
        let options =
            SiteOptions { handled, handler: Some(Arc::new(Nobody)), ..SiteOptions::default() };
        for (target, want) in [
            ("/debug", true),
            ("/debug?x", true),
            ("/debug/echo", false),
            ("/fortio", true),
            ("/fortio/", true),
            ("/fortio/rest/run?url=/", true),
            ("/fortiox", false),
            ("/x?/fortio/", false),
        ] {
            assert_eq!(options.is_handled(target), want, "{target}");
        }
        assert!(!SiteOptions { handler: None, ..options }.is_handled("/debug"));
    }
}
