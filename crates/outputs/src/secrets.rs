//! What must not be shown of a receiver's answer: some receivers say what they were sent, with the
//! credentials in it.

use plimsoll_core::authorization::credentials;
use plimsoll_core::secret::{Masks, form_decoded, percent_decoded};

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
        let mut given: Vec<String> = headers.flat_map(|(_, value)| of_header(value)).collect();
        let query = to.url.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let hidden = pairs.filter(|(name, _)| *name == PASSWORD || masks.hides(name));
        given.extend(hidden.map(|(_, value)| value.to_owned()));
        let mut all: Vec<String> = given.iter().flat_map(|secret| spellings(secret)).collect();
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

/// What stands for characters in a text of another format.
type Escapes = [(char, &'static str)];

/// Escapes of JSON and of HTML: the fewest, and those that common libraries write.
const ESCAPES: [&Escapes; 6] = [
    &[('\\', "\\\\"), ('"', "\\\"")],
    &[('\\', "\\\\"), ('"', "\\\""), ('/', "\\/")],
    &[('\\', "\\\\"), ('"', "\\\""), ('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026")],
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;")],
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")],
    &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&#34;"), ('\'', "&#x27;")],
];

/// A secret as it was given and decoded, and each of these as an answer may repeat it: with
/// percents, or escaped for JSON or HTML.
fn spellings(secret: &str) -> Vec<String> {
    let plain = [secret.to_owned(), percent_decoded(secret), form_decoded(secret)];
    let mut spellings = Vec::new();
    for plain in plain {
        let upper = percent_encoded(&plain, |byte| format!("%{byte:02X}"));
        let lower = percent_encoded(&plain, |byte| format!("%{byte:02x}"));
        let in_forms = [&upper, &lower].map(|encoded| encoded.replace("%20", "+"));
        spellings.extend(ESCAPES.iter().map(|escapes| escaped(&plain, escapes)));
        spellings.extend(in_forms.into_iter().chain([upper, lower, plain]));
    }
    spellings
}

/// All but the unreserved characters as percents (RFC 3986, section 2.3).
fn percent_encoded(text: &str, percent: fn(u8) -> String) -> String {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let of_byte = |byte| match is_unreserved(byte) {
        true => char::from(byte).to_string(),
        false => percent(byte),
    };
    text.bytes().map(of_byte).collect()
}

fn escaped(text: &str, escapes: &Escapes) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match escapes.iter().find(|(from, _)| *from == letter) {
            Some((_, to)) => escaped.push_str(to),
            None => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Trust;

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
            trust: Trust::default(),
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

    #[test]
    fn credentials_are_masked_however_an_answer_spells_them() {
        let to = Http {
            url: "http://a/write?token=a%2Fb%20%22c%22%3C%26".to_owned(),
            headers: vec![("X-Api-Key".to_owned(), "k'1/\\>+2".to_owned())],
            confirms: false,
            trust: Trust::default(),
        };
        let secrets = Secrets::of(&to);
        for spelling in [
            "a%2Fb%20%22c%22%3C%26",
            "a/b \"c\"<&",
            "a%2fb%20%22c%22%3c%26",
            "a%2Fb+%22c%22%3C%26",
            r#"a/b \"c\"<&"#,
            r#"a\/b \"c\"<&"#,
            r#"a/b \"c\"\u003c\u0026"#,
            "a/b \"c\"&lt;&amp;",
            "a/b &quot;c&quot;&lt;&amp;",
            "a/b &#34;c&#34;&lt;&amp;",
            "k'1/\\>+2",
            "k%271%2F%5C%3E%2B2",
            r"k'1/\\>+2",
            "k&#39;1/\\&gt;+2",
            "k&#x27;1/\\&gt;+2",
        ] {
            let shown = secrets.masked(&format!("wrong [{spelling}] here"));
            assert!(shown.starts_with("wrong [[masked:"), "{spelling}: {shown}");
            assert!(shown.ends_with("]] here") && shown.matches("masked:").count() == 1, "{shown}");
        }
    }
}
