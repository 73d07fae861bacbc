//! How the plan's connections are set up: PROXY protocol, a tunnel through a proxy, TLS; and what
//! results tell of their handshakes.

use plimsoll_conn::{ProxyHeader, Setup, TlsSetup, connect_request};
use plimsoll_core::Plan;
use plimsoll_core::authorization::basic;
use plimsoll_core::plan::{Field, HttpVersion, PemFile, ProxyProtocol, TlsVersions};
use plimsoll_core::result::Connections;
use plimsoll_proto::tls::{
    ClientConfig, ClientOptions, Identity, ServerName, Tls, Verify, Version, Versions,
};

use crate::error::RunError;

/// What a worker's connections are set up with. Each worker has its own, so that TLS sessions are
/// not shared between threads.
///
/// # Errors
/// Certificates, keys and names that cannot be used.
pub(crate) fn setup(plan: &Plan) -> Result<Setup, RunError> {
    let transport = &plan.transport;
    let tls = if plan.endpoint.is_tls() { Some(tls(plan)?) } else { None };
    let tunnel = match &transport.proxy {
        Some(proxy) if plan.endpoint.is_tunnelled() => {
            let credentials = proxy.credentials.as_ref().map(|pair| basic(pair.reveal()));
            Some(connect_request(&plan.endpoint.host_and_port(), credentials.as_deref())?)
        }
        _ => None,
    };
    let proxy_header = transport.proxy_protocol.map(|version| match version {
        ProxyProtocol::V1 => ProxyHeader::V1,
        ProxyProtocol::V2 => ProxyHeader::V2,
    });
    Ok(Setup { proxy_header, tunnel, tls })
}

/// A TLS handshake is done.
pub(crate) fn note_secured(connections: &mut Connections, tls: &Tls) {
    if tls.is_resumed() {
        connections.tls_resumed += 1;
    } else {
        connections.tls_full += 1;
    }
    if connections.tls.is_none() {
        let version = tls.version().map_or("TLS", |version| version.name());
        let cipher = tls.cipher().unwrap_or_default();
        connections.tls = Some(format!("{version} {cipher}").trim_end().to_owned());
    }
}

fn tls(plan: &Plan) -> Result<TlsSetup, RunError> {
    let tls = &plan.tls;
    let name = tls.sni.as_ref().unwrap_or(&plan.endpoint.host);
    let of_name = if tls.sni.is_some() { Field::Sni } else { Field::Url };
    let wrong = |field, error: &dyn std::fmt::Display| RunError::Tls(field, error.to_string());
    let name = ServerName::parse(name).map_err(|error| wrong(of_name, &error))?;
    let of_files = if tls.cert.is_some() { Field::Cert } else { Field::Cacert };
    let config = ClientConfig::new(&options(plan)).map_err(|error| wrong(of_files, &error))?;
    Ok(TlsSetup { config, name })
}

fn options(plan: &Plan) -> ClientOptions {
    let tls = &plan.tls;
    let verify = match &tls.cacert {
        _ if tls.insecure => Verify::Nothing,
        Some(file) => Verify::Roots(content(file).into()),
        None => Verify::PublicRoots,
    };
    let identity = tls.cert.as_ref().map(|chain| {
        let key = tls.key.as_ref().unwrap_or(chain);
        Identity { chain: content(chain), key: content(key) }
    });
    let versions = match tls.versions {
        TlsVersions::Both => Versions::Both,
        TlsVersions::Only12 => Versions::Only(Version::Tls12),
        TlsVersions::Only13 => Versions::Only(Version::Tls13),
    };
    ClientOptions { verify, identity, alpn: offered(plan), versions, suites: Vec::new() }
}

/// The protocols to choose from, the one liked most first (RFC 7301).
fn offered(plan: &Plan) -> Vec<Vec<u8>> {
    match plan.http_version {
        HttpVersion::Http1 => plan.tls.alpn.iter().map(|name| name.as_bytes().to_vec()).collect(),
        HttpVersion::Http2 => vec![b"h2".to_vec()],
        HttpVersion::Auto => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    }
}

fn content(file: &PemFile) -> Vec<u8> {
    file.bytes.reveal().clone()
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::{Body, Draft, Endpoint, Proxy, Request, Transport};
    use plimsoll_core::secret::Secret;

    use super::*;
    use crate::tests::checked;

    fn plan(scheme: &str, credentials: Option<&str>) -> Draft {
        let proxy = Proxy {
            host: "proxy".to_owned(),
            port: 3128,
            credentials: credentials.map(Into::into),
        };
        let transport = Transport { proxy: Some(proxy), ..Transport::default() };
        let endpoint = Endpoint { scheme: scheme.to_owned(), ..Endpoint::http("::1", 443, "/") };
        Draft { transport, ..Draft::new(endpoint) }
    }

    #[test]
    fn a_tunnel_is_asked_for_with_tls_and_for_a_websocket() {
        let tunnel = |plan: &Draft| setup(&checked(plan)).expect("sound").tunnel;
        assert_eq!(tunnel(&plan("http", None)), None);
        let request = Request { body: Some(Body::new(b"hello".to_vec())), ..Request::get() };
        let websocket = Draft { request, ..plan("ws", None) };
        assert!(tunnel(&websocket).is_some(), "what follows the upgrade is not HTTP");
        let asked = tunnel(&plan("https", Some("user:pass"))).expect("a tunnel");
        assert_eq!(
            String::from_utf8_lossy(&asked),
            "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\
             Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n"
        );
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let mut no_roots = plan("https", None);
        let bytes = Secret::new(b"x".to_vec());
        no_roots.tls.cacert = Some(PemFile { path: "x.pem".to_owned(), bytes });
        let mut bad_name = plan("https", None);
        bad_name.tls.sni = Some("not a name".to_owned());
        for (plan, part) in [(no_roots, "certificate"), (bad_name, "not a name")] {
            let error = setup(&checked(&plan)).expect_err(part).to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        }
    }
}
