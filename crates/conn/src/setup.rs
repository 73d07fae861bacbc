//! What a connection does between its TCP connect and its first request: send its client's address
//! (PROXY protocol), ask a proxy for a tunnel (CONNECT), and negotiate TLS.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_proto::http1::write_request_head;
use plimsoll_proto::proxy_protocol;
use plimsoll_proto::tls::{ClientConfig, ServerName};

use crate::request::EncodeError;

/// Version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyHeader {
    /// A line of text.
    V1,
    /// The binary header.
    V2,
}

impl ProxyHeader {
    pub(crate) fn write(self, out: &mut Vec<u8>, from: Option<SocketAddr>, to: Option<SocketAddr>) {
        match self {
            Self::V1 => proxy_protocol::write_v1(out, from, to),
            Self::V2 => proxy_protocol::write_v2(out, from, to),
        }
    }
}

/// The CONNECT request that asks a proxy for a tunnel to `target`, a host and port (RFC 9110
/// section 9.3.6).
///
/// # Errors
/// When it would not be read back as it was meant.
pub fn connect_request(
    target: &str,
    authorization: Option<&str>,
) -> Result<Arc<[u8]>, EncodeError> {
    let authorization = authorization.map(|value| ("Proxy-Authorization", value));
    let fields = [Some(("Host", target)), authorization];
    let mut bytes = Vec::new();
    write_request_head(&mut bytes, "CONNECT", target, 1, fields.into_iter().flatten())?;
    Ok(bytes.into())
}

/// TLS on a connection.
#[derive(Debug, Clone)]
pub struct TlsSetup {
    /// How it is spoken, and the sessions to resume.
    pub config: ClientConfig,
    /// Whom to ask for, and whose certificate to want.
    pub name: ServerName,
}

/// How connections are set up; the same for all of a worker's.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The PROXY protocol's header to begin with.
    pub proxy_header: Option<ProxyHeader>,
    /// The CONNECT request for a proxy.
    pub tunnel: Option<Arc<[u8]>>,
    /// TLS, if it is spoken.
    pub tls: Option<TlsSetup>,
}

impl Setup {
    /// Whether a connection is ready for requests as soon as it is connected.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.tunnel.is_none() && self.tls.is_none()
    }
}

/// Buffers that a worker's connections share: each use is over before the next begins.
#[derive(Debug)]
pub struct Scratch {
    /// Decrypted bytes.
    pub(crate) plain: Vec<u8>,
    /// What a protocol has written, before it is encrypted.
    pub(crate) frames: Vec<u8>,
    /// Bytes for the wire that go before that: the setup's, and TLS records.
    pub(crate) out: Vec<u8>,
    /// How much of each is kept for the next use.
    keep_bytes: usize,
}

/// A buffer that grew beyond this is given back after use, unless requests need more.
const KEEP_BYTES: usize = 256 * 1024;

impl Scratch {
    /// With room for requests of `request_bytes`, so that writing one allocates nothing.
    #[must_use]
    pub fn new(request_bytes: usize) -> Self {
        let frames = Vec::with_capacity(request_bytes);
        Self { plain: Vec::new(), frames, out: Vec::new(), keep_bytes: request_bytes }
    }

    /// Whether nothing waits to be sent.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty() && self.frames.is_empty()
    }

    /// How many bytes wait to be sent.
    #[inline]
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.out.len() + self.frames.len()
    }

    /// Takes back memory that one large message needed.
    #[inline]
    pub(crate) fn trim(&mut self) {
        let keep_bytes = self.keep_bytes.max(KEEP_BYTES);
        for buffer in [&mut self.plain, &mut self.frames, &mut self.out] {
            buffer.clear();
            if buffer.capacity() > keep_bytes {
                buffer.shrink_to(keep_bytes);
            }
        }
    }
}
