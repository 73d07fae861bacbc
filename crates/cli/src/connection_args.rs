//! Flags for connections and TLS, and how they enter the plan.

use std::net::IpAddr;
use std::path::Path;

use clap::{Args, ValueEnum};
use plimsoll_core::plan::{
    ConnectTo, Field, PemFile, Proxy, ProxyProtocol, Resolve, Timestamps, TlsPlan, TlsVersions,
    Transport,
};
use plimsoll_core::secret::Secret;
use plimsoll_core::units::{parse_count, parse_duration_ns};

use crate::value_args::count32;

/// Version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProxyProtocolFlag {
    V1,
    V2,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimestampsFlag {
    #[default]
    User,
    Kernel,
}

/// Which versions of TLS to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsVersionFlag {
    #[value(name = "1.2")]
    Tls12,
    #[value(name = "1.3")]
    Tls13,
}

/// Flags about connections.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ConnectionFlags {
    /// Close a connection after N requests; a closed loop with -n opens no more than it needs
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "no_keepalive")]
    pub requests_per_conn: Option<u64>,
    /// One connection for each request
    #[arg(long)]
    pub no_keepalive: bool,
    /// Leave requests failed that the server says it did not process, instead of sending them again
    #[arg(long)]
    pub no_resend: bool,
    /// Close a connection at this age, between two requests
    #[arg(long, value_name = "T", value_parser = parse_duration_ns)]
    pub conn_lifetime: Option<u64>,
    /// Requests in flight on one connection of HTTP/1
    #[arg(long, value_name = "N", default_value = "1", value_parser = count32)]
    pub pipeline: u32,
    /// Addresses for a name, instead of looking it up: HOST:PORT:ADDR,ADDR
    #[arg(long, value_name = "RULE", value_parser = resolve)]
    pub resolve: Vec<Resolve>,
    /// Connect to another place: HOST1:PORT1:HOST2:PORT2, any of them empty
    #[arg(long, value_name = "RULE", value_parser = connect_to)]
    pub connect_to: Vec<ConnectTo>,
    /// Look the name up again this often; 0s: never
    #[arg(long, value_name = "T", default_value = "1s", value_parser = parse_duration_ns)]
    pub dns_refresh: u64,
    /// Source addresses, taken in turn: 127.0.0.2,127.0.0.3
    #[arg(long, value_name = "ADDRS", value_delimiter = ',')]
    pub bind: Vec<IpAddr>,
    /// Connect to this Unix socket
    #[arg(long, value_name = "PATH", conflicts_with_all = ["proxy", "bind", "resolve"])]
    pub unix_socket: Option<String>,
    /// Go through an HTTP proxy: HOST:PORT or USER:PASS@HOST:PORT
    #[arg(long, value_name = "PROXY", value_parser = proxy)]
    pub proxy: Option<Proxy>,
    /// Begin each connection with a PROXY protocol header
    #[arg(long, value_name = "VERSION", value_enum)]
    pub proxy_protocol: Option<ProxyProtocolFlag>,
    /// Whose clock tells when bytes arrived
    #[arg(long, value_enum, default_value_t)]
    pub timestamps: TimestampsFlag,
}

/// Flags about TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsFlags {
    /// Accept any certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Trust the certificates in this file, and no others
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<String>,
    /// The client's certificate
    #[arg(long, value_name = "FILE")]
    pub cert: Option<String>,
    /// Its key [default: in the certificate's file]
    #[arg(long, value_name = "FILE")]
    pub key: Option<String>,
    /// The server's name to ask for and to verify [default: the URL's host]
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// Application protocols to offer; '' offers none
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "http/1.1")]
    pub alpn: Vec<String>,
    /// The one version of TLS to speak [default: 1.2 or 1.3]
    #[arg(long, value_name = "VERSION", value_enum)]
    pub tls_version: Option<TlsVersionFlag>,
    /// How many of 100 handshakes may resume a session
    #[arg(long, value_name = "PERCENT", default_value = "100")]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
    pub tls_resume: u8,
}

impl ConnectionFlags {
    /// How the server is reached.
    pub(crate) fn transport(&self) -> Transport {
        Transport {
            resolve: self.resolve.clone(),
            connect_to: self.connect_to.clone(),
            bind: self.bind.clone(),
            unix_socket: self.unix_socket.clone(),
            proxy: self.proxy.clone(),
            proxy_protocol: self.proxy_protocol.map(|version| match version {
                ProxyProtocolFlag::V1 => ProxyProtocol::V1,
                ProxyProtocolFlag::V2 => ProxyProtocol::V2,
            }),
            first_address_only: false,
            outlives_close: false,
            dns_refresh_ns: Some(self.dns_refresh).filter(|every_ns| *every_ns > 0),
        }
    }

    /// Requests after which a connection is closed.
    pub(crate) fn requests_per_connection(&self) -> Option<u64> {
        if self.no_keepalive { Some(1) } else { self.requests_per_conn }
    }

    /// Whose clock.
    pub(crate) fn timestamps(&self) -> Timestamps {
        match self.timestamps {
            TimestampsFlag::User => Timestamps::User,
            TimestampsFlag::Kernel => Timestamps::Kernel,
        }
    }
}

impl TlsFlags {
    /// How TLS is spoken; reads the files.
    ///
    /// # Errors
    /// A file that cannot be read: its field, and one line.
    pub(crate) fn tls(&self) -> Result<TlsPlan, (Field, String)> {
        Ok(TlsPlan {
            insecure: self.insecure,
            cacert: pem(Field::Cacert, self.cacert.as_ref())?,
            cert: pem(Field::Cert, self.cert.as_ref())?,
            key: pem(Field::Key, self.key.as_ref())?,
            sni: self.sni.clone(),
            alpn: self.alpn.iter().filter(|name| !name.is_empty()).cloned().collect(),
            versions: match self.tls_version {
                None => TlsVersions::Both,
                Some(TlsVersionFlag::Tls12) => TlsVersions::Only12,
                Some(TlsVersionFlag::Tls13) => TlsVersions::Only13,
            },
            resume_percent: self.tls_resume,
        })
    }
}

fn pem(field: Field, path: Option<&String>) -> Result<Option<PemFile>, (Field, String)> {
    let Some(path) = path else { return Ok(None) };
    let read = crate::files::pem(Path::new(path));
    let bytes = read.map_err(|why| (field, format!("'{path}': {why}")))?;
    Ok(Some(PemFile { path: path.clone(), bytes: Secret::new(bytes) }))
}

fn resolve(text: &str) -> Result<Resolve, String> {
    let bad = || format!("'{text}' is not HOST:PORT:ADDR[,ADDR], such as a.example:80:127.0.0.1");
    let (host, rest) = text.split_once(':').ok_or_else(bad)?;
    let (port, addresses) = rest.split_once(':').ok_or_else(bad)?;
    let address = |text: &str| text.trim_matches(['[', ']']).parse::<IpAddr>();
    let addresses: Result<Vec<IpAddr>, _> = addresses.split(',').map(address).collect();
    match (port.parse(), addresses) {
        (Ok(port), Ok(addresses)) if !host.is_empty() => {
            Ok(Resolve { host: host.to_owned(), port, addresses })
        }
        _ => Err(bad()),
    }
}

fn connect_to(text: &str) -> Result<ConnectTo, String> {
    let bad =
        || format!("'{text}' is not HOST1:PORT1:HOST2:PORT2, such as a.example:80:127.0.0.1:8080");
    let fields = split_outside_brackets(text);
    let [host, port, to_host, to_port] = fields[..] else {
        return Err(bad());
    };
    let name =
        |text: &str| Some(text.trim_matches(['[', ']']).to_owned()).filter(|n| !n.is_empty());
    let number = |text: &str| match text {
        "" => Ok(None),
        digits => digits.parse().map(Some).map_err(|_| bad()),
    };
    Ok(ConnectTo {
        host: name(host),
        port: number(port)?,
        to_host: name(to_host),
        to_port: number(to_port)?,
    })
}

/// The fields between colons, where an address in brackets is one field.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => inside = true,
            b']' => inside = false,
            b':' if !inside => {
                fields.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    fields.push(&text[start..]);
    fields
}

fn proxy(text: &str) -> Result<Proxy, String> {
    // Not the whole text: there may be a password in it.
    let bad = |why: &str| format!("the proxy is not [USER:PASS@]HOST:PORT: {why}");
    let rest = match text.split_once("://") {
        None => text,
        Some(("http", rest)) => rest,
        Some((scheme, _)) => return Err(bad(&format!("'{scheme}' is not http"))),
    };
    let rest = rest.trim_end_matches('/');
    let (credentials, authority) = match rest.rsplit_once('@') {
        None => (None, rest),
        Some((credentials, authority)) => (Some(credentials.into()), authority),
    };
    let (host, port) = authority.rsplit_once(':').ok_or_else(|| bad("it has no port"))?;
    let host = host.trim_matches(['[', ']']);
    match port.parse() {
        Ok(port) if port > 0 && !host.is_empty() => {
            Ok(Proxy { host: host.to_owned(), port, credentials })
        }
        _ => Err(bad("the port is not 1 to 65535, or there is no host")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let rule = resolve("a.example:80:127.0.0.1,[::1]").unwrap();
        assert_eq!((rule.host.as_str(), rule.port, rule.addresses.len()), ("a.example", 80, 2));
        let rule = connect_to("::[::1]:8080").unwrap();
        assert_eq!((rule.host, rule.port), (None, None));
        assert_eq!((rule.to_host.as_deref(), rule.to_port), (Some("::1"), Some(8080)));
        let rule = connect_to("a:80:b:").unwrap();
        assert_eq!((rule.host.as_deref(), rule.port), (Some("a"), Some(80)));
        assert_eq!((rule.to_host.as_deref(), rule.to_port), (Some("b"), None));
        let through = proxy("http://user:p@ss@[::1]:3128/").unwrap();
        assert_eq!((through.host.as_str(), through.port), ("::1", 3128));
        assert_eq!(through.credentials.as_ref().map(|it| it.reveal().as_str()), Some("user:p@ss"));
    }

    #[test]
    fn what_cannot_be_read_shows_how_to_write_it() {
        for text in ["", "a", "a:80", "a:x:127.0.0.1", "a:80:", "a:80:b", ":80:127.0.0.1"] {
            assert!(resolve(text).unwrap_err().contains("HOST:PORT:ADDR"), "{text}");
        }
        for text in ["", "a:80:b", "a:x:b:80", "a:80:b:99999", "a:1:b:2:3"] {
            assert!(connect_to(text).unwrap_err().contains("HOST1:PORT1"), "{text}");
        }
        for text in ["", "host", "host:0", ":3128", "socks5://h:1", "secret@host"] {
            let error = proxy(text).unwrap_err();
            assert!(error.contains("HOST:PORT") && !error.contains("secret"), "{error}");
        }
    }
}
