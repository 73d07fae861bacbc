//! What command lines mean.

use plimsoll_core::plan::{DriverPlan, Script, Spin};

use super::*;

#[test]
fn defaults_are_those_of_wrk() {
    let wrk = command(Flavour::Wrk, "http://h/");
    assert_eq!((wrk.connections, wrk.threads, wrk.duration_ns), (10, 2, 10_000_000_000));
    assert_eq!((wrk.timeout_ns, wrk.rate_hz, wrk.digits), (2_000_000_000, None, 3));
    assert_eq!(wrk.url, "http://h/");
    assert!(!wrk.latency && !wrk.json && wrk.hist_v1 && wrk.arguments.is_empty());
}

#[test]
fn options_of_wrk() {
    let line = "-c1k --threads=4 -d 2m http://h/ --latency -T5 -s x.lua a -- -b --quiet";
    let wrk = command(Flavour::Wrk, line);
    assert_eq!((wrk.connections, wrk.threads), (1000, 4));
    assert_eq!((wrk.duration_ns, wrk.timeout_ns), (120_000_000_000, 5_000_000_000));
    assert_eq!(wrk.script.as_deref(), Some("x.lua"));
    assert_eq!(wrk.arguments, ["a", "-b", "--quiet"]);
    assert!(wrk.latency && !wrk.quiet);
    // Theirs may be abbreviated, though some of ours begin alike.
    let line = "--s x.lua --d 5 --driver epoll --spin=off --json-result r.json --quiet h";
    let ours = command(Flavour::Wrk, line);
    assert_eq!((ours.driver, ours.spin, ours.quiet), (DriverPlan::Epoll, Spin::Off, true));
    assert_eq!(ours.json_result.as_deref(), Some("r.json"));
}

#[test]
fn options_of_wrk2() {
    let line = "-R2k -U -B -e -p 5 -D2 --as-original --hist-version 2 h";
    let wrk2 = command(Flavour::Wrk2, line);
    assert_eq!((wrk2.rate_hz, wrk2.digits), (Some(2000.0), 2));
    assert_eq!(wrk2.report_interval_ns, Some(5_000_000_000));
    assert!(wrk2.latency && wrk2.uncorrected && wrk2.json);
    assert!(wrk2.as_original && !wrk2.hist_v1);
    assert_eq!(command(Flavour::Wrk2, "-R1 -p0 h").report_interval_ns, None);
}

#[test]
fn headers_are_split_as_wrk_splits_them() {
    let arguments: Vec<String> =
        ["-H", "A: 1", "-H", "A: 2", "-H", "B:3", "-H", "C", "-H", "D:  x:y ", "-H", "a: 4", "h"]
            .map(str::to_owned)
            .to_vec();
    let wrk = parse(Flavour::Wrk, "wrk", &arguments).expect("headers");
    let kept = [("A", "2"), ("D", " x:y "), ("a", "4")];
    assert_eq!(wrk.headers, kept.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(wrk.warnings.len(), 2);
    assert!(wrk.warnings[0].contains("'B:3'") && wrk.warnings[1].contains("'C'"));
}

#[test]
fn what_is_refused() {
    for (flavour, line, want) in [
        (Flavour::Wrk, "", "wrk: no URL: give one"),
        (Flavour::Wrk, "-h", ""),
        (Flavour::Wrk, "--help", ""),
        (Flavour::Wrk, "-x h", "wrk: invalid option -- 'x'"),
        (Flavour::Wrk, "-R1 h", "wrk: invalid option -- 'R'"),
        (Flavour::Wrk, "-c", "wrk: option requires an argument -- 'c'"),
        (Flavour::Wrk, "-t0 h", "wrk: -t 0 has nothing to send from: give 1 or more"),
        (Flavour::Wrk, "-d0 h", "wrk: -d 0 leaves no time: give 1s or more"),
        (Flavour::Wrk, "-T0 h", "wrk: --timeout 0 fails every request: give 1s or more"),
        (Flavour::Wrk, "-c1 h", "number of connections must be >= threads"),
        (Flavour::Wrk, "-cx h", "wrk: -c 'x' is not a count: write 100, 10k or 1M"),
        (Flavour::Wrk, "-c5G h", "wrk: -c 5000000000 is too many: give 4294967295 at most"),
        (
            Flavour::Wrk,
            "-d 100ms h",
            "wrk: -d '100ms' is not a time: write 10s, 2m or 1h, without a point",
        ),
        (Flavour::Wrk, "--spin no h", "wrk: --spin 'no' is unknown: give one of auto, on, off"),
        (Flavour::Wrk2, "h", "Throughput MUST be specified with the --rate or -R option"),
        (Flavour::Wrk2, "-R0 h", "Throughput MUST be specified with the --rate or -R option"),
        (Flavour::Wrk2, "-R1 -D4 h", "Precision digits must be between 1 and 3"),
        (Flavour::Wrk2, "-R1 -Dx h", "Precision digits must be between 1 and 3"),
    ] {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let usage = parse(flavour, "wrk", &arguments).expect_err(line);
        assert_eq!(usage.stderr.trim_end(), want, "{line}");
        assert_eq!(usage.code, 1);
        assert!(usage.stdout.starts_with("Usage: wrk <options> <url>\n"), "{}", usage.stdout);
        assert_eq!(usage.stdout.contains("--rate"), flavour == Flavour::Wrk2);
    }
    let usage = unable_to_connect("h", "http", "Connection refused");
    assert_eq!(usage.stderr, "unable to connect to h:http Connection refused\n");
    assert_eq!((usage.stdout.as_str(), usage.code), ("", 1));
    let usage = invalid_url(Flavour::Wrk, "ftp:\n");
    assert_eq!((usage.stderr.as_str(), usage.code), ("invalid URL: ftp:\\n\n", 1));
}

#[test]
fn the_version_stands_before_a_run_or_the_usage() {
    let version = format!("plimsoll {} [wrk]\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(command(Flavour::Wrk, "-v h").preamble, version);
    let usage = parse(Flavour::Wrk, "wrk", &["-v".to_owned()]).expect_err("no URL");
    assert!(usage.stdout.starts_with(&format!("{version}Usage:")), "{}", usage.stdout);
}

#[test]
fn the_plan_of_wrk() {
    let wrk = command(Flavour::Wrk, "-t2 -c5 -d3 -T1 -s x.lua http://h/ y");
    let text = Some("wrk.method = 'PUT'".to_owned());
    let plan = wrk.plan(Endpoint::http("h", 80, "/"), text).expect("a plan");
    assert_eq!((plan.workers, plan.connections), (2, 4));
    assert_eq!((plan.duration_ns, plan.timeout_ns), (Some(3_000_000_000), 1_000_000_000));
    assert_eq!(plan.drain_ns, 1_000_000_000);
    assert_eq!(plan.rate, None);
    assert!(plan.tls.insecure && plan.tls.alpn.is_empty() && !plan.templates);
    assert!(plan.details.worker_rates);
    let (text, arguments) = ("wrk.method = 'PUT'".into(), vec!["y".into()]);
    let script = Script { path: "x.lua".to_owned(), text, arguments };
    assert_eq!(plan.script, Some(script));
    let empty = |name: &str| (name.to_owned(), "".into());
    assert_eq!(plan.request.headers, [empty("User-Agent"), empty("Accept")]);
}

#[test]
fn the_plan_of_wrk2_has_a_rate_and_given_headers_stay() {
    let arguments = ["-R100k", "-c100", "-H", "accept: */*", "h"].map(str::to_owned);
    let wrk2 = parse(Flavour::Wrk2, "wrk2", &arguments).expect("good");
    let plan = wrk2.plan(Endpoint::http("h", 80, "/"), None).expect("a plan");
    let rate = plan.rate.as_ref().expect("a rate");
    assert_eq!((rate.peak_uhz(), rate.total()), (100_000_000_000, Some(1_000_000)));
    let names: Vec<&str> = plan.request.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["User-Agent", "accept"]);
}
