//! A suite's text as a study's folder keeps it: secrets masked in place, comments and everything
//! else as written.
//!
//! Absent on purpose: masking in comments, and in the files that a suite names.

use std::ops::Range;

use plimsoll_core::secret::{Kind, Masks, run_flag};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::shown::arguments_shown;
use crate::testers::Tester;

type Value<'t> = Spanned<DeValue<'t>>;

/// A place in the text, and what stands there instead.
type Edit = (Range<usize>, String);

/// What is kept of a suite that can be read; anything else stays as it is.
#[must_use]
pub(crate) fn kept(text: &str) -> String {
    let Ok(document) = DeTable::parse(text) else { return text.to_owned() };
    let mut edits = Vec::new();
    for (name, value) in document.get_ref() {
        for table in value.get_ref().as_array().into_iter().flatten() {
            let Some(table) = table.get_ref().as_table() else { continue };
            match name.get_ref().as_ref() {
                "servers" | "services" => server(table, &mut edits),
                "loads" => load(table, &mut edits),
                _ => {}
            }
        }
    }
    edits.sort_by_key(|(place, _)| place.start);
    let (mut kept, mut at) = (String::new(), 0);
    for (place, shown) in edits {
        kept.push_str(&text[at..place.start]);
        kept.push_str(&shown);
        at = place.end;
    }
    kept + &text[at..]
}

fn server(table: &DeTable<'_>, edits: &mut Vec<Edit>) {
    let masks = Masks::default();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "env" => {
                for (_, value) in value.get_ref().as_table().into_iter().flatten() {
                    change(value, edits, &|text| masks.given(Kind::Credential, text));
                }
            }
            "command" | "version" | "build" => change(value, edits, &|text| masks.text(text)),
            "path" => change(value, edits, &|text| masks.url(text)),
            "expect" => change(value, edits, &|text| masks.given(Kind::Expectation, text)),
            _ => {}
        }
    }
}

fn load(table: &DeTable<'_>, edits: &mut Vec<Edit>) {
    let masks = Masks::default();
    let tester = table.get("tester").and_then(|tester| tester.get_ref().as_str());
    let tester = tester.and_then(|name| name.parse().ok()).unwrap_or(Tester::Plimsoll);
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "args" => change(value, edits, &|text| arguments(tester, text)),
            key => change(value, edits, &|text| masks.given(run_flag(key), text)),
        }
    }
}

/// A command line, quoted anew where something in it is masked.
fn arguments(tester: Tester, text: &str) -> String {
    let Ok(words) = shell_words::split(text) else { return text.to_owned() };
    let shown = arguments_shown(tester, &words);
    if shown == words { text.to_owned() } else { shell_words::join(shown) }
}

/// Changes a text, or each of a list.
fn change(value: &Value<'_>, edits: &mut Vec<Edit>, show: &dyn Fn(&str) -> String) {
    match value.get_ref() {
        DeValue::String(text) => {
            let shown = show(text);
            if shown != *text {
                edits.push((value.span(), toml::Value::from(shown).to_string()));
            }
        }
        DeValue::Array(values) => values.iter().for_each(|value| change(value, edits, show)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_stays() {
        let text = "# a comment\nname = 's'\n[[servers]]\nname = 'a'   # another\n\
                    command = 'x --token hush --port {port}'\nenv = { MODE = 'hush', N = '' }\n\
                    path = '/?key=hush'\n[[loads]]\nname = 'l'\nrate = 5\n\
                    header = ['Accept: a', 'X-Own: hush']\n[[loads]]\nname = 'w'\ntester = 'wrk'\n\
                    args = \"-H 'X-Own: hush' -c 10 {url}\"\n";
        let kept_text = kept(text);
        assert!(!kept_text.contains("hush"), "{kept_text}");
        assert_eq!(kept(&kept_text), kept_text);
        for line in
            ["# a comment", "name = 'a'   # another", "rate = 5", "--port {port}", "Accept: a"]
        {
            assert!(kept_text.contains(line), "{line}: {kept_text}");
        }
        assert_ne!(kept(&text.replace("hush", "hash")), kept_text, "another secret can be told");
        let plain =
            "[[servers]]\nname = 'a'\ncommand = \"x 'y z'\"\n[[loads]]\nargs = '-c 1  {url}'\n";
        assert_eq!(kept(plain), plain);
    }
}
