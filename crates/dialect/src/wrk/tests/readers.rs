//! Programs that read these reports: the patterns they search for, and that they find them in ours.
//! Each is named with its project.

use regex::Regex;

use super::*;

fn wrk_report() -> String {
    let wrk = command(Flavour::Wrk, "http://h/");
    report(&wrk, &closed(&wrk))
}

fn wrk2_report() -> String {
    let wrk2 = command(Flavour::Wrk2, "-R1 -U http://h/");
    let mut result = open(&wrk2);
    result.ledger.failed = 3;
    report(&wrk2, &result)
}

/// Ray (release/serve_tests/serve_test_utils.py) splits lines at white space and goes by the first
/// word.
#[test]
fn ray_reads_wrk() {
    let text = wrk_report();
    let words = |label: &str| -> Vec<&str> {
        let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.find(|words| words.first() == Some(&label)).expect(label)
    };
    assert_eq!(words("Latency")[1..], ["2.00ms", "2.00ms", "5.00ms", "75.00%"]);
    assert_eq!(words("Req/Sec")[1..], ["800.00", "141.42", "0.90k", "100.00%"]);
    assert_eq!(words("Requests/sec:")[1..], ["0.40"]);
    assert_eq!(words("Transfer/sec:")[1..], ["212.99KB"]);
}

/// DCPerf (benchpress/plugins/parsers/nginx_wrk_bench.py).
#[test]
fn dcperf_reads_wrk() {
    let text = wrk_report();
    let pattern = Regex::new(r"(Requests/sec):\s+(\d+\.?\d*)").expect("a pattern");
    let found = pattern.captures(&text).expect("found");
    assert_eq!(found[2].parse::<f64>(), Ok(0.4));
}

/// PerfKitBenchmarker (perfkitbenchmarker/linux_packages/wrk2.py) wants the eight percentiles right
/// behind their title, and counts.
#[test]
fn perfkitbenchmarker_reads_wrk2() {
    let text = wrk2_report();
    let row = r"^\s*(\d+\.\d+)%\s+(\d+\.\d+)(us|ms|s|m)\s*\n";
    let block = Regex::new(&format!(
        r"(?m)^\s*Latency Distribution \(HdrHistogram - Recorded Latency\)\n((?:{row})+)"
    ));
    let found = block.expect("a pattern").captures(&text).expect("the distribution");
    let rows = Regex::new(&format!("(?m){row}")).expect("a pattern");
    let shares: Vec<String> = rows.captures_iter(&found[1]).map(|row| row[1].to_owned()).collect();
    let want = ["50.000", "75.000", "90.000", "99.000", "99.900", "99.990", "99.999", "100.000"];
    assert_eq!(shares, want);
    let number = |pattern: &str| {
        let found = Regex::new(pattern).expect("a pattern").captures(&text).expect("found");
        found[1].parse::<u64>().expect("a number")
    };
    assert_eq!(number(r"(\d+) requests in \d"), 10);
    assert_eq!(number(r"Non-2xx or 3xx responses: (\d+)"), 3);
}

/// graphql-bench (app/queries/src/executors/base/index.ts) takes every line of four numbers as one
/// of the spectrum; `Number` of `inf` is not a number, so the last row is left out.
#[test]
fn graphql_bench_reads_wrk2() {
    let text = wrk2_report();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.len() == 4 && words.iter().all(|word| *word != "inf"))
        .filter_map(|words| words.iter().map(|word| word.parse().ok()).collect())
        .collect();
    // Nine rows of each of the two spectra.
    assert_eq!(rows.len(), 18, "{text}");
    assert_eq!(rows[0], [0.007, 0.0, 6.0, 1.0]);
    assert_eq!(rows[8], [0.009, 0.65, 10.0, 2.86]);
}
