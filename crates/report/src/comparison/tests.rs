//! Views of comparisons of hand-made results and studies.

use plimsoll_core::comparison::{CaseDecision, Contrast, Limit, Settings, Side};
use plimsoll_core::result::Tool;
use plimsoll_core::study::{Case, CaseRun, Figures, LoadFacts, Measure, Quantile, Study};
use plimsoll_core::usage::Usage;
use plimsoll_core::verdict::{Cause, Verdict};

use super::{html, write_json, write_markdown, write_summary, write_text};
use crate::heads;
use crate::page::checks;
use crate::text::Style;
use crate::text::table::WIDTH;

/// Offsets of five repeats, in thousandths.
const NOISE: [i32; 5] = [0, 7, -9, 4, -2];

/// A case whose runs are `by` times as fast; they begin in every second second from `second` on.
fn case(server: &str, load: &str, by: f64, second: u32) -> Case {
    let run = |(repeat, noise): (u32, &i32)| {
        let rate_rps = 50_000.0 * by * (1.0 + f64::from(*noise) / 1000.0);
        let at = |q: f64, us: f64| Quantile::known(q, us / 1e6 * 50_000.0 / rate_rps);
        CaseRun {
            repeat,
            started_at: format!("2026-11-21T12:00:{:02}Z", second + 2 * repeat),
            figures: Figures {
                rate_rps: Some(rate_rps),
                latency: vec![at(0.5, 950.0), at(0.99, 2400.0), at(0.999, 9000.0)],
                completed: Some(500_000),
                failed: Some(u64::from(repeat) * 100),
                ..Figures::default()
            },
            verdict: Some(Verdict::Valid),
            server: Some(Usage {
                cpu_ns: (9e9 / by) as u64 + u64::from(repeat) * 1000,
                rss_peak_bytes: 5 << 20,
                ..Usage::default()
            }),
            ..CaseRun::default()
        }
    };
    let runs = (1..).zip(&NOISE).map(run).collect();
    Case { server: server.to_owned(), load: load.to_owned(), skipped: None, runs }
}

fn study(cases: Vec<Case>) -> Study {
    let load = |case: &Case| LoadFacts {
        name: case.load.clone(),
        tester: "wrk".to_owned(),
        command: "wrk {url}".to_owned(),
        ..LoadFacts::default()
    };
    Study { loads: cases.iter().map(load).collect(), cases, ..Study::empty("echo") }
}

fn contrast(base: Vec<Case>, new: Vec<Case>, limits: &[&str]) -> Contrast {
    let base = Side::of_study("base.json", &study(base));
    let new = Side::of_study("new.json", &study(new));
    let limits: Vec<Limit> = limits.iter().map(|text| Limit::parse(text).unwrap()).collect();
    let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
    Contrast::of(&base, &new, Settings::default(), &limits, tool)
}

/// A server slowed by a tenth, one measured alone.
fn one() -> Contrast {
    let mut new = case("", "", 0.9, 1);
    new.runs[2].verdict = Some(Verdict::Suspect);
    new.runs[2].causes.push(Cause {
        verdict: Verdict::Suspect,
        code: "steal".to_owned(),
        text: "CPU time was taken".to_owned(),
        touches: Vec::new(),
    });
    contrast(vec![case("", "", 1.0, 0)], vec![new], &["p99>+10%", "rate<-20%", "pss>+1%"])
}

fn single(by: f64) -> Contrast {
    let mut sides = [case("", "", 1.0, 0), case("", "", by, 1)];
    sides.iter_mut().for_each(|case| case.runs.truncate(1));
    let [base, new] = sides;
    contrast(vec![base], vec![new], &[])
}

fn several() -> Contrast {
    let names = [("nginx", "closed"), ("haproxy", "closed"), ("proxy", "many connections")];
    let base = names.iter().map(|(server, load)| case(server, load, 1.0, 0)).collect();
    let by = [1.0, 0.9, 1.2];
    let new = names.iter().zip(by).map(|((server, load), by)| case(server, load, by, 20)).collect();
    contrast(base, new, &["rate<-5%"])
}

/// Names with markup and terminal escapes, and figures of all magnitudes and of none.
fn hostile() -> Contrast {
    let name = "a|b`<script>\x1b[31m\n**x**";
    let mut huge = case(name, name, 1e12, 0);
    huge.runs[0].failure = Some("it \x1b[31mdied".to_owned());
    let mut none = case("none", "", 1.0, 0);
    none.runs.clear();
    let mut zero = case("zero", "", 1.0, 0);
    for run in &mut zero.runs {
        run.figures = Figures { rate_rps: Some(0.0), ..Figures::default() };
    }
    let base = vec![case(name, name, 1.0, 0), none.clone(), zero.clone(), zero.clone()];
    contrast(base, vec![huge, none, case("zero", "", 1.0, 0)], &["rate<-5%"])
}

fn text(contrast: &Contrast, color: bool) -> String {
    let mut bytes = Vec::new();
    write_text(contrast, &mut bytes, Style { color, ..Style::default() }).unwrap();
    heads::checked(String::from_utf8(bytes).unwrap())
}

fn markdown(contrast: &Contrast) -> String {
    let mut bytes = Vec::new();
    write_markdown(contrast, &mut bytes).unwrap();
    heads::checked(String::from_utf8(bytes).unwrap())
}

#[test]
fn one_case() {
    insta::assert_snapshot!(text(&one(), false));
}

#[test]
fn one_case_fits_80_columns() {
    let mut bytes = Vec::new();
    write_text(&one(), &mut bytes, Style { width: 80, ..Style::default() }).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains("Further columns"), "{text}");
    assert!(text.contains("slower\n"), "{text}");
}

#[test]
fn one_run_each() {
    insta::assert_snapshot!(text(&single(0.9), false));
}

#[test]
fn several_cases() {
    insta::assert_snapshot!(text(&several(), false));
}

#[test]
fn one_case_in_markdown() {
    insta::assert_snapshot!(markdown(&one()));
}

#[test]
fn several_cases_in_markdown() {
    insta::assert_snapshot!(markdown(&several()));
}

/// The first words of each view, which are all that many people read.
fn first_lines(contrast: &Contrast) -> String {
    let wide = Style { width: 100, ..Style::default() };
    let mut bytes = Vec::new();
    write_text(contrast, &mut bytes, wide).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let head = text.split("\n\n").next().unwrap();
    head.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One case whose figures differ by these factors: rate, p50, p99, p99.9, CPU.
fn changed(by: [f64; 5], limits: &[&str]) -> Contrast {
    let [rate, p50, p99, p999, cpu] = by;
    let mut new = case("", "", 1.0, 1);
    for run in &mut new.runs {
        run.figures.rate_rps = run.figures.rate_rps.map(|rps| rps * rate);
        for (quantile, by) in run.figures.latency.iter_mut().zip([p50, p99, p999]) {
            quantile.s *= by;
        }
        let server = run.server.as_mut().unwrap();
        server.cpu_ns = (server.cpu_ns as f64 * cpu) as u64;
    }
    contrast(vec![case("", "", 1.0, 0)], vec![new], limits)
}

#[test]
fn what_is_known_stands_first_and_nothing_known_under_cannot_tell() {
    let slower = [1.0, 1.054, 1.0, 1.0, 1.0];
    let mut all = String::new();
    for (by, limits, starts) in [
        (slower, &[][..], "SLOWER: p50 +5.4 % ("),
        (slower, &["p50>+3%"], "FAILED: p50 +5.4 % (at least"),
        (slower, &["p50>+10%"], "passed: p50 +5.4 % (at most"),
        (slower, &["p50>+5%"], "UNDECIDED: p50 +5.4 % ("),
        (slower, &["pss>+5%"], "UNDECIDED: pss was not measured on both sides SLOWER: p50"),
        ([0.9, 1.1, 1.1, 1.1, 1.1], &["rate<-5%"], "FAILED: rate -10.0 % (at most"),
        (
            [0.9, 1.1, 1.1, 1.1, 1.1],
            &["rate<-5%", "p99>+5%", "errors>+1%"],
            "FAILED, 2 of 3 limits: rate -10.0 % (at most",
        ),
        (
            [1.0; 5],
            &["rate<-5%", "errors>+1%"],
            "passed, all 2 limits: nothing is beyond rate<-5%, errors>+1% NO DIFFERENCE FOUND:",
        ),
        ([1.2, 0.9, 0.9, 0.9, 0.8], &[], "FASTER: rate +20.0 % ("),
        ([1.0, 1.1, 0.9, 1.0, 1.0], &[], "MIXED: p50 +10.0 % ("),
        ([1.0, 1.0, 1.0, 1.0, 0.8], &[], "LESS CPU: CPU per request -20.0 % ("),
        ([67.0, 1.0, 1.0, 1.0, 1.0], &[], "FASTER: rate 67 times ("),
    ] {
        let found = first_lines(&changed(by, limits));
        assert!(found.starts_with(starts), "{by:?} {limits:?}: {found}");
        assert!(!found.contains("CAN'T TELL"), "something is known: {found}");
        all += &format!("{found}\n");
    }
    insta::assert_snapshot!(all);
}

/// At a rate the rates of servers that keep up are the same, whatever the rest.
#[test]
fn a_rate_that_is_the_same_does_not_speak_for_times_that_are_open() {
    let mut contrast = changed([1.0; 5], &[]);
    let case = &mut contrast.cases[0];
    for it in [&mut case.headline].into_iter().chain(&mut case.others) {
        it.comparison.is_alike = it.measure.measure == Measure::Rate;
    }
    case.decision = CaseDecision::CannotTell;
    let found = first_lines(&contrast);
    assert!(found.starts_with("CAN'T TELL: "), "{found}");
    assert!(found.contains("rate the same"), "{found}");
}

/// What else the sides differ in may be the reason of all, so it stands before the tables.
#[test]
fn unlike_sides_are_named_above_the_figures() {
    let mut contrast = one();
    contrast.differences = vec!["base asks /a, new asks /b".to_owned()];
    for (view, table) in [
        (text(&contrast, false), "Base "),
        (markdown(&contrast), "- base: "),
        (html::page(&contrast), "<section>"),
    ] {
        let [unlike, table] = ["unlike: base asks /a, new asks /b", table].map(|it| view.find(it));
        assert!(unlike.is_some() && unlike < table, "{view}");
        assert_eq!(view.matches("base asks").count(), 1, "{view}");
    }
}

#[test]
fn sides_have_the_names_that_they_were_given() {
    let mut named = one();
    named.base.label = Some("main".to_owned());
    named.new.label = Some("this branch".to_owned());
    let mut bytes = Vec::new();
    write_summary(&named, &mut bytes).unwrap();
    let summary = String::from_utf8(bytes).unwrap();
    let mut lines = summary.lines();
    assert_eq!(lines.next(), Some("### main against this branch"));
    assert!(summary.ends_with("\n\n"), "what is added next is a block of its own");
    assert!(summary.contains("- base: `main`, base.json, 5 runs"), "{summary}");
    let page = html::page(&named);
    assert!(page.contains("<title>main against this branch</title>"), "{page}");
    assert!(text(&named, false).contains("Base      main · base.json · 5 runs"));
}

#[test]
fn pages_are_well_formed_harmless_and_need_nothing_else() {
    for contrast in [one(), several(), single(1.0), hostile(), contrast(vec![], vec![], &[])] {
        let page = html::page(&contrast);
        checks::self_contained(&page);
        assert!(!page.contains('\x1b') && !page.contains("<script>\\"), "{page}");
        let scripts = checks::elements(&page).iter().filter(|name| *name == "script").count();
        assert_eq!(scripts, 0, "a page without figures to point at has no script");
    }
    let page = html::page(&one());
    let answer = super::answer::Answer::of(&one().cases[0]).sentence;
    for part in [answer.as_str(), "FAILED, 1 of 3 limits", "Where the true changes lie", "steal"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<svg class=\"worse\"").count(), 5);
}

#[test]
fn colours_are_all_that_differs() {
    for contrast in [one(), several(), single(1.0)] {
        let mut plain = text(&contrast, true);
        for code in ["\x1b[1;32m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[31m", "\x1b[0m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, text(&contrast, false));
    }
}

#[test]
fn one_case_fits_a_narrow_terminal() {
    for (contrast, width) in [(one(), 80), (single(1.0), 80), (one(), 60)] {
        let mut bytes = Vec::new();
        write_text(&contrast, &mut bytes, Style { width, ..Style::default() }).unwrap();
        let shown = String::from_utf8(bytes).unwrap();
        let too_long = shown.lines().find(|line| line.chars().count() > width);
        assert_eq!(too_long, None, "{shown}");
        let wide = text(&contrast, false);
        let figures = |text: &str| text.matches(|c: char| c.is_ascii_digit()).count();
        assert!(figures(&shown) >= figures(&wide), "no figure is cut: {shown}");
    }
}

#[test]
fn names_from_outside_do_no_harm_and_lines_fit() {
    let hostile = hostile();
    for contrast in [one(), several(), single(1.0), hostile.clone(), contrast(vec![], vec![], &[])]
    {
        let shown = text(&contrast, false);
        assert!(!shown.contains('\x1b'), "{shown}");
        for line in shown.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }
    let shown = markdown(&hostile);
    assert!(!shown.contains("<script>") && !shown.contains('\x1b'), "{shown}");
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<&str> = shown.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.iter().all(|row| [6, 9, 10].contains(&columns(row))), "{shown}");
}

#[test]
fn the_document_reads_back() {
    for contrast in [one(), several(), hostile()] {
        let mut bytes = Vec::new();
        write_json(&contrast, &mut bytes).unwrap();
        assert!(bytes.ends_with(b"}\n"));
        let read: Contrast = serde_json::from_slice(&bytes).unwrap();
        let decisions = |contrast: &Contrast| -> Vec<_> {
            contrast.cases.iter().map(|case| (case.server.clone(), case.decision)).collect()
        };
        assert_eq!(decisions(&read), decisions(&contrast));
        assert_eq!(read.limits.len(), contrast.limits.len());
    }
}
