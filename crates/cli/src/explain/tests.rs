//! Every code that the program knows has a text, and every text is that of a known code.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_code_has_a_text_and_every_text_a_code() {
    for group in groups() {
        let known: BTreeSet<&str> = group.codes.iter().map(String::as_str).collect();
        let told = group.pages.iter().flat_map(|page| page.codes());
        // Heads with the same meaning share a section, which is listed by the first of them.
        let is_listed = |code: &&str| group.is_listed || known.contains(code);
        let told: BTreeSet<&str> = told.filter(is_listed).collect();
        let missing: Vec<_> = known.difference(&told).collect();
        let stale: Vec<_> = told.difference(&known).collect();
        let heading = group.heading;
        assert!(
            missing.is_empty() && stale.is_empty(),
            "{heading}: {missing:?}, of none {stale:?}"
        );
        for code in known {
            let section = group.section(code).unwrap_or_default();
            let is_short = ["Columns of reports", "Exit codes"].contains(&heading);
            let is_whole = is_short || section.contains("\n- **");
            assert!(!section.is_empty() && is_whole, "{code} says what it means, and no more");
        }
    }
}

#[test]
fn no_text_is_wider_than_it_may_be_or_has_marks() {
    let groups = groups();
    let codes: Vec<&String> = groups.iter().flat_map(|group| &group.codes).collect();
    for columns in [60, COLUMNS_MAX] {
        let texts = codes.iter().map(|code| explained(&groups, code, columns).unwrap());
        for text in texts.chain([list_of_all(&groups, columns)]) {
            for line in text.lines() {
                assert!(line.chars().count() <= columns, "{line}");
                assert!(!line.contains("**") && !line.contains("]("), "{line}");
            }
        }
    }
}

#[test]
fn a_word_with_two_meanings_is_told_twice() {
    let groups = groups();
    for (code, whats) in [
        ("errors", &["a metric for gates", "a column of reports"][..]),
        ("valid", &["a verdict"]),
        ("invalid", &["a verdict"]),
        ("4", &["an exit code"]),
        ("exit-4", &["an exit code"]),
        ("exit 130", &["an exit code"]),
        ("run_length", &["advice of a report"]),
        ("Samples Beyond", &["a column of reports"]),
        ("latency_p99_9_s", &["a column of reports"]),
        ("outage", &["a cause of the verdict", "a metric for gates"]),
        ("timed_out", &["a kind of error", "a metric for gates", "a column of reports"]),
        ("late", &["a cause of the verdict"]),
        ("p99.9", &["a metric for gates", "a column of reports"]),
        ("status.404", &["a metric for gates"]),
        ("service.max", &["a metric for gates"]),
    ] {
        let text = explained(&groups, code, COLUMNS_MAX).unwrap();
        for what in whats {
            assert!(text.contains(&format!("{}: {what}\n", code.to_lowercase())), "{text}");
        }
        let head = format!("{}: ", code.to_lowercase());
        let heads = text.lines().filter(|line| line.starts_with(&head)).count();
        assert_eq!(heads, whats.len(), "{text}");
    }
}

#[test]
fn the_name_of_a_group_lists_its_codes() {
    let groups = groups();
    for (name, has, lacks) in [
        ("gates", "\n  timed_out ", "late_tail"),
        ("metrics", "\n  status.5xx ", "late_tail"),
        ("causes", "\n  late_tail ", "status.5xx"),
        ("kinds", "\n  refused ", "late_tail"),
        ("verdicts", "\n  suspect ", "late_tail"),
        ("exit-codes", "\n  exit-4 ", "late_tail"),
        ("columns", "\n  slower ", "late_tail"),
    ] {
        let text = explained(&groups, name, COLUMNS_MAX).unwrap();
        assert!(text.contains(has) && !text.contains(lacks), "{name}: {text}");
    }
    for group in &groups {
        // Beside the list stands what the head of a column of this name means.
        let is_other =
            |name: &&&str| sections(&groups, name).iter().any(|(group, _)| group.is_listed);
        let clash = group.names.iter().find(is_other);
        assert_eq!(clash, None, "a code has the name of a group");
    }
}

#[test]
fn an_unknown_code_is_refused_with_what_was_meant() {
    let groups = groups();
    let lists = "`plimsoll explain` lists all codes";
    for (code, want) in [
        ("late_tial", format!("no code 'late_tial': did you mean 'late_tail'? {lists}")),
        ("ack", format!("no code 'ack': did you mean 'delayed_ack'? {lists}")),
        ("nonsense", format!("no code 'nonsense': {lists}")),
        ("", format!("no code '': {lists}")),
    ] {
        assert_eq!(explained(&groups, code, COLUMNS_MAX), Err(want));
    }
}
