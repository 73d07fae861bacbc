//! URLs as ab takes them: the scheme may be left out, the slash behind the host may not.
//!
//! Everything from that slash on is sent as it stands, a fragment too.

use plimsoll_core::plan::Endpoint;

/// Reads a URL; `None` where ab says that it is invalid.
pub(super) fn parse(text: &str) -> Option<Endpoint> {
    let schemes = [("http", "http://", 80), ("https", "https://", 443)];
    let given = schemes.into_iter().find(|(_, start, _)| {
        // The bare start of a URL is read as a host and a path.
        text.len() > start.len() && text.starts_with(start)
    });
    let (scheme, start, own_port) = given.unwrap_or(("http", "", 80));
    let rest = &text[start.len()..];
    let (authority, path) = rest.split_at(rest.find('/')?);
    let (host, port) = host_and_port(authority)?;
    Some(Endpoint {
        scheme: scheme.to_owned(),
        host: host.to_owned(),
        port: port.unwrap_or(own_port),
        path: path.into(),
    })
}

/// Takes `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT` apart. Digits alone are a port
/// without a host, and a scope (`%eth0`) is refused.
pub(super) fn host_and_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            let port = if after.is_empty() { None } else { Some(after.strip_prefix(':')?) };
            (host, port)
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() || host.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let Some(port) = port else { return Some((host, None)) };
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| is_number && *port > 0)?;
    Some((host, Some(port)))
}

/// A Host field's value without its port and without brackets.
pub(super) fn without_port(authority: &str) -> &str {
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    authority.split(':').next().unwrap_or_default()
}
