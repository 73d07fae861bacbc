//! URLs of the command line.

use http::Uri;
use plimsoll_core::plan::Endpoint;
use plimsoll_core::secret::Masks;

/// The port of each scheme.
const HTTP: &[(&str, u16)] = &[("http", 80), ("https", 443)];
const LOADED: &[(&str, u16)] = &[("http", 80), ("https", 443), ("ws", 80), ("wss", 443)];

/// Those without a protocol, and without a port of their own.
const PLAIN: &[(&str, u16)] = &[("tcp", 0), ("udp", 0)];

/// Reads where an echo is, as `tcp://HOST:PORT` or `udp://HOST:PORT`.
///
/// # Errors
/// The mistake, and what to write instead, in one line.
pub(crate) fn parse_echo(text: &str) -> Result<Endpoint, String> {
    let endpoint = parse_of(PLAIN, text)?;
    if endpoint.port == 0 {
        return Err(format!("'{text}' has no port: write {}://HOST:PORT", endpoint.scheme));
    }
    if endpoint.path.reveal() != "/" {
        return Err(format!("'{text}' has a path: write {endpoint}"));
    }
    Ok(endpoint)
}

/// Reads a URL of HTTP.
///
/// # Errors
/// The mistake, and what to write instead, in one line.
pub(crate) fn parse(text: &str) -> Result<Endpoint, String> {
    parse_of(HTTP, text)
}

/// Reads the URL of what is to be loaded, which may be a WebSocket.
///
/// # Errors
/// As above.
pub(crate) fn parse_to_load(text: &str) -> Result<Endpoint, String> {
    parse_of(LOADED, text)
}

fn parse_of(schemes: &[(&str, u16)], text: &str) -> Result<Endpoint, String> {
    let (scheme, rest) = text.split_once("://").ok_or_else(|| without_scheme(text))?;
    let shown = Masks::default().url(text);
    let scheme = scheme.to_ascii_lowercase();
    let Some((_, own_port)) = schemes.iter().find(|(known, _)| *known == scheme) else {
        let problem = match LOADED.iter().any(|(known, _)| *known == scheme) {
            true => "only the URL of a run can be a WebSocket".to_owned(),
            false => format!("unknown scheme '{scheme}'"),
        };
        return Err(format!("'{shown}': {problem}, write http:// or https://"));
    };
    // A URL may go straight from the host to the query; a request line may not.
    let after_host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(after_host);
    let path = path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    if authority.contains('@') {
        return Err(format!("'{shown}': give credentials with --basic USER:PASS, not here"));
    }
    let malformed = |why: &str| format!("'{shown}' is not a URL: {why}");
    if authority.is_empty() {
        return Err(malformed("it has no host"));
    }
    let uri: Uri = Uri::builder()
        .scheme(scheme.as_str())
        .authority(authority)
        .path_and_query(without_templates(&path))
        .build()
        .map_err(|error| malformed(&error.to_string()))?;
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    if host.is_empty() {
        return Err(malformed("it has no host"));
    }
    let has_port = authority.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
    let port = match (uri.port_u16(), has_port) {
        (Some(0), _) | (None, Some(_)) => return Err(malformed("the port is not 1 to 65535")),
        (Some(port), _) => port,
        (None, None) => *own_port,
    };
    Ok(Endpoint { scheme, host, port, path: path.into() })
}

/// What to do with a text without a scheme. It is repeated if it can't hold a password: where one
/// would be can't be told.
fn without_scheme(text: &str) -> String {
    let advice = "write http://HOST:PORT/PATH";
    if text.contains(['@', '=', ' ']) {
        return format!("what was given is not a URL: {advice}");
    }
    match parse(&format!("http://{text}")) {
        Ok(_) => format!("'{text}' has no scheme: write http://{text}"),
        Err(_) => format!("'{text}' is not a URL: {advice}"),
    }
}

/// A path with what templates fill taken out, which need not look like a path.
fn without_templates(path: &str) -> String {
    let mut kept = String::new();
    let mut rest = path;
    while let Some((before, opened)) = rest.split_once("{{") {
        let Some((_, after)) = opened.split_once("}}") else { break };
        kept.push_str(before);
        rest = after;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read() {
        let cases = [
            ("http://a", "a", 80, "/"),
            ("http://127.0.0.1:8080/x/y?z=1#frag", "127.0.0.1", 8080, "/x/y?z=1"),
            ("HTTP://[::1]:81?q", "::1", 81, "/?q"),
            ("http://[::1]/", "::1", 80, "/"),
            ("https://a.example/x", "a.example", 443, "/x"),
            ("http://a.example/%20", "a.example", 80, "/%20"),
            ("http://a/{{random 1 9}}/{{seq}}", "a", 80, "/{{random 1 9}}/{{seq}}"),
        ];
        for (text, host, port, path) in cases {
            let endpoint = parse(text).unwrap();
            assert_eq!(
                (endpoint.host.as_str(), endpoint.port, endpoint.path.reveal().as_str()),
                (host, port, path)
            );
        }
    }

    #[test]
    fn a_websocket_can_be_loaded_and_is_no_server_of_http() {
        for (text, port) in [("ws://a/x", 80), ("WSS://a", 443), ("ws://a:81", 81)] {
            let endpoint = parse_to_load(text).expect(text);
            assert_eq!((endpoint.port, endpoint.is_websocket()), (port, true), "{text}");
            let error = parse(text).expect_err(text);
            assert!(error.contains("write http://"), "{error}");
        }
    }

    #[test]
    fn an_echo_has_a_port_and_no_path() {
        for (text, host) in [("tcp://a:81", "a"), ("TCP://a:81/", "a"), ("tcp://[::1]:81", "::1")] {
            let endpoint = parse_echo(text).expect(text);
            assert_eq!((endpoint.host.as_str(), endpoint.port), (host, 81));
        }
        for (text, says) in [
            ("tcp://a", "write tcp://HOST:PORT"),
            ("tcp://a:81/x", "write tcp://a:81"),
            ("tcp://:81", "no host"),
            ("tcp://a:99999", "1 to 65535"),
        ] {
            let error = parse_echo(text).expect_err(text);
            assert!(error.contains(says) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn what_is_refused_says_what_to_do() {
        let cases = [
            "",
            "a.example",
            "127.0.0.1:80/",
            "ftp://a/",
            "http://",
            "http:///x",
            "http://a:0/",
            "http://a:99999/",
            "http://a:b/",
            "http://a/ b",
            "http://a/{{seq}} b",
            "http://a/{{random 1 9",
            "http://[::1",
            "http://u:p@a/",
            "http://a:/",
        ];
        for text in cases {
            let error = parse(text).unwrap_err();
            assert!(!error.contains('\n') && error.len() > text.len(), "{text}: {error}");
        }
        let error = parse("127.0.0.1:80/x").unwrap_err();
        assert_eq!(error, "'127.0.0.1:80/x' has no scheme: write http://127.0.0.1:80/x");
    }
}
