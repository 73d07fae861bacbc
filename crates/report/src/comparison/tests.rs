//! Views of comparisons of hand-made results and studies.

use plimsoll_core::comparison::{Contrast, Limit, Settings, Side};
use plimsoll_core::result::Tool;
use plimsoll_core::study::{Case, CaseRun, Figures, LoadFacts, Quantile, Study};
use plimsoll_core::usage::Usage;
use plimsoll_core::verdict::{Cause, Verdict};

use super::{write_json, write_markdown, write_text};
use crate::heads;
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
    insta::assert_snapshot!(text(&one(), false), @r#"
    SLOWER · rate 0.900 times that of the base, between 0.891 and 0.909 (95 % sure)

    Base      base.json · 5 runs · begun 2026-11-21T12:00:02Z · to 2026-11-21T12:00:10Z
    New       new.json · 5 runs · begun 2026-11-21T12:00:03Z · to 2026-11-21T12:00:11Z
    - new: 1 of 5 runs suspect by the tester's verdict: steal

    Limits    FAIL  p99>+10%              +11.1 %
              pass  rate<-20%             -10.0 %
              FAIL  pss>+1%                     -   pss was not measured on both sides

    Measure              base       new     ratio   from     to   shows
    rate             49 990/s  44 991/s     0.900  0.891  0.909   1.3 %  slower
    p50              950.0 µs  1.056 ms     1.111  1.101  1.121   1.3 %  slower?
    p99              2.400 ms  2.667 ms     1.111  1.101  1.121   1.3 %  slower?
    p99.9            9.000 ms  10.00 ms     1.111  1.101  1.121   1.3 %  slower?
    errors             0.06 %    0.06 %  +0.00 pt  -0.06  +0.06  0.1 pt
    cpu_per_request  18.00 µs  20.00 µs     1.111  1.111  1.111   1.0 %  more?
    rss              5.00 MiB  5.00 MiB     1.000  1.000  1.000   1.0 %
    with this noise 5 repeats can show differences from 1.3 % up (rate)

    base, new: medians over the runs. ratio: the median of the ratios of every new run to every base run
    (Hodges-Lehmann), not that of the medians. from, to: where the true ratio lies, 95 % sure. shows:
    the smallest difference that as many runs, as noisy as these, reveal two times in three. Ratios
    closer to 1 than 1 % are never called.
    A case is decided by failures and then by one measure alone, so that chance decides at most 5 % of
    cases without a difference, each case by itself. "perhaps" or "?": this measure alone would have
    been called different.
    "#);
}

#[test]
fn one_case_fits_80_columns() {
    let mut bytes = Vec::new();
    write_text(&one(), &mut bytes, Style { width: 80, ..Style::default() }).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(!text.contains("Further columns"), "{text}");
    assert!(text.contains("slower?\n"), "{text}");
}

#[test]
fn one_run_each() {
    insta::assert_snapshot!(text(&single(0.9), false), @r#"
    CAN'T TELL · rate 0.900 times that of the base: one run each does not say how far runs of one server
      lie apart: repeat 4 times

    Base      base.json · 1 run · begun 2026-11-21T12:00:02Z
    New       new.json · 1 run · begun 2026-11-21T12:00:03Z

    Measure              base       new     ratio  from  to  shows
    rate             49 990/s  44 991/s     0.900     -   -      -  can't tell
    p50              950.0 µs  1.056 ms     1.111     -   -      -
    p99              2.400 ms  2.667 ms     1.111     -   -      -
    p99.9            9.000 ms  10.00 ms     1.111     -   -      -
    errors             0.02 %    0.02 %  +0.00 pt     -   -      -
    cpu_per_request  18.00 µs  20.00 µs     1.111     -   -      -
    rss              5.00 MiB  5.00 MiB     1.000     -   -      -

    base, new: medians over the runs. ratio: the median of the ratios of every new run to every base run
    (Hodges-Lehmann), not that of the medians. from, to: where the true ratio lies, 95 % sure. shows:
    the smallest difference that as many runs, as noisy as these, reveal two times in three. Ratios
    closer to 1 than 1 % are never called.
    A case is decided by failures and then by one measure alone, so that chance decides at most 5 % of
    cases without a difference, each case by itself. "perhaps" or "?": this measure alone would have
    been called different.
    "#);
}

#[test]
fn several_cases() {
    insta::assert_snapshot!(text(&several(), false), @r#"
    3 cases: 1 faster, 1 slower, 1 can't tell

    Base      base.json · 15 runs · begun 2026-11-21T12:00:02Z · to 2026-11-21T12:00:10Z
    New       new.json · 15 runs · begun 2026-11-21T12:00:22Z · to 2026-11-21T12:00:30Z
    - the sides were measured one after the other: what else changed on the machine in between looks
      like a difference, and repeats cannot tell it apart

    Limits    pass  rate<-5%               +0.0 %   nginx under closed
              FAIL  rate<-5%              -10.0 %   haproxy under closed
              pass  rate<-5%              +20.0 %   proxy under many connections

    Case                                 base       new  ratio   from     to  shows
    nginx under closed         rate  49 990/s  49 990/s  1.000  0.990  1.010  1.3 %  can't tell
    haproxy under closed       rate  49 990/s  44 991/s  0.900  0.891  0.909  1.3 %  slower
      perhaps p50 slower 1.111 (1.101 to 1.121), p99 slower 1.111 (1.101 to 1.121), p99.9 slower
        1.111 (1.101 to 1.121), cpu_per_request more 1.111 (1.111 to 1.111)
    proxy under many connect…  rate  49 990/s  59 988/s  1.200  1.189  1.212  1.3 %  faster
      perhaps p50 faster 0.833 (0.826 to 0.841), p99 faster 0.833 (0.826 to 0.841), p99.9 faster
        0.833 (0.826 to 0.841), cpu_per_request less 0.833 (0.833 to 0.833)

    base, new: medians over the runs. ratio: the median of the ratios of every new run to every base run
    (Hodges-Lehmann), not that of the medians. from, to: where the true ratio lies, 95 % sure. shows:
    the smallest difference that as many runs, as noisy as these, reveal two times in three. Ratios
    closer to 1 than 1 % are never called.
    A case is decided by failures and then by one measure alone, so that chance decides at most 5 % of
    cases without a difference, each case by itself. "perhaps" or "?": this measure alone would have
    been called different.
    Of 3 cases without any difference chance calls 0.2 at most, on average.
    "#);
}

#[test]
fn one_case_in_markdown() {
    insta::assert_snapshot!(markdown(&one()), @r#"
    **slower**: rate 0.900 times that of the base, between 0.891 and 0.909 (95 % sure)

    - base: `base.json`, 5 runs, begun 2026-11-21T12:00:02Z
    - new: `new.json`, 5 runs, begun 2026-11-21T12:00:03Z

    | | limit | case | change | |
    |---|---|---|--:|---|
    | **FAIL** | `p99>+10%` |  | +11.1 % |  |
    | pass | `rate<-20%` |  | -10.0 % |  |
    | **FAIL** | `pss>+1%` |  | - | pss was not measured on both sides |

    - new: 1 of 5 runs suspect by the tester's verdict: steal

    | measure | base | new | ratio | from | to | shows | |
    |---|--:|--:|--:|--:|--:|--:|---|
    | **rate** | 49 990/s | 44 991/s | 0.900 | 0.891 | 0.909 | 1.3 % | **slower** |
    | p50 | 950.0 µs | 1.056 ms | 1.111 | 1.101 | 1.121 | 1.3 % | slower? |
    | p99 | 2.400 ms | 2.667 ms | 1.111 | 1.101 | 1.121 | 1.3 % | slower? |
    | p99.9 | 9.000 ms | 10.00 ms | 1.111 | 1.101 | 1.121 | 1.3 % | slower? |
    | errors | 0.06 % | 0.06 % | +0.00 pt | -0.06 | +0.06 | 0.1 pt |  |
    | cpu_per_request | 18.00 µs | 20.00 µs | 1.111 | 1.111 | 1.111 | 1.0 % | more? |
    | rss | 5.00 MiB | 5.00 MiB | 1.000 | 1.000 | 1.000 | 1.0 % |  |

    with this noise 5 repeats can show differences from 1.3 % up (rate)

    base, new: medians over the runs. ratio: the median of the ratios of every new run to every base run (Hodges-Lehmann), not that of the medians. from, to: where the true ratio lies, 95 % sure. shows: the smallest difference that as many runs, as noisy as these, reveal two times in three. Ratios closer to 1 than 1 % are never called.
    A case is decided by failures and then by one measure alone, so that chance decides at most 5 % of cases without a difference, each case by itself. "perhaps" or "?": this measure alone would have been called different.
    "#);
}

#[test]
fn several_cases_in_markdown() {
    insta::assert_snapshot!(markdown(&several()), @r#"
    **3 cases: 1 faster, 1 slower, 1 can't tell**

    - base: `base.json`, 15 runs, begun 2026-11-21T12:00:02Z
    - new: `new.json`, 15 runs, begun 2026-11-21T12:00:22Z
    - the sides were measured one after the other: what else changed on the machine in between looks like a difference, and repeats cannot tell it apart

    | | limit | case | change | |
    |---|---|---|--:|---|
    | pass | `rate<-5%` | nginx under closed | +0.0 % |  |
    | **FAIL** | `rate<-5%` | haproxy under closed | -10.0 % |  |
    | pass | `rate<-5%` | proxy under many connections | +20.0 % |  |

    | case | measure | base | new | ratio | from | to | shows | |
    |---|---|--:|--:|--:|--:|--:|--:|---|
    | nginx under closed | rate | 49 990/s | 49 990/s | 1.000 | 0.990 | 1.010 | 1.3 % | **can't tell** |
    | haproxy under closed | rate | 49 990/s | 44 991/s | 0.900 | 0.891 | 0.909 | 1.3 % | **slower** |
    | proxy under many connections | rate | 49 990/s | 59 988/s | 1.200 | 1.189 | 1.212 | 1.3 % | **faster** |

    ### nginx under closed

    | measure | base | new | ratio | from | to | shows | |
    |---|--:|--:|--:|--:|--:|--:|---|
    | **rate** | 49 990/s | 49 990/s | 1.000 | 0.990 | 1.010 | 1.3 % | **can't tell** |
    | p50 | 950.0 µs | 950.0 µs | 1.000 | 0.991 | 1.009 | 1.3 % |  |
    | p99 | 2.400 ms | 2.400 ms | 1.000 | 0.991 | 1.009 | 1.3 % |  |
    | p99.9 | 9.000 ms | 9.000 ms | 1.000 | 0.991 | 1.009 | 1.3 % |  |
    | errors | 0.06 % | 0.06 % | +0.00 pt | -0.06 | +0.06 | 0.1 pt |  |
    | cpu_per_request | 18.00 µs | 18.00 µs | 1.000 | 1.000 | 1.000 | 1.0 % |  |
    | rss | 5.00 MiB | 5.00 MiB | 1.000 | 1.000 | 1.000 | 1.0 % |  |

    with this noise 5 repeats can show differences from 1.3 % up (rate)

    ### haproxy under closed

    | measure | base | new | ratio | from | to | shows | |
    |---|--:|--:|--:|--:|--:|--:|---|
    | **rate** | 49 990/s | 44 991/s | 0.900 | 0.891 | 0.909 | 1.3 % | **slower** |
    | p50 | 950.0 µs | 1.056 ms | 1.111 | 1.101 | 1.121 | 1.3 % | slower? |
    | p99 | 2.400 ms | 2.667 ms | 1.111 | 1.101 | 1.121 | 1.3 % | slower? |
    | p99.9 | 9.000 ms | 10.00 ms | 1.111 | 1.101 | 1.121 | 1.3 % | slower? |
    | errors | 0.06 % | 0.06 % | +0.00 pt | -0.06 | +0.06 | 0.1 pt |  |
    | cpu_per_request | 18.00 µs | 20.00 µs | 1.111 | 1.111 | 1.111 | 1.0 % | more? |
    | rss | 5.00 MiB | 5.00 MiB | 1.000 | 1.000 | 1.000 | 1.0 % |  |

    with this noise 5 repeats can show differences from 1.3 % up (rate)

    ### proxy under many connections

    | measure | base | new | ratio | from | to | shows | |
    |---|--:|--:|--:|--:|--:|--:|---|
    | **rate** | 49 990/s | 59 988/s | 1.200 | 1.189 | 1.212 | 1.3 % | **faster** |
    | p50 | 950.0 µs | 791.7 µs | 0.833 | 0.826 | 0.841 | 1.3 % | faster? |
    | p99 | 2.400 ms | 2.000 ms | 0.833 | 0.826 | 0.841 | 1.3 % | faster? |
    | p99.9 | 9.000 ms | 7.500 ms | 0.833 | 0.826 | 0.841 | 1.3 % | faster? |
    | errors | 0.06 % | 0.06 % | +0.00 pt | -0.06 | +0.06 | 0.1 pt |  |
    | cpu_per_request | 18.00 µs | 15.00 µs | 0.833 | 0.833 | 0.833 | 1.0 % | less? |
    | rss | 5.00 MiB | 5.00 MiB | 1.000 | 1.000 | 1.000 | 1.0 % |  |

    with this noise 5 repeats can show differences from 1.3 % up (rate)

    base, new: medians over the runs. ratio: the median of the ratios of every new run to every base run (Hodges-Lehmann), not that of the medians. from, to: where the true ratio lies, 95 % sure. shows: the smallest difference that as many runs, as noisy as these, reveal two times in three. Ratios closer to 1 than 1 % are never called.
    A case is decided by failures and then by one measure alone, so that chance decides at most 5 % of cases without a difference, each case by itself. "perhaps" or "?": this measure alone would have been called different.
    "#);
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
