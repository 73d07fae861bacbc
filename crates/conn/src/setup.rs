//! What a connection does between its TCP connect and its first request: send its client's address
//! (PROXY protocol), ask a proxy for a tunnel (CONNECT), and negotiate TLS.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_proto::proxy_protocol;
use plimsoll_proto::tls::{ClientConfig, ServerName};

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
#[derive(Debug, Default)]
pub struct Scratch {
    /// Decrypted bytes.
    pub(crate) plain: Vec<u8>,
    /// What a protocol has framed, before it is encrypted.
    pub(crate) frames: Vec<u8>,
    /// Bytes to be sent.
    pub(crate) out: Vec<u8>,
}

/// A buffer that grew beyond this is given back after use.
const KEEP_BYTES: usize = 256 * 1024;

impl Scratch {
    /// Whether nothing waits to be sent.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Takes back memory that one large message needed.
    pub(crate) fn trim(&mut self) {
        for buffer in [&mut self.plain, &mut self.frames, &mut self.out] {
            buffer.clear();
            if buffer.capacity() > KEEP_BYTES {
                buffer.shrink_to(KEEP_BYTES);
            }
        }
    }
}
