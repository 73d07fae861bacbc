//! URLs of the command line.

use std::net::Ipv6Addr;

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
    if authority.contains('@') {
        return Err(format!("'{shown}': give credentials with --basic USER:PASS, not here"));
    }
    let malformed = |why: &str| format!("'{shown}' is not a URL: {why}");
    let (host, port) = host_and_port(authority).map_err(malformed)?;
    let host_at = text.len() - rest.len();
    let odd_in_host = odd(host, |c| c.is_ascii_alphanumeric() || IN_NAMES.contains(c));
    let in_host = odd_in_host.map(|(at, c)| (host_at + at, c, "give a name or an address"));
    let odd_in_path = odd(&without_templates(path), |c| !c.is_whitespace() && !c.is_control());
    let in_path = odd_in_path.map(|(at, c)| (host_at + after_host + at, c, "percent-encode it"));
    // An address in brackets was read as one.
    if let Some((at, c, advice)) = in_host.filter(|_| !host.contains(':')).or(in_path) {
        let character = text[..at].chars().count() + 1;
        let what = format!("it has '{}' as character {character}: {advice}", c.escape_debug());
        return Err(malformed(&what));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let port = port.unwrap_or(*own_port);
    Ok(Endpoint { scheme, host: host.to_owned(), port, path: path.into() })
}

/// Beside letters and digits, what may stand in a host's name: unreserved and sub-delims (RFC 3986
/// section 3.2.2).
const IN_NAMES: &str = "-._~!$&'()*+,;=%";

/// The host, without brackets, and its port. An empty port is the scheme's own (RFC 3986 section
/// 6.2.3).
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or("a bracket is not closed")?;
            address
                .parse::<Ipv6Addr>()
                .map_err(|_| "what is in brackets is not an IPv6 address")?;
            match port.strip_prefix(':') {
                Some(port) => (address, port),
                None if port.is_empty() => (address, ""),
                None => return Err("something stands between the host and the port"),
            }
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    if host.is_empty() {
        return Err("it has no host");
    }
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse().ok().filter(|port| is_number && *port > 0) {
        Some(port) => Ok((host, Some(port))),
        None if port.is_empty() => Ok((host, None)),
        None => Err("the port is not 1 to 65535"),
    }
}

/// The first character that may not stand in a text, and where it stands, in bytes.
fn odd(text: &str, may_stand: impl Fn(char) -> bool) -> Option<(usize, char)> {
    text.char_indices().find(|(_, c)| !may_stand(*c))
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

/// A path with what templates fill blotted out, which need not look like a path. Its characters
/// stand where they stood.
fn without_templates(path: &str) -> String {
    let mut kept = String::new();
    let mut rest = path;
    while let Some((before, opened)) = rest.split_once("{{") {
        let Some((inside, after)) = opened.split_once("}}") else { break };
        kept.push_str(before);
        kept.push_str(&"x".repeat(inside.len() + 4));
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
            ("http://a:/", "a", 80, "/"),
            ("https://[::1]:?q", "::1", 443, "/?q"),
            ("http://a/\"<|>^`{}?f={\"a\":1}\\", "a", 80, "/\"<|>^`{}?f={\"a\":1}\\"),
            ("http://a/ü?k=日", "a", 80, "/ü?k=日"),
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
            "http://[::1]x/",
            "http://[a]/",
            "http://a:+1/",
            "http://:80/",
            "http://a b/",
        ];
        for text in cases {
            let error = parse(text).unwrap_err();
            assert!(!error.contains('\n') && error.len() > text.len(), "{text}: {error}");
        }
        for (text, says) in [
            ("http://a/{{seq}}ü b", "it has ' ' as character 18: percent-encode it"),
            ("http://a/x?y=\u{1b}[2J", "it has '\\u{1b}' as character 14: percent-encode it"),
            ("http://a?b=\u{a0}", "it has '\\u{a0}' as character 12: percent-encode it"),
            ("http://ü.example/", "it has 'ü' as character 8: give a name or an address"),
            ("http://a\"b/", "it has '\\\"' as character 9: give a name or an address"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.ends_with(says), "{text}: {error}");
        }
        let error = parse("127.0.0.1:80/x").unwrap_err();
        assert_eq!(error, "'127.0.0.1:80/x' has no scheme: write http://127.0.0.1:80/x");
    }
}
