//! The arithmetic of calls: how many for each thread, and when. The numbers are those that fortio
//! 1.66 printed for these flags.

use super::command;
use crate::fortio::pace::{Change, Deal, Schedule, TooMany, schedule};
use crate::fortio::text::{Load, changed, starting};

const MS_NS: u64 = 1_000_000;

#[test]
fn calls_are_dealt_as_fortio_deals_them() {
    let lowered = |calls, from| Change::Lowered { calls, from };
    for (flags, threads, calls, more, change, total) in [
        ("-qps 100 -t 1s -c 2", 2, 50, 0, Change::None, Some(100)),
        ("", 4, 10, 0, Change::None, Some(40)),
        ("-qps 9 -t 1s", 4, 2, 0, Change::None, Some(8)),
        ("-qps 7 -t 1s", 3, 2, 0, lowered(7, 4), Some(6)),
        ("-qps 20 -n 5 -c 2", 2, 2, 1, Change::None, Some(5)),
        ("-qps 100 -n 9", 4, 2, 1, Change::None, Some(9)),
        ("-n 3", 1, 3, 0, lowered(3, 4), Some(3)),
        ("-n 1", 1, 2, -1, Change::Raised, Some(1)),
        ("-qps 10 -t 100ms", 1, 2, 0, Change::Raised, Some(2)),
        ("-c 0 -n 9 -qps 100", 4, 2, 1, Change::None, Some(9)),
        ("-n 5 -grpc -c 2 -s 2", 2, 2, 1, lowered(5, 4), Some(5)),
        ("-t 0", 4, 0, 0, Change::None, None),
        ("-t -1s", 4, 0, 0, Change::None, None),
        ("-qps 0", 4, 0, 0, Change::None, None),
        ("-qps -1 -n 11", 4, 2, 3, Change::None, Some(11)),
        ("-qps -1 -n 2", 4, 0, 2, Change::None, Some(2)),
        ("-calc-qps -n 10 -t 1s -c 2", 2, 5, 0, Change::None, Some(10)),
    ] {
        let deal = Deal::of(&command(flags));
        assert_eq!(deal, Deal { threads, calls, more, change }, "{flags}");
        assert_eq!(deal.total(), total, "{flags}");
    }
}

/// In `--as-original`: a thread's last call falls at the end, and threads call at once.
#[test]
fn times_are_fortios_in_its_own_pace() {
    for (flags, want_ms) in [
        ("-qps 20 -n 5 -c 2", &[0, 0, 150, 200, 300][..]),
        ("-qps 10 -t 100ms", &[0, 200]),
        ("-qps 8 -n 4 -c 2", &[0, 0, 500, 500]),
        ("-qps 8 -n 4 -c 2 -uniform", &[0, 125, 500, 625]),
        ("-qps 6 -t 1s -c 2", &[0, 0, 500, 500, 1000, 1000]),
        ("-n 1", &[0]),
    ] {
        let command = command(&format!("-as-original {flags}"));
        let want: Vec<u64> = want_ms.iter().map(|ms| ms * MS_NS).collect();
        let got = schedule(&command, &Deal::of(&command));
        assert_eq!(got, Ok(Schedule::Times(want)), "{flags}");
    }
}

#[test]
fn calls_are_spread_over_the_same_time() {
    for (flags, want) in [
        ("", Schedule::Even { rate_uhz: 7_800_000, gap_ns: 128_205_129 }),
        ("-uniform", Schedule::Even { rate_uhz: 7_800_000, gap_ns: 128_205_129 }),
        ("-qps 20 -n 5 -c 2", Schedule::Even { rate_uhz: 16_000_000, gap_ns: 62_500_000 }),
        // Eight calls, and not as many as would fit.
        ("-qps 9 -t 1s", Schedule::Even { rate_uhz: 7_875_000, gap_ns: 126_984_127 }),
        ("-qps 10 -t 100ms", Schedule::Even { rate_uhz: 5_000_000, gap_ns: 200_000_000 }),
        ("-qps 10 -t 0", Schedule::Even { rate_uhz: 10_000_000, gap_ns: 100_000_000 }),
        ("-qps 8 -n 1", Schedule::Even { rate_uhz: 8_000_000, gap_ns: 125_000_000 }),
        ("-qps 0", Schedule::Closed),
        ("-qps 0 -as-original", Schedule::Closed),
    ] {
        let command = command(flags);
        assert_eq!(schedule(&command, &Deal::of(&command)), Ok(want), "{flags}");
    }
}

#[test]
fn jitter_moves_calls_by_a_tenth_at_most_and_the_same_each_time() {
    let even = command("-as-original -qps 1000 -t 1s -c 1");
    let varied = command("-jitter -qps 1000 -t 1s -c 1");
    let times = |command| match schedule(command, &Deal::of(command)) {
        Ok(Schedule::Times(times)) => times,
        other => panic!("{other:?}"),
    };
    let (even, moved) = (times(&even), times(&varied));
    assert_eq!(moved, times(&varied));
    assert_eq!((even.len(), moved.len(), moved[0]), (1000, 1000, 0));
    let gap_ns = even[1];
    let by: Vec<u64> = even.iter().zip(&moved).map(|(a, b)| a.abs_diff(*b)).collect();
    assert!(by.iter().all(|by| *by <= gap_ns / 10 + 1));
    assert!(by.iter().filter(|by| **by > gap_ns / 20).count() > 300);
}

#[test]
fn times_without_an_end_are_not_kept() {
    for flags in ["-jitter -t 0", "-as-original -t 0", "-jitter -qps 10000 -t 2h"] {
        let command = command(flags);
        assert_eq!(schedule(&command, &Deal::of(&command)), Err(TooMany), "{flags}");
    }
}

const RAISED: &str = "Increasing the number of calls to the minimum of 2 with 1 thread. total duration \
                      will increase";

/// What fortio printed with two processors: the line before the load behind `Starting at `, the
/// warning, the calls that it made, and how long they took, less what its timers were late. The
/// last call was due then.
#[test]
fn what_fortio_said_and_did() {
    for (flags, said, warned, calls, took_ms) in [
        (
            "-n 1 -qps 100",
            "100 qps with 1 thread(s) [gomax 2] : exactly 1, 2 calls each (total 2 + -1)",
            RAISED,
            1,
            0,
        ),
        (
            "-n 2 -qps 100",
            "100 qps with 1 thread(s) [gomax 2] : exactly 2, 2 calls each (total 2 + 0)",
            "2 -> lowering from 4 to 1",
            2,
            20,
        ),
        (
            "-n 3 -qps 100",
            "100 qps with 1 thread(s) [gomax 2] : exactly 3, 3 calls each (total 3 + 0)",
            "3 -> lowering from 4 to 1",
            3,
            30,
        ),
        (
            "-n 7 -qps 100",
            "100 qps with 3 thread(s) [gomax 2] : exactly 7, 2 calls each (total 6 + 1)",
            "7 -> lowering from 4 to 3",
            7,
            90,
        ),
        (
            "-n 8 -qps 100",
            "100 qps with 4 thread(s) [gomax 2] : exactly 8, 2 calls each (total 8 + 0)",
            "",
            8,
            80,
        ),
        (
            "-n 9 -qps 100",
            "100 qps with 4 thread(s) [gomax 2] : exactly 9, 2 calls each (total 8 + 1)",
            "",
            9,
            120,
        ),
        (
            "-n 11 -qps 100 -c 3",
            "100 qps with 3 thread(s) [gomax 2] : exactly 11, 3 calls each (total 9 + 2)",
            "",
            11,
            150,
        ),
        (
            "-n 5 -qps 20 -c 2",
            "20 qps with 2 thread(s) [gomax 2] : exactly 5, 2 calls each (total 4 + 1)",
            "",
            5,
            300,
        ),
        (
            "-n 5 -t 0 -qps 20 -c 1",
            "20 qps with 1 thread(s) [gomax 2] : exactly 5, 5 calls each (total 5 + 0)",
            "",
            5,
            250,
        ),
        (
            "-n 5 -t 1ms -qps 50 -c 1",
            "50 qps with 1 thread(s) [gomax 2] : exactly 5, 5 calls each (total 5 + 0)",
            "",
            5,
            100,
        ),
        (
            "-n 1 -t 0 -qps 20 -c 1",
            "20 qps with 1 thread(s) [gomax 2] : exactly 1, 2 calls each (total 2 + -1)",
            RAISED,
            1,
            0,
        ),
        (
            "-n 12 -t 1s -calc-qps -c 2",
            "12 qps with 2 thread(s) [gomax 2] : exactly 12, 6 calls each (total 12 + 0)",
            "",
            12,
            1000,
        ),
        (
            "-n 12 -t 300ms -qps 1000 -c 2",
            "1000 qps with 2 thread(s) [gomax 2] : exactly 12, 6 calls each (total 12 + 0)",
            "",
            12,
            12,
        ),
        (
            "-n 40 -qps 40 -nocatchup",
            "40 qps with 4 thread(s) [gomax 2] : exactly 40, 10 calls each (total 40 + 0)",
            "",
            40,
            1000,
        ),
        (
            "-n 40 -qps 40 -uniform",
            "40 qps with 4 thread(s) [gomax 2] : exactly 40, 10 calls each (total 40 + 0)",
            "",
            40,
            1075,
        ),
        (
            "-t 100ms",
            "8 qps with 1 thread(s) [gomax 2] for 100ms : 2 calls each (total 2)",
            RAISED,
            2,
            250,
        ),
        (
            "-t 100ms -qps 10 -c 1",
            "10 qps with 1 thread(s) [gomax 2] for 100ms : 2 calls each (total 2)",
            RAISED,
            2,
            200,
        ),
        (
            "-t 199ms -qps 10 -c 2",
            "10 qps with 1 thread(s) [gomax 2] for 199ms : 2 calls each (total 2)",
            RAISED,
            2,
            200,
        ),
        (
            "-t 300ms -qps 10",
            "10 qps with 1 thread(s) [gomax 2] for 300ms : 3 calls each (total 3)",
            "3 -> lowering from 4 to 1",
            3,
            300,
        ),
        (
            "-t 1s -qps 0.5",
            "0.5 qps with 1 thread(s) [gomax 2] for 1s : 2 calls each (total 2)",
            RAISED,
            2,
            4000,
        ),
        (
            "-t 1s -qps 7 -c 3",
            "7 qps with 3 thread(s) [gomax 2] for 1s : 2 calls each (total 6)",
            "",
            6,
            857,
        ),
        (
            "-t 1s -qps 7",
            "7 qps with 3 thread(s) [gomax 2] for 1s : 2 calls each (total 6)",
            "7 -> lowering from 4 to 3",
            6,
            857,
        ),
        (
            "-t 1s -qps 11.9 -c 3",
            "11.9 qps with 3 thread(s) [gomax 2] for 1s : 3 calls each (total 9)",
            "",
            9,
            756,
        ),
        (
            "-t 1s -qps 100 -c 8",
            "100 qps with 8 thread(s) [gomax 2] for 1s : 12 calls each (total 96)",
            "",
            96,
            960,
        ),
        (
            "-t 500ms -qps 33",
            "33 qps with 4 thread(s) [gomax 2] for 500ms : 4 calls each (total 16)",
            "",
            16,
            484,
        ),
        (
            "-t 1s -qps 40 -uniform",
            "40 qps with 4 thread(s) [gomax 2] for 1s : 10 calls each (total 40)",
            "",
            40,
            1075,
        ),
        (
            "-t 200ms -n -3 -qps 20 -c 1",
            "20 qps with 1 thread(s) [gomax 2] for 200ms : 4 calls each (total 4)",
            "",
            4,
            200,
        ),
        (
            "-t 100ms -qps 1e6 -c 1",
            "1e+06 qps with 1 thread(s) [gomax 2] for 100ms : 100000 calls each (total 100000)",
            "",
            100_000,
            100,
        ),
    ] {
        let command = command(&format!("-as-original {flags}"));
        let deal = Deal::of(&command);
        let line = starting(&Load::of(&command, &deal, "", [2, 2]));
        assert_eq!(line, format!("Starting at {said}\n"), "{flags}");
        let warning = changed(&deal).unwrap_or_default();
        assert!(
            warning.contains(warned) && warning.is_empty() == warned.is_empty(),
            "{flags}: {warning}"
        );
        let Ok(Schedule::Times(times)) = schedule(&command, &deal) else { panic!("{flags}") };
        // Less than a microsecond may be lost in fractions.
        let last_ms = (times.last().expect("a call") + 1000) / MS_NS;
        assert_eq!((times.len(), last_ms), (calls, took_ms), "{flags}");
    }
}

/// As fast as possible, nothing is due: that many calls are made.
#[test]
fn what_fortio_said_at_its_greatest_speed() {
    for (flags, said, total) in [
        ("-n 4 -qps 0", "exactly 4 calls (1 per thread + 0)", Some(4)),
        ("-n 10 -qps -1", "exactly 10 calls (2 per thread + 2)", Some(10)),
        // fortio makes 6: threads without a call make one too.
        ("-n 3 -qps 0", "exactly 3 calls (0 per thread + 3)", Some(3)),
        ("-t 150ms -qps 0", "150ms", None),
    ] {
        let command = command(flags);
        let deal = Deal::of(&command);
        let line = starting(&Load::of(&command, &deal, "", [2, 2]));
        assert_eq!(line, format!("Starting at max qps with 4 thread(s) [gomax 2] for {said}\n"));
        assert_eq!((deal.total(), schedule(&command, &deal)), (total, Ok(Schedule::Closed)));
    }
}
