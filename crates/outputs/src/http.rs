//! One request for one batch, and what its answer means for it.
//!
//! No redirects and no proxies: figures go where the user said, or nowhere.

use std::time::Duration;

use plimsoll_core::printable::printable;
use ureq::http::HeaderMap;
use ureq::{Agent, Error};

use crate::batch::{Batch, Points};
use crate::delivery::Fate;
use crate::labels::shortened;
use crate::receiver::Http;
use crate::secrets::Secrets;

/// How much of an answer is read for its reason, bytes.
const ANSWER_BYTES_MAX: u64 = 4096;

/// The longest that a receiver may put a retry off.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

/// The headers by which a receiver says how many points of a batch it took.
const WRITTEN: [&str; 2] =
    ["x-prometheus-remote-write-samples-written", "x-prometheus-remote-write-histograms-written"];

/// Posts to one receiver.
#[derive(Debug)]
pub(crate) struct Poster {
    agent: Agent,
    to: Http,
    secrets: Secrets,
}

impl Poster {
    pub(crate) fn new(to: Http) -> Self {
        let config = Agent::config_builder()
            .tls_config(to.trust.config())
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(concat!("plimsoll/", env!("CARGO_PKG_VERSION")))
            .build();
        let secrets = Secrets::of(&to);
        Self { agent: config.into(), to, secrets }
    }

    /// Posts a batch and waits for the answer up to a limit.
    pub(crate) fn post(&self, batch: &Batch, limit: Duration) -> Fate {
        let mut request = self.agent.post(&self.to.url);
        for (name, value) in &self.to.headers {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(limit)).build();
        let mut answer = match request.send(&batch.bytes) {
            Ok(answer) => answer,
            Err(error) => return Fate::Retry { after: None, reason: explain(&error, limit) },
        };
        let status = answer.status().as_u16();
        let written = written(answer.headers());
        if (200..300).contains(&status) {
            return if self.to.confirms {
                confirmed(batch.points, written)
            } else {
                Fate::Delivered
            };
        }
        let after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let after = after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let text = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        let text = text.unwrap_or_default();
        let first = text.lines().next().unwrap_or_default().trim();
        let colon = if first.is_empty() { "" } else { ": " };
        let mut reason =
            format!("HTTP {status}{colon}{}", shortened(&printable(&self.secrets.masked(first))));
        if self.to.confirms && status == UNSUPPORTED_MEDIA_TYPE {
            reason = format!("{reason}: {OLD}");
        } else if let Some(written) = written.filter(|_| self.to.confirms) {
            reason = format!("{reason} ({})", took(batch.points, written));
        }
        match status {
            429 | 500.. => Fate::Retry { after: after.map(|it| it.min(RETRY_AFTER_MAX)), reason },
            _ => Fate::Refused { reason },
        }
    }
}

/// What to do if a receiver does not know version 2.0 of remote write.
const OLD: &str = "the receiver does not take remote write 2.0: leave ,v2 out";

const UNSUPPORTED_MEDIA_TYPE: u16 = 415;

/// How many points of a batch were taken, where the answer says so.
fn written(headers: &HeaderMap) -> Option<Points> {
    let [samples, histograms] = WRITTEN.map(|name| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .and_then(|it| it.trim().parse().ok())
    });
    // A receiver that has no native histograms need not count them.
    Some(Points { samples: samples?, histograms: histograms.unwrap_or(0) })
}

/// What became of a batch that a receiver says it took. One that does not say how many points it
/// took has not understood the message (remote write 2.0, "Required Written Response Headers").
fn confirmed(sent: Points, written: Option<Points>) -> Fate {
    match written {
        None => Fate::Refused { reason: OLD.to_owned() },
        Some(written) if written == sent => Fate::Delivered,
        Some(written) => Fate::Refused { reason: took(sent, written) },
    }
}

fn took(sent: Points, written: Points) -> String {
    let of = |points: Points| points.samples + points.histograms;
    format!("{} of {} points were written", of(written), of(sent))
}

fn explain(error: &Error, limit: Duration) -> String {
    match error {
        Error::Timeout(_) => format!("no answer in {:.1} s", limit.as_secs_f64()),
        Error::Io(error) => error.to_string(),
        Error::HostNotFound => "the host is not known".to_owned(),
        other => other.to_string(),
    }
}
