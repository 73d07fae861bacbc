//! The request's bytes, made once before the run.

use plimsoll_core::plan::Plan;
use plimsoll_proto::http1::{EncodeError, RequestKind, write_request_head};

/// A request ready to send.
#[derive(Debug, Clone)]
pub struct Rendered {
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: RequestKind,
}

const USER_AGENT: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

/// Writes the plan's request. The plan's own headers replace those added here; one with an empty
/// value only takes the added one away.
///
/// # Errors
/// When a part of it would not be read back as it was meant.
pub fn render(plan: &Plan) -> Result<Rendered, EncodeError> {
    let request = &plan.request;
    let body = request.body.as_ref().map(|body| body.as_bytes());
    let given = |name: &str| request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let authority = plan.endpoint.authority();
    let body_bytes = body.map_or(0, <[u8]>::len).to_string();
    let connection = match (plan.connects_per_request(), request.http_minor) {
        (true, 1) => Some("close"),
        (false, 0) => Some("keep-alive"),
        _ => None,
    };
    let sends_length =
        body.is_some() || matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    let added = [
        Some(("Host", authority.as_str())),
        Some(("User-Agent", USER_AGENT)),
        Some(("Accept", "*/*")),
        connection.map(|value| ("Connection", value)),
        sends_length.then_some(("Content-Length", body_bytes.as_str())),
    ];
    let added = added.into_iter().flatten().filter(|(name, _)| !given(name));
    let own = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let own = own.filter(|(_, value)| !value.is_empty());

    let mut bytes = Vec::new();
    let (method, target) = (request.method.as_str(), plan.endpoint.path.as_str());
    write_request_head(&mut bytes, method, target, request.http_minor, added.chain(own))?;
    bytes.extend_from_slice(body.unwrap_or_default());
    let kind = if method == "HEAD" { RequestKind::Head } else { RequestKind::Plain };
    Ok(Rendered { bytes, kind })
}

#[cfg(test)]
mod tests {
    use plimsoll_core::plan::Body;

    use super::*;
    use crate::worker::tests::plan;

    fn text(plan: &Plan) -> String {
        String::from_utf8(render(plan).unwrap().bytes).unwrap()
    }

    #[test]
    fn a_plain_get() {
        let want = format!(
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: {USER_AGENT}\r\nAccept: */*\r\n\r\n"
        );
        assert_eq!(text(&plan()), want);
    }

    #[test]
    fn headers_replace_and_remove_and_bodies_have_a_length() {
        let mut plan = plan();
        plan.request.method = "POST".to_owned();
        plan.request.headers =
            vec![("host".to_owned(), "a.example".to_owned()), ("ACCEPT".to_owned(), String::new())];
        plan.request.body = Some(Body::new(b"abc".to_vec()));
        let want = format!(
            "POST / HTTP/1.1\r\nUser-Agent: {USER_AGENT}\r\nContent-Length: 3\r\nhost: a.example\r\n\r\nabc"
        );
        assert_eq!(text(&plan), want);
    }

    #[test]
    fn the_connection_header_follows_the_version_and_the_plan() {
        let mut plan = plan();
        plan.request.http_minor = 0;
        assert!(text(&plan).contains("Connection: keep-alive\r\n"));
        plan.requests_per_connection = Some(1);
        assert!(!text(&plan).contains("Connection"));
        plan.request.http_minor = 1;
        assert!(text(&plan).contains("Connection: close\r\n"));
    }

    #[test]
    fn a_header_that_would_break_the_request_is_refused() {
        let mut plan = plan();
        plan.request.headers = vec![("X".to_owned(), "a\r\nY: b".to_owned())];
        assert!(render(&plan).is_err());
    }
}
