//! How the plan's connections are set up: PROXY protocol, a tunnel through a proxy, TLS.

use plimsoll_conn::{ProxyHeader, Setup, TlsSetup, connect_request};
use plimsoll_core::Plan;
use plimsoll_core::authorization::basic;
use plimsoll_core::plan::{PemFile, ProxyProtocol, TlsPlan, TlsVersions};
use plimsoll_proto::tls::{
    ClientConfig, ClientOptions, Identity, ServerName, Verify, Version, Versions,
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
        Some(proxy) if plan.endpoint.is_tls() => {
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

fn tls(plan: &Plan) -> Result<TlsSetup, RunError> {
    let tls = &plan.tls;
    let name = tls.sni.as_ref().unwrap_or(&plan.endpoint.host);
    let name = ServerName::parse(name).map_err(|error| RunError::Tls(error.to_string()))?;
    let config = ClientConfig::new(&options(tls)?);
    let config = config.map_err(|error| RunError::Tls(error.to_string()))?;
    Ok(TlsSetup { config, name })
}

fn options(tls: &TlsPlan) -> Result<ClientOptions, RunError> {
    let verify = match &tls.cacert {
        _ if tls.insecure => Verify::Nothing,
        Some(file) => Verify::Roots(content(file)?),
        None => Verify::PublicRoots,
    };
    let identity = match (&tls.cert, &tls.key) {
        (None, None) => None,
        (None, Some(_)) => {
            let text = "--key without --cert: give the certificate that the key is of";
            return Err(RunError::Tls(text.to_owned()));
        }
        (Some(chain), key) => {
            let key = key.as_ref().unwrap_or(chain);
            Some(Identity { chain: content(chain)?, key: content(key)? })
        }
    };
    let versions = match tls.versions {
        TlsVersions::Both => Versions::Both,
        TlsVersions::Only12 => Versions::Only(Version::Tls12),
        TlsVersions::Only13 => Versions::Only(Version::Tls13),
    };
    let alpn = tls.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(ClientOptions { verify, identity, alpn, versions })
}

/// A plan that was read from a document has only the file's name.
fn content(file: &PemFile) -> Result<Vec<u8>, RunError> {
    if file.bytes.is_empty() {
        let text = format!("'{}' is empty or was not read", file.path);
        return Err(RunError::Tls(text));
    }
    Ok(file.bytes.reveal().clone())
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::{Endpoint, Proxy, Transport};
    use plimsoll_core::secret::Secret;

    use super::*;

    fn plan(scheme: &str, credentials: Option<&str>) -> Plan {
        let proxy = Proxy {
            host: "proxy".to_owned(),
            port: 3128,
            credentials: credentials.map(Into::into),
        };
        let transport = Transport { proxy: Some(proxy), ..Transport::default() };
        let endpoint = Endpoint { scheme: scheme.to_owned(), ..Endpoint::http("::1", 443, "/") };
        Plan { transport, ..Plan::new(endpoint) }
    }

    #[test]
    fn a_tunnel_is_asked_for_with_tls_only() {
        let tunnel = |plan: &Plan| setup(plan).expect("sound").tunnel;
        assert_eq!(tunnel(&plan("http", None)), None);
        let asked = tunnel(&plan("https", Some("user:pass"))).expect("a tunnel");
        assert_eq!(
            String::from_utf8_lossy(&asked),
            "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\
             Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n"
        );
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let mut no_cert = plan("https", None);
        let file = |bytes: &[u8]| {
            Some(PemFile { path: "x.pem".to_owned(), bytes: Secret::new(bytes.to_vec()) })
        };
        no_cert.tls.key = file(b"x");
        let mut no_roots = plan("https", None);
        no_roots.tls.cacert = file(b"");
        let mut bad_name = plan("https", None);
        bad_name.tls.sni = Some("not a name".to_owned());
        for (plan, part) in [(no_cert, "--cert"), (no_roots, "x.pem"), (bad_name, "not a name")] {
            let error = setup(&plan).expect_err(part).to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        }
    }
}
