//! Requests that the server makes itself: results of others, pages for its clients, and what
//! clients send to several servers. Each has a connection of its own.

use plimsoll_core::plan::{Draft, DriverPlan, Request};
use plimsoll_dialect::fortio::{FLAGS, scheme};
use plimsoll_engine::{Answer, Control, Inquiry};

use super::super::{Refused, ready};
use crate::message::without_error_numbers;

/// How long an answer may take, ns: fortio's limit.
const TIMEOUT_NS: u64 = 3_000_000_000;

/// The answer to a GET.
///
/// # Errors
/// In one line.
pub(super) fn fetch(url: &str) -> Result<Answer, String> {
    ask(url, Request::get())
}

/// The answer to a request.
///
/// # Errors
/// In one line.
pub(super) fn ask(url: &str, request: Request) -> Result<Answer, String> {
    let url = match scheme(url) {
        Some(_) => url.to_owned(),
        None => format!("http://{url}"),
    };
    let mut draft = Draft::new(crate::url::parse(&url)?);
    draft.request = request;
    draft.templates = false;
    draft.timeout_ns = TIMEOUT_NS;
    draft.duration_ns = None;
    draft.requests = Some(1);
    (draft.connections, draft.workers) = (1, 1);
    // It takes the least to set up.
    draft.driver = DriverPlan::Epoll;
    let plan = ready(draft.check(), &FLAGS).map_err(|exit| Refused::from(exit).0)?;
    let control = Control::default();
    Inquiry::new(&plan, &control)
        .and_then(|mut inquiry| inquiry.ask(&plan, &control))
        .map_err(|error| without_error_numbers(&error.to_string()))
}
