//! The adapters with output of the testers themselves, captured on loopback from the built-in
//! target: with some answers 503 and some connections reset, with some answers missing, and without
//! a server.

mod asking;

use std::path::{Path, PathBuf};

use super::all;
use crate::tool::{
    Ask, Call, Finished, Further, Http2Over, Method, Need, Reading, Resolve, Rpc, TesterAdapter,
};
use plimsoll_lab::testers::text::{number, percentile_rows, quantile_of, seconds};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tools/fixtures")
}

fn tool(name: &str) -> Box<dyn TesterAdapter> {
    all().into_iter().find(|tool| tool.name() == name).expect("one of them")
}

fn captured(name: &str) -> Finished {
    let scratch = fixtures().join(name);
    let text = |file: &str| std::fs::read_to_string(scratch.join(file)).unwrap_or_default();
    Finished { code: Some(0), stdout: text("stdout"), stderr: text("stderr"), scratch }
}

fn read(name: &str) -> Result<Reading, String> {
    tool(name.split('-').next().expect("a first part")).read(&captured(name))
}

/// Completed, ok, failed, timed out, errors.
type Counts = [Option<u64>; 5];

fn counts(reading: &Reading) -> Counts {
    [reading.completed, reading.ok, reading.failed, reading.timed_out, reading.errors]
}

fn at(quantiles: &[(f64, f64)], quantile: f64) -> Option<f64> {
    quantiles.iter().find(|row| row.0 == quantile).map(|row| row.1)
}

/// Whether two figures are the same but for rounding in the last digit of a double.
fn same(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * b.abs(),
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[test]
fn counts_are_as_printed() {
    let some = |counts: [u64; 5]| counts.map(Some);
    let untold = |[completed, ok, failed, errors]: [u64; 4]| {
        [Some(completed), Some(ok), Some(failed), None, Some(errors)]
    };
    for (name, want) in [
        ("wrk-errors", some([132_575, 125_970, 6605, 0, 1297])),
        ("wrk-timeouts", some([680, 680, 0, 0, 0])),
        ("wrk2-errors", some([995, 957, 38, 0, 5])),
        ("wrk2-timeouts", some([177, 177, 0, 3, 0])),
        ("ab-errors", untold([1975, 1876, 99, 25])),
        ("ab-refused", untold([0, 0, 0, 20])),
        ("hey-errors", some([1999, 1911, 88, 0, 1])),
        ("hey-timeouts", some([1353, 1353, 0, 32, 0])),
        ("hey-refused", some([0, 0, 0, 0, 16])),
        ("fortio-errors", untold([1998, 1904, 94, 2])),
        ("fortio-timeouts", untold([368, 368, 0, 0])),
        ("fortio-refused", untold([0, 0, 0, 16])),
        ("k6-errors", some([1999, 1920, 79, 0, 1])),
        ("k6-timeouts", some([392, 392, 0, 9, 0])),
        ("k6-refused", some([0, 0, 0, 0, 21])),
        ("k6-fallback", some([190, 190, 0, 0, 0])),
        ("oha-errors", some([1982, 1902, 80, 0, 18])),
        ("oha-timeouts", some([395, 395, 0, 5, 0])),
        ("oha-refused", some([0, 0, 0, 0, 20])),
        ("vegeta-errors", some([1000, 955, 45, 0, 0])),
        ("vegeta-timeouts", some([389, 389, 0, 11, 0])),
        ("vegeta-refused", some([0, 0, 0, 0, 20])),
        ("bombardier-errors", some([139_470, 132_576, 6894, 0, 0])),
        ("bombardier-timeouts", some([401, 401, 0, 0, 0])),
        ("bombardier-refused", some([0, 0, 0, 0, 20])),
        ("autocannon-errors", some([1983, 1884, 99, 0, 17])),
        ("autocannon-timeouts", some([1635, 1635, 0, 24, 0])),
        ("autocannon-refused", some([0, 0, 0, 0, 20])),
        ("h2load-plain", some([200, 200, 0, 0, 0])),
        ("h2load-errors", some([199, 191, 8, 0, 1])),
        ("h2load-refused", some([0, 0, 0, 0, 20])),
        ("h2load-resets", some([980, 980, 0, 0, 20])),
        ("fortio-calls", untold([1000, 900, 100, 0])),
        ("k6-calls", some([1000, 900, 100, 0, 0])),
        ("k6-deadlines", some([40, 40, 0, 40, 0])),
        ("ghz-errors", some([200, 180, 20, 0, 0])),
        ("ghz-timeouts", some([90, 90, 0, 10, 0])),
        ("ghz-refused", some([0, 0, 0, 0, 20])),
        ("zrk-errors", some([994, 945, 49, 0, 6])),
        ("zrk-timeouts", some([392, 392, 0, 8, 0])),
        ("zrk-refused", some([0, 0, 0, 0, 1408])),
    ] {
        assert_eq!(counts(&read(name).expect(name)), want, "{name}");
    }
}

#[test]
fn figures_are_in_seconds() {
    // Rate, duration, mean, min, max, p50, p99, p99.9.
    for (name, want) in [
        (
            "wrk-errors",
            [66_269.87, 2.000_532, 96.869e-6, 15e-6, 5410e-6, 76e-6, 658e-6, 3244e-6].map(Some),
        ),
        (
            "wrk2-errors",
            [497.18, 2.001_272, 1024.85e-6, 51e-6, 6464e-6, 859e-6, 5263e-6, 6155e-6].map(Some),
        ),
        (
            "ab-errors",
            [
                Some(50_547.17),
                Some(0.04),
                Some(158e-6),
                Some(27e-6),
                Some(608e-6),
                Some(167e-6),
                Some(400e-6),
                None,
            ],
        ),
        (
            "hey-timeouts",
            [
                Some(316.022_1),
                Some(4.3826),
                Some(0.0012),
                Some(0.0011),
                Some(0.0026),
                Some(0.0012),
                Some(0.0019),
                None,
            ],
        ),
        ("hey-refused", [Some(10_910.896_2), Some(0.0015), None, None, None, None, None, None]),
        (
            "k6-timeouts",
            [
                100.190_584_503_672_35,
                4.002_372_099,
                0.023_789_452_952_618_46,
                0.001_199_679,
                1.001_108_5,
                0.001_341_869,
                1.000_540_128,
                1.001_081_053_6,
            ]
            .map(Some),
        ),
        (
            "bombardier-timeouts",
            [
                Some(98.680_319_523_149_68),
                Some(4.901_305_619),
                Some(0.011_245_448_877_805_486),
                None,
                Some(1.002_192),
                Some(0.001_253),
                Some(0.002_108),
                Some(1.002_192),
            ],
        ),
        (
            "autocannon-timeouts",
            [408.75, 4.01, 0.001_08, 0.001, 0.015, 0.001, 0.002, 0.015].map(Some),
        ),
        (
            "h2load-errors",
            [39_413.75, 0.005_05, 157e-6, 53e-6, 315e-6, 135e-6, 315e-6, 315e-6].map(Some),
        ),
        (
            "zrk-timeouts",
            [97.99, 4.0, 0.160_645, 0.001_152, 1.692_671, 0.001_333, 1.377_792, 1.692_16].map(Some),
        ),
    ] {
        let reading = read(name).expect(name);
        let of = |quantile| at(&reading.quantiles, quantile);
        let got = [
            reading.rate_rps,
            reading.duration_s,
            reading.mean_s,
            reading.min_s,
            reading.max_s,
            of(0.5),
            of(0.99),
            of(0.999),
        ];
        for (got, want) in got.into_iter().zip(want) {
            assert!(same(got, want), "{name}: {got:?} is not {want:?} in {reading:?}");
        }
    }
}

#[test]
fn what_few_of_them_say_is_read() {
    let wrk2 = read("wrk2-errors").expect("a report");
    assert!(same(at(&wrk2.service_quantiles, 0.5), Some(89e-6)), "{:?}", wrk2.service_quantiles);
    assert_eq!(wrk2.service_quantiles.len(), 8);
    let k6 = read("k6-timeouts").expect("a report");
    assert!(
        same(at(&k6.ok_quantiles, 0.99), Some(0.001_897_822_459_999_5)),
        "{:?}",
        k6.ok_quantiles
    );
    let stray = read("k6-fallback").expect("a report");
    assert_eq!(stray.causes, ["190 answers of another protocol"]);
    let further = tool("k6").further(&captured("k6-fallback"), &stray);
    assert!(same(further.sending_s, Some(0.006_715e-3)), "{further:?}");
    assert!(same(further.waiting_s, Some(5.138_578e-3)), "{further:?}");
    assert_eq!(tool("k6").further(&captured("k6-errors"), &k6), Further::default());
    let zrk = read("zrk-timeouts").expect("a report");
    assert_eq!(zrk.causes, ["max_schedule_lag_us 1612621"]);
    assert!(same(at(&zrk.quantiles, 0.95), Some(0.921_599)), "{:?}", zrk.quantiles);
    let fortio = read("fortio-timeouts").expect("a report");
    assert_eq!(fortio.causes, ["WARNING 18.23% of sleep were falling behind"]);
    let oha = read("oha-errors").expect("a report");
    assert_eq!((oha.quantiles.len(), oha.ok_quantiles.len()), (9, 9));
}

#[test]
fn quantiles_ascend() {
    for entry in std::fs::read_dir(fixtures()).expect("fixtures") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        let Ok(reading) = read(&name) else {
            assert_eq!(name, "wrk2-refused");
            continue;
        };
        for list in [&reading.quantiles, &reading.service_quantiles, &reading.ok_quantiles] {
            let ascends =
                list.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
            assert!(ascends, "{name}: {list:?}");
        }
    }
}

#[test]
fn what_is_no_report_is_an_error() {
    let nowhere = fixtures().join("nowhere");
    for tool in all() {
        let name = tool.name();
        for stdout in
            ["", "\n\n", "plimsoll ", "plimsoll {}", "{}", "[1,", "\u{fffd}\0 12%", "requests:"]
        {
            let run = Finished {
                code: Some(0),
                stdout: stdout.into(),
                scratch: nowhere.clone(),
                ..Finished::default()
            };
            assert!(tool.read(&run).is_err(), "{name} understood {stdout:?}");
        }
    }
}

#[test]
fn a_bad_end_is_an_error_with_its_last_word() {
    for tool in all() {
        for (code, want) in
            [(Some(119), "ended with 119: it broke"), (None, "was ended by a signal: it broke")]
        {
            let run = Finished { code, stderr: "a\nit broke\n\n".into(), ..Finished::default() };
            assert_eq!(tool.read(&run).expect_err("an error"), want, "{}", tool.name());
        }
    }
    let refused = Finished { code: Some(1), ..captured("wrk2-refused") };
    let said = tool("wrk2").read(&refused).expect_err("an error");
    assert_eq!(said, "ended with 1: unable to connect to 127.0.0.1:18089 Connection refused");
}

/// Whatever was cut off or changed on the way: a reading that is one or an error, never a panic.
#[test]
fn no_text_panics() {
    let scratch = tempfile::tempdir().expect("a directory");
    for entry in std::fs::read_dir(fixtures()).expect("fixtures") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        let tool = tool(name.split('-').next().expect("a first part"));
        let run = captured(&name);
        let report = std::fs::read_to_string(run.scratch.join("zrk.json"));
        let whole = report.unwrap_or_else(|_| run.stdout.clone());
        for cut in (0..whole.len()).step_by(211).filter(|at| whole.is_char_boundary(*at)) {
            let (start, rest) = whole.split_at(cut);
            let changed = rest.replacen(|c: char| c.is_ascii_digit(), "-", 1);
            for text in [start.to_owned(), rest.to_owned(), format!("{start}{changed}")] {
                std::fs::write(scratch.path().join("zrk.json"), &text).expect("a file");
                let scratch = scratch.path().to_path_buf();
                let run = Finished { stdout: text, scratch, ..run.clone() };
                let Ok(reading) = tool.read(&run) else { continue };
                assert!(reading.ok <= reading.completed, "{name} cut at {cut}: {reading:?}");
            }
        }
    }
}

#[test]
fn figures_out_of_text() {
    for (text, want) in [
        ("1.25ms", Some(0.001_25)),
        ("77.00us", Some(77e-6)),
        ("2m", Some(120.0)),
        ("12", None),
        ("ms", None),
        ("", None),
    ] {
        assert!(same(seconds(text), want), "{text:?}: {:?}", seconds(text));
    }
    for (text, want) in [("12.5 x", Some(12.5)), (" NaN secs", None), ("", None), ("-", None)] {
        assert_eq!(number(text), want, "{text:?}");
    }
    assert_eq!([50.0, 99.9, 99.99].map(quantile_of), [0.5, 0.999, 0.9999]);
    let table = " 1.5 0.5 10 2.00\n#[Mean = 1, x\n 9.0 1.0 20 inf\n 1 2 3\n";
    assert_eq!(percentile_rows(table, 1.0), [(0.5, 1.5), (1.0, 9.0)]);
}

#[test]
fn bytes_are_read_where_they_are_told() {
    let further = |name: &str| {
        let run = captured(name);
        tool("h2load").further(&run, &Reading::default())
    };
    let Further { bytes_received, header_bytes_received, .. } = further("h2load-resets");
    assert_eq!((bytes_received, header_bytes_received), (Some(36_563), Some(5880)));
    assert_eq!(further("h2load-errors").bytes_received, Some(15_364));
    assert_eq!(further("nowhere"), Further::default());
}

#[test]
fn calls_are_read_by_their_status() {
    let further = |name: &str| {
        let tester = tool(name.split('-').next().expect("a first part"));
        let run = captured(name);
        let reading = tester.read(&run).expect(name);
        tester.further(&run, &reading)
    };
    assert_eq!(further("ghz-errors").unavailable, Some(20));
    assert_eq!(further("ghz-timeouts").unavailable, Some(0));
    assert_eq!(further("k6-calls").unavailable, Some(100));
    assert_eq!(further("k6-deadlines"), Further { unavailable: Some(0), ..Further::default() });
    assert_eq!(further("k6-errors"), Further::default());
    let k6 = read("k6-deadlines").expect("a report");
    assert!(same(k6.max_s, Some(0.015_497_176)), "without those that k6 gave up: {k6:?}");
    let ghz = read("ghz-timeouts").expect("a report");
    assert!(same(ghz.mean_s, Some(0.011_376_392)), "{ghz:?}");
    assert!(same(at(&ghz.quantiles, 0.5), Some(0.001_299_669)), "{ghz:?}");
    assert!(same(ghz.max_s, Some(0.004_781_586)), "{ghz:?}");
}
