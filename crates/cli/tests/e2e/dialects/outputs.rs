//! Outputs side by side.

use std::process::Command;

use crate::nginx::Nginx;
use crate::programs::{is_on_path, turn_with};
use crate::support::{Finished, plimsoll, run};

/// A line with its figures taken out: what has to be the same. Figures keep the column in which
/// they end, where the line is one of a table.
pub(super) fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut figure = false;
    for c in line.chars() {
        // Units belong to the figure before them.
        let goes_on = figure && (c.is_ascii_alphabetic() || c == '%');
        if c.is_ascii_digit() || (figure && c == '.') || goes_on {
            figure = true;
            continue;
        }
        if figure {
            shape.push('#');
            figure = false;
        }
        shape.push(c);
    }
    if figure {
        shape.push('#');
    }
    shape.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The columns in which the words of a line end; those with figures end at their last digit,
/// because that is what wrk lines up: behind it stand two letters of a unit, one or none.
fn ends(line: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    for word in line.split(' ') {
        let last = word.rfind(|c: char| c.is_ascii_digit()).or_else(|| word.len().checked_sub(1));
        ends.extend(last.map(|last| start + last));
        start += word.len() + 1;
    }
    ends
}

/// A line of nothing but numbers: how many rows a spectrum has depends on the values.
fn is_row(line: &str) -> bool {
    let mut words = line.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| word.parse::<f64>().is_ok())
}

fn both(program: &str, arguments: &[&str]) -> [Finished; 2] {
    let theirs = run(Command::new(program).args(arguments));
    let ours = run(&mut plimsoll(&[&[program], arguments].concat()));
    [theirs, ours]
}

/// Holds the two outputs against each other, but for lines that start with one of `but`.
fn assert_alike(program: &str, arguments: &[&str], but: &[&str], tables: &[&str]) {
    let [theirs, ours] = both(program, arguments);
    assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{program} {arguments:?}: {ours:?}");
    let lines = |text: &str| -> Vec<String> {
        let is_wanted = |line: &&str| !but.iter().any(|but| line.starts_with(but)) && !is_row(line);
        text.lines().filter(is_wanted).map(str::to_owned).collect()
    };
    let (theirs, ours) = (lines(&theirs.stdout), lines(&ours.stdout));
    let shapes = |lines: &[String]| lines.iter().map(|line| shape(line)).collect::<Vec<_>>();
    assert_eq!(shapes(&ours), shapes(&theirs), "{program} {arguments:?}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        if tables.iter().any(|start| theirs.trim_start().starts_with(start)) {
            assert_eq!(ends(ours), ends(theirs), "{program} {arguments:?}:\n{ours}\n{theirs}");
        }
    }
}

/// The first figure behind a label.
fn figure(text: &str, label: &str) -> f64 {
    let line = text.lines().find(|line| line.trim_start().starts_with(label));
    let line = line.unwrap_or_else(|| panic!("no {label} in:\n{text}"));
    let rest = &line.trim_start()[label.len()..];
    let number: String = rest
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    number.parse().unwrap_or_else(|_| panic!("no figure in {line}"))
}

const WRK_TABLES: [&str; 5] = ["Thread Stats", "Latency", "Req/Sec", "50%", "99%"];

#[test]
fn wrk_prints_what_wrk_prints() {
    let Some(_turn) = turn_with(&["nginx", "wrk"]) else { return };
    let nginx = Nginx::start();
    let (url, missing) = (nginx.url("/"), nginx.url("/none"));
    for arguments in [
        &["-t2", "-c10", "-d1s", &url][..],
        &["-t1", "-c3", "-d1s", "--latency", &url],
        &["-t1", "-c2", "-d1s", &missing],
    ] {
        assert_alike("wrk", arguments, &[], &WRK_TABLES);
    }
}

const AB_TABLES: [&str; 8] =
    ["min", "Connect:", "Processing:", "Waiting:", "Total:", "50%", "99%", "100%"];

#[test]
fn ab_prints_what_ab_prints() {
    let Some(_turn) = turn_with(&["nginx", "ab"]) else { return };
    let nginx = Nginx::start();
    let (url, missing) = (nginx.url("/"), nginx.url("/none"));
    // Versions, copyrights and licences are each program's own, and a warning of ab's about times
    // that scatter comes and goes.
    let but = [
        "This is ApacheBench",
        "Copyright",
        "Printed by",
        "Licensed",
        "WARNING",
        "ERROR",
        "        These results",
        "       deviation apart",
    ];
    for arguments in [
        &["-n", "500", "-c", "10", &url][..],
        &["-q", "-k", "-n", "500", "-c", "10", &url],
        &["-q", "-S", "-n", "50", &url],
        &["-q", "-d", "-n", "50", "-c", "5", &missing],
    ] {
        assert_alike("ab", arguments, &but, &AB_TABLES);
        let [theirs, ours] = both("ab", arguments);
        for label in [
            "Document Length:",
            "Concurrency Level:",
            "Complete requests:",
            "Failed requests:",
            "Total transferred:",
            "HTML transferred:",
        ] {
            let [theirs, ours] = [&theirs, &ours].map(|run| figure(&run.stdout, label));
            // ab forgets the bytes of what was open when the last one ended.
            let is_near = (ours - theirs).abs() <= 0.05 * theirs;
            assert!(is_near, "{arguments:?}: {label} {ours}, ab {theirs}");
        }
    }
}

/// Debian has no wrk2, so this is skipped where nobody has built one.
#[test]
fn wrk2_prints_what_wrk2_prints() {
    let Some(_turn) = turn_with(&["nginx"]) else { return };
    if !is_on_path("wrk2") {
        return;
    }
    let nginx = Nginx::start();
    let url = nginx.url("/");
    // It prints what it has calibrated after ten seconds, and no rates before.
    let arguments = &["-t2", "-c10", "-d12s", "-R200", "-U", &url];
    assert_alike("wrk2", arguments, &[], &WRK_TABLES);
}
