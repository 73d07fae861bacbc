//! `--secret-source`: where `k6/secrets` gets its values from. `mock` has them in the flag itself,
//! `file` in lines of `name=value`.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// The most sources.
const SOURCES_MAX: usize = 100;

/// What stands for a secret in a text that is shown.
const REDACTED: &str = "***SECRET_REDACTED***";

/// What a source is called that scripts mean when they name none.
const DEFAULT: &str = "default";

/// The sources of a run. Clones know the same secrets.
#[derive(Clone, Default)]
pub struct SecretSources {
    sources: Vec<Source>,
    /// The secrets that the script has got.
    told: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
struct Source {
    name: String,
    is_default: bool,
    values: Vec<(String, String)>,
}

/// Values are never shown.
impl std::fmt::Debug for SecretSources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.sources.iter().map(|source| &source.name);
        f.debug_list().entries(names).finish()
    }
}

impl SecretSources {
    /// Reads what flags say: `mock=a=1,b=2`, `file=PATH`, `file=filename=PATH,name=N,default`. A
    /// function reads the files.
    ///
    /// # Errors
    /// What is wrong, one line, without any value.
    pub fn parse(
        texts: &[String],
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        if texts.len() > SOURCES_MAX {
            return Err(format!("{} sources are too many: give {SOURCES_MAX}", texts.len()));
        }
        let mut sources: Vec<Source> = Vec::new();
        for text in texts {
            let source = Source::parse(text, read)?;
            if sources.iter().any(|known| known.name == source.name) {
                return Err(format!("there are two sources '{}': give one name=N", source.name));
            }
            if source.is_default && sources.iter().any(|known| known.is_default) {
                return Err(format!("'{}' is a second default source", source.name));
            }
            sources.push(source);
        }
        if let [only] = &mut sources[..] {
            only.is_default = true;
        }
        Ok(Self { sources, told: Arc::default() })
    }

    /// A secret of a source, or of the default one.
    ///
    /// # Errors
    /// Why the secret cannot be read, in k6's words.
    pub fn find(&self, source: Option<&str>, name: &str) -> Result<String, String> {
        if self.sources.is_empty() {
            return Err("no secret sources are configured".to_owned());
        }
        let wanted = source.unwrap_or(DEFAULT);
        let is_it =
            |known: &&Source| known.name == wanted || (known.is_default && wanted == DEFAULT);
        let found = self.sources.iter().find(is_it);
        let found = found
            .ok_or_else(|| format!("no secret source with name \"{wanted}\" is configured"))?;
        let value = found.values.iter().rev().find(|(known, _)| known == name);
        let (_, value) = value.ok_or_else(|| "no value".to_owned())?;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !value.is_empty() && !told.contains(value) {
            told.push(value.clone());
        }
        Ok(value.clone())
    }

    /// A text without the secrets that the script has got.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.iter().fold(Cow::Borrowed(text), |text, secret| match text.contains(secret.as_str()) {
            true => Cow::Owned(text.replace(secret.as_str(), REDACTED)),
            false => text,
        })
    }
}

impl Source {
    fn parse(text: &str, read: &dyn Fn(&str) -> Result<String, String>) -> Result<Self, String> {
        let (kind, rest) = text.split_once('=').unwrap_or((text, ""));
        let mut source = Self { name: kind.to_owned(), is_default: false, values: Vec::new() };
        let mut path = "";
        if !["mock", "file"].contains(&kind) {
            // What stands there may be a secret.
            return Err("a source begins with mock= or file=".to_owned());
        }
        for part in rest.split(',') {
            match part.split_once('=') {
                None if part == DEFAULT => source.is_default = true,
                Some(("name", name)) => name.clone_into(&mut source.name),
                Some(("filename", name)) if kind == "file" => path = name,
                None if kind == "file" => path = part,
                Some((name, value)) if kind == "mock" => {
                    source.values.push((name.to_owned(), value.to_owned()));
                }
                _ => return Err(format!("{kind}: write name=value, separated by commas")),
            }
        }
        if kind == "file" {
            let text = read(path).map_err(|why| format!("file '{path}': {why}"))?;
            for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
                let wrong = || format!("file '{path}', line {}: write name=value", at + 1);
                let (name, value) = line.split_once('=').ok_or_else(wrong)?;
                source.values.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(texts: &[&str]) -> Result<SecretSources, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        SecretSources::parse(&texts, &|path| match path {
            "s.env" => Ok("a=from file\nc = other \n\nb=x=y".to_owned()),
            "wrong.env" => Ok("a=1\nhunter2".to_owned()),
            _ => Err("no such file".to_owned()),
        })
    }

    #[test]
    fn secrets_that_a_script_has_got_are_not_shown() {
        let sources = parse(&["mock=a=top,b=none"]).expect("sources");
        let known = sources.clone();
        assert_eq!(sources.redact("top none"), "top none", "nobody has asked");
        assert_eq!(known.find(None, "a").as_deref(), Ok("top"));
        let shown = sources.redact("a top, stop none");
        assert_eq!(shown, "a ***SECRET_REDACTED***, s***SECRET_REDACTED*** none");
    }

    /// What k6 1.8 has found.
    #[test]
    fn secrets_are_found() {
        let none = "no secret source with name \"default\" is configured";
        for (texts, source, name, want) in [
            (&["mock=a=1,b=x=y"][..], None, "b", Ok("x=y")),
            (&["mock=default,a=1"], None, "a", Ok("1")),
            (&["mock=a=1"], None, "b", Err("no value")),
            (&["mock=a=1"], Some("default"), "a", Ok("1")),
            (&["file=s.env"], None, "c ", Ok(" other ")),
            (&["file=s.env"], None, "c", Err("no value")),
            (&["file=s.env,name=two", "mock=a=z,default"], None, "a", Ok("z")),
            (&["file=s.env,name=two", "mock=a=z,default"], Some("two"), "b", Ok("x=y")),
            (&["file=name=two,filename=s.env,default"], None, "a", Ok("from file")),
            (&["mock=name=two,b=5", "file=s.env"], None, "a", Err(none)),
            (&["mock=name=two,b=5", "file=s.env"], Some("file"), "a", Ok("from file")),
            (&[], None, "a", Err("no secret sources are configured")),
        ] {
            let found = parse(texts).expect("sources").find(source, name);
            assert_eq!(found.as_deref().map_err(String::as_str), want, "{texts:?} {name}");
        }
    }

    #[test]
    fn sources_that_are_none_are_refused_without_their_values() {
        for (texts, says) in [
            (&["hunter2"][..], "a source begins with mock= or file="),
            (&["mock=hunter2"], "mock: write name=value"),
            (&["mock"], "mock: write name=value"),
            (&["file=nope"], "file 'nope': no such file"),
            (&["file=wrong.env"], "file 'wrong.env', line 2: write name=value"),
            (&["file=s.env,a=hunter2"], "file: write name=value"),
            (&["mock=a=1", "mock=b=2"], "there are two sources 'mock'"),
            (&["mock=a=1,default", "file=s.env,default"], "'file' is a second default source"),
        ] {
            let what = parse(texts).expect_err(says);
            assert!(what.starts_with(says) && !what.contains("hunter2"), "{what}");
        }
        let debugged = format!("{:?}", parse(&["mock=a=hunter2"]).expect("a source"));
        assert_eq!(debugged, "[\"mock\"]");
    }
}
