//! A load's command line as reports show it: as one would type it, secrets masked.

use plimsoll_core::secret::{Kind as Secret, Masks, RUN_FLAGS, run_flag};

use super::{Kind, Load, LoadCall};
use crate::testers::Tester;

/// Short forms of `plimsoll run`'s flags.
const SHORT: [(&str, Secret); 3] =
    [("-H", Secret::Header), ("-b", Secret::Body), ("-F", Secret::Field)];

impl Load {
    /// How it is called, as people read it; `{url}` stands for the address.
    #[must_use]
    pub fn command(&self) -> String {
        let words = match &self.call {
            LoadCall::Arguments(arguments) => arguments_shown(self.tester, arguments),
            LoadCall::Plan(plan) => plan_words(self.kind, &plan_shown(plan)),
        };
        let quoted = words.iter().map(|word| match word.as_str() {
            "{url}" => word.clone(),
            word => shell_words::quote(word).into_owned(),
        });
        let program = [self.tester.program()].into_iter().chain(self.tester.dialect());
        program.map(str::to_owned).chain(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// A plan's keys with their secrets masked.
pub(crate) fn plan_shown(plan: &toml::Table) -> toml::Table {
    let masks = Masks { names: names(plan.get("redact")), shows_all: false };
    let shown = |key: &str, value: &toml::Value| match value {
        toml::Value::String(text) => masks.given(run_flag(key), text).into(),
        other => other.clone(),
    };
    let entry = |(key, value): (&String, &toml::Value)| {
        let value = match value {
            toml::Value::Array(values) => {
                values.iter().map(|value| shown(key, value)).collect::<Vec<_>>().into()
            }
            one => shown(key, one),
        };
        (key.clone(), value)
    };
    plan.iter().map(entry).collect()
}

fn names(value: Option<&toml::Value>) -> Vec<String> {
    match value {
        Some(toml::Value::String(name)) => vec![name.clone()],
        Some(toml::Value::Array(names)) => {
            names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

fn plan_words(kind: Kind, plan: &toml::Table) -> Vec<String> {
    let mut words = vec![kind.name().to_owned()];
    for (key, value) in plan {
        let several = match value {
            toml::Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in several {
            let text = match value {
                toml::Value::Boolean(false) => continue,
                toml::Value::Boolean(true) => None,
                toml::Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            };
            words.push(format!("--{key}"));
            words.extend(text);
        }
    }
    words.push("{url}".to_owned());
    words
}

/// The flags of a tester that take what may be secret.
fn flags(tester: Tester) -> Vec<(String, Secret)> {
    let own: &[(&str, Secret)] = match tester {
        Tester::Wrk | Tester::Wrk2 => &[("-H", Secret::Header), ("--header", Secret::Header)],
        Tester::Ab => &[
            ("-A", Secret::Credential),
            ("-P", Secret::Credential),
            ("-C", Secret::Credential),
            ("-H", Secret::Header),
            ("-X", Secret::Proxy),
        ],
        Tester::Hey | Tester::Oha => &[
            ("-a", Secret::Credential),
            ("-H", Secret::Header),
            ("-d", Secret::Body),
            ("-x", Secret::Proxy),
        ],
        Tester::Fortio => &[
            ("-user", Secret::Credential),
            ("--user", Secret::Credential),
            ("-H", Secret::Header),
            ("-payload", Secret::Body),
            ("--payload", Secret::Body),
        ],
        Tester::K6 | Tester::PlimsollK6 => &[("-e", Secret::Variable), ("--env", Secret::Variable)],
        Tester::Plimsoll => &SHORT,
    };
    let mut all: Vec<_> = own.iter().map(|(flag, kind)| ((*flag).to_owned(), *kind)).collect();
    if tester == Tester::Plimsoll {
        all.extend(RUN_FLAGS.iter().map(|(name, kind)| (format!("--{name}"), *kind)));
    }
    all
}

/// A tester's arguments with their secrets masked.
pub(crate) fn arguments_shown(tester: Tester, arguments: &[String]) -> Vec<String> {
    let (flags, masks) = (flags(tester), Masks::default());
    let takes_script = matches!(tester, Tester::Wrk | Tester::Wrk2 | Tester::Plimsoll);
    let (mut next, mut is_for_script) = (None, false);
    let shown = arguments.iter().map(|word| {
        if is_for_script {
            return masks.given(Secret::Credential, word);
        }
        if let Some(kind) = next.take() {
            return masks.given(kind, word);
        }
        is_for_script = takes_script && word == "--";
        if let Some((_, kind)) = flags.iter().find(|(flag, _)| flag == word) {
            next = Some(*kind);
            return word.clone();
        }
        glued(&flags, word, &masks).unwrap_or_else(|| match word.contains("://") {
            true => masks.url(word),
            false => masks.text(word),
        })
    });
    shown.collect()
}

/// A flag and its value in one word: `-Hname: value`, `--header=name: value`, `-user=me:x`.
fn glued(flags: &[(String, Secret)], word: &str, masks: &Masks) -> Option<String> {
    flags.iter().find_map(|(flag, kind)| {
        let value = word.strip_prefix(flag.as_str())?;
        let is_short = flag.len() == "-H".len();
        let (equals, value) = match value.strip_prefix('=') {
            Some(value) => ("=", value),
            None if is_short => ("", value),
            None => return None,
        };
        Some(format!("{flag}{equals}{}", masks.given(*kind, value)))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    fn command(lines: &str) -> String {
        let text = format!(
            "name = 's'\n[[servers]]\nname = 'a'\ncommand = 'x'\n[[loads]]\nname = 'l'\n{lines}\n"
        );
        crate::suite::read(Path::new("s.toml"), Path::new("."), &text).expect("a suite").loads[0]
            .command()
    }

    #[test]
    fn a_plan_is_shown_as_flags() {
        assert_eq!(
            command("connections = 10\nno-keepalive = true\nexpect = ['status=200', 'body*=a b']"),
            "plimsoll run --connections 10 --expect 'status=200' --expect 'body*=a b' \
             --no-keepalive {url}"
        );
    }

    #[test]
    fn a_search_is_shown_as_flags() {
        assert_eq!(
            command("kind = 'find'\nslo = ['p99<10ms', 'errors<1%']\nhold = '30s'"),
            "plimsoll find --hold 30s --slo 'p99<10ms' --slo 'errors<1%' {url}"
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        for lines in [
            "header = ['Accept: a', 'Authorization: hush']",
            "header = 'X-Own: hush'",
            "header = 'cookie: hush'",
            "basic = 'me:hush'",
            "body = 'hush'",
            "form = ['a=b', 'password=hush']",
            "form_urlencoded = 'token=hush'",
            "proxy = 'me:hush@h:1'",
            "script = 'a.lua'\nscript-arguments = ['hush']",
            "redact = 'accept'\nheader = 'Accept: hush'",
            "tester = 'wrk'\nargs = \"-H 'Authorization: hush' {url}\"",
            "tester = 'wrk'\nargs = \"-HX-Own:hush {url}\"",
            "tester = 'wrk'\nargs = \"-s a.lua {url} -- hush\"",
            "tester = 'ab'\nargs = '-A me:hush {url}'",
            "tester = 'ab'\nargs = '-Ame:hush {url}'",
            "tester = 'ab'\nargs = '-C id=hush {url}'",
            "tester = 'hey'\nargs = '-a me:hush {url}'",
            "tester = 'hey'\nargs = '-a=me:hush {url}'",
            "tester = 'oha'\nargs = '-d hush {url}'",
            "tester = 'fortio'\nargs = 'load -user=me:hush {url}'",
            "tester = 'k6'\nargs = 'run -e ANY=hush x.js {url}'",
            "tester = 'plimsoll-k6'\nargs = 'run -e ANY=hush x.js {url}'",
            "args = \"run --header='X-Api-Key: hush' {url}\"",
            "args = 'run --basic me:hush {url}'",
            "args = 'run {url}?token=hush'",
        ] {
            let shown = command(lines);
            assert!(!shown.contains("hush") && shown.contains("[masked:"), "{lines}: {shown}");
        }
        assert!(command("header = 'Accept: text/plain'").contains("text/plain"));
        let shown = command("tester = 'plimsoll-k6'\nargs = 'run x.js {url}'");
        assert_eq!(shown, "plimsoll k6 run x.js {url}");
        assert!(
            command("tester = 'ab'\nargs = '-n 10 -c 2 {url}'").ends_with("ab -n 10 -c 2 {url}")
        );
    }
}
