//! Where `fortio curl -L` goes next, as Go's client decides it. Those of a load are the engine's,
//! which stays on the server.

use plimsoll_core::secret::Secret;

use super::command::{Command, Payload};

/// Fields that are for one server and no other.
const OF_ONE_SERVER: [&str; 5] =
    ["Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "Www-Authenticate"];

/// The most redirects that are followed: Go's client gives up after ten requests.
pub const REDIRECTS_MAX: u32 = 9;

impl Command {
    /// The request that follows an answer with this status and this Location; `None` where the
    /// answer is no redirect.
    #[must_use]
    pub fn redirected(&self, status: u16, location: &str) -> Option<Self> {
        let keeps_request = match status {
            301..=303 => false,
            307 | 308 => true,
            _ => return None,
        };
        let location = location.split('#').next().unwrap_or_default().trim();
        if location.is_empty() {
            return None;
        }
        let from = self.url();
        let mut next = self.clone();
        next.call_at(&joined(&from, location));
        if !keeps_request {
            next.method = self.method.clone().filter(|method| method == "HEAD");
            (next.payload, next.content_type) = (Payload::None, None);
        }
        if parts(&next.target)[..2] != parts(&from)[..2] {
            next.credentials = Secret::default();
            if next.url_credentials == self.url_credentials {
                next.url_credentials = Secret::default();
            }
            next.headers.retain(|(name, _)| !OF_ONE_SERVER.contains(&name.as_str()));
        }
        Some(next)
    }
}

/// The URL that a reference means, seen from another (RFC 3986 section 5.2, without dot segments).
fn joined(from: &str, reference: &str) -> String {
    let [scheme, authority, path] = parts(from);
    let before_query = path.split('?').next().unwrap_or_default();
    let has_scheme = reference.split(['/', '?']).next().is_some_and(|start| start.contains(':'));
    let path = match reference {
        _ if has_scheme => return reference.to_owned(),
        _ if reference.starts_with("//") => return format!("{scheme}:{reference}"),
        _ if reference.starts_with('/') => reference.to_owned(),
        _ if reference.starts_with('?') => format!("{before_query}{reference}"),
        _ => {
            let folder = before_query.rfind('/').map_or("/", |at| &before_query[..=at]);
            format!("{folder}{reference}")
        }
    };
    format!("{scheme}://{authority}{path}")
}

/// Scheme, authority, and the rest of a URL.
fn parts(url: &str) -> [&str; 3] {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    [scheme, &rest[..end], &rest[end..]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fortio::{Task, parse};

    fn curl(line: &str) -> Command {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let Ok(Task::Curl(curl)) = parse(&words) else { panic!("{line}") };
        curl.command
    }

    #[test]
    fn a_location_is_read_from_where_it_was_given() {
        let command = curl("curl -L http://a:81/x/y?q=/z");
        for (location, want) in [
            ("http://b/", "http://b/"),
            ("https://b?c", "https://b?c"),
            ("//b/c", "http://b/c"),
            ("/c?d", "http://a:81/c?d"),
            ("?d", "http://a:81/x/y?d"),
            ("c:d/e", "c:d/e"),
            ("c/d:e", "http://a:81/x/c/d:e"),
            (" c#f ", "http://a:81/x/c"),
        ] {
            let next = command.redirected(302, location).expect(location);
            assert_eq!(next.target, want, "{location}");
        }
        for (status, location) in [(200, "/c"), (304, "/c"), (302, ""), (302, "#f")] {
            assert_eq!(command.redirected(status, location), None, "{status}");
        }
        let bare = curl("curl -L a");
        assert_eq!(bare.redirected(301, "b").map(|it| it.target), Some("http://a/b".to_owned()));
    }

    #[test]
    fn what_is_for_one_server_stays_there() {
        let flags = "-X PUT -payload p -content-type t -user u:p -H Cookie:c -H A:b";
        let command = curl(&format!("curl -L {flags} http://a/"));
        let names = |command: &Command| {
            command.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let again = command.redirected(307, "/b").expect("a redirect");
        assert_eq!(
            (again.method.as_deref(), again.credentials.reveal().as_str()),
            (Some("PUT"), "u:p")
        );
        assert_eq!((again.payload, names(&command)), (command.payload.clone(), names(&command)));
        for location in ["http://b/", "https://a/"] {
            let elsewhere = command.redirected(303, location).expect("a redirect");
            assert_eq!(
                (elsewhere.method.as_deref(), elsewhere.credentials.reveal().as_str()),
                (None, "")
            );
            assert_eq!((&elsewhere.payload, names(&elsewhere)), (&Payload::None, vec!["A".into()]));
        }
    }
}
