//! The views of searches on made-up servers, whose probes measure what a function of the rate says.

use std::io::{self, Write};

use plimsoll_core::find::{Connected, Figures, Next, Objective, Origin, Report, Settings, Sums};
use plimsoll_core::plan::{Draft, Endpoint};
use plimsoll_core::result::{Environment, Tool};
use plimsoll_core::schedule::{Arrival, Profile};

use super::*;
use crate::heads;
use crate::page::{browser, checks};
use crate::text::Style;

const SECOND_NS: u64 = 1_000_000_000;

/// What a server answers at a rate.
#[derive(Clone, Copy)]
struct Measured {
    /// The share of requests over the limit.
    over: f64,
    p99_ms: u64,
    /// Whether the tester was in the way.
    is_spoilt: bool,
}

/// A server with a line between 500/s and 600/s.
fn usual(rate_rps: f64) -> Measured {
    let is_over = rate_rps > 540.0;
    let (over, p99_ms) = if is_over { (0.08, 40) } else { (0.001, 1 + rate_rps as u64 / 100) };
    Measured { over, p99_ms, is_spoilt: false }
}

fn figures(rate_rps: f64, seconds: u64, objectives: usize, measured: Measured) -> Figures {
    let due = rate_rps.round() as u64;
    let mut figures = Figures::empty(SECOND_NS, objectives);
    for second in 0..seconds {
        for column in [&mut figures.due, &mut figures.answered, &mut figures.ended] {
            column.push(due);
        }
        for (i, sums) in figures.objectives.iter_mut().enumerate() {
            let over = (due as f64 * measured.over) as u64 + second % 2;
            let Sums { among, against, near, far } = sums;
            among.push(due);
            against.push(if i == 0 { over } else { 0 });
            near.push(if i == 0 { 2 * over } else { 0 });
            far.push(0);
        }
    }
    (figures.p50_ns, figures.p99_ns) = (Some(800_000), Some(measured.p99_ms * 1_000_000));
    figures
}

/// The document of a search that was led to its end, or stopped after a number of probes.
fn found(settings: Settings, probes: usize, server: fn(f64) -> Measured) -> Document {
    found_at(settings, probes, server, "/")
}

fn found_at(
    settings: Settings,
    probes: usize,
    server: fn(f64) -> Measured,
    path: &str,
) -> Document {
    let objectives = ["p99<10ms", "errors<1%"].map(|text| Objective::parse(text).unwrap());
    let mut search = Search::new(settings, objectives.to_vec()).unwrap();
    while search.probes().len() < probes
        && let Next::Probe(plan) = search.next()
    {
        let measured = server(plan.rate_rps);
        let seconds = plan.measure_ns / SECOND_NS;
        search.told(Report {
            figures: Some(figures(plan.rate_rps, seconds, 2, measured)),
            tester: measured.is_spoilt.then(|| "the tester sent late".to_owned()),
            late: None,
            connections: Some(connected(measured)),
            server_cpus: Some(0.5),
            recovered: true,
            elapsed_ns: plan.settle_ns + plan.measure_ns,
        });
    }
    let rate = Some(Profile::constant(50_000_000, None, Arrival::Poisson));
    let draft =
        Draft { rate, connections_max: Some(1000), ..Draft::new(Endpoint::http("a", 80, path)) };
    let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
    let environment = Environment { cpu: "A CPU".to_owned(), ..Environment::default() };
    let started_at = "2026-11-24T12:00:00Z".to_owned();
    Document::of(&search, Origin { tool, plan: draft.record(), started_at, environment })
}

/// The connections of a server that slows down with its load: requests wait for them too.
fn connected(measured: Measured) -> Connected {
    let is_over = measured.p99_ms > 20;
    let service_ms = if is_over { 15 } else { 1 };
    Connected {
        limit: 2,
        open_max: 2,
        blocked_p99_ns: Some(if is_over { 30_000_000 } else { 0 }),
        service_p50_ns: Some(service_ms * 1_000_000),
    }
}

fn text(found: &Document, width: usize) -> String {
    let mut bytes = Vec::new();
    write_text(found, &mut bytes, Style { width, ..Style::default() }).unwrap();
    heads::checked(String::from_utf8(bytes).unwrap())
}

fn written(write: fn(&Document, &mut dyn Write) -> io::Result<()>, found: &Document) -> String {
    let mut bytes = Vec::new();
    write(found, &mut bytes).unwrap();
    heads::checked(String::from_utf8(bytes).unwrap())
}

#[test]
fn a_whole_search() {
    let found = found(Settings::default(), usize::MAX, usual);
    insta::assert_snapshot!(text(&found, 100));
    insta::assert_snapshot!(written(write_markdown, &found));
    insta::assert_snapshot!(written(write_csv, &found));
}

#[test]
fn each_ending_has_its_words() {
    let usual_settings = Settings::default;
    let quick = || Settings { is_quick_only: true, ..Settings::default() };
    let low = || Settings { max_rps: 400.0, ..Settings::default() };
    let budget =
        |seconds: u64| Settings { budget_ns: Some(seconds * SECOND_NS), ..Settings::default() };
    let all = usize::MAX;
    let never: fn(f64) -> Measured = |_| Measured { over: 0.5, p99_ms: 90, is_spoilt: false };
    let spoilt: fn(f64) -> Measured = |rate_rps| Measured { is_spoilt: true, ..usual(rate_rps) };
    let fast: fn(f64) -> Measured = |rate_rps| Measured {
        is_spoilt: rate_rps > 300.0,
        over: if rate_rps > 300.0 { 0.5 } else { 0.0 },
        p99_ms: 2,
    };
    let out: fn(f64) -> Measured = |_| Measured { over: 0.5, p99_ms: 2, is_spoilt: true };
    for (settings, probes, server, starts, holds) in [
        (
            usual_settings(),
            all,
            usual as fn(f64) -> Measured,
            "LOAD LINE · ",
            "keeps p99<10ms and errors<1%",
        ),
        (usual_settings(), all, spoilt, "AT LEAST · ", "the tester was the limit"),
        (usual_settings(), all, fast, "AT LEAST · ", "the tester spoilt "),
        (usual_settings(), all, out, "NONE · ", "no figure is the server's"),
        (usual_settings(), all, never, "NOT MET · ", "no rate from 1.00/s"),
        (usual_settings(), 3, usual, "NONE · ", "was stopped before a rate"),
        (low(), all, usual, "AT LEAST · 400/s keeps", "the highest rate of the search"),
        (quick(), all, usual, "ABOUT · ", "promise nothing"),
        (budget(30), all, usual, "NONE · ", "the budget ended the search before"),
        (budget(300), all, usual, "AT LEAST · ", "the budget ended the search"),
    ] {
        let found = found(settings, probes, server);
        let text = text(&found, 400);
        assert!(text.starts_with(starts), "{starts}: {text}");
        let all = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(all.contains(holds), "{holds}: {text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

/// The answer and how sure it is stand in the first lines of each format, with what is not settled.
#[test]
fn the_answer_and_its_confidence_come_first() {
    let whole = found(Settings::default(), usize::MAX, usual);
    let stopped = found(Settings::default(), 10, usual);
    for (found, parts) in [
        (
            &whole,
            [" keeps p99<10ms", " does not; ", " is not settled", "95 % sure: shown by a hold"],
        ),
        (
            &stopped,
            [
                " keeps p99<10ms",
                "above it nothing is settled",
                "95 % sure",
                "the search was stopped",
            ],
        ),
    ] {
        let first: Vec<String> = text(found, 400).lines().take(3).map(str::to_owned).collect();
        let page = written(write_html, found);
        let banner = page[page.find("<h1>").unwrap()..].chars().take(700).collect::<String>();
        let markdown = written(write_markdown, found).replace('\\', "");
        let markdown: Vec<&str> = markdown.lines().take(3).collect();
        for part in parts {
            assert!(first.join(" ").contains(part), "{part}: {first:?}");
            assert!(markdown.join(" ").contains(part), "{part}: {markdown:?}");
            assert!(banner.replace("&lt;", "<").contains(part), "{part}: {banner}");
        }
    }
}

/// What was the limit in the server's place stands in the answer itself, and so do stalls with
/// which it is not shown.
#[test]
fn the_answer_says_what_limits_it() {
    let mut limited = found(Settings::default(), usize::MAX, usual);
    limited.answer.connections_limit = Some(2);
    let mut never = found(Settings::default(), 3, usual);
    (never.answer.rate_rps, never.answer.connections_limit) = (None, Some(1));
    let fast: fn(f64) -> Measured = |rate_rps| Measured {
        is_spoilt: rate_rps > 300.0,
        over: if rate_rps > 300.0 { 0.5 } else { 0.0 },
        p99_ms: 2,
    };
    let spoilt = found(Settings::default(), usize::MAX, fast);
    let mut stalled = found(Settings::default(), usize::MAX, usual);
    stalled.answer.doubts.push(plimsoll_core::find::Doubt::StallsUndecided);
    for (found, starts, holds, sure) in [
        (
            &limited,
            "AT LEAST · ",
            "does not: 2 connections were the limit, not the server (raise -c)",
            "- 95 % sure: ",
        ),
        (
            &never,
            "NONE · ",
            "1 connection was the limit, not the server (raise -c)",
            "- quick probes, which promise nothing: ",
        ),
        (
            &stalled,
            "ABOUT · ",
            "in its own hold, and is not shown with the server's stalls; 580/s does not",
            "- not 95 % sure: ",
        ),
        (
            &spoilt,
            "AT LEAST · ",
            "above it the tester was the limit, not the server",
            "- 95 % sure: ",
        ),
    ] {
        let text = text(found, 400);
        let all = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (answer, rest) = all.split_once(" - ").unwrap();
        assert!(answer.starts_with(starts) && answer.ends_with(holds), "{holds}: {answer}");
        let rest = format!("- {rest}");
        assert!(rest.starts_with(sure), "{sure}: {rest}");
        assert!(answer_words(found).ends_with(holds), "{holds}");
    }
}

#[test]
fn each_turn_is_a_line() {
    use plimsoll_core::find::Why;
    for why in [
        Why::FirstFailed,
        Why::NothingBelow,
        Why::QuickWasWrong,
        Why::NotShown,
        Why::Spoilt,
        Why::FailedAfterOverload,
        Why::FailedAgain,
        Why::NotShownAgain,
        Why::Stalls,
        Why::FellBack,
        Why::Recovering,
        Why::Hurried,
        Why::Shortened,
        Why::OutOfBudget,
    ] {
        for next_rps in [None, Some(100.0)] {
            let line = turn_line(&Turn { after: 3, why, rate_rps: 370.0, next_rps });
            assert!(line.starts_with("after probe 3: ") && line.contains("370/s"), "{line}");
            assert!(!line.contains('\n') && !line.contains("  "), "{line}");
        }
    }
}

#[test]
fn a_page_is_well_formed_and_shows_the_answer() {
    let whole = found(Settings::default(), usize::MAX, usual);
    let none = found(Settings::default(), 0, usual);
    for found in [&whole, &none] {
        let page = written(write_html, found);
        checks::self_contained(&page);
        checks::labelled_once(&page);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
    let page = written(write_html, &whole);
    // Latency, and a chart for each objective.
    assert_eq!(checks::labelled_once(&page), 3);
    for part in ["meets the objectives", "does not", "most responses", "load line", "errors&lt;1%"]
    {
        assert!(page.contains(part), "{part}");
    }
    // The bars of holds, and none of quick probes.
    let holds = whole
        .probes
        .iter()
        .filter(|it| it.plan.purpose.decides() && !it.plan.purpose.follows_overload());
    let bars: usize = ["f-pass", "f-fail", "f-unclear"]
        .map(|look| page.matches(&format!("<path class=\"{look}\" d=\"M")).count())
        .iter()
        .sum();
    assert_eq!(bars, 2 * holds.count());
}

#[test]
fn nothing_is_cut_at_any_width() {
    let path = format!("/{}", "articles".repeat(30));
    let fast: fn(f64) -> Measured = |rate_rps| Measured { over: 0.0, p99_ms: 1, ..usual(rate_rps) };
    let spoilt: fn(f64) -> Measured = |rate_rps| Measured { is_spoilt: true, ..usual(rate_rps) };
    let pages = [
        ("whole", found(Settings::default(), usize::MAX, usual)),
        ("fast", found(Settings::default(), usize::MAX, fast)),
        ("spoilt", found_at(Settings::default(), usize::MAX, spoilt, &path)),
        ("nothing", found(Settings::default(), 0, usual)),
    ];
    browser::nothing_is_cut(&pages.map(|(name, found)| (name, written(write_html, &found))));
}

#[test]
fn what_comes_from_outside_stays_text() {
    let found = found_at(Settings::default(), 4, usual, "/<script>alert('x')</script>|`\x1b[31m");
    let page = written(write_html, &found);
    assert!(!page.contains("<script") && !page.contains('\x1b'), "{page}");
    for text in [text(&found, 80), written(write_markdown, &found), written(write_csv, &found)] {
        assert!(!text.contains('\x1b'), "{text}");
    }
}

#[test]
fn lines_fit_and_the_document_reads_back() {
    let found = found(Settings::default(), usize::MAX, usual);
    for width in [60, 80, 100] {
        for line in text(&found, width).lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    let text = written(write_json, &found);
    assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), found);
}

#[test]
fn the_live_title_says_where_the_answer_lies() {
    let whole = found(Settings::default(), usize::MAX, usual);
    let objectives: Vec<Objective> =
        whole.objectives.iter().map(|text| Objective::parse(text).unwrap()).collect();
    let at = |probes: usize| {
        let search =
            Search::resume(Settings::default(), objectives.clone(), &whole.probes[..probes])
                .unwrap();
        let Next::Probe(plan) = search.next() else { return String::new() };
        live_title(&search, &plan, 0)
    };
    assert_eq!(at(0), "1 quick 50.0/s");
    let last = whole.probes.len() - 1;
    assert!(at(last).contains(" ["), "{}", at(last));
    let line = probe_line(1, &whole.probes[0]);
    assert!(line.starts_with("1 quick 50.0/s: pass, p50 800 µs, p99 "), "{line}");
}
