//! What each request is answered with, and what it changes.

use std::sync::Arc;

use plimsoll_dialect::k6::metrics::TrendStat;
use plimsoll_dialect::k6::rest;
use plimsoll_dialect::k6::summary::Summary;
use plimsoll_engine::vu::{Controls, Network, VuError};
use plimsoll_io::clock;

use super::super::common::Common;
use super::super::count::text_of;
use super::super::handle::{Handle, Phase};
use super::super::load::Test;
use super::super::news::{Lines, Points};
use super::answer::{Answer, Request};

/// A run, as its interface sees it.
pub(super) struct Desk {
    test: Arc<Test>,
    handle: Handle,
    common: Arc<Common>,
}

impl Desk {
    pub(super) fn new(
        test: &Arc<Test>,
        handle: &Handle,
        lines: &Lines,
        points: Option<Points>,
    ) -> Self {
        let common = Arc::new(test.common(lines, points));
        Self { test: Arc::clone(test), handle: handle.clone(), common }
    }

    /// Answers a request. Paths that k6 gives no meaning are `ok`, as a sign of life.
    pub(super) fn answer(&self, request: &Request) -> Answer {
        let Some(path) = request.path.strip_prefix("/v1/") else { return Answer::text(200, "ok") };
        let (kind, name) = path.split_once('/').map_or((path, None), |(k, n)| (k, Some(n)));
        match (request.method.as_str(), kind, name) {
            ("GET", "status", None) => self.status(),
            ("PATCH", "status", None) => self.change(&request.body),
            ("GET", "metrics", None) => self.of_summary(|all| Some(rest::metrics(all)), ""),
            ("GET", "metrics", Some(name)) => {
                let none = "No metric with that ID was found";
                self.of_summary(|all| rest::metric(all, name), none)
            }
            ("GET", "groups", None) => self.of_summary(|all| Some(rest::groups(all)), ""),
            ("GET", "groups", Some(id)) => {
                let none = "No group with that ID was found";
                self.of_summary(|all| rest::group(all, id), none)
            }
            ("GET", "setup", None) => self.setup_data(),
            ("PUT", "setup", None) => self.set_setup_data(&request.body),
            ("POST", "setup", None) => self.set_up(),
            ("POST", "teardown", None) => self.tear_down(),
            (_, "status" | "setup" | "teardown", None) | (_, "metrics" | "groups", _) => {
                Answer::text(405, "")
            }
            _ => Answer::text(404, "404 page not found\n"),
        }
    }

    fn status(&self) -> Answer {
        Answer::document(rest::status(&self.handle.status()))
    }

    /// A document about what was counted so far.
    fn of_summary(&self, make: impl FnOnce(&Summary) -> Option<String>, none: &str) -> Answer {
        let run_ns = self.handle.run_ns(clock::now_ns());
        let summary = self.handle.figures().as_ref().map(|figures| {
            Summary::of(&figures.book, &figures.thresholds, &TrendStat::defaults(), run_ns)
        });
        match summary.as_ref().and_then(make) {
            Some(document) => Answer::document(document),
            None => Answer::fault(404, "Not Found", none),
        }
    }

    fn change(&self, body: &[u8]) -> Answer {
        let change = match rest::change(body) {
            Ok(change) => change,
            Err(what) => return Answer::fault(400, "Invalid data", what),
        };
        if change.has_vus {
            let detail = "the numbers of VUs follow from the scenarios and cannot be changed";
            return Answer::fault(500, "Execution config error", detail);
        }
        let controls = self.handle.controls();
        if let Some(is_paused) = change.is_paused {
            // Before it is ready a run can be told to wait; what has started is not held back.
            let is_early = matches!(self.handle.phase(), Phase::Init | Phase::Paused);
            match (is_paused, controls.is_paused()) {
                (true, true) => {
                    return Answer::fault(500, "Pause error", "execution is already paused");
                }
                (true, false) if is_early => controls.pause(),
                (false, true) if is_early => controls.resume(),
                _ => {
                    let detail = "a test that has started can be neither paused nor resumed";
                    return Answer::fault(500, "Pause error", detail);
                }
            }
        }
        if change.is_stopped == Some(true) && self.handle.phase() != Phase::Done {
            self.handle.stop();
        }
        self.status()
    }

    fn setup_data(&self) -> Answer {
        match rest::setup_data(self.handle.controls().setup_data().as_deref()) {
            Ok(document) => Answer::document(document),
            Err(error) => Answer::fault(500, "Error with the data of setup()", error.to_string()),
        }
    }

    fn set_setup_data(&self, body: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(body);
        let data = Some(text.trim()).filter(|text| !text.is_empty());
        if let Err(error) = rest::setup_data(data) {
            return Answer::fault(400, "Error parsing request body", error.to_string());
        }
        self.handle.controls().set_setup_data(data.map(Into::into));
        self.setup_data()
    }

    fn set_up(&self) -> Answer {
        let limit_ns = self.test.configuration.setup_timeout_ns;
        match self.call("setup", None, limit_ns) {
            Ok(data) => {
                self.handle.controls().set_setup_data(data.map(Into::into));
                self.setup_data()
            }
            Err(what) => Answer::fault(500, "Error executing setup", what),
        }
    }

    fn tear_down(&self) -> Answer {
        let limit_ns = self.test.configuration.teardown_timeout_ns;
        let data = self.handle.controls().setup_data();
        match self.call("teardown", data, limit_ns) {
            Ok(_) => Answer::text(200, ""),
            Err(what) => Answer::fault(500, "Error executing teardown", what),
        }
    }

    /// Calls a function beside the run; its samples count in it.
    fn call(
        &self,
        name: &str,
        data: Option<Arc<str>>,
        limit_ns: u64,
    ) -> Result<Option<String>, String> {
        let network: Network = self.test.network().map_err(|refused| refused.what)?;
        let controls: &Arc<Controls> = self.handle.controls();
        let (common, network) = (&self.common, &network);
        let (returned, count) =
            self.test.task(name, data, limit_ns, controls, (common, network), (None, None));
        let (book, account) = count.finish();
        if let Some(figures) = &mut *self.handle.figures() {
            figures.book.merge(&book);
            figures.account.merge(&account);
        }
        match returned {
            Ok(data) => data,
            Err(VuError::Script(failure)) => Err(text_of(&failure)),
            Err(error) => Err(error.to_string()),
        }
    }
}
