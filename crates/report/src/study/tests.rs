//! The views of hand-made studies: what they show, and that no text from outside breaks out.

use plimsoll_core::result::Gate;
use plimsoll_core::study::{Case, Column, Study};
use plimsoll_core::verdict::Verdict;

use super::answer::answer;
use super::facts::tester_words;
use super::{csv, html, markdown, notes, samples, text};
use crate::heads;
use crate::json;
use crate::text::Style;

fn written(write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    heads::checked(String::from_utf8(bytes).unwrap())
}

fn plain(study: &Study) -> String {
    wide(study, 110)
}

fn wide(study: &Study, width: usize) -> String {
    written(|out| text::write(study, out, Style { width, ..Style::default() }))
}

fn marked(study: &Study) -> String {
    written(|out| markdown::write(study, out))
}

fn page(study: &Study) -> String {
    written(|out| html::write(study, out))
}

fn rows(study: &Study) -> String {
    written(|out| csv::write(study, out))
}

fn all() -> Vec<Study> {
    vec![
        samples::echo(),
        samples::doubtful(),
        samples::busy(),
        samples::small(),
        samples::nothing(),
        samples::hostile(),
    ]
}

/// From a line to before another.
fn part<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no {from:?} in\n{text}"));
    let end = text[start..].find(to).unwrap_or_else(|| panic!("no {to:?} in\n{text}"));
    text[start..start + end].trim_end()
}

#[test]
fn a_study_on_a_terminal() {
    let text = plain(&samples::echo());
    insta::assert_snapshot!(part(&text, "Servers", "\n10k, against"));
}

#[test]
fn a_study_of_one_case() {
    insta::assert_snapshot!(plain(&samples::small()));
    insta::assert_snapshot!(plain(&samples::nothing()));
}

/// Runs that do not count are seen beside the figures and win nothing; what holds for many runs is
/// shown once.
#[test]
fn a_study_that_cannot_be_believed_says_so() {
    let study = samples::doubtful();
    insta::assert_snapshot!(plain(&study));
    let text = marked(&study);
    insta::assert_snapshot!(part(&text, "## Results", "## Servers and loads"));
    let counted = rows(&study).lines().filter(|line| line.contains(",true,")).count();
    assert_eq!(counted, 3 * 6 - 5 - 5, "of 18 runs five failed and five are invalid");
}

/// On a busy host a figure in doubt loses its own cell, and nothing else of its row.
#[test]
fn figures_in_doubt_are_marked_and_the_others_stand() {
    let study = samples::busy();
    let text = plain(&study);
    insta::assert_snapshot!(part(&text, "Servers", "\nwrk-100, against"));
    let closed = part(&text, "\nclosed-100, against", "\n\n");
    insta::assert_snapshot!(closed);
}

/// The sentences at the top follow from the comparisons, and stand in every view.
#[test]
fn the_answer_comes_first_in_every_view() {
    let without_gate = |study: Study| (study, None);
    let (mut gated, mut few) = (samples::echo(), samples::echo());
    for (run, (pass, undecided)) in
        gated.cases[3].runs.iter_mut().zip([(true, false), (false, true), (false, false)])
    {
        run.gates = vec![Gate { expr: "p99<1ms".to_owned(), pass, undecided, ..Gate::default() }];
    }
    few.cases.iter_mut().for_each(|case| case.runs.truncate(3));
    let mut alone = samples::echo();
    alone.baseline = None;
    alone.servers.retain(|server| server.name == "plimsoll");
    for ((study, first), want) in [
        (
            without_gate(samples::busy()),
            "plimsoll answered 42 to 45 % more requests per second and had a 41 % lower P99 than \
             nginx under ab-short and wrk-100; had a 33 to 49 % lower P50",
        ),
        ((gated, Some("1 of 3 gates FAILED, 1 UNDECIDED")), "plimsoll answered "),
        (
            without_gate(few),
            "plimsoll and nginx: QPS, P50, P99, CPU/request and Mem(RES) can't be told apart here: \
             too few repeats count",
        ),
        (without_gate(alone), "plimsoll under ab-short: QPS "),
    ] {
        let sentences = answer(&study);
        let found = sentences.iter().any(|sentence| sentence.starts_with(want));
        assert!(found, "{sentences:#?}");
        if let Some(first) = first {
            assert_eq!(sentences[0], first);
        }
        let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let views = [wide(&study, 110), marked(&study), page(&study)].map(one_line);
        for view in views {
            for sentence in &sentences {
                let of_markdown = sentence.replace('(', "\\(");
                let of_html = sentence.replace('\'', "&#39;");
                let spellings = [sentence.as_str(), &of_markdown, &of_html];
                let at = spellings.iter().find_map(|spelling| view.find(spelling));
                let table = view.find("Verdict").unwrap_or(usize::MAX);
                assert!(at.is_some_and(|at| at < table), "{sentence} in {}", &view[..600]);
            }
        }
    }
    assert!(answer(&samples::nothing()).is_empty());
}

/// Each cause has one note: what happened, in which runs, what is in doubt for it, the details.
#[test]
fn a_cause_has_one_note_with_all_its_runs() {
    let study = samples::busy();
    let notes = notes::notes(&study);
    let about: Vec<&str> = notes.iter().map(|note| note.about.as_str()).collect();
    assert_eq!(
        about.iter().filter(|about| **about == "this host was busy").count(),
        1,
        "{about:?}"
    );
    let note = notes.iter().find(|note| note.about == "this host was busy").unwrap();
    let order = ["44 of 45 runs (", "in doubt: QPS ≥, P50 ≤", "had no CPU for 31 %", "2.1 ms late"];
    let places: Vec<Option<usize>> = order.iter().map(|words| note.text.find(words)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {}", note.text);
    // The testers that do not judge themselves are named.
    let silent = notes.iter().find(|note| note.text.starts_with("ab and wrk do not judge how far"));
    assert!(silent.is_some(), "{notes:#?}");
}

/// Whatever depends on the number of repeats uses the study's own number.
#[test]
fn what_repeats_are_too_few_for_is_said_once() {
    for (repeats, want) in [
        (1, "1 repeat is too few to tell servers apart: it takes 4 of each case"),
        (3, "3 repeats are too few to tell servers apart: it takes 4 of each case"),
    ] {
        let mut study = samples::echo();
        study.repeats = repeats;
        study.cases.iter_mut().for_each(|case| case.runs.truncate(repeats as usize));
        for text in [plain(&study), marked(&study)] {
            let text = text.replace('\n', " ");
            assert_eq!(text.matches(want).count(), 1, "{text}");
            assert!(!text.contains("needs 4 repeats"), "{text}");
        }
    }
    assert!(!plain(&samples::echo()).contains("too few"));
    let mut study = samples::echo();
    study.cases[0].runs.truncate(3);
    study.cases[2].runs[..4].iter_mut().for_each(|run| run.verdict = Some(Verdict::Invalid));
    let want = "- all: too few runs count to tell servers apart (ab-short, nginx: 3 of 3; \
                closed-100, nginx: 1 of 5): it takes 4 of each case (plimsoll lab --continue \
                --repeats 8 measures more)";
    let text = plain(&study);
    assert!(text.replace("\n  ", " ").contains(want), "{text}");
    assert!(!text.contains("needs 4"), "{text}");
}

/// The version of a tester most often begins with its name. The report names it once.
#[test]
fn a_tester_is_named_once() {
    let mut load = samples::echo().loads[0].clone();
    load.tester = "wrk".to_owned();
    for (version, want) in
        [(Some("wrk 4.1.0"), "wrk 4.1.0"), (Some("4.1.0"), "wrk 4.1.0"), (None, "wrk")]
    {
        load.version = version.map(str::to_owned);
        assert_eq!(tester_words(&load), want);
    }
}

#[test]
fn without_a_baseline_intervals_stand_for_the_comparison() {
    let mut study = samples::echo();
    study.baseline = None;
    let text = plain(&study);
    let intervals = part(&text, "Where the true medians lie", "\n3 ");
    assert!(intervals.contains("32 213 – 33 369"), "{intervals}");
    let with = plain(&samples::echo());
    assert!(!with.contains("Where the true medians lie"));
    assert!(!text.contains("against"));
    assert!(!marked(&study).contains("Compared"));
}

#[test]
fn a_terminal_gets_lines_that_fit_and_no_escapes() {
    for study in all() {
        let text = plain(&study);
        assert!(!text.contains(['\x1b', '\u{202e}']));
        assert!(text.lines().all(|line| line == line.trim_end()));
        for width in [60, 72, 80, 100, 110, 200] {
            let text = wide(&study, width);
            let fits = |line: &str| line.chars().count() <= width.min(110);
            assert!(text.lines().all(fits), "{width}: {text}");
        }
        let style = Style { color: true, width: 110 };
        let colored = written(|out| text::write(&study, out, style));
        let stripped = ["\x1b[31m", "\x1b[1m", "\x1b[0m"]
            .iter()
            .fold(colored, |text, escape| text.replace(escape, ""));
        assert_eq!(stripped, text, "colours change nothing else");
    }
}

/// Servers that are alike: how much more they would have to differ.
#[test]
fn what_cannot_be_told_has_the_difference_that_would_show() {
    let mut study = samples::echo();
    let like = study.case("nginx", "closed-100").expect("a case").runs.clone();
    let is_other = |case: &&mut Case| case.server == "plimsoll" && case.load == "closed-100";
    study.cases.iter_mut().filter(is_other).for_each(|case| case.runs = like.clone());
    let text = plain(&study);
    let table = part(&text, "closed-100, against nginx", "\n\n");
    let told = |line: &&str| line.contains("can't tell") && line.ends_with(" %");
    assert!(table.lines().filter(told).count() >= 3, "{table}");
    assert!(
        table.contains("\nshows from: the smallest difference that the runs can show"),
        "{table}"
    );
    let decided = part(&text, "ab-short, against nginx", "\n\n");
    assert!(!decided.contains("shows from"), "{decided}");
}

#[test]
fn columns_that_do_not_fit_go_into_a_further_table() {
    let mut study = samples::echo();
    let names = "p50 p75 p90 p95 p99 p99.9 mean max errors cpu cpu_per_request rss pss threads";
    study.columns.extend(names.split(' ').map(|name| name.parse::<Column>().unwrap()));
    let text = plain(&study);
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("#   Load")).collect();
    assert_eq!(heads.len(), 3, "{text}");
    for name in ["Mem(PSS)", "threads", "CPU/request"] {
        assert_eq!(heads.iter().filter(|head| head.contains(name)).count(), 1, "{name}");
    }
}

#[test]
fn a_study_as_markdown() {
    insta::assert_snapshot!(marked(&samples::echo()));
}

#[test]
fn every_row_of_markdown_has_its_cells() {
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    for study in all() {
        let text = marked(&study);
        let mut before: Option<usize> = None;
        for line in text.lines() {
            let cells = line.starts_with('|').then(|| bars(line));
            assert!(before.is_none() || cells.is_none() || before == cells, "{line}");
            before = cells;
        }
    }
}

/// Text without its spans of code, which end with as many backticks as they begin with.
fn outside_code(text: &str) -> String {
    let (mut outside, text) = (String::new(), text.replace("\\`", ""));
    let mut rest = text.as_str();
    while let Some(at) = rest.find('`') {
        outside += &rest[..at];
        let ticks = rest[at..].chars().take_while(|c| *c == '`').count();
        let (fence, after) = rest[at..].split_at(ticks);
        rest = after.split_once(fence).map_or("", |(_, rest)| rest);
    }
    outside + rest
}

#[test]
fn markdown_from_outside_stays_text() {
    let text = marked(&samples::hostile());
    assert!(!text.contains("<script") || text.contains("`"), "only in code");
    assert!(text.contains("\\<script\\>alert"));
    assert!(!outside_code(&text).contains("</script><"), "{text}");
    assert!(!text.contains(['\x1b', '\u{202e}']));
    assert!(!text.lines().any(|line| line.starts_with("# </")));
}

#[test]
fn a_row_for_each_run() {
    let text = rows(&samples::echo());
    let lines: Vec<&str> = text.lines().collect();
    // 3 servers, 5 loads, 5 repeats; one case was skipped and has a row that says so.
    assert_eq!(lines.len(), 1 + 14 * 5 + 1);
    let pairs = lines[0].split(',').zip(lines[11].split(','));
    let text: Vec<String> = pairs.map(|(name, cell)| format!("{name}: {cell}")).collect();
    insta::assert_snapshot!(text.join("\n"));
    let skipped: Vec<&&str> =
        lines.iter().filter(|line| line.contains("closes each connection late")).collect();
    assert_eq!(skipped.len(), 1);
    let failed: Vec<&&str> = lines.iter().filter(|line| line.contains(",false,")).collect();
    assert_eq!(failed.len(), 1);
    assert!(failed[0].contains("SIGABRT"));
}

/// The cells of RFC 4180 text.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quoted) {
            ('"', true) if chars.peek() == Some(&'"') => cell.extend(chars.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut cell)),
            ('\n', false) => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            (c, _) => cell.push(c),
        }
    }
    assert!(!quoted && cell.is_empty());
    rows
}

#[test]
fn every_row_of_csv_has_its_cells() {
    for study in all() {
        let rows = parse(&rows(&study));
        for row in &rows {
            assert_eq!(row.len(), rows[0].len());
            assert!(row.iter().all(|cell| !cell.starts_with(['=', '@', '+'])));
        }
    }
}

#[test]
fn the_document_reads_back_whole() {
    for study in all() {
        let text = written(|out| json::write(&study, out));
        assert!(text.ends_with("}\n"));
        assert!(serde_json::from_str::<Study>(&text).unwrap() == study, "{}", study.title);
    }
}
