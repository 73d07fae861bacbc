//! What a person can set of a plan. Errors speak of fields, and each front has its own word for
//! one: `-c` on the command line, `connections` in a plan file, `-R` for wrk2's rate.

/// Declares the fields with their names, which are those of `run`'s flags and of plan files' keys.
macro_rules! fields {
    ($($field:ident $name:literal $what:literal)*) => {
        /// What a person can set of a plan.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Field {
            $(#[doc = $what] $field,)*
        }

        impl Field {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$field),*];

            /// Its name: the flag of `run` without its dashes, and the key in a plan file.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$field => $name,)*
                }
            }
        }
    };
}

fields! {
    Url "url" "Where the requests go."
    Connections "connections" "How many connections there are."
    Duration "duration" "How long requests are started."
    Requests "requests" "How many requests are started."
    Rate "rate" "The rate."
    Stages "stages" "The rate over time."
    RateFile "rate-file" "When each request is due."
    ShedAfter "shed-after" "How long a request waits for a connection before it is dropped."
    Warmup "warmup" "Load before the measured part."
    Drain "drain" "How long the run waits for open requests."
    Timeout "timeout" "How long a request may take."
    Method "method" "The request's method."
    Header "header" "The request's headers."
    Body "body" "The request's body."
    Chunked "chunked" "Whether bodies are sent in chunks."
    ExpectContinue "expect-continue" "Whether bodies wait for 100 Continue."
    Http "http" "The version of HTTP."
    Targets "targets" "Several requests."
    TargetsFormat "targets-format" "How the file of several requests is written."
    Order "order" "In which order the targets are taken."
    NoTemplates "no-templates" "Whether templates are sent as they stand."
    Form "form" "The parts of a multipart form."
    FormUrlencoded "form-urlencoded" "The fields of an urlencoded form."
    Basic "basic" "Credentials for the server."
    Expect "expect" "What responses have to be like."
    Redirects "redirects" "How many redirects are followed."
    Cookies "cookies" "Whether cookies are kept."
    NoResend "no-resend" "Whether requests that were refused stay so."
    RequestsPerConn "requests-per-conn" "How many requests a connection takes."
    NoKeepalive "no-keepalive" "Whether each request has a connection of its own."
    ConnLifetime "conn-lifetime" "How old a connection gets."
    Pipeline "pipeline" "How many requests are open on a connection."
    Streams "streams" "How many requests are open on a connection of HTTP/2."
    Window "window" "How much a server may send on a stream."
    ConnectionWindow "connection-window" "How much a server may send on a connection."
    HeaderTableSize "header-table-size" "How large the table for responses' fields is."
    MaxFrameSize "max-frame-size" "How large a server's frames may be."
    Grpc "grpc" "The method of gRPC that is called."
    Proto "proto" "The files with its schema."
    ProtoPath "proto-path" "The folders with the files that those import."
    Reflect "reflect" "Whether the server is asked for the schema."
    GrpcStream "grpc-stream" "How the messages of a call go."
    GrpcMessages "grpc-messages" "How many messages a call sends."
    WsMessage "ws-message" "The messages to a WebSocket."
    WsReply "ws-reply" "What ends a message to a WebSocket."
    WsBinary "ws-binary" "Whether messages to a WebSocket are binary."
    WsCompress "ws-compress" "Whether to offer a WebSocket to compress messages."
    WsSubprotocol "ws-subprotocol" "The subprotocol to ask a WebSocket for."
    Resolve "resolve" "Names that are not looked up."
    ConnectTo "connect-to" "Connections that go elsewhere."
    Bind "bind" "Source addresses."
    UnixSocket "unix-socket" "A Unix socket to connect to."
    Proxy "proxy" "The proxy to go through."
    Timestamps "timestamps" "Whose clock says when bytes arrived."
    Cacert "cacert" "The certificates to trust."
    Cert "cert" "The client's certificate."
    Key "key" "The client's key."
    Sni "sni" "The server's name in TLS."
    Alpn "alpn" "The protocols to offer in TLS."
    TlsResume "tls-resume" "How many handshakes may resume a session."
    Script "script" "The script."
    ScriptArguments "script-arguments" "Its arguments."
    Threads "threads" "How many threads work."
    Pin "pin" "The CPUs that they are tied to."
    Gate "gate" "Conditions on the result."
    AbortWhen "abort-when" "Conditions that end the run."
    Redact "redact" "What is masked."
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
