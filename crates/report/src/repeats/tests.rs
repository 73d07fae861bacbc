//! The views of repeats of hand-made results.

use plimsoll_core::iterations::Iterations;
use plimsoll_core::repeats::{Repeats, seed_of};
use plimsoll_core::verdict::Verdict;

use super::*;
use crate::answer::Look;
use crate::text::Style;
use crate::{heads, samples};

/// Runs of a load, each a little slower than the one before, with seeds of their own.
fn runs(count: u32) -> Vec<RunResult> {
    let run = |repeat| {
        let mut run = samples::stall();
        run.plan.seed = seed_of(run.plan.seed, repeat);
        let (p99_us, step_us) = (220_000.0, 20_000.0 * f64::from(repeat));
        run.gates[0].value = Some(p99_us + step_us);
        run.gates[0].pass = p99_us + step_us < 250_000.0;
        run.rate.achieved_rps -= f64::from(repeat);
        run.rate.good_rps = Some(run.rate.achieved_rps);
        run
    };
    (1..=count).map(run).collect()
}

fn repeats(runs: Vec<RunResult>, asked: u32, in_turns_with: &[&str]) -> Repeats {
    let tool = runs[0].tool.clone();
    Repeats::of(runs, asked, in_turns_with.iter().map(|name| (*name).to_owned()).collect(), tool)
}

fn text(repeats: &Repeats, width: usize) -> String {
    let mut bytes = Vec::new();
    write_text(repeats, &mut bytes, Style { width, ..Style::default() }).unwrap();
    heads::checked(String::from_utf8(bytes).unwrap())
}

#[test]
fn five_repeats() {
    let mut runs = runs(5);
    runs[1].loader.verdict = Verdict::Suspect;
    runs[1].loader.causes = samples::ramp().loader.causes;
    runs[3].loader.causes = samples::ramp().loader.causes[..1].to_vec();
    insta::assert_snapshot!(text(&repeats(runs, 5, &[]), 80), @r"
    gates FAILED in 4 of 5 repeats; first: 1 of 2 gates FAILED: p99 260.0 ms is not
      < 250 ms
    median of 5 repeats: 997.0/s · p50 40.41 µs · p99 200.1 ms
    confidence: suspect · 1 of 5 repeats: p99 and beyond (may be lower) in doubt:
      the tester's CPU was the limit, and the tester stood still for a time; p50,
      rate and counts hold

    GET http://127.0.0.1:8080/ · 50 connections · 1 000/s · 10s · uring, 1 thread
    5 repeats, one after the other

    Gates     FAIL  p99<250ms          240.0 ms, 260.0 ms✗, 280.0 ms✗, 300.0 ms✗,
                    320.0 ms✗
              pass  errors<1%          0 %, 0 %, 0 %, 0 %, 0 %

    Over 5 repeats    median     least  greatest       93.8 % interval
    rate             997.0/s   995.0/s   999.0/s    995.0/s to 999.0/s
    p50             40.41 µs  40.41 µs  40.41 µs  40.41 µs to 40.41 µs
    p99             200.1 ms  200.1 ms  200.1 ms
    errors               0 %       0 %       0 %            0 % to 0 %
    6 repeats make it a 95 % interval (plimsoll explain repeats)

    Repeat  seed     rate       p50       p99  errors  confidence
    1          1  999.0/s  40.41 µs  200.1 ms     0 %       valid
    2          2  998.0/s  40.41 µs  200.1 ms     0 %     suspect
    3          3  997.0/s  40.41 µs  200.1 ms     0 %       valid
    4          4  996.0/s  40.41 µs  200.1 ms     0 %       valid
    5          5  995.0/s  40.41 µs  200.1 ms     0 %       valid

    Doubts    - repeats 2, 4: a worker used 97 % of its CPU, so the tester may have
                been the limit: give it more threads (-t) or a lower rate
              - repeat 2: the tester did not run for 420 ms from 21.3 s on (420 ms
                in all): what waited then looks slower than the server was
              what this means: plimsoll explain cpu paused
    ");
}

#[test]
fn six_repeats_in_turns_without_gates() {
    let mut runs = runs(6);
    runs.iter_mut().for_each(|run| run.gates.clear());
    insta::assert_snapshot!(text(&repeats(runs, 6, &["low", "high"]), 80), @r"
    median of 6 repeats: 996.5/s · p50 40.41 µs · p99 200.1 ms
    confidence: valid · each repeat: all figures hold: requests waited for a free
      connection, and response times include that wait

    GET http://127.0.0.1:8080/ · 50 connections · 1 000/s · 10s · uring, 1 thread
    6 repeats, in turns with low, high

    Over 6 repeats    median     least  greatest         95 % interval
    rate             996.5/s   994.0/s   999.0/s    994.0/s to 999.0/s
    p50             40.41 µs  40.41 µs  40.41 µs  40.41 µs to 40.41 µs
    p99             200.1 ms  200.1 ms  200.1 ms  200.1 ms to 200.1 ms
    errors               0 %       0 %       0 %            0 % to 0 %

    Repeat  seed     rate       p50       p99  errors  confidence
    1          1  999.0/s  40.41 µs  200.1 ms     0 %       valid
    2          2  998.0/s  40.41 µs  200.1 ms     0 %       valid
    3          3  997.0/s  40.41 µs  200.1 ms     0 %       valid
    4          4  996.0/s  40.41 µs  200.1 ms     0 %       valid
    5          5  995.0/s  40.41 µs  200.1 ms     0 %       valid
    6          6  994.0/s  40.41 µs  200.1 ms     0 %       valid
    ");
}

#[test]
fn what_a_signal_left() {
    let mut runs = runs(2);
    runs.iter_mut().for_each(|run| run.gates.truncate(1));
    runs[1].interrupted = true;
    insta::assert_snapshot!(text(&repeats(runs, 5, &[]), 80), @r"
    gates FAILED in 1 of 2 repeats; first: gate FAILED: p99 260.0 ms is not < 250 ms
    median of 1 repeat: 999.0/s · p50 40.41 µs · p99 200.1 ms
    confidence: valid · each repeat: all figures hold: requests waited for a free
      connection, and response times include that wait
    - repeat 2 does not count in the median: interrupted after 10.0 s
    - 2 of 5 repeats were begun

    GET http://127.0.0.1:8080/ · 50 connections · 1 000/s · 10s · uring, 1 thread
    2 repeats, one after the other

    Gates     FAIL  p99<250ms          240.0 ms, 260.0 ms✗

    Over 1 repeat    median     least  greatest
    rate            999.0/s   999.0/s   999.0/s
    p50            40.41 µs  40.41 µs  40.41 µs
    p99            200.1 ms  200.1 ms  200.1 ms
    errors              0 %       0 %       0 %
    an interval takes 4 repeats that count, 6 for 95 %, and compare takes 4 on each
    side (plimsoll explain repeats)

    Repeat  seed     rate       p50       p99  errors       confidence
    1          1  999.0/s  40.41 µs  200.1 ms     0 %            valid
    2          2  998.0/s  40.41 µs  200.1 ms     0 %  valid, left out
    ");
}

#[test]
fn gates_are_judged_in_each_repeat_that_was_whole_whatever_its_confidence() {
    for (interrupted, invalid, undecided, want, look) in [
        (&[][..], &[][..], &[][..], "gates passed in all 3 repeats", Look::Good),
        (&[3], &[], &[], "gates passed in 2 of 3 repeats", Look::Good),
        (&[1, 2, 3], &[], &[], "gates UNDECIDED: no repeat was whole", Look::Caution),
        (&[], &[1, 2], &[], "gates passed in all 3 repeats", Look::Good),
        (&[], &[1], &[2], "gates UNDECIDED in 1 of 3 repeats; first: 1 of 2 gates", Look::Caution),
    ] {
        let mut runs = runs(3);
        for (repeat, run) in (1..).zip(&mut runs) {
            run.gates.iter_mut().for_each(|gate| gate.pass = true);
            run.interrupted = interrupted.contains(&repeat);
            if invalid.contains(&repeat) {
                run.loader.verdict = Verdict::Invalid;
            }
            if undecided.contains(&repeat) {
                (run.gates[0].pass, run.gates[0].undecided) = (false, true);
            }
        }
        let answer = answer(&repeats(runs, 3, &[]));
        assert_eq!(answer.look, look, "{answer:?}");
        assert!(answer.lead.starts_with(want), "{answer:?}");
    }
}

#[test]
fn gates_say_why_they_are_not_met() {
    let mut runs = runs(3);
    for (run, count) in runs.iter_mut().zip([0, 7, 9]) {
        run.gates[0].pass = count == 0;
        run.gates[0].note = (count > 0).then(|| format!("a lower bound: {count}"));
    }
    let text = text(&repeats(runs, 3, &[]), 80);
    assert!(text.contains("- repeats 2, 3: p99<250ms: a lower bound: 7\n"), "{text}");
}

#[test]
fn iterations_that_failed_are_told_of_each_repeat() {
    let mut runs = runs(3);
    for (run, failed) in runs.iter_mut().zip([0, 1, 1200]) {
        run.iterations = Some(Iterations { failed, ..Iterations::default() });
    }
    let text = text(&repeats(runs, 3, &[]), 80);
    assert!(!text.contains("- repeat 1:"), "{text}");
    assert!(text.contains("- repeat 2: 1 iteration ended with an exception\n"), "{text}");
    assert!(text.contains("- repeat 3: 1 200 iterations ended with an exception\n"), "{text}");
}

/// Confidence is that of the repeat in which it is least, and says in how many it is so.
#[test]
fn confidence_is_that_of_the_least_sure_repeats() {
    use Verdict::{Invalid, Suspect, Valid};
    for (verdicts, want) in [
        (&[Valid, Valid][..], "valid · each repeat: all figures hold"),
        (&[Suspect, Suspect], "suspect · 2 of 2 repeats: "),
        (&[Suspect, Invalid, Valid], "invalid · 1 of 3 repeats: "),
    ] {
        let mut runs = runs(verdicts.len() as u32);
        for (run, verdict) in runs.iter_mut().zip(verdicts) {
            run.loader.verdict = *verdict;
        }
        let sureness = answer(&repeats(runs, verdicts.len() as u32, &[])).sureness();
        assert!(sureness.starts_with(want), "{sureness}");
    }
}

#[test]
fn failures_of_all_repeats_come_together() {
    let mut runs = runs(2);
    for run in &mut runs {
        run.gates.clear();
        (run.ledger.ok, run.ledger.failed) = (run.ledger.ok - 5_000, 5_000);
        run.status = [(200, run.ledger.ok), (503, 5_000)].into_iter().collect();
    }
    let answer = answer(&repeats(runs, 2, &[]));
    assert_eq!(answer.lead, "10 000 of 20 000 failed: 503 x 10 000");
    assert_eq!(answer.look, Look::Bad);
}

#[test]
fn markdown() {
    let mut bytes = Vec::new();
    write_markdown(&repeats(runs(2), 2, &[]), &mut bytes).unwrap();
    insta::assert_snapshot!(heads::checked(String::from_utf8(bytes).unwrap()), @r"
    ## ❌ gates FAILED in 1 of 2 repeats; first: 1 of 2 gates FAILED: p99 260.0 ms is not \< 250 ms

    median of 2 repeats: 998.5/s · p50 40.41 µs · p99 200.1 ms

    *Confidence:* valid · each repeat: all figures hold: requests waited for a free connection, and response times include that wait

    `GET http://127.0.0.1:8080/` · 50 connections · 1 000/s · 10s · uring, 1 thread · 2 repeats, one after the other

    | Gate |  | measured in each repeat |
    | --- | --- | --- |
    | `p99<250ms` | **FAIL** | 240.0 ms, 260.0 ms✗ |
    | `errors<1%` | pass | 0 %, 0 % |

    | Over 2 repeats | median | least | greatest |
    | --- | ---: | ---: | ---: |
    | rate | 998.5/s | 998.0/s | 999.0/s |
    | p50 | 40.41 µs | 40.41 µs | 40.41 µs |
    | p99 | 200.1 ms | 200.1 ms | 200.1 ms |
    | errors | 0 % | 0 % | 0 % |

    an interval takes 4 repeats that count, 6 for 95 %, and compare takes 4 on each side (plimsoll explain repeats)

    | Repeat | seed | rate | p50 | p99 | errors | confidence |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | 1 | 1 | 999.0/s | 40.41 µs | 200.1 ms | 0 % | valid |
    | 2 | 2 | 998.0/s | 40.41 µs | 200.1 ms | 0 % | valid |
    ");
}

#[test]
fn csv_has_a_row_for_each_repeat() {
    let mut bytes = Vec::new();
    write_csv(&repeats(runs(3), 3, &[]), &mut bytes).unwrap();
    let text = heads::checked(String::from_utf8(bytes).unwrap());
    let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(cells.len(), 4);
    assert!(cells.iter().all(|count| *count == cells[0]), "{cells:?}");
}

#[test]
fn no_width_is_exceeded_and_no_figure_is_cut() {
    let hostile = vec![samples::hostile(), samples::hostile()];
    for repeats in [repeats(runs(5), 5, &["low"]), repeats(hostile, 2, &[])] {
        let widest = text(&repeats, 100);
        let figures = |text: &str| -> Vec<String> {
            let words = text.split_whitespace().map(str::to_owned);
            words.filter(|word| word.chars().all(|c| c.is_ascii_digit() || c == '.')).collect()
        };
        for width in [60, 72, 80, 100] {
            let text = text(&repeats, width);
            assert!(!text.contains('\x1b'));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            let found = figures(&text);
            assert!(figures(&widest).iter().all(|it| found.contains(it)), "{width}: {text}");
        }
    }
}
