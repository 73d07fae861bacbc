//! Command lines: which flags take secrets, and secrets in the middle of commands.

use super::Masks;

/// What a flag is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing that is secret.
    Plain,
    /// A secret as a whole, such as `user:password`.
    Credential,
    /// `Name: value`.
    Header,
    /// A body, or `@FILE`.
    Body,
    /// A form's field, `name=value`.
    Field,
    /// A variable of an environment, `NAME=value`.
    Variable,
    /// `USER:PASS@HOST:PORT`.
    Proxy,
    /// A URL or a path.
    Url,
    /// `KIND=URL`: where figures go, with a password in the query too.
    Receiver,
    /// What a response has to be like.
    Expectation,
}

/// The flags of `plimsoll run`, by their long names, that take what may be secret.
pub const RUN_FLAGS: [(&str, Kind); 10] = [
    ("url", Kind::Url),
    ("header", Kind::Header),
    ("basic", Kind::Credential),
    ("body", Kind::Body),
    ("form", Kind::Field),
    ("form-urlencoded", Kind::Field),
    ("proxy", Kind::Proxy),
    ("script-arguments", Kind::Credential),
    ("expect", Kind::Expectation),
    ("out", Kind::Receiver),
];

/// Endings of files: the path of a key is no secret.
const FILES: [&str; 8] = [".pem", ".key", ".crt", ".cer", ".der", ".p12", ".csv", ".txt"];

/// What a flag of `plimsoll run` is given, by its long name.
#[must_use]
pub fn run_flag(name: &str) -> Kind {
    let known = RUN_FLAGS.iter().find(|(known, _)| *known == name.replace('_', "-"));
    known.map_or(Kind::Plain, |(_, kind)| *kind)
}

impl Masks {
    /// What a flag is given, as it may be shown.
    #[must_use]
    pub fn given(&self, kind: Kind, text: &str) -> String {
        if self.shows_all {
            return text.to_owned();
        }
        match kind {
            Kind::Plain => text.to_owned(),
            Kind::Credential => self.whole(text),
            Kind::Header => self.header_line(text),
            Kind::Body if text.starts_with('@') => text.to_owned(),
            Kind::Body => self.body(text),
            Kind::Field => self.field(text),
            Kind::Variable => self.variable(text),
            Kind::Proxy => self.proxy(text),
            Kind::Url => self.url(text),
            Kind::Receiver => self.receiver(text),
            Kind::Expectation => match text.parse() {
                Ok(expectation) => self.expectation(&expectation).to_string(),
                Err(_) if is_of_numbers(text) => text.to_owned(),
                // Its kind is named, but not the value it is compared with.
                Err(_) => match text.find(['=', '~']) {
                    Some(at) => format!("{}{}", &text[..=at], self.whole(&text[at + 1..])),
                    None => text.to_owned(),
                },
            },
        }
    }

    /// `KIND=URL`, without userinfo and with no value of the query: InfluxDB's password is `p`.
    fn receiver(&self, text: &str) -> String {
        let (kind, target) = text
            .split_once('=')
            .map_or(("", text), |(kind, target)| (&text[..=kind.len()], target));
        let (place, query) =
            target.split_once('?').map_or((target, None), |(place, query)| (place, Some(query)));
        let values = query.map(|query| {
            let parameters: Vec<String> = query.split('&').map(|it| self.variable(it)).collect();
            format!("?{}", parameters.join("&"))
        });
        format!("{kind}{}{}", self.in_url(place), values.unwrap_or_default())
    }

    /// `NAME=value`, whatever the name.
    fn variable(&self, text: &str) -> String {
        match text.split_once('=') {
            Some((name, value)) => format!("{name}={}", self.whole(value)),
            None => text.to_owned(),
        }
    }

    /// A text of no known grammar, such as a command: what follows a name of a secret as its value
    /// (`token=x`, `"token": "x"`, `Token: x`, `--token x`), and userinfo in URLs.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        if self.shows_all {
            return text.to_owned();
        }
        let mut shown = String::new();
        let mut rest = text;
        while let Some((before, value, after)) = self.next_secret(rest) {
            shown.push_str(before);
            shown.push_str(&self.whole(value));
            rest = after;
        }
        shown.push_str(rest);
        let word =
            |word: &str| if word.contains("://") { self.in_url(word) } else { word.to_owned() };
        shown.split_inclusive(char::is_whitespace).map(word).collect()
    }

    /// A text with URLs and paths in it, such as what another tester prints.
    #[must_use]
    pub fn urls_in(&self, text: &str) -> String {
        let word = |word: &str| match word.contains("://") || word.starts_with('/') {
            true => self.url(word),
            false => word.to_owned(),
        };
        text.split_inclusive(char::is_whitespace).map(word).collect()
    }

    /// A word with a URL in it, without the userinfo.
    fn in_url(&self, word: &str) -> String {
        let Some((before, rest)) = word.split_once("://") else { return word.to_owned() };
        let end = rest.find(['/', '?', '#', '"', '\'']).unwrap_or(rest.len());
        match rest[..end].rsplit_once('@') {
            Some((userinfo, host)) => {
                format!("{before}://{}@{host}{}", self.whole(userinfo), &rest[end..])
            }
            None => word.to_owned(),
        }
    }

    /// What stands before the next secret, the secret, and what stands after it.
    fn next_secret<'t>(&self, text: &'t str) -> Option<(&'t str, &'t str, &'t str)> {
        let mut at = 0;
        while let Some(start) = text[at..].find(is_of_name).map(|found| at + found) {
            let length = text[start..].find(|c| !is_of_name(c)).unwrap_or(text.len() - start);
            let (name, end) = (&text[start..start + length], start + length);
            if self.hides(name)
                && let Some((from, to)) = value_after(text, end, name.starts_with('-'))
                && !is_file(&text[from..to])
            {
                return Some((&text[..from], &text[from..to], &text[to..]));
            }
            at = end;
        }
        None
    }
}

/// Whether an expectation that cannot be read is about numbers, which are not secrets.
fn is_of_numbers(text: &str) -> bool {
    let name = text.split(['=', '~', '<', '>', '!']).next().unwrap_or_default();
    ["status", "bytes", "grpc-status", "grpc-messages"].contains(&name.trim())
}

pub(super) fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.%[]".contains(c)
}

fn is_file(value: &str) -> bool {
    FILES.iter().any(|ending| value.ends_with(ending))
}

/// Where the value stands that belongs to a name ending at `end`, if there is one.
fn value_after(text: &str, end: usize, is_flag: bool) -> Option<(usize, usize)> {
    let rest = &text[end..];
    let unquoted = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let gapless = unquoted.trim_start_matches(' ');
    let separator = gapless.chars().next().filter(|c| matches!(c, '=' | ':'));
    let behind = match separator {
        Some(_) if gapless.starts_with("://") => return None,
        Some(_) => gapless[1..].trim_start_matches(' '),
        None if is_flag && rest.starts_with(' ') => rest.trim_start_matches(' '),
        None => return None,
    };
    let from = text.len() - behind.len();
    let (from, to) = match behind.chars().next()? {
        quote @ ('"' | '\'') => {
            let inside = &behind[1..];
            (from + 1, from + 1 + inside.find(quote).unwrap_or(inside.len()))
        }
        // A header's value goes on to the end of its quotes, or of its line.
        _ if separator == Some(':') => {
            (from, from + behind.find(['"', '\'', '\n', ',', '}']).unwrap_or(behind.len()))
        }
        '-' if separator.is_none() => return None,
        _ => {
            let is_end = |c: char| c.is_whitespace() || "&;\"',".contains(c);
            (from, from + behind.find(is_end).unwrap_or(behind.len()))
        }
    };
    (from < to).then_some((from, to))
}
