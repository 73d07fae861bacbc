//! A load's command line as reports show it: as one would type it, secrets left out.

use plimsoll_core::plan::is_secret_header;

use super::{Call, Load};
use crate::testers::Tester;

/// What stands in the place of a secret.
const SECRET: &str = "[not kept]";

impl Load {
    /// How it is called, as people read it; `{url}` stands for the address.
    #[must_use]
    pub fn command(&self) -> String {
        let words = match &self.call {
            Call::Arguments(arguments) => arguments_shown(self.tester, arguments),
            Call::Plan(plan) => plan_shown(plan),
        };
        let quoted = words.iter().map(|word| match word.as_str() {
            "{url}" => word.clone(),
            word => shell_words::quote(word).into_owned(),
        });
        [self.tester.name().to_owned()].into_iter().chain(quoted).collect::<Vec<_>>().join(" ")
    }
}

fn plan_shown(plan: &toml::Table) -> Vec<String> {
    let mut words = vec!["run".to_owned()];
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
            words.extend(
                text.map(|text| if key == "basic" { SECRET.to_owned() } else { kept(&text) }),
            );
        }
    }
    words.push("{url}".to_owned());
    words
}

fn arguments_shown(tester: Tester, arguments: &[String]) -> Vec<String> {
    let credentials: &[&str] = match tester {
        Tester::Ab => &["-A", "-P"],
        Tester::Hey | Tester::Oha => &["-a"],
        Tester::Fortio => &["-user", "--user"],
        Tester::Plimsoll => &["--basic"],
        Tester::Wrk | Tester::Wrk2 | Tester::K6 => &[],
    };
    let mut is_secret = false;
    let shown = arguments.iter().map(|argument| {
        let after = std::mem::replace(&mut is_secret, credentials.contains(&argument.as_str()));
        if after { SECRET.to_owned() } else { kept(argument) }
    });
    shown.collect()
}

/// A word without the value of a header that is secret, glued to its flag or not.
fn kept(word: &str) -> String {
    let Some((name, _)) = word.split_once(':') else { return word.to_owned() };
    let bare = name.trim_start_matches('-').trim_start_matches("header=");
    let is_secret = is_secret_header(bare) || bare.get(1..).is_some_and(is_secret_header);
    if is_secret { format!("{name}: {SECRET}") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

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
    fn secrets_are_not_shown() {
        for lines in [
            "header = ['Accept: a', 'Authorization: hush']",
            "header = 'cookie: hush'",
            "basic = 'me:hush'",
            "tester = 'wrk'\nargs = \"-H 'Authorization: hush' {url}\"",
            "tester = 'wrk'\nargs = \"-HAuthorization:hush {url}\"",
            "tester = 'ab'\nargs = '-A me:hush {url}'",
            "tester = 'hey'\nargs = '-a me:hush {url}'",
            "args = \"run --header='X-Api-Key: hush' {url}\"",
        ] {
            let shown = command(lines);
            assert!(!shown.contains("hush") && shown.contains(SECRET), "{lines}: {shown}");
        }
        assert!(command("header = 'Accept: text/plain'").contains("text/plain"));
    }
}
