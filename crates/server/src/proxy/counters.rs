//! The counts of a proxy.
//!
//! Each admitted request has exactly one end. So when nothing is under way any more, `requests` is
//! the sum of `completed`, `cut_off`, `abandoned`, `drained`, `bodies_refused`, `queue_failures`,
//! `bad_gateway` and `gateway_timeouts`. The other counts are independent of these.

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a proxy did.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct ProxyCounters {
            $($(#[$doc])* pub $name: u64,)*
            /// Responses begun, including the proxy's own, by the first digit of their status minus
            /// one.
            pub responses: [u64; 5],
        }

        impl ProxyCounters {
            /// Adds another worker's counts.
            pub fn merge(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                for (mine, theirs) in self.responses.iter_mut().zip(other.responses) {
                    *mine += theirs;
                }
            }

            /// Counts a response that has begun.
            #[inline]
            pub(super) fn count_response(&mut self, status: u16) {
                self.responses[usize::from(status / 100).clamp(1, 5) - 1] += 1;
            }

            /// All counts except the responses', with their names.
            #[must_use]
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Client connections accepted.
    connections,
    /// Client connections that could not be accepted.
    accept_failures,
    /// Requests whose head was read and admitted.
    requests,
    /// Requests whose head was malformed, too long or not to be forwarded, and answered so.
    refused,
    /// Requests that were admitted, and whose body then was malformed, too long or too slow (408).
    bodies_refused,
    /// Responses forwarded in whole.
    completed,
    /// Exchanges cut off after the response had begun.
    cut_off,
    /// Exchanges given up because the client was gone.
    abandoned,
    /// Exchanges cut off when the drain time was over.
    drained,
    /// Connections opened to upstreams.
    upstream_connections,
    /// Connects to upstreams that failed or took too long.
    connect_failures,
    /// Requests sent on a connection that was open already.
    reused,
    /// Requests sent again, on another connection.
    retries,
    /// Requests that had to wait for an upstream connection.
    queued,
    /// Requests answered 503: no place in the queue, or its time was up.
    queue_failures,
    /// Requests answered 502: no upstream could be reached, or its response was unusable.
    bad_gateway,
    /// Requests answered 504: connecting, or the response, took too long.
    gateway_timeouts,
    /// Clients that took too long over a request (408) or over reading a response.
    client_timeouts,
    /// Upstream connections closed because they sent bytes that nobody had asked for.
    unsolicited,
    /// Times an upstream was put aside.
    put_aside,
    /// Health checks that failed.
    checks_failed,
    /// Client connections that spoke HTTP/2.
    http2_connections,
    /// Client connections that broke HTTP/2, and were ended.
    http2_errors,
    /// Client connections on which TLS failed.
    tls_failures,
    /// Lines of the access log that were dropped because its thread could not keep up.
    log_dropped,
    /// Bytes received from clients.
    client_bytes_received,
    /// Bytes handed over to be sent to clients.
    client_bytes_sent,
    /// Bytes received from upstreams.
    upstream_bytes_received,
    /// Bytes handed over to be sent to upstreams.
    upstream_bytes_sent,
}
