//! Certificates made for the tests, and a client and a server whose bytes are carried by hand.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

use crate::tls::{
    ClientConfig, ClientOptions, Identity, ServerConfig, ServerName, ServerOptions, Tls, TlsError,
    Verify, Versions,
};

/// An authority and what it signed.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: Vec<u8>,
}

/// From when to when a certificate is valid, as years.
pub(super) type Years = (i32, i32);
pub(super) const NOW: Years = (2020, 2120);

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self { pem: certificate.pem().into_bytes(), issuer: Issuer::new(params, key) }
    }

    pub(super) fn identity(&self, name: &str, years: Years) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let params = params(name, years);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity { chain: certificate.pem().into_bytes(), key: key.serialize_pem().into_bytes() }
    }
}

fn params(name: &str, (from, to): Years) -> CertificateParams {
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(to, 1, 1);
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params
}

pub(super) fn self_signed(name: &str, is_ca: bool) -> Identity {
    self_signed_in(name, is_ca, NOW)
}

/// The same, valid in these years.
pub(super) fn self_signed_in(name: &str, is_ca: bool, years: Years) -> Identity {
    let key = KeyPair::generate().expect("a key");
    let mut params = params(name, years);
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let certificate = params.self_signed(&key).expect("a certificate");
    Identity { chain: certificate.pem().into_bytes(), key: key.serialize_pem().into_bytes() }
}

pub(super) fn server_options(identity: Identity) -> ServerOptions {
    ServerOptions {
        identity,
        client_roots: None,
        alpn: Vec::new(),
        versions: Versions::Both,
        resume: true,
    }
}

pub(super) fn server_config(options: &ServerOptions) -> ServerConfig {
    ServerConfig::new(options).expect("usable options")
}

pub(super) fn client_config(options: &ClientOptions) -> ClientConfig {
    ClientConfig::new(options).expect("usable options")
}

/// A server that is localhost, and a client that trusts it.
pub(super) fn configs(versions: Versions) -> (ClientConfig, ServerConfig) {
    let authority = Authority::new("authority");
    let options = server_options(authority.identity("localhost", NOW));
    let client = ClientOptions {
        verify: Verify::Roots(authority.pem.into()),
        versions,
        ..ClientOptions::default()
    };
    (client_config(&client), server_config(&options))
}

pub(super) fn name(text: &str) -> ServerName {
    ServerName::parse(text).expect("a name")
}

/// A client, a server and the bytes between them.
pub(super) struct Pair {
    pub(super) client: Tls,
    pub(super) server: Tls,
    pub(super) to_server: Vec<u8>,
    pub(super) to_client: Vec<u8>,
    /// Plaintext that arrived.
    pub(super) at_server: Vec<u8>,
    pub(super) at_client: Vec<u8>,
}

impl Pair {
    pub(super) fn new(client: &ClientConfig, server: &ServerConfig, resume: bool) -> Self {
        Self::named(client, server, "localhost", resume)
    }

    pub(super) fn named(
        client: &ClientConfig,
        server: &ServerConfig,
        host: &str,
        resume: bool,
    ) -> Self {
        let mut to_server = Vec::new();
        Self {
            client: Tls::client(client, &name(host), resume, &mut to_server).expect("a client"),
            server: Tls::server(server).expect("a server"),
            to_server,
            to_client: Vec::new(),
            at_server: Vec::new(),
            at_client: Vec::new(),
        }
    }

    /// Carries bytes both ways, in pieces, until none are left. What either side says is returned,
    /// the first to fail first; the other still hears of it.
    pub(super) fn carry(&mut self, piece_bytes: usize) -> Result<(), TlsError> {
        let mut first = Ok(());
        while !self.to_server.is_empty() || !self.to_client.is_empty() {
            let input = std::mem::take(&mut self.to_server);
            for piece in input.chunks(piece_bytes) {
                let said = self.server.receive(piece, &mut self.at_server, &mut self.to_client);
                first = first.and(said);
            }
            let input = std::mem::take(&mut self.to_client);
            for piece in input.chunks(piece_bytes) {
                let said = self.client.receive(piece, &mut self.at_client, &mut self.to_server);
                first = first.and(said);
            }
        }
        first
    }

    /// Carries the handshake, which has to succeed.
    pub(super) fn shake(mut self) -> Self {
        self.carry(usize::MAX).expect("a handshake");
        assert!(!self.client.is_handshaking() && !self.server.is_handshaking());
        self
    }

    /// Sends both ways, and both have to arrive.
    pub(super) fn exchange(&mut self, request: &[u8], answer: &[u8], piece_bytes: usize) {
        self.at_server.clear();
        self.at_client.clear();
        self.client.send(request, &mut self.to_server).expect("open");
        self.server.send(answer, &mut self.to_client).expect("open");
        self.carry(piece_bytes).expect("no failure");
        assert!(self.at_server == request && self.at_client == answer, "not what was sent");
    }
}
