//! Bodies as a web page's form sends them: `application/x-www-form-urlencoded` and
//! `multipart/form-data`, told as curl's `--form` tells them.
//!
//! Reading files and choosing the boundary are the caller's.

use plimsoll_core::template::{self, Encoding};

/// The content type of [`urlencoded`].
pub const URLENCODED: &str = "application/x-www-form-urlencoded";

/// What templates of tables call this encoding.
const FORM: &str = "form";

const DEFAULT_TYPE: &str = "application/octet-stream";

/// What files of an ending are.
const TYPES: [(&str, &str); 12] = [
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("json", "application/json"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("xml", "application/xml"),
];

/// A part of a form as it is given: `name=value`, `name=@file` or `name=<file`, the last without
/// the file's name; then `;type=…` and `;filename=…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormPart {
    /// The field.
    pub name: String,
    /// What it holds.
    pub content: Content,
    /// The name of the file it claims to be.
    pub filename: Option<String>,
    /// Its content type.
    pub content_type: Option<String>,
}

/// Where a part's content comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// It was given.
    Text(String),
    /// It is in a file.
    File(String),
}

/// A part that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// It has no name.
    #[error("a form field has no '=': write 'name=value' or 'name=@file'")]
    Name,
    /// It would end the line it has to stand in.
    #[error("form part '{0}' has a line break in its type: leave it out")]
    Type(String),
    /// A template in a value.
    #[error(transparent)]
    Template(#[from] template::TemplateError),
}

impl FormPart {
    /// Reads a part of a multipart form.
    ///
    /// # Errors
    /// When it has no name.
    pub fn parse(text: &str) -> Result<Self, FormError> {
        let (name, value) = named(text)?;
        let (value, filename, content_type) = options(value);
        if content_type.as_ref().is_some_and(|value| value.contains(char::is_control)) {
            return Err(FormError::Type(name.escape_default().to_string()));
        }
        let (content, filename, content_type) =
            match (value.strip_prefix('@'), value.strip_prefix('<')) {
                (Some(path), _) => {
                    let own = path.rsplit('/').next().unwrap_or(path).to_owned();
                    let content_type = content_type.unwrap_or_else(|| type_of(&own).to_owned());
                    (
                        Content::File(path.to_owned()),
                        Some(filename.unwrap_or(own)),
                        Some(content_type),
                    )
                }
                (_, Some(path)) => (Content::File(path.to_owned()), filename, content_type),
                _ => (Content::Text(value.to_owned()), filename, content_type),
            };
        Ok(Self { name: name.to_owned(), content, filename, content_type })
    }

    /// Reads a part of an urlencoded form: `name=value` or `name=@file`.
    ///
    /// # Errors
    /// When it has no name.
    pub fn parse_urlencoded(text: &str) -> Result<Self, FormError> {
        let (name, value) = named(text)?;
        let content = match value.strip_prefix('@') {
            Some(path) => Content::File(path.to_owned()),
            None => Content::Text(value.to_owned()),
        };
        Ok(Self { name: name.to_owned(), content, filename: None, content_type: None })
    }
}

fn named(text: &str) -> Result<(&str, &str), FormError> {
    let split = text.split_once('=').filter(|(name, _)| !name.is_empty());
    split.ok_or(FormError::Name)
}

/// Takes `;type=` and `;filename=` off the end. Anything else after a semicolon is of the value.
fn options(value: &str) -> (&str, Option<String>, Option<String>) {
    let (mut value, mut filename, mut content_type) = (value, None, None);
    while let Some((before, option)) = value.rsplit_once(';') {
        match option.trim_start().split_once('=') {
            Some(("type", given)) if content_type.is_none() => {
                content_type = Some(given.trim().to_owned());
            }
            Some(("filename", given)) if filename.is_none() => {
                filename = Some(given.trim().trim_matches('"').to_owned());
            }
            _ => break,
        }
        value = before;
    }
    (value, filename, content_type)
}

fn type_of(file: &str) -> &'static str {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let known = ending.and_then(|ending| TYPES.iter().find(|(known, _)| *known == ending));
    known.map_or(DEFAULT_TYPE, |(_, content_type)| content_type)
}

/// Writes fields as `application/x-www-form-urlencoded` (WHATWG URL, section 5.2). With
/// `templates`, those in text stay, and values of tables will be written for a form unless the
/// template says otherwise.
///
/// # Errors
/// When a text is no template.
pub fn urlencoded(parts: &[(&str, &[u8])], templates: bool) -> Result<Vec<u8>, FormError> {
    let mut out = Vec::new();
    for (name, value) in parts {
        if !out.is_empty() {
            out.push(b'&');
        }
        encode(&mut out, name.as_bytes(), templates)?;
        out.push(b'=');
        encode(&mut out, value, templates)?;
    }
    Ok(out)
}

fn encode(out: &mut Vec<u8>, bytes: &[u8], templates: bool) -> Result<(), FormError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if templates => {
            for span in template::spans(text)? {
                match span {
                    template::Span::Text(text) => Encoding::Form.write(text.as_bytes(), out),
                    template::Span::Template(text) => {
                        out.extend_from_slice(template::encoded(text, FORM).as_bytes());
                    }
                }
            }
        }
        _ => Encoding::Form.write(bytes, out),
    }
    Ok(())
}

/// The content type of [`multipart`].
#[must_use]
pub fn multipart_type(boundary: &str) -> String {
    format!("multipart/form-data; boundary={boundary}")
}

/// Writes parts with their contents as `multipart/form-data` (RFC 7578), if `boundary` is in none
/// of the contents; otherwise another boundary is needed.
#[must_use]
pub fn multipart(parts: &[(&FormPart, &[u8])], boundary: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for (part, content) in parts {
        let mut windows = content.windows(boundary.len());
        if windows.any(|window| window == boundary.as_bytes()) {
            return None;
        }
        let mut head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
            escaped(&part.name)
        );
        if let Some(filename) = &part.filename {
            head.push_str(&format!("; filename=\"{}\"", escaped(filename)));
        }
        if let Some(content_type) = &part.content_type {
            head.push_str(&format!("\r\nContent-Type: {content_type}"));
        }
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(content);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Some(out)
}

/// A name as it may stand in quotes (HTML, "multipart form data").
fn escaped(name: &str) -> String {
    name.replace('\n', "%0A").replace('\r', "%0D").replace('"', "%22")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, content: Content, filename: Option<&str>, kind: Option<&str>) -> FormPart {
        let owned = |text: &str| text.to_owned();
        FormPart {
            name: owned(name),
            content,
            filename: filename.map(owned),
            content_type: kind.map(owned),
        }
    }

    #[test]
    fn parts_are_read_as_curl_reads_them() {
        let text = |text: &str| Content::Text(text.to_owned());
        let file = |path: &str| Content::File(path.to_owned());
        let octets = Some("application/octet-stream");
        for (given, want) in [
            ("a=b", part("a", text("b"), None, None)),
            ("a=", part("a", text(""), None, None)),
            ("a=b=c;d", part("a", text("b=c;d"), None, None)),
            ("a=b;type=text/x", part("a", text("b"), None, Some("text/x"))),
            ("a=b;x=y;type=text/x", part("a", text("b;x=y"), None, Some("text/x"))),
            ("a=@dir/x.PNG", part("a", file("dir/x.PNG"), Some("x.PNG"), Some("image/png"))),
            ("a=@x", part("a", file("x"), Some("x"), octets)),
            (
                "a=@x;type=text/x;filename=\"y z\"",
                part("a", file("x"), Some("y z"), Some("text/x")),
            ),
            ("a=<x.png", part("a", file("x.png"), None, None)),
        ] {
            assert_eq!(FormPart::parse(given), Ok(want), "{given}");
        }
        assert_eq!(
            FormPart::parse_urlencoded("a=b;type=c"),
            Ok(part("a", text("b;type=c"), None, None))
        );
        assert_eq!(FormPart::parse_urlencoded("a=@b"), Ok(part("a", file("b"), None, None)));
        for refused in ["", "a", "=b", "a=b;type=x\r\nY: z", "a\r\n"] {
            let error = FormPart::parse(refused).expect_err(refused).to_string();
            assert!(!error.contains(['\r', '\n']), "{error}");
        }
    }

    #[test]
    fn urlencoded_is_exact_and_leaves_templates() {
        let fields: [(&str, &[u8]); 3] =
            [("a b", "ä&=+%".as_bytes()), ("id", b"x {{seq}}{{{{"), ("f", b"\xff*-._~")];
        assert_eq!(
            String::from_utf8(urlencoded(&fields, true).unwrap()).unwrap(),
            "a+b=%C3%A4%26%3D%2B%25&id=x+{{seq}}%7B%7B&f=%FF*-._%7E"
        );
        let table: [(&str, &[u8]); 2] =
            [("n", b"{{csv:t.csv:a}}"), ("r", b"{{ csv:t.csv:a raw }}")];
        assert_eq!(
            String::from_utf8(urlencoded(&table, true).unwrap()).unwrap(),
            "n={{csv:t.csv:a form}}&r={{ csv:t.csv:a raw }}"
        );
        let plain = urlencoded(&fields[1..2], false).unwrap();
        assert_eq!(plain, b"id=x+%7B%7Bseq%7D%7D%7B%7B%7B%7B");
        assert!(urlencoded(&[("a", b"{{b}}")], true).is_err());
    }

    #[test]
    fn multipart_is_exact_and_knows_a_bad_boundary() {
        let text = FormPart::parse("na\"me\r\n=value").unwrap();
        let file = FormPart::parse("f=@x.txt").unwrap();
        let parts: [(&FormPart, &[u8]); 2] = [(&text, b"value"), (&file, b"\x00--no\r\n")];
        let body = multipart(&parts, "BOUND").expect("not in the contents");
        assert_eq!(
            String::from_utf8(body).unwrap(),
            "--BOUND\r\nContent-Disposition: form-data; name=\"na%22me%0D%0A\"\r\n\r\nvalue\r\n\
             --BOUND\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.txt\"\r\n\
             Content-Type: text/plain\r\n\r\n\u{0}--no\r\n\r\n--BOUND--\r\n"
        );
        assert_eq!(multipart(&parts, "no"), None);
        assert_eq!(multipart_type("B"), "multipart/form-data; boundary=B");
    }
}
