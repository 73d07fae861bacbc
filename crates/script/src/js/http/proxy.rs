//! The proxies that the environment names: which request goes through which.
//!
//! The variables and their grammar are those that Go's programs share with curl and others:
//! `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, also in small letters. Servers on this machine are
//! never asked through a proxy.
//!
//! Absent on purpose: proxies that speak TLS or SOCKS themselves.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Flow, HttpOptions, Origin, Url, shown};

/// A proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its name or address; IPv6 without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The value of `Proxy-Authorization`; `None` without a user.
    pub authorization: Option<String>,
}

/// Which requests go through which proxy; through none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    plain: Option<Proxy>,
    tls: Option<Proxy>,
    direct: Vec<Direct>,
}

/// Servers that are asked directly.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Direct {
    All,
    /// The addresses that begin with these bits.
    Block {
        address: IpAddr,
        bits: u8,
    },
    Address {
        address: IpAddr,
        port: Option<u16>,
    },
    /// The name, if it is itself meant, and all below it. It begins with a dot.
    Name {
        dotted: String,
        is_itself: bool,
        port: Option<u16>,
    },
}

impl Proxies {
    /// Those that variables of the environment name.
    ///
    /// # Errors
    /// The variable whose value is not a proxy.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let value = |name: &str| {
            let given = |name: &str| variable(name).filter(|value| !value.is_empty());
            given(name).or_else(|| given(&name.to_ascii_lowercase()))
        };
        let proxy = |name: &str| {
            let read = |value: String| Proxy::read(&value).map_err(|why| format!("{name}: {why}"));
            value(name).map(read).transpose()
        };
        let direct = value("NO_PROXY").unwrap_or_default();
        Ok(Self {
            plain: proxy("HTTP_PROXY")?,
            tls: proxy("HTTPS_PROXY")?,
            direct: direct.split(',').filter_map(Direct::read).collect(),
        })
    }

    /// The proxy on the way to a server.
    #[must_use]
    pub fn of_origin(&self, origin: &Origin<'_>) -> Option<&Proxy> {
        let proxy = if origin.is_tls { self.tls.as_ref() } else { self.plain.as_ref() }?;
        let host = origin.host.to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        let is_here = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        let is_direct = |direct: &Direct| direct.covers(&host, address, origin.port);
        (!is_here && !self.direct.iter().any(is_direct)).then_some(proxy)
    }
}

impl Proxy {
    fn read(value: &str) -> Result<Self, String> {
        let given = match value.split_once("://") {
            None => format!("http://{value}"),
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => value.to_owned(),
            Some((scheme, _)) => {
                let scheme = shown(scheme);
                return Err(format!("proxies of {scheme} are not supported: name one of http"));
            }
        };
        // The value may have a password in it, so the message does not repeat it.
        let url = Url::parse(&given).map_err(|error| format!("the URL of the proxy {error}"))?;
        let authorization = url.credentials().map(|(user, password)| {
            format!("Basic {}", STANDARD.encode([&user[..], b":", &password].concat()))
        });
        Ok(Self { host: url.host().to_owned(), port: url.port(), authorization })
    }
}

impl Direct {
    /// Reads an entry of the list; `None` if it is empty.
    fn read(entry: &str) -> Option<Self> {
        let entry = entry.trim().to_ascii_lowercase();
        if entry == "*" {
            return Some(Self::All);
        }
        if let Some((address, bits)) = entry.split_once('/')
            && let (Ok(address), Ok(bits)) = (address.parse(), bits.parse())
        {
            return Some(Self::Block { address, bits });
        }
        let bare = entry.trim_matches(['[', ']']);
        if let Ok(address) = bare.parse() {
            return Some(Self::Address { address, port: None });
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (&*entry, None),
        };
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return Some(Self::Address { address, port });
        }
        let name = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
        let is_itself = !name.starts_with('.');
        let name = name.trim_start_matches('.');
        (!name.is_empty()).then(|| Self::Name { dotted: format!(".{name}"), is_itself, port })
    }

    /// Whether a server is one of them: its host in small letters, which may be an address.
    fn covers(&self, host: &str, of_host: Option<IpAddr>, at: u16) -> bool {
        let is_port = |port: &Option<u16>| port.is_none_or(|port| port == at);
        match self {
            Self::All => true,
            Self::Block { address, bits } => {
                of_host.is_some_and(|host| begins_with(host, *address, *bits))
            }
            Self::Address { address, port } => of_host == Some(*address) && is_port(port),
            Self::Name { dotted, is_itself, port } => {
                let is_named =
                    host.ends_with(dotted.as_str()) || *is_itself && host == &dotted[1..];
                is_named && is_port(port)
            }
        }
    }
}

/// Whether an address has the first bits of another.
fn begins_with(address: IpAddr, block: IpAddr, bits: u8) -> bool {
    let shifted = |value: u128, width: u32| {
        value.checked_shr(width.saturating_sub(u32::from(bits))).unwrap_or(0)
    };
    match (address, block) {
        (IpAddr::V4(address), IpAddr::V4(block)) => {
            shifted(address.to_bits().into(), 32) == shifted(block.to_bits().into(), 32)
        }
        (IpAddr::V6(address), IpAddr::V6(block)) => {
            shifted(address.to_bits(), 128) == shifted(block.to_bits(), 128)
        }
        _ => false,
    }
}

impl Flow {
    /// The proxy that the request on the wire goes through. Over TLS it has to open a tunnel to the
    /// [origin](Self::origin) first (CONNECT); else the wire form is that for the proxy.
    #[must_use]
    pub fn proxy<'a>(&self, options: &'a HttpOptions) -> Option<&'a Proxy> {
        options.proxies.of_origin(&self.origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Result<Proxies, String> {
        Proxies::of_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_names_proxies() {
        let both = proxies(&[
            ("HTTP_PROXY", "http://us%40er:p@[fd00::1]:3128/"),
            ("https_proxy", "proxy.test:8080"),
            ("http_proxy", "other.test"),
        ]);
        let both = both.unwrap();
        let plain = Origin { is_tls: false, host: "x.test", port: 80 };
        let found = both.of_origin(&plain).unwrap();
        assert_eq!((found.host.as_str(), found.port), ("fd00::1", 3128));
        assert_eq!(found.authorization.as_deref(), Some("Basic dXNAZXI6cA=="));
        let found = both.of_origin(&Origin { is_tls: true, ..plain }).unwrap();
        assert_eq!((found.host.as_str(), found.port), ("proxy.test", 8080));
        assert_eq!(found.authorization, None);
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"] {
            assert_eq!(both.of_origin(&Origin { host, ..plain }), None, "{host}");
        }
        for none in [&[][..], &[("HTTP_PROXY", ""), ("NO_PROXY", "x")]] {
            assert_eq!(proxies(none).unwrap().of_origin(&plain), None);
        }
        for (value, want) in [
            ("socks5://p", "HTTP_PROXY: proxies of 'socks5' are not supported: name one of http"),
            ("http://", "HTTP_PROXY: the URL of the proxy names no host"),
            ("p:x", "HTTP_PROXY: the URL of the proxy has a port that is not a number"),
        ] {
            assert_eq!(proxies(&[("HTTP_PROXY", value)]), Err(want.to_owned()));
        }
    }

    #[test]
    fn some_servers_are_asked_directly() {
        for (list, host, port, is_direct) in [
            ("x.test", "x.test", 80, true),
            ("x.test", "A.X.test", 80, true),
            ("x.test", "badx.test", 80, false),
            (".x.test", "a.x.test", 80, true),
            (".x.test", "x.test", 80, false),
            ("*.x.test", "a.x.test", 80, true),
            ("*.x.test", "x.test", 80, false),
            ("y, X.test:81 ,", "x.test", 81, true),
            ("x.test:81", "x.test", 80, false),
            ("10.1.2.3", "10.1.2.3", 80, true),
            ("10.1.2.3:81", "10.1.2.3", 80, false),
            ("10.1.2.3:81", "10.1.2.3", 81, true),
            ("10.0.0.0/8", "10.1.2.3", 80, true),
            ("10.0.0.0/8", "11.1.2.3", 80, false),
            ("0.0.0.0/0", "11.1.2.3", 80, true),
            ("10.1.2.3/200", "10.1.2.3", 80, true),
            ("fd00::/8", "fdff::1", 80, true),
            ("fd00::/8", "10.1.2.3", 80, false),
            ("::/0", "fe80::1", 80, true),
            ("fd00::1", "fd00::1", 80, true),
            ("[fd00::1]:81", "fd00::1", 81, true),
            ("*", "anything", 1, true),
            ("a,*", "anything", 1, true),
            ("*x.test", "ax.test", 80, false),
            (":80,x:port,/,.", "x", 80, false),
        ] {
            let proxies = proxies(&[("http_proxy", "p"), ("no_proxy", list)]).unwrap();
            let found = proxies.of_origin(&Origin { is_tls: false, host, port });
            assert_eq!(found.is_none(), is_direct, "{list:?}: {host}:{port}");
        }
    }
}
