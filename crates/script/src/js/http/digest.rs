//! Digest authentication (RFC 7616): the answer to a server's challenge.
//!
//! Absent on purpose: user names that are hashed, and proof that the server knows the password.

use md5::Md5;
use sha2::digest::Digest;
use sha2::{Sha256, Sha512_256};

/// What a challenge is answered with.
pub(super) struct Credentials<'a> {
    pub user: &'a [u8],
    pub password: &'a [u8],
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    pub body: &'a [u8],
    /// What makes the client's nonce: it needs to differ from request to request.
    pub number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Md5,
    Sha256,
    Sha512Of256,
}

impl Hash {
    fn of(self, parts: &[&[u8]]) -> String {
        fn digest<D: Digest>(parts: &[&[u8]]) -> String {
            let mut hash = D::new();
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    hash.update(b":");
                }
                hash.update(part);
            }
            hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
        }
        match self {
            Self::Md5 => digest::<Md5>(parts),
            Self::Sha256 => digest::<Sha256>(parts),
            Self::Sha512Of256 => digest::<Sha512_256>(parts),
        }
    }
}

/// A challenge that can be answered.
#[derive(Debug, Default, PartialEq, Eq)]
struct Challenge {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    /// As the server wrote it; empty for MD5.
    algorithm: String,
    qop: Option<&'static str>,
}

/// The value of `Authorization` that answers the first of the challenges that can be answered;
/// `None` if there is none. The challenges are the values of `WWW-Authenticate`.
pub(super) fn answer<'a>(
    challenges: impl Iterator<Item = &'a [u8]>,
    with: &Credentials<'_>,
) -> Option<String> {
    let (challenge, hash, is_session) = challenges.filter_map(Challenge::read).find_map(|it| {
        let (name, is_session) = match it.algorithm.len().checked_sub("-sess".len()) {
            Some(cut)
                if it.algorithm.get(cut..).is_some_and(|end| end.eq_ignore_ascii_case("-sess")) =>
            {
                (&it.algorithm[..cut], true)
            }
            _ => (it.algorithm.as_str(), false),
        };
        let hash = match name.to_ascii_uppercase().as_str() {
            "" | "MD5" => Hash::Md5,
            "SHA-256" => Hash::Sha256,
            "SHA-512-256" => Hash::Sha512Of256,
            _ => return None,
        };
        Some((it, hash, is_session))
    })?;
    let realm = challenge.realm.as_bytes();
    let nonce = challenge.nonce.as_bytes();
    let client_nonce = Hash::Md5.of(&[nonce, &with.number.to_be_bytes()]);
    let mut secret = hash.of(&[with.user, realm, with.password]);
    if is_session {
        secret = hash.of(&[secret.as_bytes(), nonce, client_nonce.as_bytes()]);
    }
    let (method, target) = (with.method.as_bytes(), with.target.as_bytes());
    let asked = match challenge.qop {
        Some("auth-int") => hash.of(&[method, target, hash.of(&[with.body]).as_bytes()]),
        _ => hash.of(&[method, target]),
    };
    let (secret, asked) = (secret.as_bytes(), asked.as_bytes());
    let response = match challenge.qop {
        Some(qop) => {
            let client_nonce = client_nonce.as_bytes();
            hash.of(&[secret, nonce, b"00000001", client_nonce, qop.as_bytes(), asked])
        }
        None => hash.of(&[secret, nonce, asked]),
    };
    let user = String::from_utf8_lossy(with.user);
    let mut value = format!("Digest username={}", quoted(&user));
    let mut add = |part: String| value.push_str(&part);
    add(format!(", realm={}, nonce={}", quoted(&challenge.realm), quoted(&challenge.nonce)));
    add(format!(", uri={}, response=\"{response}\"", quoted(with.target)));
    if !challenge.algorithm.is_empty() {
        add(format!(", algorithm={}", challenge.algorithm));
    }
    if let Some(opaque) = &challenge.opaque {
        add(format!(", opaque={}", quoted(opaque)));
    }
    if let Some(qop) = challenge.qop {
        add(format!(", qop={qop}, nc=00000001, cnonce=\"{client_nonce}\""));
    } else if is_session {
        add(format!(", cnonce=\"{client_nonce}\""));
    }
    Some(value)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Challenge {
    /// Reads a field; `None` if it has another scheme, or lacks what an answer needs. Of several
    /// challenges in a field the first counts.
    fn read(field: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(field).ok()?;
        let (scheme, mut rest) = text.split_once([' ', '\t'])?;
        if !scheme.eq_ignore_ascii_case("digest") {
            return None;
        }
        let mut challenge = Self::default();
        let mut has_nonce = false;
        while let Some((name, after)) = rest.split_once('=') {
            let name = name.trim_matches([' ', '\t', ',']);
            let (value, after) = value(after.trim_start())?;
            rest = after;
            match name.to_ascii_lowercase().as_str() {
                "realm" => challenge.realm = value,
                "nonce" => (challenge.nonce, has_nonce) = (value, true),
                "opaque" => challenge.opaque = Some(value),
                "algorithm" => challenge.algorithm = value,
                "qop" => {
                    let offers = |wanted: &str| {
                        value.split(',').any(|offer| offer.trim().eq_ignore_ascii_case(wanted))
                    };
                    // A server that offers neither wants something that is not known.
                    challenge.qop = Some(["auth", "auth-int"].into_iter().find(|qop| offers(qop))?);
                }
                _ => {}
            }
        }
        let is_plain = |text: &str| !text.bytes().any(|byte| byte < b' ' || byte == 0x7f);
        let opaque = challenge.opaque.as_deref().unwrap_or_default();
        let all = [&challenge.realm, &challenge.nonce, &challenge.algorithm, opaque];
        (has_nonce && all.into_iter().all(is_plain)).then_some(challenge)
    }
}

/// The value of a parameter, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(within) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, c) in within.char_indices() {
        match c {
            '\\' if !is_escaped => is_escaped = true,
            '"' if !is_escaped => return Some((value, &within[at + 1..])),
            _ => {
                value.push(c);
                is_escaped = false;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(challenges: &[&str]) -> Option<String> {
        let with = Credentials {
            user: b"Mufasa",
            password: b"Circle of Life",
            method: "GET",
            target: "/dir/index.html",
            body: b"",
            number: 1,
        };
        answer(challenges.iter().map(|text| text.as_bytes()), &with)
    }

    #[test]
    fn the_hashes_are_those_of_the_standards() {
        // RFC 7616 3.9.1, whose client nonce is given.
        for (hash, secret, response) in [
            (Hash::Md5, "3d78807defe7de2157e2b0b6573a855f", "8ca523f5e9506fed4657c9700eebdbec"),
            (
                Hash::Sha256,
                "7987c64c30e25f1b74be53f966b49b90f2808aa92faf9a00262392d7b4794232",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            ),
        ] {
            let got = hash.of(&[b"Mufasa", b"http-auth@example.org", b"Circle of Life"]);
            assert_eq!(got, secret);
            let asked = hash.of(&[b"GET", b"/dir/index.html"]);
            let parts: [&[u8]; 6] = [
                got.as_bytes(),
                b"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
                b"00000001",
                b"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
                b"auth",
                asked.as_bytes(),
            ];
            assert_eq!(hash.of(&parts), response);
        }
        // Without a quality of protection, as in RFC 2069; computed with another program.
        let answer = answered(&[
            "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"",
        ]);
        assert_eq!(
            answer.unwrap(),
            "Digest username=\"Mufasa\", realm=\"testrealm@host.com\", \
             nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", uri=\"/dir/index.html\", \
             response=\"2951cdbad33b2271fcb6b8e7b8feac23\""
        );
    }

    #[test]
    fn challenges_are_answered_in_their_own_terms() {
        for (challenge, wanted) in [
            ("digest REALM=r,nonce=n", &["realm=\"r\", nonce=\"n\"", "response=\""][..]),
            ("Digest realm=\"a \\\"b\\\" \\\\c\", nonce=\"\"", &["realm=\"a \\\"b\\\" \\\\c\""]),
            (
                "Digest realm=\"r\", nonce=\"n\", qop=\"auth-int, auth\", opaque=\"o\", algorithm=SHA-256",
                &["algorithm=SHA-256", "opaque=\"o\"", "qop=auth, nc=00000001, cnonce=\""],
            ),
            (
                "Digest nonce=n, qop=auth-int, algorithm=md5-SESS",
                &["algorithm=md5-SESS", "qop=auth-int"],
            ),
            ("Digest nonce=n, algorithm=SHA-512-256-sess, stale=FALSE", &["cnonce=\""]),
        ] {
            let answer = answered(&[challenge]).unwrap_or_else(|| panic!("{challenge}"));
            for part in wanted {
                assert!(answer.contains(part), "{challenge}: {answer}");
            }
        }
        for challenge in [
            "",
            "Digest",
            "Basic realm=\"r\"",
            "Digest realm=\"r\"",
            "Digest nonce=\"n",
            "Digest nonce=n, qop=other",
            "Digest nonce=n, algorithm=SHA-1",
            "Digest nonce=\"a\u{1}b\"",
        ] {
            assert_eq!(answered(&[challenge]), None, "{challenge}");
        }
        let both = ["Basic realm=x", "Digest nonce=n, algorithm=SHA-1", "Digest nonce=m, qop=auth"];
        assert!(answered(&both).is_some_and(|answer| answer.contains("nonce=\"m\"")));
    }

    #[test]
    fn every_prefix_is_harmless() {
        let text =
            "Digest realm=\"ä\\\"\", nonce=n, qop=\"auth,auth-int\", algorithm=MD5-sess, ö=1";
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            drop(answered(&[&text[..end]]));
        }
    }
}
