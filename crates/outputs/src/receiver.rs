//! Where figures go: `KIND=TARGET` as people write it, with what the environment adds to it.
//!
//! Credentials come from the environment alone, so that no command line, plan or message has them.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_core::secret::percent_decoded;
use plimsoll_core::units::parse_duration_ns;
use ureq::http::Uri;

use crate::otlp::Temporality;
use crate::remote_write::Version;
use crate::trust::Trust;

/// Looks a variable of the environment up.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Headers for receivers over HTTP, as in `Authorization=Bearer abc,X-Scope-OrgID=7`.
pub const HEADERS: &str = "PLIMSOLL_OUT_HEADERS";

/// Receivers for a run whose command line names none, with spaces between them.
pub const OUT: &str = "PLIMSOLL_OUT";

/// The kinds, for messages.
const KINDS: &str = "prometheus, prometheus-rw, otlp, influx, statsd";

/// Where scrapes are answered unless the user says: the port that exporters of OpenTelemetry have.
const LISTEN: &str = "127.0.0.1:9464";

/// How long figures stay for a last scrape.
const LINGER: Duration = Duration::from_secs(30);

/// A place that takes figures, and how it wants them.
#[derive(Clone, PartialEq, Eq)]
pub struct Receiver {
    pub(crate) form: Form,
    pub(crate) place: Place,
    kind: String,
    shown: String,
    given: String,
}

/// What a receiver is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    Statsd {
        has_tags: bool,
    },
    Influx,
    /// Whatever a scrape asks for.
    Prometheus,
    RemoteWrite {
        has_native: bool,
        version: Version,
    },
    /// With attributes of the resource that the environment has.
    Otlp {
        temporality: Temporality,
        resource: Vec<(String, String)>,
    },
}

/// Where it is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// `HOST:PORT`, for datagrams.
    Udp(String),
    Http(Http),
    /// Here, for those who ask; and how long for one of them at the end.
    Listen(SocketAddr, Duration),
}

/// Where requests go and what they have beside their body.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Http {
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Whether answers say how much was written.
    pub confirms: bool,
    /// Whom TLS believes.
    pub trust: Trust,
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
    /// Scrapes cannot be answered there.
    #[error(
        "'{0}' is not an address to listen on: write prometheus=[ADDRESS]:PORT, with ,linger=30s \
         behind it for how long a last scrape is waited for"
    )]
    Listen(String),
    /// A value of the environment that is not known.
    #[error("{name} is '{value}': set it to {known}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// Values that it may have.
        known: &'static str,
    },
    /// A header that cannot be sent.
    #[error("'{0}' is not the name of a header, or its value cannot be sent")]
    Header(String),
    /// Headers that cannot be sent.
    #[error("{name} is not a list of headers: write NAME=VALUE,NAME=VALUE")]
    Headers {
        /// The variable.
        name: &'static str,
    },
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.kind, self.shown)
    }
}

/// Without headers, which may be secrets.
impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(&self.to_string()).finish()
    }
}

/// Without headers, which may be secrets.
impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Http").field(&self.url).finish()
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
            "prometheus" => (Form::Prometheus, listen(target)?),
            "prometheus-rw" => remote_write(target, lookup)?,
            "otlp" => otlp(target, lookup)?,
            _ => return Err(ReceiverError::Kind(kind.to_owned())),
        };
        let shown = match &place {
            Place::Udp(address) => address.clone(),
            Place::Http(http) => http.url.split('?').next().unwrap_or_default().to_owned(),
            Place::Listen(address, _) => address.to_string(),
        };
        Ok(Self { form, place, kind: kind.to_owned(), shown, given: text.to_owned() })
    }

    /// The same with further headers. A header that it has already stays as it is.
    ///
    /// # Errors
    /// The name of a header that cannot be sent.
    pub fn with_headers(
        mut self,
        headers: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ReceiverError> {
        for (name, value) in headers {
            if !can_be_sent(&name, &value) {
                return Err(ReceiverError::Header(name));
            }
            if let Place::Http(http) = &mut self.place
                && !has_header(&http.headers, &name)
            {
                http.headers.push((name, value));
            }
        }
        Ok(self)
    }

    /// The same with a parameter of its URL's query in place of those of this name. The value must
    /// be one that a URL can hold.
    #[must_use]
    pub fn with_parameter(mut self, name: &str, value: &str) -> Self {
        if let Place::Http(http) = &mut self.place {
            let (path, query) = http.url.split_once('?').unwrap_or((&http.url, ""));
            let is_other = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some(name);
            let mut pairs: Vec<&str> = query.split('&').filter(is_other).collect();
            let own = format!("{name}={value}");
            pairs.push(&own);
            http.url = format!("{path}?{}", pairs.join("&"));
        }
        self
    }

    /// Whether it is reached over TLS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        matches!(&self.place, Place::Http(http) if http.url.starts_with("https:"))
    }

    /// The same with TLS that believes this.
    #[must_use]
    pub fn with_trust(mut self, trust: Trust) -> Self {
        if let Place::Http(http) = &mut self.place {
            http.trust = trust;
        }
        self
    }

    /// The text that it was read from. The query of a URL in it may be secret.
    #[must_use]
    pub fn given(&self) -> &str {
        &self.given
    }

    /// Where it is, without what may be secret.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.shown
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
    // Lines have times in ns, whatever the URL says.
    let is_other = |pair: &&str| !pair.is_empty() && !pair.starts_with("precision=");
    let query: Vec<&str> = query.split('&').filter(is_other).chain(["precision=ns"]).collect();
    let url = format!("{}{path}?{}", base(&uri), query.join("&"));
    Ok(Http { url, headers, confirms: false, trust: Trust::default() })
}

/// `[ADDRESS][:PORT][,linger=T]`; without an address, this host alone reaches it.
fn listen(target: &str) -> Result<Place, ReceiverError> {
    let wrong = || ReceiverError::Listen(target.to_owned());
    let (address, linger) = match target.split_once(",linger=") {
        Some((address, text)) => {
            (address, Duration::from_nanos(parse_duration_ns(text).map_err(|_| wrong())?))
        }
        None => (target, LINGER),
    };
    let address = match address {
        "" => LISTEN.to_owned(),
        text if text.starts_with(':') => format!("127.0.0.1{text}"),
        text if text.parse::<u16>().is_ok() => format!("127.0.0.1:{text}"),
        text => text.replace("localhost:", "127.0.0.1:"),
    };
    Ok(Place::Listen(address.parse().map_err(|_| wrong())?, linger))
}

fn remote_write(target: &str, lookup: Lookup<'_>) -> Result<(Form, Place), ReceiverError> {
    let (mut url, mut has_native, mut version) = (target, false, Version::One);
    loop {
        if let Some(rest) = url.strip_suffix(",native") {
            (url, has_native) = (rest, true);
        } else if let Some(rest) = url.strip_suffix(",v2") {
            (url, version) = (rest, Version::Two);
        } else {
            break;
        }
    }
    let uri = parse_url(url, "prometheus-rw", "prometheus-rw=http://HOST:9090")?;
    let mut headers = headers(lookup, HEADERS)?;
    headers.extend(
        [
            ("Content-Type", version.content_type()),
            ("Content-Encoding", "snappy"),
            ("X-Prometheus-Remote-Write-Version", version.header()),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let url = with_path(&uri, |path| match path {
        "" => "/api/v1/write".to_owned(),
        path => path.to_owned(),
    });
    let confirms = version == Version::Two;
    let place = Place::Http(Http { url, headers, confirms, trust: Trust::default() });
    Ok((Form::RemoteWrite { has_native, version }, place))
}

fn otlp(target: &str, lookup: Lookup<'_>) -> Result<(Form, Place), ReceiverError> {
    const EXAMPLE: &str = "otlp=http://HOST:4318";
    let own = lookup("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
    let url = match (target, own) {
        ("", Some(url)) => with_path(&parse_url(&url, "otlp", EXAMPLE)?, str::to_owned),
        (target, _) => {
            let general = || lookup("OTEL_EXPORTER_OTLP_ENDPOINT");
            let given = Some(target.to_owned()).filter(|target| !target.is_empty());
            let base = given.or_else(general).unwrap_or_else(|| "http://localhost:4318".to_owned());
            with_path(&parse_url(&base, "otlp", EXAMPLE)?, |path| {
                match path.ends_with("/v1/metrics") {
                    true => path.to_owned(),
                    false => format!("{path}/v1/metrics"),
                }
            })
        }
    };
    let mut all = headers(lookup, "OTEL_EXPORTER_OTLP_METRICS_HEADERS")?;
    for name in ["OTEL_EXPORTER_OTLP_HEADERS", HEADERS] {
        for (key, value) in headers(lookup, name)? {
            if !has_header(&all, &key) {
                all.push((key, percent_decoded(&value)));
            }
        }
    }
    all.push(("Content-Type".to_owned(), "application/x-protobuf".to_owned()));
    const PREFERENCE: &str = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
    let temporality = match lookup(PREFERENCE).map(|text| text.to_ascii_lowercase()).as_deref() {
        None | Some("" | "cumulative") => Temporality::Cumulative,
        // Low memory means delta for the types that are sent here.
        Some("delta" | "lowmemory") => Temporality::Delta,
        Some(other) => {
            return Err(ReceiverError::Variable {
                name: PREFERENCE,
                value: other.to_owned(),
                known: "cumulative, delta or lowmemory",
            });
        }
    };
    let mut resource = Vec::new();
    let name = lookup("OTEL_SERVICE_NAME").filter(|name| !name.is_empty());
    resource.extend(name.map(|name| ("service.name".to_owned(), name)));
    let attributes = headers(lookup, "OTEL_RESOURCE_ATTRIBUTES")?.into_iter();
    resource.extend(attributes.map(|(name, value)| (name, percent_decoded(&value))));
    let place = Place::Http(Http { url, headers: all, confirms: false, trust: Trust::default() });
    Ok((Form::Otlp { temporality, resource }, place))
}

/// A URL with another path, its query kept.
fn with_path(uri: &Uri, change: impl FnOnce(&str) -> String) -> String {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}{}{query}", base(uri), change(uri.path().trim_end_matches('/')))
}

fn has_header(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// Reads a URL that can be sent to.
fn parse_url(text: &str, kind: &'static str, example: &'static str) -> Result<Uri, ReceiverError> {
    let wrong = || ReceiverError::Url { url: shown(text), kind, example };
    if text.split('/').nth(2).is_some_and(|authority| authority.contains('@')) {
        return Err(ReceiverError::Credentials);
    }
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    if !is_http || uri.host().is_none_or(str::is_empty) {
        return Err(wrong());
    }
    // With an invalid port, the client would use the default port, where another service may
    // listen.
    let place = uri.authority().map_or("", |authority| authority.as_str());
    let has_port = place.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
    if has_port && uri.port_u16().is_none() {
        return Err(wrong());
    }
    Ok(uri)
}

/// A URL without its query, which may have a password.
fn shown(text: &str) -> String {
    text.split('?').next().unwrap_or_default().to_owned()
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
        can_be_sent(key, value).then(|| (key.to_owned(), value.to_owned()))
    };
    pairs.map(|pair| read(pair).ok_or(ReceiverError::Headers { name })).collect()
}

fn can_be_sent(name: &str, value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_visible = |byte: u8| (0x20..0x7f).contains(&byte);
    !name.is_empty() && name.bytes().all(is_token) && value.bytes().all(is_visible)
}

#[cfg(test)]
mod tests;
