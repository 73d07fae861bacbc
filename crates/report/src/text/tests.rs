use super::table::WIDTH;
use super::*;
use crate::samples;

fn report(result: &RunResult, color: bool) -> String {
    let mut bytes = Vec::new();
    write(result, &mut bytes, Style { color }).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn all() -> Vec<RunResult> {
    vec![
        samples::steady(),
        samples::stall(),
        samples::ramp(),
        samples::nothing(),
        samples::cut_short(),
        samples::hostile(),
        samples::bare(),
    ]
}

#[test]
fn a_closed_loop() {
    insta::assert_snapshot!(report(&samples::steady(), false), @"");
}

#[test]
fn a_stall_under_a_rate() {
    insta::assert_snapshot!(report(&samples::stall(), false), @"");
}

#[test]
fn an_overloaded_server() {
    insta::assert_snapshot!(report(&samples::ramp(), false), @"");
}

#[test]
fn nothing_completed() {
    insta::assert_snapshot!(report(&samples::nothing(), false), @"");
}

#[test]
fn a_run_cut_short_after_a_warm_up() {
    insta::assert_snapshot!(report(&samples::cut_short(), false), @"");
}

#[test]
fn a_report_fits_a_screen() {
    for result in all() {
        let text = report(&result, false);
        assert!(text.lines().count() <= 45, "{text}");
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn colours_change_nothing_else() {
    for result in all() {
        let (plain, colored) = (report(&result, false), report(&result, true));
        assert!(!plain.contains('\x1b'));
        assert!(colored.contains("\x1b["));
        let mut rest = colored.as_str();
        let mut stripped = String::new();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            stripped += before;
            rest = after.split_once('m').unwrap().1;
        }
        assert_eq!(stripped + rest, plain);
    }
}

#[test]
fn more_than_fits_is_summed_up() {
    let mut result = samples::ramp();
    let error = result.errors[0].clone();
    for kind in 0..20 {
        result.errors.push(plimsoll_core::result::ErrorCount {
            kind: format!("kind_{kind}"),
            count: 3,
            ..error.clone()
        });
    }
    result.status = (200..230).map(|status| (status, 7)).collect();
    let gate = plimsoll_core::result::Gate { expr: "p50<1ms".to_owned(), value: None, pass: true };
    result.gates = vec![gate; 9];
    result.latency.response.record(4_000_000_000_000);
    let text = report(&result, false);
    for part in ["51  of 17 more kinds", "and 22 more", "and 3 more", "1 response time of more"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
