//! The report as a whole, on hand-made results.

mod widths;

use plimsoll_core::metric::Kind;
use plimsoll_core::result::Gate;
use plimsoll_core::result::Unit;

use super::*;
use crate::samples;

fn report(result: &RunResult, color: bool) -> String {
    styled(result, Style { color, ..Style::default() })
}

fn styled(result: &RunResult, style: Style) -> String {
    let mut bytes = Vec::new();
    write(result, &mut bytes, style).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn all() -> Vec<RunResult> {
    vec![
        samples::steady(),
        samples::stall(),
        samples::ramp(),
        samples::nothing(),
        samples::cut_short(),
        samples::parts(),
        samples::hostile(),
        samples::bare(),
        samples::watched(),
        samples::recorded(),
    ]
}

/// What a report has more than that of a run without custom metrics.
#[test]
fn metrics_that_a_source_recorded() {
    let result = samples::recorded();
    let narrow = Style { width: 80, ..Style::default() };
    for style in [Style::default(), narrow] {
        insta::assert_snapshot!(metrics::metrics(&result, style).join("\n"));
    }
    let without = report(&samples::bare(), false);
    assert!(report(&result, false).lines().count() > without.lines().count() + 20);
    assert_eq!(metrics::metrics(&samples::bare(), narrow), [""; 0]);
}

#[test]
fn a_name_of_two_kinds_is_a_caveat() {
    let mut result = samples::recorded();
    let metric = result.metrics.iter().find(|it| it.name.as_str() == "items").unwrap();
    let name = metric.name.clone();
    let other = plimsoll_core::metric::CustomMetric::empty(name, Kind::Rate);
    result.metrics.merge(&[other].into_iter().collect());
    let text = report(&result, false);
    assert!(text.contains("- metric 'items' was recorded as a counter and as a rate"), "{text}");
}

#[test]
fn a_closed_loop() {
    insta::assert_snapshot!(report(&samples::steady(), false), @r"
    17 188 responses/s · response p50 2.70 ms, p99 6.39 ms · service p50 2.70 ms, p99 6.39 ms
    confidence: valid · all figures hold: the tester did not disturb them

    GET http://127.0.0.1:8080/ · 50 connections · closed loop · 10s · uring, 2 threads

    Requests  scheduled     171 977                             Rate  offered       17 198/s
              sent          171 977                                   achieved      17 188/s
              completed     171 977                                   in            10.0 s
              ok            171 977

    Latency  response time    slower   service time    slower   Phases           p50       p99       max
             from due time                from send             connect       116 µs       n/a    154 µs
    min             797 µs                   797 µs             sending      6.00 µs   6.00 µs   6.00 µs
    mean           2.91 ms                  2.91 ms             waiting      2.69 ms   6.39 ms   53.8 ms
    p50            2.70 ms    85 988        2.70 ms    85 988   receiving    2.50 µs   2.50 µs   2.50 µs
    p75            3.49 ms    42 994        3.49 ms    42 994
    p90            4.36 ms    17 197        4.36 ms    17 197
    p95            5.00 ms     8 598        5.00 ms     8 598
    p99            6.39 ms     1 719        6.39 ms     1 719
    p99.9          9.39 ms       171        9.39 ms       171
    p99.99         28.7 ms        17        28.7 ms        17
    max            53.8 ms                  53.8 ms
    n              171 977                  171 977
    slower: how many requests took longer; n/a no sample is slower, see max

    Status    200: 171 977
    Bytes     7.38 MiB sent, 25.6 MiB received (2.56 MiB/s)
    Tester    71 % of a core; 9.00 MiB of memory
    Guide     to see how long users wait, give a rate: -r (plimsoll explain closed_loop)
    ");
}

#[test]
fn a_stall_under_a_rate() {
    insta::assert_snapshot!(report(&samples::stall(), false), @r"
    1 of 2 gates FAILED: p99 271.4 ms is not < 250 ms
    1 000 responses/s · response p50 40.4 µs, p99 200 ms · service p50 38.1 µs, p99 96.8 µs
    confidence: valid · all figures hold: requests waited for a free connection, and response times
      include that wait

    GET http://127.0.0.1:8080/ · 50 connections · 1 000/s · 10s · uring, 1 thread

    Gates     FAIL  p99<250ms                        271.4 ms
              pass  errors<1%                             0 %

    Requests  scheduled      10 000                             Rate  target         1 000/s
              sent           10 000                                   offered        1 000/s
              completed      10 000                                   achieved       1 000/s
              ok             10 000                                   in            10.0 s

    Latency  response time    slower   service time    slower   Phases           p50       p99       max
             from schedule                from send             blocked         0 ns    150 ms    250 ms
    min            12.7 µs                  11.7 µs             lateness     1.69 µs   4.04 µs   7.11 µs
    mean           4.56 ms                  1.42 ms             connect       116 µs       n/a    154 µs
    p50            40.4 µs     5 000        38.1 µs     5 000   sending      4.76 µs   6.00 µs   6.00 µs
    p75            52.6 µs     2 500        49.5 µs     2 500   waiting      31.0 µs   88.3 µs    300 ms
    p90            67.2 µs     1 000        62.4 µs     1 000   receiving    2.38 µs   2.50 µs   2.50 µs
    p95            82.9 µs       500        71.6 µs       500
    p99             200 ms       100        96.8 µs       100
    p99.9           290 ms        10         290 ms        10
    p99.99        ~ 299 ms         1       ~ 299 ms         1
    max             300 ms                   300 ms
    n               10 000                   10 000
    blocked: waiting for a connection; lateness: the tester's own delay in sending
    slower: how many requests took longer; ~ fewer than 10 samples are slower: varies from run to run;
    n/a no sample is slower, see max

    Status    200: 10 000
    Bytes     439 KiB sent, 1.49 MiB received (152 KiB/s)
    Tester    2 % of a core, and 4 % spinning; 9.00 MiB of memory
    Guide     one run does not show how much runs differ: --repeat 5 (plimsoll explain repeats)
    ");
}

#[test]
fn an_overloaded_server() {
    insta::assert_snapshot!(report(&samples::ramp(), false), @r"
    5 284 of 50 189 failed: 503 x 4 131, 429 x 882, 179 timed out, 92 broken
    1 638 responses/s on average over 2 stages · response p50 16.8 ms, p99 ≈ 278 ms · service
      p50 14.3 ms, p99 ≈ 40.1 ms
    confidence: suspect · p95 and beyond in doubt: the tester's CPU was the limit, and the tester stood
      still for a time; p50, rate and counts hold

    GET http://127.0.0.1:8080/search?q=hull&page=2
    64 connections · 100 to 2 000/s for 10s, 2 000/s for 20s, Poisson arrivals · 30s · epoll, 1 thread

    Stage (2)    target/s  achieved/s  scheduled  not ok        p50        p99       max
    10s@100..2k     1 050       1 037     10 415     419  ≤ 6.62 ms  ≈ 31.2 ms  ≈ 503 ms
    20s@2k          2 000       1 975     39 774   4 865    18.6 ms   ≈ 323 ms  ≈ 553 ms
    times are the response time; the figures below are over all stages

    Requests  scheduled      50 189                              Rate  target         1 683/s
              sent           50 189                                    offered        1 673/s
              completed      49 918   179 timed out, 92 broken         achieved       1 638/s
              ok             44 905   5 013 failed                     in            30.5 s
                                                                       averaged over 2 stages

    Latency  response time    slower   service time    slower   Phases           p50       p99       max
             from schedule                from send             blocked      2.05 ms   5.14 ms   9.58 ms
    min             625 µs                   575 µs             lateness     45.4 µs    175 ms    420 ms
    mean         ≈ 21.9 ms                ≈ 16.4 ms             connect       127 µs       n/a    174 µs
    p50            16.8 ms    25 094        14.3 ms    25 094   sending      6.00 µs   6.00 µs   6.00 µs
    p75            22.5 ms    12 547        19.7 ms    12 547   waiting      14.2 ms   38.1 ms   79.9 ms
    p90            29.1 ms     5 018      ≥ 25.6 ms     5 018   receiving    2.50 µs   2.50 µs   2.50 µs
    p95          ≤ 34.5 ms     2 509      ≈ 29.8 ms     2 509
    p99           ≈ 278 ms       501      ≈ 40.1 ms       501
    p99.9         ≈ 503 ms        50       ≈ 500 ms        50
    p99.99        ≈ 505 ms         5       ≈ 500 ms         5
    max           ≈ 553 ms                 ≈ 500 ms
    n               50 189                   50 189

    Outcome      count        p50       p99       max
    ok          44 905    17.7 ms  ≤ 187 ms  ≤ 442 ms
    failed       5 013  ≤ 5.25 ms  ≤ 215 ms  ≤ 422 ms
    incomplete     271   ≤ 502 ms  ≤ 505 ms  ≤ 553 ms
    incomplete: no whole response; counted with the time they had waited
    blocked: waiting for a connection; lateness: the tester's own delay in sending
    slower: how many requests took longer; ≥ the true value may be higher; ≤ the true value may be
    lower; ≈ the true value may be lower or higher; n/a no sample is slower, see max

    Status    200: 44 905   429: 882   503: 4 131
    Errors          179  waiting    timeout         no answer within 500 ms
                     92  receiving  truncated_body  the server closed the connection 512 bytes before
                                                    the end of the body
    Bytes     2.15 MiB sent, 7.47 MiB received (251 KiB/s)
    Tester    92 % of a core; 9.00 MiB of memory
              1 pause of 420 ms at 21.3 s

    Doubts    - a worker used 97 % of its CPU, so the tester may have been the limit: give it more
                threads (-t) or a lower rate
              - the tester did not run for 420 ms from 21.3 s on (420 ms in all): what waited then looks
                slower than the server was
              what this means: plimsoll explain cpu paused
    ");
}

#[test]
fn nothing_completed() {
    insta::assert_snapshot!(report(&samples::nothing(), false), @r"
    not one request could be sent: connection refused (connect)
    confidence: invalid · no response arrived, so no time and no rate was measured

    GET http://127.0.0.1:8080/ · 50 connections · closed loop · 10s · uring, 1 thread

    Requests  scheduled          50                             Rate  offered       ≈ 5.00/s
              sent                0   50 unsent                       achieved      ≈ 0.00/s
              completed           0                                   in            10.0 s
              ok                  0

    Latency  response time    slower   service time    slower
             from due time                from send
    min             10.0 s                        -
    mean          ≈ 10.0 s                        -
    p50           ≈ 10.0 s        25              -
    p75           ≈ 10.0 s        12              -
    p90           ≈ 10.0 s         5              -
    p95           ≈ 10.0 s         2              -
    p99                n/a         0              -
    p99.9              n/a         0              -
    p99.99             n/a         0              -
    max           ≈ 10.0 s                        -
    n                   50                        0
    slower: how many requests took longer; ≈ the true value may be lower or higher; n/a no sample is
    slower, see max

    Errors          412  connect    refused  connection refused
    Tester    0 % of a core; 9.00 MiB of memory

    Doubts    - not one response arrived
              what this means: plimsoll explain no_responses
    ");
}

#[test]
fn a_run_cut_short_after_a_warm_up() {
    insta::assert_snapshot!(report(&samples::cut_short(), false), @r"
    1 of 173 failed: 1 unfinished
    139 responses/s · response p50 6.68 ms, p99 ≥ 15.2 ms · service p50 6.68 ms, p99 ≥ 15.2 ms
    confidence: valid · all figures hold: the tester did not disturb them
    - interrupted after 1.24 s: this is what had happened until then

    GET http://127.0.0.1:8080/ · 1 connection · closed loop · 400 requests · uring, 1 thread

    Requests  scheduled         173                             Rate  offered          140/s
              sent              173                                   achieved         139/s
              completed         172   1 unfinished                    in            1.24 s
              ok                172

    Latency  response time    slower   service time    slower   Phases           p50       p99       max
             from due time                from send             connect          n/a       n/a   80.0 µs
    min            2.68 ms                  2.68 ms             sending      6.00 µs ~ 6.00 µs   6.00 µs
    mean         ≥ 7.14 ms                ≥ 7.14 ms             waiting      6.68 ms ~ 15.2 ms   15.6 ms
    p50            6.68 ms        86        6.68 ms        86   receiving    2.50 µs ~ 2.50 µs   2.50 µs
    p75            8.56 ms        43        8.56 ms        43
    p90            10.4 ms        17        10.4 ms        17
    p95          ~ 11.9 ms         8      ~ 11.9 ms         8
    p99          ≥ 15.2 ms         1      ≥ 15.2 ms         1
    p99.9              n/a         0            n/a         0
    p99.99             n/a         0            n/a         0
    max          ≥ 15.6 ms                ≥ 15.6 ms
    n                  173                      173

    Outcome     count      p50        p99      max
    ok            172  6.68 ms  ~ 15.2 ms  15.6 ms
    incomplete      1      n/a        n/a  4.66 ms
    incomplete: no whole response; counted with the time they had waited
    slower: how many requests took longer; ≥ the true value may be higher; ~ fewer than 10 samples are
    slower: varies from run to run; n/a no sample is slower, see max

    Status    200: 172
    Bytes     7.60 KiB sent, 26.4 KiB received (21.3 KiB/s)
    Tester    1 % of a core; 9.00 MiB of memory
    Warm-up   2s before all this, 280 completed, response p50 7.00 ms, p99 ~ 7.00 ms
    ");
}

#[test]
fn endpoints_addresses_and_connections_of_a_run_that_was_aborted() {
    insta::assert_snapshot!(report(&samples::parts(), false), @r"
    ABORTED after 4.00 s because errors>1% FOR 3s
    1 of 2 gates FAILED: p99@endpoint:login<1s: nothing to measure (no endpoint 'login'; there is: home,
      search)
    57 of 4 012 failed: 503 x 45, 12 shed
    1 000 responses/s · response p50 839 µs, p99 2.77 ms · service p50 838 µs, p99 2.77 ms
    confidence: valid · all figures hold: the tester did not disturb them

    GET https://127.0.0.1:8080/ · 50 connections · 1 000/s · 10s · uring, 1 thread

    Gates     FAIL  p99@endpoint:login<1s        nothing to measure   no endpoint 'login'; there is:
                    home, search
              pass  service.p99<5ms                  3.217 ms

    Requests  scheduled       4 012   40 after redirects        Rate  target         1 000/s
              sent            4 000   12 shed                         offered        1 000/s
              completed       4 000                                   achieved       1 000/s
              ok              3 955   45 failed                       in            4.00 s

    Latency  response time    slower   service time    slower   Phases           p50       p99       max
             from schedule                from send             lateness     1.68 µs   3.93 µs   5.38 µs
    min             148 µs                   147 µs             connect       116 µs       n/a    154 µs
    mean          ≥ 966 µs                   965 µs             sending      6.00 µs   6.00 µs   6.00 µs
    p50             839 µs     2 000         838 µs     2 000   waiting       829 µs   2.76 ms   5.05 ms
    p75            1.27 ms     1 000        1.26 ms     1 000   receiving    2.50 µs   2.50 µs   2.50 µs
    p90            1.71 ms       400        1.71 ms       400   of the requests that were sent
    p95            2.05 ms       200        2.04 ms       200
    p99            2.77 ms        40        2.77 ms        40
    p99.9        ~ 3.99 ms         4      ~ 3.99 ms         4
    p99.99             n/a         0            n/a         0
    max            5.06 ms                  5.06 ms
    n                4 000                    4 000

    Outcome  count     p50      p99      max
    ok       3 955  841 µs  2.78 ms  5.06 ms
    failed      45  788 µs      n/a  1.77 ms

    Endpoint                                     scheduled  not ok      p50      p99      max
    home                                             1 334       0   452 µs  1.05 ms  1.31 ms
    search                                           1 333      45   880 µs  2.08 ms  2.94 ms
    a name so long that no table on a terminal…      1 333       0  1.34 ms  3.29 ms  5.06 ms

    Address             scheduled  not ok     p50      p99      max
    192.0.2.1:8080          2 000      45  839 µs  2.72 ms  5.06 ms
    [2001:db8::1]:8080      2 000       0  839 µs  2.82 ms  4.49 ms
    lateness: the tester's own delay in sending
    slower: how many requests took longer; ≥ the true value may be higher; ~ fewer than 10 samples are
    slower: varies from run to run; n/a no sample is slower, see max

    Status    200: 3 955   503: 45
    Bytes     176 KiB sent, 609 KiB received (152 KiB/s), 3 reconnects
    Network   53 connections opened, 50 at once at most · changed to 50 at 2.00 s · requests on each:
              60 min, 84 median, 109 max · TLS 1.3 TLS13_AES_256_GCM_SHA384: 50 full handshakes,
              3 resumed · 2 segments retransmitted
    Tester    3 % of a core; 9.00 MiB of memory
    ");
}

#[test]
fn a_server_that_was_watched_has_its_lines() {
    let text = report(&samples::watched(), false);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Server")).collect();
    assert_eq!(
        lines[0],
        "Server    97 % of a core (peak 108 %), 56.5 µs of CPU for each response; 6.50 MiB RSS, 5 processes,"
    );
    assert!(lines[1].ends_with("  5 threads; it ended after 9.00 s"), "{}", lines[1]);
    assert!(lines[2].starts_with("Tester"), "{}", lines[2]);
}

#[test]
fn colours_follow_the_answer_and_confidence_has_its_own() {
    let painted = |result: &RunResult| {
        let text = report(result, true);
        let code = |line: &str| line.split(['[', 'm']).nth(1).unwrap_or_default().to_owned();
        let sure = text.lines().find(|line| line.contains("confidence:")).unwrap();
        (code(text.lines().next().unwrap()), code(sure))
    };
    let with = |passes: &[bool], result: RunResult| {
        let gate = samples::stall().gates[0].clone();
        let gates = passes.iter().map(|pass| Gate { pass: *pass, ..gate.clone() }).collect();
        RunResult { gates, ..result }
    };
    let (good, caution, bad) = ("1;32", "1;33", "1;31");
    for (result, look, confidence) in [
        (with(&[], samples::stall()), good, "36"),
        (with(&[true], samples::stall()), good, "36"),
        (with(&[true, false], samples::stall()), bad, "36"),
        (samples::parts(), bad, "36"),
        // One in ten fails; a gate that passes takes the red from that, not the caution.
        (samples::ramp(), bad, "35"),
        (with(&[true], samples::ramp()), caution, "35"),
        (samples::nothing(), bad, "1;35"),
    ] {
        assert_eq!(painted(&result), (look.to_owned(), confidence.to_owned()));
    }
}

/// A reader who has never seen a report finds the result in the first three lines.
#[test]
fn the_first_three_lines_are_the_result() {
    for result in all() {
        let text = styled(&result, Style { width: 100, ..Style::default() });
        let lead = Answer::of(&result).lead;
        let start = lead.chars().take(40).collect::<String>();
        assert!(text.starts_with(&printable(&start)), "{text}");
        let judgement = ["VALID", "SUSPECT", "INVALID"];
        let first = text.lines().next().unwrap();
        assert!(!judgement.iter().any(|word| first.contains(word)), "{first}");
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
        result.errors.push(plimsoll_core::errors::ErrorCount {
            kind: format!("kind_{kind}"),
            count: 3,
            ..error.clone()
        });
    }
    result.status = (200..230).map(|status| (status, 7)).collect();
    let gate = |pass| Gate { expr: "p50<1ms".to_owned(), unit: Unit::Us, pass, ..Gate::default() };
    result.gates = vec![gate(true); 9];
    result.gates.push(gate(false));
    let part = plimsoll_core::part::Part::new("part");
    result.endpoints = vec![part; 15];
    result.latency.response.record(4_000_000_000_000);
    let text = report(&result, false);
    assert!(text.contains("Gates     FAIL  p50<1ms"), "what failed comes first\n{text}");
    for part in [
        "51  of 17 more kinds",
        "and 22 more",
        "and 4 more",
        "and 3 more",
        "1 response time of more",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
