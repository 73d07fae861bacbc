//! Views of what another tester wrote: a whole file, one that says little, and a hostile one.

use plimsoll_core::foreign::{
    Distribution, ForeignResult, Interpolated, ServiceTimes, TimeBucket, TimesOf,
};
use plimsoll_core::study::Figures;

use super::{
    Link, RESULTS_MAX, write_csv, write_html, write_html_of_several, write_markdown, write_text,
};
use crate::heads;
use crate::page::browser;
use crate::page::checks::{labelled_once, self_contained};
use crate::text::Style;
use crate::text::table::columns;

fn whole() -> ForeignResult {
    let quantile =
        |(q, s, from, to, is_said)| Interpolated { q, s, bucket_s: Some((from, to)), is_said };
    let quantiles = [
        (0.25, 0.000_4, 0.000_088, 0.001, false),
        (0.5, 0.000_809, 0.000_088, 0.001, true),
        (0.95, 0.002_5, 0.002, 0.003, false),
        (0.99, 0.005_516, 0.005, 0.005_774, true),
        (0.999, 0.005_748, 0.005, 0.005_774, true),
    ];
    ForeignResult {
        read_as: "a result of fortio 1.75.2 (HTTP)".to_owned(),
        tester: "fortio 1.75.2".to_owned(),
        target: Some("http://127.0.0.1:8080/echo?delay=5ms:5".to_owned()),
        labels: Some("nightly, vm".to_owned()),
        started_at: Some("2026-11-22T07:07:18.408442713Z".to_owned()),
        load: ["100/s", "for 1s", "2 threads"].map(str::to_owned).to_vec(),
        is_paced: Some(true),
        target_rps: Some(100.0),
        facts: [("connections".to_owned(), "2".to_owned())].into(),
        failure: None,
        calls_rps: Some(99.78),
        figures: Figures {
            rate_rps: Some(99.78),
            duration_s: Some(1.002),
            completed: Some(100),
            failed: Some(2),
            errors: Some(0),
            ..Figures::default()
        },
        times: ServiceTimes {
            count: Some(100),
            min_s: Some(0.000_088_7),
            mean_s: Some(0.000_91),
            stdev_s: Some(0.001_037),
            max_s: Some(0.005_774),
            quantiles: quantiles.map(quantile).to_vec(),
        },
        distributions: vec![
            distribution(TimesOf::Calls, &[(0.000_088, 0.001, 90), (0.005, 0.005_774, 10)]),
            distribution(TimesOf::DueCalls, &[(0.000_088, 0.001, 50), (0.001, 0.02, 50)]),
            distribution(TimesOf::FailedCalls, &[(0.000_1, 0.001, 2)]),
        ],
        outcomes: vec![("200".to_owned(), 98), ("503".to_owned(), 2)],
        notes: vec!["a note".to_owned()],
    }
}

fn distribution(of: TimesOf, buckets: &[(f64, f64, u64)]) -> Distribution {
    let bucket = |&(from_s, to_s, count): &_| TimeBucket { from_s, to_s, count };
    Distribution { of, buckets: buckets.iter().map(bucket).collect() }
}

fn html(result: &ForeignResult) -> String {
    let mut bytes = Vec::new();
    let links = [Link { href: "data/a.json", text: "JSON" }];
    write_html(result, &links, &mut bytes).unwrap();
    heads::checked(String::from_utf8(bytes).unwrap())
}

fn text(result: &ForeignResult) -> String {
    let mut bytes = Vec::new();
    write_text(result, &mut bytes, Style { color: false, width: 80 }).unwrap();
    heads::checked(String::from_utf8(bytes).unwrap())
}

fn markdown(result: &ForeignResult) -> String {
    let mut bytes = Vec::new();
    write_markdown(result, &mut bytes).unwrap();
    heads::checked(String::from_utf8(bytes).unwrap())
}

fn csv(result: &ForeignResult) -> Vec<(String, String)> {
    let mut bytes = Vec::new();
    write_csv(result, &mut bytes).unwrap();
    let text = heads::checked(String::from_utf8(bytes).unwrap());
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[0].len()), (2, rows[1].len()), "{text}");
    rows[0].iter().zip(&rows[1]).map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn a_whole_file_in_every_view() {
    insta::assert_snapshot!("text", text(&whole()));
    insta::assert_snapshot!("markdown", markdown(&whole()));
    let filled: Vec<String> = csv(&whole())
        .iter()
        .filter(|(_, cell)| !cell.is_empty())
        .map(|(name, cell)| format!("{name}: {cell}"))
        .collect();
    insta::assert_snapshot!("csv", filled.join("\n"));
}

#[test]
fn a_page_has_charts_of_what_the_file_has() {
    let page = html(&whole());
    self_contained(&page);
    assert_eq!(labelled_once(&page), 2);
    for part in [
        "<a href=\"data/a.json\">JSON</a>",
        "<h1>99.8/s of 100/s, ",
        "path class=\"s-service\" d=\"M",
        "path class=\"s-response\" d=\"M",
        "path class=\"s-failed\" d=\"M",
        "from when calls were due",
        "<th scope=\"row\">503</th>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let bare = html(&ForeignResult { distributions: Vec::new(), ..whole() });
    assert!(!bare.contains("<figure"), "{bare}");
}

/// From the axis up, from bucket to bucket, over the gap between two of them, and back.
#[test]
fn buckets_are_outlined() {
    let calls = [(0.001, 0.01, 10), (0.1, 1.0, 5)];
    let distributions = vec![distribution(TimesOf::Calls, &calls)];
    let page = html(&ForeignResult { distributions, ..whole() });
    let outline = "M0.0 1000H0.0V0H333.3V1000H666.7V500H1000.0V1000H1000.0";
    assert!(page.contains(outline), "{page}");
}

/// Nighthawk's buckets may begin at 0, and a file may have thousands of them.
#[test]
fn any_buckets_have_a_chart() {
    let zero = distribution(TimesOf::Calls, &[(0.0, 0.001, 4)]);
    let page = html(&ForeignResult { distributions: vec![zero], ..whole() });
    assert!(page.contains(">100 µs<") && page.contains(">1 ms<"), "{page}");
    let many: Vec<(f64, f64, u64)> =
        (1..=10_000).map(|n| (f64::from(n) / 1e4, f64::from(n + 1) / 1e4, 1)).collect();
    let distributions = vec![distribution(TimesOf::Calls, &many)];
    let page = html(&ForeignResult { distributions, ..whole() });
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
}

#[test]
fn several_results_stand_in_one_chart() {
    let results: Vec<(String, ForeignResult)> =
        (0..=RESULTS_MAX).map(|n| (format!("run <{n}>"), whole())).collect();
    let mut bytes = Vec::new();
    write_html_of_several(&results, &[], &mut bytes).unwrap();
    let page = String::from_utf8(bytes).unwrap();
    self_contained(&page);
    assert_eq!(page.matches("<path class=\"s-8\" d=\"M").count(), 2 + 2, "{page}");
    assert!(page.contains("run &lt;7&gt;") && !page.contains("run &lt;8&gt;"), "{page}");
}

#[test]
fn nothing_is_cut_at_any_width() {
    let long = "istio.example.com/pilot-load-test-".repeat(6);
    let several: Vec<(String, ForeignResult)> =
        (0..RESULTS_MAX).map(|n| (format!("{n}-{long}"), whole())).collect();
    let mut bytes = Vec::new();
    write_html_of_several(&several, &[], &mut bytes).unwrap();
    let labelled = ForeignResult { labels: Some(long.clone()), target: Some(long), ..whole() };
    let pages = [
        ("whole", html(&whole())),
        ("labelled", html(&labelled)),
        ("several", String::from_utf8(bytes).unwrap()),
    ];
    browser::nothing_is_cut(&pages);
}

#[test]
fn what_is_not_said_is_not_shown() {
    let bare = ForeignResult { tester: "fortio".to_owned(), ..ForeignResult::default() };
    assert_eq!(text(&bare), "fortio · the file has no figures\n");
    assert_eq!(markdown(&bare), "**fortio** · the file has no figures\n\n");
    let filled = csv(&bare).into_iter().filter(|(_, cell)| !cell.is_empty());
    let names: Vec<String> = filled.map(|(name, _)| name).collect();
    assert_eq!(names, ["version"]);
}

#[test]
fn text_from_the_file_is_made_harmless() {
    let hostile = "\u{1b}[2J=1+1<script>|`x`".to_owned();
    let result = ForeignResult {
        tester: hostile.clone(),
        target: Some(hostile.clone()),
        labels: Some(hostile.clone()),
        outcomes: vec![(hostile.clone(), 1)],
        notes: vec![hostile],
        ..whole()
    };
    let text = text(&result);
    assert!(!text.contains('\u{1b}') && text.lines().all(|line| columns(line) <= 80), "{text}");
    let page = html(&result);
    self_contained(&page);
    assert!(!page.contains('\u{1b}'), "{page}");
    let markdown = markdown(&result);
    assert!(!markdown.contains('\u{1b}'), "{markdown}");
    assert!(markdown.starts_with("**\u{fffd}\\[2J=1+1\\<script\\>"), "{markdown}");
    let version = csv(&result).into_iter().find(|(name, _)| name == "version").unwrap().1;
    assert!(!version.starts_with('=') && !version.contains('\u{1b}'), "{version}");
}
