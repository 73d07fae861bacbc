//! The adapters with output of the testers themselves, captured on loopback from the built-in
//! target: with some answers 503 and some connections reset, with some answers missing, and without
//! a server.

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

fn ask() -> Ask {
    Ask { url: "http://127.0.0.1:8080/a".to_owned(), connections: 7, ..Ask::to("/") }
}

fn line(name: &str, ask: &Ask) -> String {
    match tool(name).call(ask) {
        Call::Command { arguments, .. } => arguments.join(" "),
        Call::CannotExpress(why) => format!("cannot: {why}"),
    }
}

#[test]
fn command_lines_at_a_rate() {
    let ask = Ask {
        rate_rps: Some(700.0),
        duration_s: Some(10.0),
        timeout_s: Some(2.0),
        headers: vec![("X-A".to_owned(), "b".to_owned())],
        ..ask()
    };
    for (name, want) in [
        ("wrk", "cannot: no fixed rate"),
        (
            "wrk2",
            "-t1 -c7 -d10s --timeout 2s -s {dir}/plimsoll.lua -U -R700 -H X-A: b http://127.0.0.1:8080/a",
        ),
        ("ab", "cannot: no fixed rate"),
        ("hey", "-disable-redirects -c 7 -t 2 -z 10000ms -q 100 -H X-A: b http://127.0.0.1:8080/a"),
        (
            "fortio",
            "load -quiet -allow-initial-errors -log-errors=false -json - -r 0.0001 -p \
             50,75,90,95,99,99.9,99.99 -c 7 -qps 700 -timeout 2000ms -t 10000ms -H X-A:b -uniform \
             http://127.0.0.1:8080/a",
        ),
        ("k6", "run --no-usage-report --no-color --quiet {dir}/plimsoll.js"),
        (
            "oha",
            "--no-tui --stats-success-breakdown -w --output-format json -c 7 -t 2000ms -z 10000ms -q \
             700 -H X-A: b --latency-correction http://127.0.0.1:8080/a",
        ),
        (
            "vegeta",
            "attack -targets={dir}/targets.txt -output={dir}/vegeta.bin -max-body=0 -redirects=-1 \
             -http2=false -rate=700/1s -duration=10000ms -timeout=2000ms -workers=7 \
             -max-workers=20000 -connections=7 -max-connections=7 -header=X-A: b",
        ),
        (
            "bombardier",
            "--print=r --fasthttp --format=path:{dir}/plimsoll.template --connections=7 \
             --timeout=2000ms --duration=10000ms --rate=700 --header=X-A: b http://127.0.0.1:8080/a",
        ),
        ("autocannon", "--json -c 7 -t 2 -d 10 -R 700 -H X-A=b http://127.0.0.1:8080/a"),
        ("h2load", "cannot: no timeout of a request"),
        (
            "zrk",
            "--plain -t1 --format json --output {dir}/zrk.json --hdr {dir}/zrk.hgrm -c 7 -d 10000ms \
             --timeout 2000ms -R 700 -H X-A: b http://127.0.0.1:8080/a",
        ),
    ] {
        assert_eq!(line(name, &ask), want, "{name}");
    }
}

#[test]
fn command_lines_of_a_closed_loop() {
    let ask = Ask { requests: Some(3), keep_alive: false, method: Method::Head, ..ask() };
    for (name, want) in [
        ("wrk", "cannot: no exact count"),
        ("wrk2", "cannot: no closed loop"),
        ("ab", "-q -r -l -c 3 -s 30 -e {dir}/ab.csv -n 3 -i http://127.0.0.1:8080/a"),
        (
            "hey",
            "-disable-redirects -c 3 -t 30 -n 3 -m HEAD -disable-keepalive http://127.0.0.1:8080/a",
        ),
        ("h2load", "cannot: no HEAD"),
        ("vegeta", "cannot: no exact count"),
        ("zrk", "cannot: no closed loop"),
        (
            "bombardier",
            "--print=r --fasthttp --format=path:{dir}/plimsoll.template --connections=7 \
             --timeout=30000ms --requests=3 --header=Connection: close --method=HEAD \
             http://127.0.0.1:8080/a",
        ),
    ] {
        assert_eq!(line(name, &ask), want, "{name}");
    }
}

/// Who cannot say what, with the ask otherwise one that all of them can.
#[test]
fn what_goes_beyond_a_tester_is_refused() {
    let rate = |rate_rps| Ask { rate_rps: Some(rate_rps), duration_s: Some(4.0), ..ask() };
    let with = |need: Need| Ask { extra: vec![need], ..rate(100.0) };
    let resolve = |addresses: &[&str]| Resolve {
        host: "a.test".to_owned(),
        port: 80,
        addresses: addresses.iter().map(|address| address.parse().expect("an address")).collect(),
    };
    for (ask, can) in [
        (
            rate(100.0),
            "wrk2 hey fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta bombardier autocannon h2load zrk",
        ),
        (rate(0.5), "hey fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta h2load"),
        (Ask { poisson: true, ..rate(100.0) }, ""),
        (
            Ask { duration_s: Some(4.0), ..ask() },
            "wrk ab hey fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta bombardier autocannon h2load",
        ),
        (
            Ask { duration_s: Some(0.5), ..ask() },
            "hey fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta bombardier h2load",
        ),
        (
            Ask { timeout_s: Some(1.0), requests: Some(9), ..ask() },
            "hey fortio plimsoll-fortio k6 plimsoll-k6 oha bombardier autocannon",
        ),
        (
            Ask { timeout_s: Some(100.0), requests: Some(9), ..ask() },
            "ab hey fortio plimsoll-fortio k6 plimsoll-k6 oha bombardier autocannon h2load",
        ),
        (Ask { warmup_s: 1.0, ..rate(100.0) }, "k6 plimsoll-k6 autocannon h2load"),
        (with(Need::Growth { connections_max: 100 }), "k6 plimsoll-k6 vegeta"),
        (with(Need::Shed { after_s: 0.1 }), "zrk"),
        (with(Need::Targets(vec![("/b".to_owned(), 1)])), "wrk2 k6 plimsoll-k6 vegeta"),
        (with(Need::Intervals("i".to_owned())), "zrk"),
        (with(Need::IntervalsOnStdout), "k6 plimsoll-k6 zrk"),
        (
            Ask { rate_rps: None, ..with(Need::Ramp { from_rps: 1.0, to_rps: 9.0 }) },
            "k6 plimsoll-k6 zrk",
        ),
        (
            Ask { resolve: Some(resolve(&["127.0.0.1"])), ..rate(100.0) },
            "fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta h2load",
        ),
        (Ask { resolve: Some(resolve(&["127.0.0.1", "::1"])), ..rate(100.0) }, "oha vegeta"),
        (
            Ask { source_addresses: vec!["127.0.0.2".parse().expect("one")], ..rate(100.0) },
            "k6 plimsoll-k6 vegeta",
        ),
        (
            Ask { url: "https://127.0.0.1/".to_owned(), ..rate(100.0) },
            "fortio plimsoll-fortio k6 plimsoll-k6 oha vegeta bombardier zrk",
        ),
    ] {
        let able = all().into_iter().filter(|tool| matches!(tool.call(&ask), Call::Command { .. }));
        let names: Vec<&str> = able.map(|tool| tool.name()).collect();
        assert_eq!(names.join(" "), can, "{ask:?}");
    }
}

#[test]
fn paths_are_drawn_by_weight_and_from_the_seed() {
    let drawn = |seed| {
        let paths = vec![("/b".to_owned(), 3), ("/c".to_owned(), 1)];
        let extra = vec![Need::Targets(paths)];
        let ask =
            Ask { rate_rps: Some(9.0), duration_s: Some(4.0), seed: Some(seed), extra, ..ask() };
        match tool("vegeta").call(&ask) {
            Call::Command { files, .. } => files[0].1.clone(),
            Call::CannotExpress(why) => panic!("{why}"),
        }
    };
    let first = drawn(1);
    let often = first.lines().filter(|line| *line == "GET http://127.0.0.1:8080/b").count();
    assert!((7300..7700).contains(&often), "{often} of {}", first.lines().count());
    assert_eq!(first, drawn(1));
    assert_ne!(first, drawn(2));
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

/// HTTP/2 is asked of those whose adapters can ask for it, with TLS or without.
#[test]
fn streams_are_asked_for() {
    let ask = |url: &str, connections, streams, rate_rps| Ask {
        connections,
        rate_rps,
        duration_s: Some(1.0),
        insecure: url.starts_with("https:"),
        extra: vec![Need::Http2 { streams }],
        ..Ask::to(url)
    };
    let [plain, secure] = ["http://h:1/", "https://h:1/"];
    for (name, ask, part) in [
        ("h2load", ask(plain, 1, 10, None), "-t1 -c1 -m10 --log-file"),
        ("h2load", ask(secure, 1, 10, None), "-t1 -c1 -m10 --log-file"),
        ("oha", ask(plain, 2, 10, None), "-c 2 -t 30000ms -z 1000ms --http-version 2 -p 10 http"),
        ("oha", ask(secure, 2, 1, None), "--http-version 2 -p 1 --insecure https"),
        ("fortio", ask(plain, 2, 1, None), "-h2 http://"),
        ("fortio", ask(secure, 2, 1, None), "-k -h2 https://"),
        ("fortio", ask(plain, 2, 2, None), "cannot: one stream on each connection"),
        ("vegeta", ask(plain, 1, 10, None), "-http2=true -rate=0 -duration=1000ms"),
        ("vegeta", ask(plain, 1, 10, None), "-workers=10 -max-workers=10 -connections=1"),
        ("vegeta", ask(plain, 1, 10, Some(9.0)), "-workers=10 -max-workers=10 -connections=1"),
        ("vegeta", ask(plain, 1, 10, None), "-max-connections=1 -h2c"),
        ("vegeta", ask(secure, 1, 10, None), "-max-connections=1 -insecure"),
        ("vegeta", ask(plain, 2, 10, None), "cannot: one connection for all streams"),
        ("k6", ask(plain, 1, 1, None), "cannot: HTTP/2 only behind TLS"),
        ("k6", ask(secure, 2, 1, Some(9.0)), "'protocol is HTTP/2'"),
        ("k6", ask(secure, 2, 10, None), "Array.from({ length: 10 }, stream)"),
        ("k6", ask(secure, 2, 10, None), "const until = exec.scenario.startTime + 1000;"),
        ("k6", ask(secure, 2, 10, Some(9.0)), "cannot: at a rate, one stream on each connection"),
        ("wrk", ask(secure, 1, 1, None), "cannot: its adapter does not ask for HTTP/2"),
    ] {
        let called = called(name, &ask);
        assert!(called.contains(part), "{name}: {called}");
    }
    let counted =
        |requests| Ask { duration_s: None, requests: Some(requests), ..ask(secure, 2, 10, None) };
    assert!(called("k6", &counted(100)).contains("let left = 50;"));
    assert!(called("k6", &counted(101)).starts_with("cannot: over several streams"));
}

#[test]
fn who_speaks_http2_and_where() {
    let over = |over| {
        let able = all().into_iter().filter(move |tool| tool.http2() == over);
        able.map(|tool| tool.name()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(over(Some(Http2Over::Tls)), "k6 plimsoll-k6");
    assert_eq!(over(Some(Http2Over::Either)), "fortio plimsoll-fortio oha vegeta h2load");
}

#[test]
fn bodies_are_asked_for() {
    for (name, part) in [
        ("h2load", "--h1 --data={dir}/body"),
        ("oha", "-m POST -D {dir}/body"),
        ("fortio", "-payload-file {dir}/body"),
        ("vegeta", "-body={dir}/body"),
        ("k6", "const body = 'x'.repeat(5);\n"),
        ("k6", "http.request('POST', \"http://h:1/\", body, params)"),
    ] {
        let called = called_with(name, Need::Upload(5)).unwrap_or_default();
        assert!(called.contains(part), "{name}: {called}");
        assert!(name == "k6" || called.ends_with("xxxxx"), "{name}: {called}");
    }
    let called = called_with("vegeta", Need::Upload(5)).unwrap_or_default();
    assert!(called.contains("POST http://h:1/\n"), "{called}");
}

/// gRPC is asked of those that can call a method, and WebSockets of none but Plimsoll.
#[test]
fn calls_are_asked_for_in_each_ones_way() {
    let (unary, stream) = (Need::Grpc(Rpc::Unary), Need::Grpc(Rpc::ServerStream));
    for (name, need, parts) in [
        (
            "ghz",
            &unary,
            &[
                "--proto={dir}/ping.proto --call=fgrpc.PingServer/Ping --data={\"payload\":\"hello\"} \
                 --format=json --concurrency=1 --connections=1 --timeout=30000ms --duration=1000ms \
                 --insecure h:1 ",
                "rpc Watch(PingMessage) returns (stream PingMessage);",
            ][..],
        ),
        ("ghz", &stream, &["--call=fgrpc.PingServer/Watch "]),
        (
            "h2load",
            &unary,
            &[
                "-t1 -c1 -m1 --data={dir}/body --header=te: trailers --header=content-type: \
                 application/grpc --log-file",
                " http://h:1/fgrpc.PingServer/Ping \0\0\0\0\x07\x1a\x05hello",
            ],
        ),
        ("fortio", &unary, &["-payload hello -grpc -ping http://h:1/"]),
        (
            "k6",
            &unary,
            &[
                "client.invoke(\"fgrpc.PingServer/Ping\", {\"payload\":\"hello\"}, params)",
                "client.connect(\"h:1\", { plaintext: true })",
                "\"calls{scenario:load}\":[\"count>=0\"]",
                "service PingServer {",
            ],
        ),
        ("k6", &stream, &["new grpc.Stream(client, \"fgrpc.PingServer/Watch\", params)"]),
    ] {
        let called = called_with(name, need.clone()).unwrap_or_default();
        for part in parts {
            assert!(called.contains(part), "{name} {need:?}: {called}");
        }
    }
    let socket = Need::WebSocket { in_flight: 1, is_pushed_to: false };
    for (need, can) in [
        (&unary, "fortio plimsoll-fortio k6 plimsoll-k6 h2load ghz"),
        (&stream, "k6 plimsoll-k6 h2load ghz"),
        (&socket, ""),
    ] {
        let able = all().into_iter().map(|tool| tool.name());
        let able: Vec<_> = able.filter(|name| called_with(name, need.clone()).is_some()).collect();
        assert_eq!(able.join(" "), can, "{need:?}");
    }
    let ask = Ask { requests: Some(9), timeout_s: Some(0.1), extra: vec![unary], ..ask() };
    assert_eq!(line("fortio", &ask), "cannot: no timeout of a call");
    assert_eq!(line("h2load", &ask), "cannot: no timeout of a request");
    assert_eq!(line("ghz", &self::ask()), "cannot: nothing but gRPC");
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

/// What a tester is called with, files and all, for a need; `None`: it cannot express it.
fn called_with(name: &str, need: Need) -> Option<String> {
    let rate_rps = (name == "wrk2").then_some(100.0);
    let ask = Ask { rate_rps, duration_s: Some(1.0), extra: vec![need], ..Ask::to("http://h:1/") };
    Some(called(name, &ask)).filter(|called| !called.starts_with("cannot:"))
}

/// What a tester is called with, files and all, or why it cannot be.
fn called(name: &str, ask: &Ask) -> String {
    match tool(name).call(ask) {
        Call::Command { arguments, files } => {
            let files: Vec<String> = files.into_iter().map(|(_, content)| content).collect();
            format!("{} {}", arguments.join(" "), files.join(" "))
        }
        Call::CannotExpress(why) => format!("cannot: {why}"),
    }
}

#[test]
fn forms_threads_pipelines_and_conditions_are_asked_for_in_each_ones_way() {
    let form = || Need::Form("a=b".to_owned());
    let (pipeline, gate) = (|| Need::Pipeline(2), || Need::Gate { p99_s: 0.15 });
    for (name, need, part) in [
        ("wrk", form(), "wrk.body = \"a=b\""),
        ("wrk2", form(), "wrk.method = \"POST\""),
        ("hey", form(), "-m POST -d a=b -T application/x-www-form-urlencoded"),
        ("oha", form(), "-m POST -d a=b -T application/x-www-form-urlencoded"),
        ("fortio", form(), "-payload a=b -content-type application/x-www-form-urlencoded"),
        ("autocannon", form(), "-m POST -b a=b -H Content-Type=application/x-www-form-urlencoded"),
        ("k6", form(), "http.request('POST', \"http://h:1/\", \"a=b\", params)"),
        ("k6", gate(), "\"http_req_duration{scenario:load}\":[\"p(99)<150\"]"),
        (
            "k6",
            Need::ErrorGate { share: 0.01 },
            "\"http_req_failed{scenario:load}\":[\"rate<0.01\"]",
        ),
        ("wrk", pipeline(), "string.rep(wrk.format(), 2)"),
        ("autocannon", pipeline(), "-p 2"),
        ("wrk", Need::Threads(2), "-t2 "),
        ("wrk2", Need::Threads(2), "-t2 "),
    ] {
        let called = called_with(name, need.clone()).unwrap_or_default();
        assert!(called.contains(part), "{name} {need:?}: {called}");
    }
    for (name, need) in [("ab", form()), ("oha", pipeline()), ("hey", gate())] {
        assert_eq!(called_with(name, need), None, "{name}");
    }
}

/// The same flags and files behind the command, and the same reading of the same output.
#[test]
fn dialects_differ_from_the_original_in_the_program_alone() {
    for name in ["k6", "fortio"] {
        let (other, ours) = (tool(name), tool(&format!("plimsoll-{name}")));
        assert_eq!((ours.program(), ours.version_arguments()), ("plimsoll", &["--version"][..]));
        let asks = [
            Ask { rate_rps: Some(9.0), duration_s: Some(4.0), ..ask() },
            Ask { poisson: true, ..ask() },
        ];
        for ask in asks {
            match (other.call(&ask), ours.call(&ask)) {
                (
                    Call::Command { arguments: theirs, files },
                    Call::Command { arguments, files: same },
                ) => {
                    assert_eq!(arguments[0], name);
                    assert_eq!((&arguments[1..], same), (&theirs[..], files));
                }
                (theirs, ours) => assert_eq!(theirs, ours),
            }
        }
        for fixture in ["errors", "timeouts", "refused", "calls"] {
            let run = captured(&format!("{name}-{fixture}"));
            let [reading, same] = [&other, &ours].map(|tool| tool.read(&run).expect(fixture));
            assert_eq!(format!("{reading:?}"), format!("{same:?}"), "{name} {fixture}");
            let [theirs, ours] = [&other, &ours].map(|tool| tool.further(&run, &reading));
            assert_eq!(theirs, ours, "{name} {fixture}");
        }
    }
}
