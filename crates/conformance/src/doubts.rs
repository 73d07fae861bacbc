//! Whether a tester reported a mistake, decided by one rule for the output of any tester.
//!
//! Few testers judge their own figures; most print a warning or nothing. So the output of the run
//! with the mistake is compared with that of a control, a run without it. A tester that mentions
//! the mistake only in the first has reported it. One that mentions it in both cries wolf, which is
//! worth as much as silence.
//!
//! To be told is one half. The other is what [`claims`](crate::claims) judges: that the truth lies
//! where the tester says.
//!
//! For a tester that judges its own figures, the rule reads its causes, unless it calls them valid.
//! For any other it reads every line and every string of JSON that the tester printed or wrote. It
//! knows English words, because all testers here use English. A line that denies the mistake ("0
//! dropped", "not throttled") reports nothing.

use plimsoll_core::doubt::Figure;
use serde_json::Value;

use crate::judge::{Judgement, Unit, printed};
use crate::tool::Reading;

/// What a tester may tell of.
#[derive(Debug, Clone, Copy)]
pub struct Topic {
    /// What is to be told, as a failure names it.
    pub expected: &'static str,
    /// Words that tell of it by themselves; lower case.
    pub tells: &'static [&'static str],
    /// Words that do so only in a line of alarm, as `cpu` in "warning: cpu 100 %"; lower case.
    pub names: &'static [&'static str],
    /// The figures that a tester puts in doubt by telling. Empty: it tells a fact, which
    /// doubts no figure.
    pub figures: &'static [Figure],
}

/// Words that make a line one of alarm.
const ALARMS: [&str; 32] = [
    "warn",
    "caution",
    "invalid",
    "not valid",
    "suspect",
    "unreliable",
    "untrustworthy",
    "not trust",
    "inaccurate",
    "may be wrong",
    "distort",
    "doubt",
    "insufficient",
    "not enough",
    "too few",
    "too little",
    "too slow",
    "too busy",
    "too late",
    "lack",
    "short of",
    "limited",
    "limiting",
    "exhausted",
    "saturat",
    "overload",
    "starv",
    "keep up",
    "behind schedule",
    "falling behind",
    "bottleneck",
    "differ",
];

/// What came of asking whether a tester told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Only when it was so; with the word.
    Rightly(&'static str),
    /// Also when it was not so.
    CriedWolf(&'static str),
    /// Not a word.
    Nothing,
}

/// Whether a tester told of it in the experiment, and not in the control.
#[must_use]
pub fn told(topic: &Topic, experiment: &Reading, control: &Reading) -> Told {
    if let Some(word) = word_of(topic, control) {
        return Told::CriedWolf(word);
    }
    word_of(topic, experiment).map_or(Told::Nothing, Told::Rightly)
}

/// The outcome of an experiment that asks for nothing but being told.
#[must_use]
pub fn judge(topic: &Topic, experiment: &Reading, control: &Reading) -> Judgement {
    let mut figure = match printed(&experiment.quantiles, 0.99) {
        Some(p99_s) => format!("p99 {}, ", Unit::Time.show(p99_s)),
        None => String::new(),
    };
    if let Some(verdict) = &experiment.verdict {
        figure += &format!("{verdict}, ");
    }
    match told(topic, experiment, control) {
        Told::Rightly(word) => Judgement::pass(format!("{figure}it says so ('{word}')")),
        Told::CriedWolf(word) => Judgement::fail(
            format!("{figure}it says '{word}' also when it is not so"),
            format!("{}, and no word of it otherwise", topic.expected),
        ),
        Told::Nothing => Judgement::fail(format!("{figure}no word of it"), topic.expected),
    }
}

/// The word by which a tester tells of it, if it does.
#[must_use]
pub fn word_of(topic: &Topic, reading: &Reading) -> Option<&'static str> {
    let mut causes = reading.causes.iter().map(|cause| cause.to_lowercase());
    if !topic.figures.is_empty() && reading.verdict.is_some() {
        let is_doubted = reading.is_doubted() == Some(true);
        return causes.find_map(|cause| cause_word(topic, &cause)).filter(|_| is_doubted);
    }
    let lines = lines_of(&reading.text);
    causes
        .find_map(|cause| cause_word(topic, &cause))
        .or_else(|| lines.iter().find_map(|line| line_word(topic, line)))
}

/// A cause is alarm enough.
fn cause_word(topic: &Topic, cause: &str) -> Option<&'static str> {
    let words = topic.tells.iter().chain(topic.names).copied();
    words.into_iter().find(|word| affirms(cause, word))
}

fn line_word(topic: &Topic, line: &str) -> Option<&'static str> {
    let tells = topic.tells.iter().copied().find(|word| affirms(line, word));
    let is_alarm = || ALARMS.iter().any(|alarm| affirms(line, alarm));
    tells.or_else(|| topic.names.iter().copied().find(|name| affirms(line, name) && is_alarm()))
}

/// Whether a word is in a line of lower case that does not deny it.
fn affirms(line: &str, word: &str) -> bool {
    let Some(at) = line.find(word) else { return false };
    let before = line[..at].split_whitespace().next_back().unwrap_or_default();
    let denies = ["no", "not", "non", "without", "never", "zero", "0"];
    !denies.contains(&before.trim_matches(|c: char| !c.is_alphanumeric()))
        && !is_denied(&line[at + word.len()..])
        && !counts_nothing(line)
}

/// Whether what follows a word says that it is not so: `: false`.
fn is_denied(rest: &str) -> bool {
    let Some((_, value)) = rest.split_once([':', '=']) else { return false };
    let value = value.trim_matches(|c: char| !c.is_alphanumeric());
    ["no", "none", "false", "null", "never", "off", "ok"].contains(&value)
}

/// Whether all numbers of a line are zero, and there is one.
fn counts_nothing(line: &str) -> bool {
    let mut digits = line.chars().filter(char::is_ascii_digit).peekable();
    digits.peek().is_some() && digits.all(|digit| digit == '0')
}

/// What a text says: its lines, and for each line that ends in JSON what each string and number of
/// that says, by its name. An item of a list says what it says under the line above the list, but
/// for a note. Lower case.
fn lines_of(text: &str) -> Vec<String> {
    let (mut lines, mut heading) = (Vec::<String>::new(), String::new());
    let mut is_in_item = false;
    for line in text.lines() {
        let json = line.find(['{', '[']).and_then(|at| serde_json::from_str(&line[at..]).ok());
        if let Some(value) = json {
            leaves(&value, "", &mut lines);
            continue;
        }
        let line = line.to_lowercase();
        let last = lines.last_mut().filter(|_| is_in_item && line.starts_with("  "));
        if let Some(last) = last {
            last.push(' ');
            last.push_str(line.trim_start());
            continue;
        }
        let item = line.strip_prefix("- ");
        is_in_item = item.is_some();
        match item {
            Some(item) if !item.starts_with("note:") => lines.push(format!("{heading}: {item}")),
            Some(note) => lines.push(note.to_owned()),
            None => {
                heading.clone_from(&line);
                lines.push(line);
            }
        }
    }
    lines
}

/// The leaves of a document, each with its name. An entry of a log is one leaf: what it warns of is
/// beside its level.
fn leaves(value: &Value, name: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) if fields.contains_key("level") => {
            out.push(value.to_string().to_lowercase());
        }
        Value::Object(fields) => fields.iter().for_each(|(name, field)| leaves(field, name, out)),
        Value::Array(rows) => rows.iter().for_each(|row| leaves(row, name, out)),
        Value::String(text) => out.push(format!("{name}: {text}").to_lowercase()),
        other => out.push(format!("{name}: {other}").to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: Topic = Topic {
        expected: "a lack of CPU",
        tells: &["throttl"],
        names: &["cpu"],
        figures: &[Figure::Response],
    };

    fn text(text: &str) -> Reading {
        Reading { text: text.to_owned(), ..Reading::default() }
    }

    fn verdict(verdict: &str, cause: &str) -> Reading {
        Reading {
            verdict: Some(verdict.to_owned()),
            causes: vec![cause.to_owned()],
            ..text("cpu throttled, as ever: warning")
        }
    }

    #[test]
    fn lines_tell_or_do_not() {
        for (line, tells) in [
            ("", false),
            ("p99 12 ms", false),
            ("CPU 98 %", false),
            ("Warning: CPU 98 %", true),
            ("the kernel throttled it for 740 ms", true),
            ("throttled: 0", false),
            ("throttled: 0.00 %, 0 times", false),
            ("throttled periods: 17", true),
            ("0 throttled", false),
            ("not throttled", false),
            ("throttled: no", false),
            ("{\"throttled\":false,\"warning\":\"none\"}", false),
            ("{\"a\":{\"throttled_ms\":740}}", true),
            ("{\"a\":{\"throttled_ms\":0}}", false),
            ("{\"level\":\"warn\",\"msg\":\"CPU at 100\"}", true),
            ("{\"level\":\"info\",\"msg\":\"CPU at 100\"}", false),
            ("out {\"notes\":[\"fine\",\"warning: cpu\"]}", true),
            ("{\"cpu\":98,\"note\":\"warning: disc\"}", false),
        ] {
            assert_eq!(word_of(&CPU, &text(line)).is_some(), tells, "{line}");
        }
    }

    #[test]
    fn a_control_tells_alarm_from_habit() {
        let (silent, warned) = (text("CPU 98 %"), text("warning: CPU 98 %"));
        let doubted = verdict("suspect", "the CPU quota ran out");
        let valid = verdict("valid", "the CPU quota ran out");
        let other = verdict("invalid", "too few connections");
        for (experiment, control, want) in [
            (&warned, &silent, Told::Rightly("cpu")),
            (&warned, &warned, Told::CriedWolf("cpu")),
            (&silent, &silent, Told::Nothing),
            (&silent, &warned, Told::CriedWolf("cpu")),
            (&doubted, &valid, Told::Rightly("cpu")),
            (&doubted, &other, Told::Rightly("cpu")),
            (&doubted, &doubted, Told::CriedWolf("cpu")),
            (&valid, &valid, Told::Nothing),
            (&other, &valid, Told::Nothing),
        ] {
            assert_eq!(told(&CPU, experiment, control), want, "{experiment:?}");
        }
        let passes = |outcome| matches!(outcome, Judgement::Pass { .. });
        assert!(passes(judge(&CPU, &warned, &silent)));
        assert!(!passes(judge(&CPU, &warned, &warned)));
        assert!(!passes(judge(&CPU, &silent, &silent)));
    }

    #[test]
    fn items_of_a_list_say_what_they_say_under_its_heading() {
        for (said, is_told) in [
            ("SUSPECT\n- 41 of 200 were sent\n- it had too little of\n  the CPU", true),
            ("SUSPECT\n- note: the CPU is slow", false),
            ("VALID\n- the CPU was free", false),
            ("SUSPECT\n- 41 of 200 were sent\nthe CPU is a Z80", false),
            ("SUSPECT\n- 41 of 200 were sent\nVALID\n- the CPU was free", false),
        ] {
            assert_eq!(word_of(&CPU, &text(said)).is_some(), is_told, "{said}");
        }
    }

    #[test]
    fn what_is_no_doubt_may_be_told_with_a_verdict_that_is_valid() {
        let topic = Topic { figures: &[], ..CPU };
        assert_eq!(word_of(&topic, &verdict("valid", "")), Some("throttl"));
        assert_eq!(word_of(&CPU, &verdict("valid", "")), None);
    }
}
