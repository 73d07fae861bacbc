//! What must not be shown of a receiver's answer: some receivers say what they were sent, with the
//! credentials in it.

use plimsoll_core::authorization::credentials;
use plimsoll_core::secret::{Masks, percent_decoded};

use crate::receiver::Http;

/// The fewest bytes of a secret: shorter ones would mask parts of ordinary words.
const BYTES_MIN: usize = 4;

/// The parameter with InfluxDB's password.
const PASSWORD: &str = "p";

/// The secrets that requests to a receiver have, the longest first: one may be a part of another.
pub(crate) struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Secrets").field(&self.0.len()).finish()
    }
}

impl Secrets {
    pub(crate) fn of(to: &Http) -> Self {
        let masks = Masks::default();
        let headers = to.headers.iter().filter(|(name, _)| masks.hides_header(name));
        let mut all: Vec<String> = headers.flat_map(|(_, value)| of_header(value)).collect();
        let query = to.url.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let hidden = pairs.filter(|(name, _)| *name == PASSWORD || masks.hides(name));
        all.extend(hidden.flat_map(|(_, value)| [value.to_owned(), percent_decoded(value)]));
        all.retain(|secret| secret.len() >= BYTES_MIN);
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all.dedup();
        Self(all)
    }

    /// A text without them.
    pub(crate) fn masked(&self, text: &str) -> String {
        let masks = Masks::default();
        self.0.iter().fold(text.to_owned(), |text, secret| {
            text.replace(secret.as_str(), &masks.whole(secret))
        })
    }
}

/// A header's value, what follows the name of a scheme in it, and the password in that.
fn of_header(value: &str) -> Vec<String> {
    let credentials = credentials(value);
    let password = credentials.as_deref().and_then(|it| it.split_once(':')).map(|(_, it)| it);
    let after_scheme = value.split_once(' ').map(|(_, rest)| rest.trim());
    let parts = [Some(value), after_scheme, credentials.as_deref(), password];
    parts.into_iter().flatten().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_masked_wherever_an_answer_has_them() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let to = Http {
            url: "http://a/write?db=load&u=me&p=pass%20word&token=t0ken&precision=ns".to_owned(),
            headers: vec![
                header("Authorization", "Basic dXNlcjpodXNoaHVzaA=="),
                header("X-Api-Key", "key-1234"),
                header("X-Scope-OrgID", "7"),
                header("Content-Type", "text/plain"),
            ],
            confirms: false,
        };
        let secrets = Secrets::of(&to);
        for secret in [
            "Basic dXNlcjpodXNoaHVzaA==",
            "dXNlcjpodXNoaHVzaA==",
            "user:hushhush",
            "hushhush",
            "key-1234",
            "pass%20word",
            "pass word",
            "t0ken",
        ] {
            let shown = secrets.masked(&format!("wrong '{secret}' in database load"));
            assert!(!shown.contains(secret), "{shown}");
            assert!(shown.contains("masked:") && shown.ends_with("' in database load"), "{shown}");
        }
        let harmless = "tenant 7 of text/plain has no database load";
        assert_eq!(secrets.masked(harmless), harmless);
        assert!(!format!("{secrets:?}").contains("hush"));
    }
}
