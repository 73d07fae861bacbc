//! Where figures go: `KIND=TARGET` as people write it, with what the environment adds to it.
//!
//! Credentials come from the environment alone, so that no command line, plan or message has them.

use std::fmt;

use ureq::http::Uri;

/// Looks a variable of the environment up.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Headers for receivers over HTTP, as in `Authorization=Bearer abc,X-Scope-OrgID=7`.
pub(crate) const HEADERS: &str = "PLIMSOLL_OUT_HEADERS";

/// The kinds, for messages.
const KINDS: &str = "statsd, influx";

/// A place that takes figures, and how it wants them.
#[derive(Clone, PartialEq, Eq)]
pub struct Receiver {
    pub(crate) form: Form,
    pub(crate) place: Place,
    shown: String,
}

/// What a receiver is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Statsd { has_tags: bool },
    Influx,
}

/// Where it is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// `HOST:PORT`, for datagrams.
    Udp(String),
    Http(Http),
}

/// Where requests go and what they have beside their body.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Http {
    pub url: String,
    pub headers: Vec<(String, String)>,
}

/// Why a text names no receiver.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiverError {
    /// There is no such kind.
    #[error("'{0}' is not an output: write KIND=TARGET with one of {KINDS}")]
    Kind(String),
    /// The target is not a URL that can be sent to.
    #[error("'{url}' is not a URL of {kind}: write {example}")]
    Url {
        /// As given.
        url: String,
        /// Which kind wants it.
        kind: &'static str,
        /// What one looks like.
        example: &'static str,
    },
    /// A URL with a name and a password.
    #[error(
        "a URL of an output has no user and password: put a header into {HEADERS}, as in \
         'Authorization=Basic dXNlcjpwYXNz'"
    )]
    Credentials,
    /// The target is not an address for datagrams.
    #[error("'{0}' is not HOST:PORT of a StatsD server, with ',dogstatsd' behind it for tags")]
    Address(String),
    /// InfluxDB needs to know where it keeps the points.
    #[error("'{0}' names no database: write http://HOST:8086/DATABASE or ?org=ORG&bucket=BUCKET")]
    Database(String),
    /// Headers that cannot be sent.
    #[error("{name} is not a list of headers: write NAME=VALUE,NAME=VALUE")]
    Headers {
        /// The variable.
        name: &'static str,
    },
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Without headers, which may be secrets.
impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(&self.shown).finish()
    }
}

impl Receiver {
    /// Reads `KIND=TARGET`. `lookup` finds variables of the environment.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    pub fn parse(text: &str, lookup: Lookup<'_>) -> Result<Self, ReceiverError> {
        let (kind, target) = text.split_once('=').unwrap_or((text, ""));
        let (form, place) = match kind {
            "statsd" => statsd(target)?,
            "influx" => (Form::Influx, Place::Http(influx(target, lookup)?)),
            _ => return Err(ReceiverError::Kind(kind.to_owned())),
        };
        let place_shown = match &place {
            Place::Udp(address) => address.as_str(),
            Place::Http(http) => http.url.split('?').next().unwrap_or_default(),
        };
        let shown = format!("{kind} at {place_shown}");
        Ok(Self { form, place, shown })
    }
}

fn statsd(target: &str) -> Result<(Form, Place), ReceiverError> {
    let (address, has_tags) = match target.strip_suffix(",dogstatsd") {
        Some(address) => (address, true),
        None => (target, false),
    };
    let wrong = || ReceiverError::Address(target.to_owned());
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let port: Option<u16> = port.parse().ok().filter(|port| *port > 0);
    if host.is_empty() || port.is_none() {
        return Err(wrong());
    }
    Ok((Form::Statsd { has_tags }, Place::Udp(address.to_owned())))
}

fn influx(target: &str, lookup: Lookup<'_>) -> Result<Http, ReceiverError> {
    let uri = parse_url(target, "influx", "influx=http://HOST:8086/DATABASE")?;
    let query = uri.query().unwrap_or_default();
    let has = |name: &str| {
        query.split('&').any(|pair| pair.split('=').next().is_some_and(|key| key == name))
    };
    let (path, query) = match uri.path().trim_end_matches('/') {
        path if path.ends_with("/write") => (path.to_owned(), query.to_owned()),
        path if has("bucket") => (format!("{path}/api/v2/write"), query.to_owned()),
        path if has("db") => (format!("{path}/write"), query.to_owned()),
        path => {
            let (prefix, database) = path.rsplit_once('/').unwrap_or_default();
            if database.is_empty() {
                return Err(ReceiverError::Database(target.to_owned()));
            }
            let rest = if query.is_empty() { String::new() } else { format!("&{query}") };
            (format!("{prefix}/write"), format!("db={database}{rest}"))
        }
    };
    let mut headers = headers(lookup, HEADERS)?;
    let token = lookup("INFLUX_TOKEN").filter(|_| !has_header(&headers, "authorization"));
    headers.extend(token.map(|token| ("Authorization".to_owned(), format!("Token {token}"))));
    headers.push(("Content-Type".to_owned(), "text/plain; charset=utf-8".to_owned()));
    Ok(Http { url: format!("{}{path}?{query}&precision=ns", base(&uri)), headers })
}

fn has_header(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// Reads a URL that can be sent to.
fn parse_url(text: &str, kind: &'static str, example: &'static str) -> Result<Uri, ReceiverError> {
    let wrong = || ReceiverError::Url { url: text.to_owned(), kind, example };
    if text.split('/').nth(2).is_some_and(|authority| authority.contains('@')) {
        return Err(ReceiverError::Credentials);
    }
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    if !is_http || uri.host().is_none_or(str::is_empty) {
        return Err(wrong());
    }
    Ok(uri)
}

/// A URL up to its path.
fn base(uri: &Uri) -> String {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    format!("{}://{authority}", uri.scheme_str().unwrap_or("http"))
}

/// The headers that a variable of the environment names.
fn headers(lookup: Lookup<'_>, name: &'static str) -> Result<Vec<(String, String)>, ReceiverError> {
    let text = lookup(name).unwrap_or_default();
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let read = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let (key, value) = (key.trim(), value.trim());
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_visible = |byte: u8| (0x20..0x7f).contains(&byte);
        let fits = !key.is_empty() && key.bytes().all(is_token) && value.bytes().all(is_visible);
        fits.then(|| (key.to_owned(), value.to_owned()))
    };
    pairs.map(|pair| read(pair).ok_or(ReceiverError::Headers { name })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> String {
        match Receiver::parse(text, &|_| None).unwrap().place {
            Place::Udp(address) => address,
            Place::Http(http) => http.url,
        }
    }

    #[test]
    fn targets_are_read_as_people_write_them() {
        for (text, want) in [
            ("statsd=localhost:8125", "localhost:8125"),
            ("statsd=[::1]:8125,dogstatsd", "[::1]:8125"),
            ("influx=http://a:8086/load", "http://a:8086/write?db=load&precision=ns"),
            ("influx=http://a:8086/x/load/", "http://a:8086/x/write?db=load&precision=ns"),
            ("influx=http://a?db=load", "http://a/write?db=load&precision=ns"),
            (
                "influx=https://a/?org=o&bucket=b",
                "https://a/api/v2/write?org=o&bucket=b&precision=ns",
            ),
            ("influx=http://a/write?db=d&rp=r", "http://a/write?db=d&rp=r&precision=ns"),
        ] {
            assert_eq!(url(text), want, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_line() {
        for (text, want) in [
            ("graphite=a:2003", "'graphite' is not an output"),
            ("statsd=", "'' is not HOST:PORT"),
            ("statsd=a:0", "'a:0' is not HOST:PORT"),
            ("statsd=:8125", "':8125' is not HOST:PORT"),
            ("influx=http://a:8086", "'http://a:8086' names no database"),
            ("influx=a:8086", "'a:8086' is not a URL of influx"),
            ("influx=http://u:p@a:8086/d", "a URL of an output has no user and password"),
        ] {
            let error = Receiver::parse(text, &|_| None).unwrap_err().to_string();
            assert!(error.starts_with(want) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn credentials_come_from_the_environment_and_are_not_shown() {
        let lookup = |name: &str| match name {
            HEADERS => Some("X-Scope-OrgID=7, Authorization=Basic YTpi=".to_owned()),
            "INFLUX_TOKEN" => Some("hidden".to_owned()),
            _ => None,
        };
        let receiver = Receiver::parse("influx=http://a/load", &lookup).unwrap();
        let Place::Http(http) = &receiver.place else { panic!("it is HTTP") };
        let authorizations: Vec<&str> = http
            .headers
            .iter()
            .filter(|(name, _)| name == "Authorization")
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(authorizations, ["Basic YTpi="]);
        let shown = format!("{receiver} {receiver:?}");
        assert!(!shown.contains("YTpi") && !shown.contains("hidden"), "{shown}");
        let broken = |_: &str| Some("no header".to_owned());
        let error = Receiver::parse("influx=http://a/load", &broken).unwrap_err();
        assert_eq!(error, ReceiverError::Headers { name: HEADERS });
    }
}
