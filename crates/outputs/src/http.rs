//! One request for one batch, and what its answer means for it.
//!
//! No redirects and no proxies: figures go where the user said, or nowhere.

use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Error};

use crate::delivery::Fate;
use crate::labels::shortened;
use crate::receiver::Http;

/// How much of an answer is read for its reason, bytes.
const ANSWER_BYTES_MAX: u64 = 4096;

/// The longest that a receiver may put a retry off.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

/// Posts to one receiver.
#[derive(Debug)]
pub(crate) struct Poster {
    agent: Agent,
    to: Http,
}

impl Poster {
    pub(crate) fn new(to: Http) -> Self {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(RootCerts::WebPki)
            .unversioned_rustls_crypto_provider(Arc::new(provider))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(concat!("plimsoll/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.into(), to }
    }

    /// Posts a body and waits for the answer up to a limit.
    pub(crate) fn post(&self, body: &[u8], limit: Duration) -> Fate {
        let mut request = self.agent.post(&self.to.url);
        for (name, value) in &self.to.headers {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(limit)).build();
        let mut answer = match request.send(body) {
            Ok(answer) => answer,
            Err(error) => return Fate::Retry { after: None, reason: explain(&error, limit) },
        };
        let status = answer.status().as_u16();
        if (200..300).contains(&status) {
            return Fate::Delivered;
        }
        let after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let after = after.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let text = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        let text = text.unwrap_or_default();
        let first = text.lines().next().unwrap_or_default().trim();
        let colon = if first.is_empty() { "" } else { ": " };
        let reason = format!("HTTP {status}{colon}{}", shortened(first));
        match status {
            429 | 500.. => Fate::Retry { after: after.map(|it| it.min(RETRY_AFTER_MAX)), reason },
            _ => Fate::Refused { reason },
        }
    }
}

fn explain(error: &Error, limit: Duration) -> String {
    match error {
        Error::Timeout(_) => format!("no answer in {:.1} s", limit.as_secs_f64()),
        Error::Io(error) => error.to_string(),
        Error::HostNotFound => "the host is not known".to_owned(),
        other => other.to_string(),
    }
}
