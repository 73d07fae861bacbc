//! The libraries of `jslib.k6.io` that scripts import by URL. Nothing is downloaded: each is an
//! equivalent of our own (`lib`), for every version that k6's site has under its name.
//!
//! Parts of modules that are built in are here too, as far as they are JavaScript.
//!
//! What is absent on purpose: other libraries of the site, which the host may have a copy of.

/// Where the libraries are.
const SITE: &str = "https://jslib.k6.io/";

/// The libraries by name, each with its text.
const LIBRARIES: [(&str, &str); 6] = [
    ("formdata", include_str!("lib/formdata.js")),
    ("k6-summary", include_str!("lib/k6_summary.js")),
    ("k6-utils", include_str!("lib/k6_utils.js")),
    ("k6chaijs", include_str!("lib/k6chaijs.js")),
    ("papaparse", include_str!("lib/papaparse.js")),
    ("url", include_str!("lib/url.js")),
];

/// Parts of libraries, by path.
const PARTS: [(&str, &str); 3] = [
    ("k6chaijs/assertion.js", include_str!("lib/k6chaijs_assertion.js")),
    ("k6chaijs/values.js", include_str!("lib/k6chaijs_values.js")),
    ("url/parser.js", include_str!("lib/url_parser.js")),
];

/// The modules that are built in, as far as they are JavaScript.
const BUILT_IN: [(&str, &str); 17] = [
    ("plimsoll:blob", include_str!("lib/blob.js")),
    ("plimsoll:csv", include_str!("lib/csv.js")),
    ("plimsoll:fs", include_str!("lib/fs.js")),
    ("plimsoll:fs/file", include_str!("lib/fs_file.js")),
    ("plimsoll:grpc", include_str!("lib/grpc.js")),
    ("plimsoll:html", include_str!("lib/html.js")),
    ("plimsoll:html/element", include_str!("lib/html_element.js")),
    ("plimsoll:html/kinds", include_str!("lib/html_kinds.js")),
    ("plimsoll:html/response", include_str!("lib/response_html.js")),
    ("plimsoll:sockets/close", include_str!("lib/sockets_close.js")),
    ("plimsoll:streams", include_str!("lib/streams.js")),
    ("plimsoll:streams/queue", include_str!("lib/streams_queue.js")),
    ("plimsoll:streams/writable", include_str!("lib/streams_writable.js")),
    ("plimsoll:subtle", include_str!("lib/subtle.js")),
    ("plimsoll:subtle/der", include_str!("lib/subtle_der.js")),
    ("plimsoll:websockets", include_str!("lib/websockets.js")),
    ("plimsoll:ws", include_str!("lib/ws.js")),
];

/// Libraries that are refused, and why.
const REFUSED: [(&str, &str); 1] =
    [("k6chaijs-contracts", "schemas are not checked: assert the properties that matter")];

/// The URL that stands for a library in every version, and for a part of one; `None` for what is
/// not here.
///
/// # Errors
/// Why a library is refused.
pub(super) fn canonical(url: &str) -> Result<Option<String>, String> {
    let Some(path) = url.strip_prefix(SITE) else { return Ok(None) };
    let name = path.split('/').next().unwrap_or_default();
    if let Some((_, why)) = REFUSED.iter().find(|(known, _)| *known == name) {
        return Err(format!("cannot import '{url}': {why}"));
    }
    if PARTS.iter().any(|(part, _)| *part == path) {
        return Ok(Some(url.to_owned()));
    }
    let is_index = path.split('/').count() == 3 && path.ends_with("/index.js");
    let is_known = LIBRARIES.iter().any(|(known, _)| *known == name);
    Ok((is_index && is_known).then(|| format!("{SITE}{name}/index.js")))
}

/// The text of what [`canonical`] has named, or of a module that is built in.
pub(super) fn text(url: &str) -> Option<&'static str> {
    let Some(path) = url.strip_prefix(SITE) else {
        return BUILT_IN.iter().find(|(name, _)| *name == url).map(|(_, text)| *text);
    };
    let part = PARTS.iter().find(|(part, _)| *part == path);
    let library = |(name, _): &&(&str, &str)| path.strip_suffix("/index.js") == Some(name);
    part.or_else(|| LIBRARIES.iter().find(library)).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_the_same_library() {
        for (path, want) in [
            ("k6-utils/1.4.0/index.js", Some("k6-utils/index.js")),
            ("k6-utils/2.0.0/index.js", Some("k6-utils/index.js")),
            ("k6-utils/1.4.0/other.js", None),
            ("k6-utils/index.js", None),
            ("url/parser.js", Some("url/parser.js")),
            ("ajv/6.12.5/index.js", None),
        ] {
            let found = canonical(&format!("{SITE}{path}")).unwrap();
            assert_eq!(found, want.map(|want| format!("{SITE}{want}")), "{path}");
            assert!(found.is_none_or(|url| text(&url).is_some()), "{path}");
        }
        assert_eq!(canonical("https://example.com/k6-utils/1.4.0/index.js"), Ok(None));
        assert_eq!(canonical(&format!("{SITE}aws/0.11.0/s3.js")), Ok(None));
        assert!(canonical(&format!("{SITE}k6chaijs-contracts/4.3.4.0/index.js")).is_err());
    }

    /// A byte outside of ASCII would double the memory of a library's strings.
    #[test]
    fn texts_are_ascii() {
        for (name, text) in LIBRARIES.iter().chain(&PARTS).chain(&BUILT_IN) {
            assert!(text.is_ascii() && text.starts_with("// "), "{name}");
        }
    }
}
