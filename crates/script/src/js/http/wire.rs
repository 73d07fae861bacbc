//! What goes on the wire: the head of the next request, and its body behind it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::api::http::Request;
use super::{Flow, HttpOptions, Onward, coding, digest, fields};

impl Flow {
    /// Writes the next request on the wire.
    pub(super) fn write(&mut self, request: &Request, options: &HttpOptions, now_ns: u64) {
        self.is_masked = self.url.write_masked(&mut self.masked);
        self.collect(request, now_ns);
        let body = body(self.sends_body, self.is_packed, &self.packed, request);
        let out = &mut self.wire;
        out.clear();
        let (root, target) = self.url.target();
        let own_host = if self.has_own_host { self.fields.value("Host") } else { None };
        let host = own_host.filter(|host| !host.is_empty());
        let host = host.unwrap_or_else(|| self.url.host_and_port().as_bytes());
        // A proxy is told the whole URL, unless it only sees a tunnel.
        let is_tunnelled = self.url.is_tls() || request.upgrades;
        let proxy = options.proxies.of_origin(&self.url.origin()).filter(|_| !is_tunnelled);
        let before: [&[u8]; 2] = if proxy.is_some() { [b"http://", host] } else { [b"", b""] };
        let target: [&[u8]; 2] = [root.as_bytes(), target.as_bytes()];
        for part in [&[self.method.as_bytes(), b" "][..], &before, &target].into_iter().flatten() {
            out.extend_from_slice(part);
        }
        for part in [b" HTTP/1.1\r\nHost: ", host, b"\r\n"] {
            out.extend_from_slice(part);
        }
        let agent = self.fields.value("User-Agent").unwrap_or(options.user_agent.as_bytes());
        if !agent.is_empty() {
            for part in [b"User-Agent: ", agent, b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        // Many servers want a length with these, also without a body.
        let is_told = !body.is_empty() || ["POST", "PUT", "PATCH"].contains(&&*self.method);
        if is_told {
            write_number(out, b"Content-Length: ", body.len());
        }
        self.fields.write(out, &["Host", "User-Agent"]);
        if options.closes_connections && self.fields.value("Connection").is_none() {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        if let Some(value) = proxy.and_then(|proxy| proxy.authorization.as_deref())
            && self.fields.value("Proxy-Authorization").is_none()
        {
            for part in [b"Proxy-Authorization: ", value.as_bytes(), b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body);
    }

    /// Collects the fields of the next request on the wire.
    fn collect(&mut self, request: &Request, now_ns: u64) {
        self.fields.clear();
        if self.is_packed && self.sends_body {
            // Before the script's own fields: one of theirs counts instead.
            let list = coding::field_of(&request.compression);
            self.fields.put(b"Content-Encoding", list.as_bytes());
        }
        for (name, value) in &request.headers {
            if self.carries(name) {
                self.fields.put(name.as_bytes(), value.as_bytes());
            }
        }
        if !self.referer.is_empty() && self.fields.value("Referer").is_none() {
            self.fields.put(b"Referer", self.referer.as_bytes());
        }
        let cookies = request.cookie_field(self.url.text(), now_ns);
        if !cookies.is_empty() {
            let cookies = match self.fields.value("Cookie") {
                Some(own) if !own.is_empty() => [own, b"; ", cookies.as_bytes()].concat(),
                _ => cookies.into_bytes(),
            };
            self.fields.put(b"Cookie", &cookies);
        }
        if self.is_first
            && let Some(cookies) = self.fields.value("Cookie")
        {
            self.cookies.push_str(&String::from_utf8_lossy(cookies));
        }
        if !self.authorization.is_empty() {
            self.fields.put(b"Authorization", self.authorization.as_bytes());
        } else if self.fields.value("Authorization").is_none()
            && let Some((user, password)) = self.url.credentials()
        {
            let value = STANDARD.encode([&user[..], b":", &password].concat());
            self.fields.put(b"Authorization", format!("Basic {value}").as_bytes());
        }
    }

    /// Keeps the credentials of the URL for a challenge, if the request waits for one. The URL has
    /// none from then on: neither servers nor those who count see them.
    pub(super) fn keep_secret(&mut self, request: &Request) {
        let is_digest = request.auth.eq_ignore_ascii_case("digest");
        self.secret = if is_digest { self.url.take_credentials() } else { None };
    }

    /// Looks whether the server wants digest authentication, and has not had it from this request.
    pub(super) fn authorize(&mut self, request: &Request, now_ns: u64) {
        let Some((user, password)) = &self.secret else { return };
        if self.status != 401 || !self.authorization.is_empty() {
            return;
        }
        let is_it = |name: &[u8]| name.eq_ignore_ascii_case(b"www-authenticate");
        let challenges = fields::lines(&self.head).filter(|(name, _)| is_it(name));
        let (root, target) = self.url.target();
        let target = [root, target].concat();
        let with = digest::Credentials {
            user,
            password,
            method: &self.method,
            target: &target,
            body: body(self.sends_body, self.is_packed, &self.packed, request),
            number: now_ns,
        };
        let value = digest::answer(challenges.map(|(_, value)| value), &with);
        self.onward = value.map(Onward::Authorize);
    }
}

/// The body of the next request on the wire.
fn body<'a>(is_sent: bool, is_packed: bool, packed: &'a [u8], request: &'a Request) -> &'a [u8] {
    match (is_sent, is_packed) {
        (false, _) => &[],
        (true, true) => packed,
        (true, false) => &request.body,
    }
}

fn write_number(out: &mut Vec<u8>, before: &[u8], number: usize) {
    use std::io::Write as _;
    out.extend_from_slice(before);
    // Writing to a vector does not fail.
    let _ = write!(out, "{number}\r\n");
}
