//! What the name of a module stands for: one that is built in, a file, or what a URL names.
//!
//! Absent on purpose: looking anything up. The caller reads files and what it has kept of URLs, and
//! nothing is fetched.

use super::library;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Resolved {
    /// A module that is built in, by its name.
    BuiltIn(String),
    /// A file, by its absolute path.
    File(String),
    /// A library that is here, or what the host has kept, by its URL.
    Remote(String),
}

impl Resolved {
    /// The name under which the module is known to the engine, and that stack traces show.
    pub(super) fn name(&self) -> String {
        match self {
            Self::BuiltIn(name) => name.clone(),
            Self::File(path) => format!("file://{path}"),
            Self::Remote(url) => url.clone(),
        }
    }

    /// The path of a file, or the name of anything else: what its text is known by.
    pub(super) fn key(&self) -> &str {
        match self {
            Self::BuiltIn(key) | Self::File(key) | Self::Remote(key) => key,
        }
    }

    /// What [`key`](Self::key) was made of.
    pub(super) fn of_key(key: &str) -> Self {
        if key.starts_with('/') { Self::File(key.to_owned()) } else { Self::of_name(key) }
    }

    /// What [`name`](Self::name) was made of.
    pub(super) fn of_name(name: &str) -> Self {
        match name.strip_prefix("file://") {
            Some(path) => Self::File(path.to_owned()),
            None if name.starts_with(REMOTE) => Self::Remote(name.to_owned()),
            None => Self::BuiltIn(name.to_owned()),
        }
    }
}

/// What a URL that may be imported begins with.
pub(super) const REMOTE: &str = "https://";

/// What the names of parts of modules begin with, which only parts import.
const INTERNAL: &str = "plimsoll:";

/// Modules that are built in.
pub(super) const BUILT_IN: [&str; 18] = [
    "k6",
    "k6/crypto",
    "k6/data",
    "k6/encoding",
    "k6/execution",
    "k6/html",
    "k6/http",
    "k6/metrics",
    "k6/net/grpc",
    "k6/secrets",
    "k6/timers",
    "k6/websockets",
    "k6/ws",
    "k6/experimental/csv",
    "k6/experimental/fs",
    "k6/experimental/streams",
    "k6/experimental/timers",
    "k6/experimental/websockets",
];

/// Modules of k6 that are refused, and why.
const REFUSED: [(&str, &str); 4] = [
    ("k6/browser", "it drives a browser, which is not supported"),
    ("k6/crypto/x509", "certificates are not parsed"),
    ("k6/experimental/browser", "it drives a browser, which is not supported"),
    ("k6/experimental/redis", "scripts cannot speak to Redis"),
];

/// What a specifier stands for in a file of this path, or in what has this URL; in a part of a
/// module that is built in if it is empty.
///
/// # Errors
/// Why it stands for nothing, and what to do.
pub(super) fn resolve(specifier: &str, base: &str) -> Result<Resolved, String> {
    let is_internal = base.is_empty() && specifier.starts_with(INTERNAL);
    if is_internal || BUILT_IN.contains(&specifier) {
        return Ok(Resolved::BuiltIn(specifier.to_owned()));
    }
    if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == specifier) {
        return Err(format!("cannot import '{specifier}': {why}"));
    }
    if specifier.starts_with("k6/x/") {
        return Err(format!(
            "cannot import '{specifier}': extensions of k6 are programs in Go, which are not \
             supported"
        ));
    }
    if specifier.starts_with("k6/") {
        return Err(format!(
            "cannot import '{specifier}': the modules are {}",
            BUILT_IN.join(", ")
        ));
    }
    if specifier.starts_with(REMOTE) {
        return remote(specifier);
    }
    if specifier.starts_with(['.', '/'])
        && let Some(rest) = base.strip_prefix(REMOTE)
    {
        return remote(&join(rest, specifier)?);
    }
    if let Some(path) = specifier.strip_prefix("file://") {
        return absolute(path).ok_or_else(|| {
            format!("cannot import '{specifier}': a file URL has to be file:// and a path from /")
        });
    }
    if specifier.contains("://") {
        return Err(format!(
            "cannot import '{specifier}': nothing is downloaded; save it beside the script, and \
             import it by its path"
        ));
    }
    if specifier.starts_with('/') || specifier.starts_with('.') {
        let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = if specifier.starts_with('/') {
            specifier.to_owned()
        } else {
            format!("{folder}/{specifier}")
        };
        return absolute(&path)
            .ok_or_else(|| format!("cannot import '{specifier}': the path leads above /"));
    }
    Err(format!(
        "cannot import '{specifier}': packages are not looked up; give a path such as \
         './{specifier}.js', or bundle the script"
    ))
}

fn remote(url: &str) -> Result<Resolved, String> {
    let canonical = library::canonical(url)?;
    Ok(Resolved::Remote(canonical.unwrap_or_else(|| url.to_owned())))
}

/// The URL of what a module imports by its path. `base` is the module's URL after `https://`.
fn join(base: &str, specifier: &str) -> Result<String, String> {
    let (host, path) = base.split_once('/').unwrap_or((base, ""));
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = match specifier.strip_prefix('/') {
        Some(path) => format!("/{path}"),
        None => format!("/{folder}/{specifier}"),
    };
    match absolute(&path) {
        Some(Resolved::File(path)) => Ok(format!("{REMOTE}{host}{path}")),
        _ => Err(format!("cannot import '{specifier}': the path leads above {REMOTE}{host}/")),
    }
}

/// The path of a file that `open()` names, seen from a file of the path `base`.
///
/// # Errors
/// Why it cannot be one.
pub(super) fn resolve_file(name: &str, base: &str) -> Result<String, String> {
    let name = name.strip_prefix("file://").unwrap_or(name);
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if name.starts_with('/') { name.to_owned() } else { format!("{folder}/{name}") };
    match absolute(&path) {
        Some(Resolved::File(path)) => Ok(path),
        _ => Err(format!("cannot open '{name}': the path leads above /")),
    }
}

/// A path from the root without `.` and `..`; `None` if it leads above it, or is not one.
fn absolute(path: &str) -> Option<Resolved> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.strip_prefix('/')?.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(Resolved::File(format!("/{}", parts.join("/"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_modules_and_files() {
        for (specifier, want) in [
            ("k6", "k6"),
            ("k6/http", "k6/http"),
            ("./b.js", "file:///s/b.js"),
            ("../b.js", "file:///b.js"),
            ("./x/../y//z.js", "file:///s/y/z.js"),
            ("/t/b.js", "file:///t/b.js"),
            ("file:///t/b.js", "file:///t/b.js"),
            ("https://x.test/a/b.js", "https://x.test/a/b.js"),
            (
                "https://jslib.k6.io/k6-utils/1.4.0/index.js",
                "https://jslib.k6.io/k6-utils/index.js",
            ),
        ] {
            let name = resolve(specifier, "/s/a.js").map(|resolved| resolved.name());
            assert_eq!(name.as_deref(), Ok(want), "{specifier}");
            assert_eq!(Resolved::of_name(want).name(), want);
        }
    }

    #[test]
    fn modules_of_a_url_import_beside_it() {
        for (specifier, want) in [
            ("./b.js", "https://x.test/p/b.js"),
            ("../b.js", "https://x.test/b.js"),
            ("/b.js", "https://x.test/b.js"),
            ("k6/http", "k6/http"),
            ("https://y.test/", "https://y.test/"),
        ] {
            let name = resolve(specifier, "https://x.test/p/a.js").map(|resolved| resolved.name());
            assert_eq!(name.as_deref(), Ok(want), "{specifier}");
        }
        assert!(resolve("../../b.js", "https://x.test/p/a.js").is_err());
    }

    #[test]
    fn what_is_refused_says_what_to_do() {
        for (specifier, part) in [
            ("k6/x/sql", "extensions of k6"),
            ("k6/browser", "drives a browser"),
            ("k6/htpp", "the modules are k6, k6/crypto"),
            ("https://jslib.k6.io/k6chaijs-contracts/4.3.4.0/index.js", "schemas are not checked"),
            ("ftp://x.test/a.js", "nothing is downloaded"),
            ("http://example.com/a.js", "nothing is downloaded"),
            ("lodash", "'./lodash.js'"),
            ("plimsoll:html/core", "packages are not looked up"),
            ("../../../b.js", "above /"),
            ("file://b.js", "from /"),
        ] {
            let error = resolve(specifier, "/s/a.js").unwrap_err();
            assert!(error.contains(part) && error.contains(specifier), "{error}");
            assert!(!error.contains('\n'));
        }
    }
}
