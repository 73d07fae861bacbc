//! The views of closed searches on a made-up server: one worker that takes 1 ms.

use plimsoll_core::find::{
    ClosedNext, ClosedSettings, Figures, Objective, Origin, Report, Settings, Sums,
};
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::result::{Environment, Tool};

use super::*;
use crate::heads;
use crate::page::{browser, checks};
use crate::text::Style;

/// The document of a search that was led to its end, or stopped after a number of probes. Above
/// `spoilt_from` connections the tester is in the way.
fn found(settings: ClosedSettings, probes: usize, spoilt_from: u32) -> ClosedDocument {
    let objectives = vec![Objective::parse("p99<10.5ms").unwrap()];
    let mut search = ClosedSearch::new(settings, objectives).unwrap();
    while let ClosedNext::Probe(plan) = search.next()
        && search.probes().len() < probes
    {
        let seconds = (plan.measure_ns / 1_000_000_000) as usize;
        // A little less with many connections.
        let rate = 1000 - u64::from(plan.connections) / 10;
        let column = vec![rate; seconds];
        let is_over = plan.connections > 10;
        let against = vec![if is_over { rate } else { 0 }; seconds];
        let sums =
            Sums { among: column.clone(), near: against.clone(), far: vec![0; seconds], against };
        let p99_ns = Some(u64::from(plan.connections) * 1_000_000);
        let figures = Figures {
            interval_ns: 1_000_000_000,
            due: column.clone(),
            answered: column.clone(),
            ended: column,
            objectives: vec![sums],
            p50_ns: p99_ns,
            p99_ns,
        };
        let is_spoilt = plan.connections >= spoilt_from;
        search.told(Report {
            figures: Some(figures).filter(|_| !is_spoilt),
            tester: is_spoilt.then(|| "no <b>CPU</b> left".to_owned()),
            late: None,
            connections: None,
            server_cpus: Some(0.5),
            recovered: true,
            elapsed_ns: plan.settle_ns + plan.measure_ns,
        });
    }
    let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
    let plan = Draft::new(Endpoint::http("127.0.0.1", 8080, "/")).record();
    let (started_at, environment) = ("2026-11-24T12:00:00Z".to_owned(), Environment::default());
    ClosedDocument::of(&search, Origin { tool, plan, started_at, environment })
}

fn settings() -> ClosedSettings {
    ClosedSettings::of(&Settings::default(), 64)
}

fn shown(write: impl Fn(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    heads::checked(String::from_utf8(out).unwrap())
}

/// The text, with its lines joined.
fn text(found: &ClosedDocument) -> String {
    let style = Style { color: false, width: 100 };
    let text = shown(|out| write_text(found, out, style).unwrap());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_ending_has_its_headline() {
    let quick = ClosedSettings { is_quick_only: true, ..settings() };
    let small = ClosedSettings { max_connections: 8, ..settings() };
    let budget =
        |seconds: u64| ClosedSettings { budget_ns: Some(seconds * 1_000_000_000), ..settings() };
    for (document, starts, holds) in [
        (
            found(settings(), 100, 1000),
            "LOAD LINE · 10 connections keep p99<10.5ms, with 999/s; 11 do not",
            "95 % sure: shown by a hold of up to 1m with each of these numbers",
        ),
        (
            found(small, 100, 1000),
            "AT LEAST · 8 connections keep",
            "the most connections of the search",
        ),
        (
            found(settings(), 100, 9),
            "AT LEAST · 8 connections keep",
            "above it the tester was the limit",
        ),
        (
            found(quick, 100, 1000),
            "ABOUT · 10 connections kept",
            "which promise nothing; 11 did not",
        ),
        (
            found(settings(), 2, 1000),
            "NONE · the search was stopped before a number",
            "quick probes, which promise nothing: 2 connections passed",
        ),
        (
            found(budget(20), 100, 1000),
            "NONE · the budget ended the search before a number",
            "the budget leaves no time for 4 connections: the search ends",
        ),
        (found(budget(120), 100, 1000), "AT LEAST · ", "the budget ended the search"),
    ] {
        let shown = text(&document);
        assert!(shown.starts_with(starts), "{starts}: {shown}");
        assert!(shown.contains(holds), "{holds}: {shown}");
        let (mark, _) = starts.split_once(" · ").unwrap();
        assert!(answer_words(&document).starts_with(&mark.to_lowercase()), "{starts}");
    }
}

#[test]
fn nothing_is_cut_at_any_width() {
    let pages = [
        ("whole", found(settings(), 100, 1000)),
        ("spoilt", found(settings(), 100, 8)),
        ("nothing", found(settings(), 0, 1000)),
    ];
    let html = |found: &ClosedDocument| shown(|out| write_html(found, out).unwrap());
    browser::nothing_is_cut(&pages.map(|(name, found)| (name, html(&found))));
}

#[test]
fn the_law_stands_with_its_residuals() {
    let document = found(settings(), 100, 1000);
    let whole = text(&document);
    for part in [
        "Universal Scalability Law",
        "σ is ",
        "κ is ",
        "R² ",
        "off the law",
        "11 connections do not",
    ] {
        assert!(whole.contains(part), "{part}: {whole}");
    }
    let stopped = text(&found(settings(), 2, 1000));
    assert!(stopped.contains("no fit of the Universal Scalability Law: 2 numbers"), "{stopped}");
}

#[test]
fn every_view_has_every_probe() {
    for (probes, spoilt_from) in [(100, 1000), (100, 9), (0, 1000), (3, 1)] {
        let document = found(settings(), probes, spoilt_from);
        let count = document.probes.len();
        let csv = shown(|out| write_csv(&document, out).unwrap());
        let of_probe = |probe: &ClosedProbe| probe.judgement.findings.len().max(1);
        let rows: usize = document.probes.iter().map(of_probe).sum();
        assert_eq!(csv.lines().count(), 1 + rows);
        let columns = |line: &str| line.split(',').count();
        let head = columns(csv.lines().next().unwrap());
        assert!(csv.lines().all(|line| columns(line) == head), "{csv}");
        let markdown = shown(|out| write_markdown(&document, out).unwrap());
        // The head and the line below it, then the probes.
        assert_eq!(markdown.lines().filter(|line| line.starts_with("| ")).count(), count + 2);
        let page = shown(|out| write_html(&document, out).unwrap());
        checks::self_contained(&page);
        assert!(!page.contains("no <b>CPU"), "what others wrote is escaped");
        let json = shown(|out| write_json(&document, out).unwrap());
        assert_eq!(serde_json::from_str::<ClosedDocument>(&json).unwrap(), document);
    }
}
