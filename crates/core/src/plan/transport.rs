//! How the server is reached: names and addresses, sockets, proxies, TLS.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// A name that is not looked up: `HOST:PORT:ADDRESS[,ADDRESS]`, as curl's `--resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolve {
    /// The name; `*` stands for any.
    pub host: String,
    /// The port it holds for.
    pub port: u16,
    /// What it stands for.
    pub addresses: Vec<IpAddr>,
}

/// Connections meant for one host and port that go to another: `HOST1:PORT1:HOST2:PORT2`, as
/// curl's `--connect-to`. `None` matches anything, or changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectTo {
    /// Meant for this host.
    pub host: Option<String>,
    /// Meant for this port.
    pub port: Option<u16>,
    /// Goes to this host.
    pub to_host: Option<String>,
    /// Goes to this port.
    pub to_port: Option<u16>,
}

/// An HTTP proxy between the tester and the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proxy {
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// `user:password`. Not kept in results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Secret>,
}

/// Version of the PROXY protocol, which tells a server behind a load balancer whose connection it
/// is (the header is that of HAProxy's `proxy-protocol.txt`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProxyProtocol {
    /// A line of text.
    V1,
    /// The binary header.
    V2,
}

/// How the server is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    /// Names that are not looked up.
    pub resolve: Vec<Resolve>,
    /// Connections that go elsewhere.
    pub connect_to: Vec<ConnectTo>,
    /// Source addresses, taken in turn.
    pub bind: Vec<IpAddr>,
    /// A Unix socket to connect to instead of an address.
    pub unix_socket: Option<String>,
    /// A proxy to go through.
    pub proxy: Option<Proxy>,
    /// Send a PROXY protocol header on each connection.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// Use the first address that answers, and no other (as wrk and ab do).
    #[serde(default)]
    pub first_address_only: bool,
    /// Send on on a connection after a request that says `Connection: close`, until the server
    /// closes it (as wrk does).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outlives_close: bool,
    /// How often a name is looked up again; `None`: once.
    #[serde(rename = "dns_refresh_s", with = "crate::serde_units::optional_from_ns")]
    pub dns_refresh_ns: Option<u64>,
}

/// A file in PEM format: the name is kept in results, the content is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PemFile {
    /// Where it was read from.
    pub path: String,
    /// What it holds.
    #[serde(default, skip_serializing_if = "Secret::is_empty")]
    pub bytes: Secret<Vec<u8>>,
}

/// Versions of TLS to offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersions {
    /// 1.2 and 1.3.
    #[default]
    #[serde(rename = "1.2..1.3")]
    Both,
    /// 1.2 alone.
    #[serde(rename = "1.2")]
    Only12,
    /// 1.3 alone.
    #[serde(rename = "1.3")]
    Only13,
}

/// How TLS is spoken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsPlan {
    /// Take any certificate.
    pub insecure: bool,
    /// Trust these roots instead of the built-in ones.
    pub cacert: Option<PemFile>,
    /// The client's certificate chain.
    pub cert: Option<PemFile>,
    /// Its private key.
    pub key: Option<PemFile>,
    /// The name to ask for and to verify, instead of the URL's host.
    pub sni: Option<String>,
    /// Application protocols to offer, in order; none leaves the extension out.
    pub alpn: Vec<String>,
    /// Versions to offer.
    pub versions: TlsVersions,
    /// Per cent of the handshakes that may resume an earlier session.
    pub resume_percent: u8,
}

impl Default for TlsPlan {
    fn default() -> Self {
        Self {
            insecure: false,
            cacert: None,
            cert: None,
            key: None,
            sni: None,
            alpn: vec!["http/1.1".to_owned()],
            versions: TlsVersions::Both,
            resume_percent: 100,
        }
    }
}
