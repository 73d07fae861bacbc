//! Reports on terminals of any width: nothing is cut, and nothing is too wide.

use super::*;

/// A terminal of 80 columns: what stood side by side stands one above the other.
#[test]
fn a_narrow_terminal() {
    let style = Style { width: 80, ..Style::default() };
    insta::assert_snapshot!(styled(&samples::stall(), style), @r"
    1 of 2 gates FAILED: p99 271.4 ms is not < 250 ms
    1 000 responses/s · response p50 40.4 µs, p99 200 ms · service p50 38.1 µs,
      p99 96.8 µs
    confidence: valid · all figures hold: requests waited for a free connection, and
      response times include that wait

    GET http://127.0.0.1:8080/ · 50 connections · 1 000/s · 10s · uring, 1 thread

    Gates     FAIL  p99<250ms                        271.4 ms
              pass  errors<1%                             0 %

    Requests  scheduled      10 000   Rate  target         1 000/s
              sent           10 000         offered        1 000/s
              completed      10 000         achieved       1 000/s
              ok             10 000         in            10.0 s

    Latency  response time    slower   service time    slower
             from schedule                from send
    min            12.7 µs                  11.7 µs
    mean           4.56 ms                  1.42 ms
    p50            40.4 µs     5 000        38.1 µs     5 000
    p75            52.6 µs     2 500        49.5 µs     2 500
    p90            67.2 µs     1 000        62.4 µs     1 000
    p95            82.9 µs       500        71.6 µs       500
    p99             200 ms       100        96.8 µs       100
    p99.9           290 ms        10         290 ms        10
    p99.99        ~ 299 ms         1       ~ 299 ms         1
    max             300 ms                   300 ms
    n               10 000                   10 000

    Phases           p50       p99       max
    blocked         0 ns    150 ms    250 ms
    lateness     1.69 µs   4.04 µs   7.11 µs
    connect       116 µs       n/a    154 µs
    sending      4.76 µs   6.00 µs   6.00 µs
    waiting      31.0 µs   88.3 µs    300 ms
    receiving    2.38 µs   2.50 µs   2.50 µs
    blocked: waiting for a connection; lateness: the tester's own delay in sending
    slower: how many requests took longer; ~ fewer than 10 samples are slower:
    varies from run to run; n/a no sample is slower, see max

    Status    200: 10 000
    Bytes     439 KiB sent, 1.49 MiB received (152 KiB/s)
    Tester    2 % of a core, and 4 % spinning; 9.00 MiB of memory
    Guide     one run does not show how much runs differ: --repeat 5 (plimsoll
              explain repeats)
    ");
    insta::assert_snapshot!(styled(&samples::ramp(), style), @r"
    5 284 of 50 189 failed: 503 x 4 131, 429 x 882, 179 timed out, 92 broken
    1 638 responses/s on average over 2 stages · response p50 16.8 ms, p99 ≈ 278 ms
      · service p50 14.3 ms, p99 ≈ 40.1 ms
    confidence: suspect · p95 and beyond in doubt: the tester's CPU was the limit,
      and the tester stood still for a time; p50, rate and counts hold

    GET http://127.0.0.1:8080/search?q=hull&page=2
    64 connections · 100 to 2 000/s for 10s, 2 000/s for 20s, Poisson arrivals · 30s
    · epoll, 1 thread

    Stage (2)    achieved/s  scheduled  not ok        p50        p99       max
    10s@100..2k       1 037     10 415     419  ≤ 6.62 ms  ≈ 31.2 ms  ≈ 503 ms
    20s@2k            1 975     39 774   4 865    18.6 ms   ≈ 323 ms  ≈ 553 ms

    Further columns of the same rows:
    Stage (2)    target/s
    10s@100..2k     1 050
    20s@2k          2 000
    times are the response time; the figures below are over all stages

    Requests  scheduled      50 189
              sent           50 189
              completed      49 918   179 timed out, 92 broken
              ok             44 905   5 013 failed

    Rate  target         1 683/s
          offered        1 673/s
          achieved       1 638/s
          in            30.5 s
          averaged over 2 stages

    Latency  response time    slower   service time    slower
             from schedule                from send
    min             625 µs                   575 µs
    mean         ≈ 21.9 ms                ≈ 16.4 ms
    p50            16.8 ms    25 094        14.3 ms    25 094
    p75            22.5 ms    12 547        19.7 ms    12 547
    p90            29.1 ms     5 018      ≥ 25.6 ms     5 018
    p95          ≤ 34.5 ms     2 509      ≈ 29.8 ms     2 509
    p99           ≈ 278 ms       501      ≈ 40.1 ms       501
    p99.9         ≈ 503 ms        50       ≈ 500 ms        50
    p99.99        ≈ 505 ms         5       ≈ 500 ms         5
    max           ≈ 553 ms                 ≈ 500 ms
    n               50 189                   50 189

    Phases           p50       p99       max
    blocked      2.05 ms   5.14 ms   9.58 ms
    lateness     45.4 µs    175 ms    420 ms
    connect       127 µs       n/a    174 µs
    sending      6.00 µs   6.00 µs   6.00 µs
    waiting      14.2 ms   38.1 ms   79.9 ms
    receiving    2.50 µs   2.50 µs   2.50 µs

    Outcome      count        p50       p99       max
    ok          44 905    17.7 ms  ≤ 187 ms  ≤ 442 ms
    failed       5 013  ≤ 5.25 ms  ≤ 215 ms  ≤ 422 ms
    incomplete     271   ≤ 502 ms  ≤ 505 ms  ≤ 553 ms
    incomplete: no whole response; counted with the time they had waited
    blocked: waiting for a connection; lateness: the tester's own delay in sending
    slower: how many requests took longer; ≥ the true value may be higher; ≤ the
    true value may be lower; ≈ the true value may be lower or higher; n/a no sample
    is slower, see max

    Status    200: 44 905   429: 882   503: 4 131
    Errors          179  waiting    timeout         no answer within 500 ms
                     92  receiving  truncated_body  the server closed the connection
                                                    512 bytes before the end of the
                                                    body
    Bytes     2.15 MiB sent, 7.47 MiB received (251 KiB/s)
    Tester    92 % of a core; 9.00 MiB of memory
              1 pause of 420 ms at 21.3 s

    Doubts    - a worker used 97 % of its CPU, so the tester may have been the
                limit: give it more threads (-t) or a lower rate
              - the tester did not run for 420 ms from 21.3 s on (420 ms in all):
                what waited then looks slower than the server was
              what this means: plimsoll explain cpu paused
    ");
}

/// The rates of a stage are in its name as well, so that of the plan goes below instead of the
/// maximum.
#[test]
fn a_table_of_stages_keeps_its_maximum_on_80_columns() {
    let mut result = samples::ramp();
    for stage in &mut result.stages {
        stage.target_rps *= 100_000.0;
    }
    let heads = |width| {
        let text = styled(&result, Style { color: false, width });
        let heads = text.lines().filter(|line| line.starts_with("Stage"));
        heads.map(str::to_owned).collect::<Vec<_>>()
    };
    let narrow = "Stage (2)    achieved/s  scheduled  not ok        p50        p99       max";
    assert_eq!(heads(80), [narrow, "Stage (2)       target/s"]);
    assert_eq!(heads(100).len(), 1);
}

#[test]
fn a_report_fits_a_screen() {
    for result in all() {
        let text = report(&result, false);
        // Hostile text is long, and has an end too.
        let most = if text.contains("<script>") { 80 } else { 60 };
        assert!(text.lines().count() <= most, "{text}");
        assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    }
}

/// Words with a digit in them.
fn figures(text: &str) -> Vec<&str> {
    text.split_whitespace().filter(|word| word.contains(|c: char| c.is_ascii_digit())).collect()
}

#[test]
fn no_width_is_exceeded_and_no_figure_is_cut() {
    for mut result in all() {
        // Words of any length from outside are broken, and names are shortened.
        result.plan.endpoint.path = plimsoll_core::secret::Secret::public("/".to_owned());
        result.endpoints.iter_mut().for_each(|part| part.name.truncate(4));
        let widest = report(&result, false);
        for (width, most) in [(0, 60), (60, 60), (72, 72), (80, 80), (100, 100), (300, 100)] {
            let text = styled(&result, Style { width, ..Style::default() });
            let too_long = text.lines().find(|line| line.chars().count() > most);
            assert_eq!(too_long, None, "{width}: {text}");
            let found = figures(&text);
            for figure in figures(&widest) {
                let is_hostile = figure.contains("script") || figure.contains('\u{fffd}');
                assert!(is_hostile || found.contains(&figure), "{width}: {figure} in {text}");
            }
        }
    }
}
